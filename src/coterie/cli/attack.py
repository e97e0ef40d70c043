"""`coterie attack`: how many people can be identified in a published graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coterie.base.json_values import JsonObject, json_value
from coterie.cli.network_input import attack_kinds, load_both
from coterie.cli.reading import ANYTHING
from coterie.cli.session import Session, command, stopwatch

if TYPE_CHECKING:
    from rich.table import Table

    from coterie.anonymize.risk.attack_suite import AttackSuiteResult


@command(reads=ANYTHING)
def run(
    session: Session,
    original: str,
    published: str,
    truth: Path,
    objective: str = "simple",
    attributes: Path | None = None,
    published_attributes: Path | None = None,
) -> JsonObject:
    """Try to identify people in a published graph.

    The same attacks are run on two unprotected controls: a copy of ORIGINAL with only the names
    removed, and one in which 10 % of the edges were deleted too.

    Example: coterie attack friends.csv release/graph.csv --truth who.csv
    """
    from coterie.anonymize.kinds.network import skeleton_of
    from coterie.anonymize.output.identity_map import read_identity_map
    from coterie.anonymize.output.json_form import attack_json
    from coterie.anonymize.published_graph import PublishedGraph
    from coterie.anonymize.risk.attack_suite import attack

    networks = load_both(
        session,
        (original, attributes),
        (published, published_attributes),
        objective,
    )
    known, other = (skeleton_of(network.graph) for network in networks)
    target = PublishedGraph(other, read_identity_map(truth, known, other))
    with stopwatch() as seconds, session.progress("attack") as callback:
        found = attack(known, target, session.engine(), rng=session.seed, callback=callback)
        result = attack_json(found)
        everything = attack_kinds(networks[0], networks[1], target.identity, session.seed)
        if everything is not None:
            # Without the classes of the release it is not known what luck explains.
            shown = {k: v for k, v in vars(everything).items() if k != "expected"}
            result["everything_known"] = json_value(shown)
        result["seconds"] = seconds()
    session.show(_table(found))
    if everything is not None:
        session.show(
            f"Somebody who {everything.label}: {everything.correct:,} of {everything.guesses:,} "
            f"people guessed right; {everything.naive:,} in a copy without names."
        )
    session.show(
        "Expected by luck: the right guesses of somebody who picks at random among nodes of "
        "similar degree. A release also discloses its classes; its report counts what they explain."
    )
    if not any(r.correct for r in found.controls.naive.seeded):
        session.say(
            "the seeded attack guesses nobody right in the copy without names either, so it says "
            "nothing about the published graph"
        )
    return result


def _table(found: AttackSuiteResult) -> Table:
    """Return the people whom each attack guesses right, in the graph and in both controls."""
    from rich.table import Table

    table = Table(
        "attack",
        "people guessed right",
        "expected by luck",
        "share of guesses right",
        "in a copy without names",
        "10 % of edges deleted",
    )
    graphs = (found.target, *found.controls)
    rows = [
        *zip(*(g.seeded for g in graphs), strict=True),
        *zip(*(g.guess_everyone for g in graphs), strict=True),
    ]
    for target, naive, deleted in rows:
        luck = "–" if target.same_degree is None else f"{target.same_degree:,.1f}"
        precision = f"{100 * target.precision:.3g} %"
        people = (f"{result.correct:,}" for result in (naive, deleted))
        table.add_row(target.label, f"{target.correct:,}", luck, precision, *people)
    for label, counts in (
        ("exact degree known", [g.degree_known.unique for g in graphs]),
        ("degrees of all neighbours known", [g.neighbour_degrees_known.unique for g in graphs]),
        ("rank by degree", [g.degree_rank.correct for g in graphs]),
    ):
        published, *controls = (f"{count:,}" for count in counts)
        table.add_row(label, published, "–", "–", *controls)
    return table
