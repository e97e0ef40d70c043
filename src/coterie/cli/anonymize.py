"""`coterie anonymize`: a new graph like the old one, attacked before it is let go."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.base.errors import PolicyRefusedError
from coterie.base.json_values import as_json
from coterie.cli.input_options import FormatOption, GraphArgument, SeparatorOption, load_graph
from coterie.cli.session import Session, command, stopwatch

if TYPE_CHECKING:
    from rich.table import Table

    from coterie.anonymize.output.release import Release


class Model(StrEnum):
    dcsbm = "dcsbm"
    sbm = "sbm"
    exact_counts = "exact-counts"


class Written(StrEnum):
    csv = "csv"
    parquet = "parquet"
    graphml = "graphml"


@command
def run(
    session: Session,
    graph: GraphArgument,
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder to publish; made new.")],
    blocks: Annotated[
        int | None, typer.Option(min=1, help="Blocks; half the square root of the nodes.")
    ] = None,
    model: Annotated[Model, typer.Option(help="How the new graph is drawn.")] = Model.dcsbm,
    rewire: Annotated[
        bool, typer.Option("--rewire/--no-rewire", help="Bring clustering back by swaps (dcsbm).")
    ] = True,
    draws: Annotated[int, typer.Option(min=1, help="Graphs to draw from the model.")] = 1,
    min_class_size: Annotated[
        int, typer.Option(min=1, help="People in the smallest class at least.")
    ] = 10,
    max_edge_probability: Annotated[
        float, typer.Option(min=0.01, max=1.0, help="No edge in a cell this likely.")
    ] = 0.85,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="Limits of your own.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write what is refused; recorded.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the release that DIR holds.")
    ] = False,
    research_truth: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Who is who (published,original): never publish it."),
    ] = None,
    output_format: Annotated[Written, typer.Option(help="Of the new graph.")] = Written.csv,
    format: FormatOption = None,
    separator: SeparatorOption = None,
) -> dict[str, Any]:
    """Make a graph like this one that can be published, or say why not."""
    from coterie.anonymize.anonymizer import Anonymizer
    from coterie.anonymize.draw.dcsbm import Steps
    from coterie.anonymize.output.release_folder import check_folder, check_truth_path
    from coterie.anonymize.policy import Policy

    check_folder(out, overwrite)
    if research_truth is not None:
        check_truth_path(research_truth, out)
    anonymizer = Anonymizer(
        blocks,
        min_class_size=min_class_size,
        max_edge_probability=max_edge_probability,
        model=model.value,
        steps=Steps(rewire=rewire),
        draws=draws,
        policy=None if policy is None else Policy.from_file(policy),
        rng=session.seed,
    )
    with stopwatch() as seconds:
        original = load_graph(session, graph, format=format, separator=separator)
        with session.progress("anonymize") as callback:
            release = anonymizer.release(
                original, engine=session.engine(), callback=callback, look_for_advice=not force
            )
        result = _result(release)
        if not release.refused or (force and release.graphs):
            release.write(
                out,
                form=output_format.value,
                overwrite=overwrite,
                force=force,
                research_truth=research_truth,
            )
        result["seconds"] = seconds()
    if release.refused and not (force and release.graphs):
        if session.json:
            sys.stdout.write(as_json(result) + "\n")
        raise PolicyRefusedError([*release.reasons, *release.advice])
    _speak(session, release, out, research_truth)
    return result


def _result(release: Release) -> dict[str, Any]:
    return {
        "refused": release.refused,
        "reasons": release.reasons,
        "advice": release.advice,
        "utility": release.utility,
        "risk": release.risk,
        "limits": release.record.get("limits", []),
        "levels": release.record.get("levels", []),
    }


def _speak(session: Session, release: Release, out: Path, truth: Path | None) -> None:
    if release.refused:
        session.say(
            "FORCED: the privacy policy refuses this release: " + "; ".join(release.reasons)
        )
    if truth is not None:
        session.say(f"{truth} says who is who: keep it apart from the release, or destroy it")
    for what in release.utility["not_kept"]:
        session.say(f"not kept: {what}")
    session.show(likeness_table(release.utility))
    session.show(_risk_table(release))
    session.show(f"written: {out} (to publish), {out}.private/audit.json (to keep)")


def _figure(value: float) -> str:
    """Counts whole, with their thousands apart; anything else to four places.

    >>> _figure(198050.0), _figure(0.30103), _figure(4.19)
    ('198,050', '0.3010', '4.1900')
    """
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4f}"


def likeness_table(utility: dict[str, Any], title: str = "original and release") -> Table:
    """The plain figures of two graphs side by side."""
    from rich.table import Table

    table = Table("measure", "original", "published", title=title, title_justify="left")
    for key, before in utility["original"].items():
        after = utility["published"].get(key)
        if isinstance(before, int | float) and isinstance(after, int | float):
            table.add_row(key.replace("_", " "), _figure(before), _figure(after))
    table.add_row("degree KS", "", f"{utility['degree_ks']:.4f}")
    return table


def _risk_table(release: Release) -> Table:
    from rich.table import Table

    table = Table("limit", "found", "allowed", "", title="privacy policy", title_justify="left")
    for limit in release.record["limits"]:
        sign = "≥" if limit["at_least"] else "≤"
        mark = "holds" if limit["holds"] else "PASSED"
        table.add_row(limit["name"], f"{limit['value']:.4g}", f"{sign} {limit['limit']:.4g}", mark)
    return table
