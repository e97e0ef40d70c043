"""`coterie anonymize`: publish a graph that is similar to the original and was attacked first."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from coterie.base.errors import InputError, PolicyRefusedError
from coterie.base.json_values import JsonObject
from coterie.cli.measure_tables import counted, share_text, show_features, show_measures
from coterie.cli.network_input import load_network
from coterie.cli.reading import ANYTHING
from coterie.cli.session import Session, command, spell_options, stopwatch

if TYPE_CHECKING:
    from coterie.anonymize.output.release import Release
    from coterie.anonymize.policy import Limit


# In names of columns that few people would want to see published about themselves
_DELICATE = re.compile(
    "diagnos|disease|illness|health|medic|hiv|disab|pregnan|religio|faith|ethnic|(?<![a-z])race"
    "|politic|party|union|sexual|orientation|salary|income|debt|crim|convict|drug"
)


@command(reads=ANYTHING)
def run(
    session: Session,
    graph: str,
    out: Path,
    dataset: str | None = None,
    private: Path | None = None,
    private_options: str | None = None,
    objective: str | None = None,
    attributes: Path | None = None,
    sensitive: list[str] | None = None,
    not_sensitive: list[str] | None = None,
    blocks: int | None = None,
    model: str = "dcsbm",
    rewire: bool = True,
    draws: int = 1,
    min_class_size: int = 10,
    max_edge_probability: float = 0.85,
    policy: Path | None = None,
    accept_inference: float | None = None,
    min_utility: float | None = None,
    force: bool = False,
    overwrite: bool = False,
    research_truth: Path | None = None,
    output_format: str = "csv",
) -> JsonObject:
    """Make a similar graph that may be published, or say why not.

    Draws a new graph from a block model of GRAPH, attacks it, and writes it with a report if it is
    within every limit of the privacy policy.

    This does not provide differential privacy; `coterie sketch` and `coterie draw` do.

    Example: coterie anonymize friends.csv --dataset friends --out release
    """
    if private_options is not None:
        raise InputError(
            "anonymize makes no differentially private releases (--epsilon, --nodes, --cap)",
            remedy="use `coterie sketch` and `coterie draw`",
        )
    from coterie.anonymize.anonymizer import Anonymizer, require_name
    from coterie.anonymize.draw.dcsbm import Steps
    from coterie.anonymize.ledger import dataset_name_of
    from coterie.anonymize.output.json_form import release_json
    from coterie.anonymize.output.release_folder import plan_folders
    from coterie.anonymize.policy import Policy

    limits = Policy() if policy is None else Policy.from_file(policy)
    if accept_inference is not None:
        limits = replace(limits, accepted_inference=accept_inference)
    if min_utility is not None:
        limits = replace(limits, min_utility=min_utility)
    require_name(dataset, limits)
    if dataset is None:
        dataset = dataset_name_of(graph)
        session.say(f"dataset: {dataset} (from the file name; --dataset sets another name)")
    inputs = [Path(graph), *(file for file in (policy, attributes) if file is not None)]
    folders = plan_folders(
        out,
        private,
        dataset=dataset,
        inputs=inputs,
        overwrite=overwrite,
        research_truth=research_truth,
    )
    anonymizer = Anonymizer(
        blocks,
        min_class_size=min_class_size,
        max_edge_probability=max_edge_probability,
        model=model,
        objective=objective or "simple",
        sensitive=tuple(sensitive or ()),
        steps=Steps(rewire=rewire),
        draws=draws,
        policy=limits,
        dataset=dataset,
        rng=session.seed,
    )
    with stopwatch() as seconds:
        network = load_network(session, graph, objective, attributes)
        if network.attributes is not None:
            decided = [*(sensitive or ()), *(not_sensitive or ())]
            _require_decisions(network.attributes.names, decided)
        _announce_earlier(session, dataset)
        with session.progress("anonymize") as callback:
            release = anonymizer.release(
                network.graph,
                attributes=network.attributes,
                sides=network.sides,
                engine=session.engine(),
                callback=callback,
                suggest=not force,
            )
        written = bool(release.graphs) and (force or not release.refused)
        suggestions = [spell_options(text) for text in release.suggestions]
        result = release_json(
            release.decision, suggestions, release.utility, release.risk, release.features
        )
        result["reasons"] = [spell_options(text) for text in release.reasons]
        if written:
            release.write(
                out,
                format=output_format,
                overwrite=overwrite,
                force=force,
                private=private,
                research_truth=research_truth,
                inputs=inputs,
            )
        result["dataset"] = dataset
        result["private"] = str(folders.private) if written else None
        result["seconds"] = seconds()
    if not written:
        session.answer(result)
        raise PolicyRefusedError([*release.reasons, *suggestions])
    _print_release(session, release, out, private or folders.private, research_truth)
    return result


def _require_decisions(columns: list[str], decided: list[str]) -> None:
    """Raise InputError for a column that may be sensitive and was not decided about."""
    for name in columns:
        if name not in decided and _DELICATE.search(name.lower()):
            raise InputError(
                f"the column {name!r} may be sensitive",
                remedy=f"give --sensitive {name}, which limits what a class tells about it, or "
                f"--not-sensitive {name} to release it as an ordinary column",
            )


def _announce_earlier(session: Session, dataset: str) -> None:
    """Say what was published from this dataset before, of both kinds, and the consequence."""
    from coterie.anonymize.ledger import Ledger

    released, epsilon = Ledger().releases(dataset), Ledger().spent(dataset)
    if released or epsilon:
        graphs = "1 graph" if released == 1 else f"{released} graphs"
        sketched = f" and sketches with epsilon {float(epsilon):g} in all" if epsilon else ""
        more = ", and for releases and sketches together no epsilon holds" if epsilon else ""
        session.say(
            f"published from {dataset!r} before: {graphs}{sketched}; each further release "
            f"gives away more{more}",
            important=True,
        )


def _print_release(
    session: Session, release: Release, out: Path, private: Path, research_truth: Path | None
) -> None:
    """Print what was written, what is not preserved, and the two tables."""
    from coterie.anonymize.figures import WORTH_SHARE

    if release.refused:
        session.say(
            "FORCED: the privacy policy refuses this release: " + "; ".join(release.reasons),
            important=True,
        )
    if release.decision.weaker:
        text = f"released under a weaker policy. {release.decision.qualification}"
        session.say(text, important=True)
    if research_truth is not None:
        session.say(f"{research_truth} says who is who: never publish it, and delete it when done")
    if release.utility is not None:
        utility = release.utility
        if utility.not_kept:
            session.say(f"not preserved: {'; '.join(utility.not_kept)}")
        worthless = utility.kept_share < WORTH_SHARE
        session.say(f"usefulness: {utility.verdict}", important=worthless)
        show_measures(session, utility.original, utility.published, utility.degree_ks)
    if release.features is not None:
        for what in release.features.not_kept():
            session.say(f"not preserved: {what}")
        show_features(session, release.features)
    columns = ("figure", "value", "limit", "")
    rows = map(_limit_row, release.decision.limits)
    session.show_table(rows, *columns, title="privacy policy", boxed=True)
    for limit in release.decision.limits:
        if limit.note:
            session.show(limit.note)
    session.show(_summary_line(release))
    session.show(f"to publish: {out}")
    session.show(f"private, keep it and never publish it: {private}")


def _summary_line(release: Release) -> str:
    """Return the verdict in one line: what the worst attack finds, and what is kept."""
    decision = "FORCED" if release.refused else "RELEASED"
    if release.owner_summary is None or release.utility is None:
        return decision
    attacks = [a for a in release.owner_summary.attacks if a.expected is not None and a.has_power]
    found = "no attack has power on this network"
    if attacks:
        worst = max(attacks, key=lambda attack: attack.found)
        found = (
            f"the strongest attack ({worst.label}) guesses {worst.found:,} of "
            f"{release.owner_summary.nodes:,} people right, luck alone {worst.expected:.0f}"
        )
    return f"{decision}: {found}; {100 * release.utility.kept_share:.0f} % of the properties kept"


def _limit_row(limit: Limit) -> tuple[str, ...]:
    """Return a row of the table of limits; an exceeded limit is marked EXCEEDED."""
    shown = share_text if limit.percent else counted
    sign = "≥" if limit.at_least else "≤"
    mark = "within the limit" if limit.holds else "EXCEEDED"
    return limit.label, shown(limit.value), f"{sign} {shown(limit.limit)}", mark
