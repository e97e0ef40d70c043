"""`coterie attack`: who can be found in a published graph, beside the controls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from coterie.cli.input_options import FormatOption, SeparatorOption, load_graph
from coterie.cli.session import Session, command, stopwatch

if TYPE_CHECKING:
    from rich.table import Table


@command
def run(
    session: Session,
    original: Annotated[str, typer.Argument(metavar="ORIGINAL", help="What the attacker knows.")],
    published: Annotated[str, typer.Argument(metavar="PUBLISHED", help="What was published.")],
    truth: Annotated[Path, typer.Option(metavar="FILE", help="Who is who: published,original.")],
    format: FormatOption = None,
    separator: SeparatorOption = None,
) -> dict[str, Any]:
    """Seeded matching, vertex refinement and degree, on the graph and on two controls."""
    from coterie.anonymize.output.identity_map import read_truth
    from coterie.anonymize.risk.attack_suite import Target, attack

    known, other = (
        load_graph(session, path, format=format, separator=separator)
        for path in (original, published)
    )
    target = Target(other, read_truth(truth, known, other))
    with stopwatch() as seconds, session.progress("attack") as callback:
        result = attack(known, target, session.engine(), rng=session.seed, callback=callback)
        result["seconds"] = seconds()
    session.show(_table(result))
    if not any(row["correct"] for row in result["controls"]["naive"]["seeded"]):
        session.say("the seeded attack finds nobody in the naive copy either: it proves nothing")
    return result


def _table(result: dict[str, Any]) -> Table:
    from rich.table import Table

    table = Table("attack", "published", "precision", "naive copy", "10 % deleted")
    controls = result["controls"]
    for i, row in enumerate(result["seeded"]):
        beside = (controls[name]["seeded"][i]["correct"] for name in ("naive", "deleted_10"))
        table.add_row(
            f"seeded, {row['seeds']} known",
            f"{row['correct']:,}",
            f"{row['precision']:.2f}",
            *(f"{n:,}" for n in beside),
        )
    for i, row in enumerate(result["bold"]):
        beside = (controls[name]["bold"][i]["correct"] for name in ("naive", "deleted_10"))
        found = f"{row['correct']:,}", f"{row['precision']:.4f}"
        table.add_row(row["attack"], *found, *(f"{n:,}" for n in beside))
    for key, row in result["vertex_refinement"].items():
        beside = (controls[name]["vertex_refinement"][key]["unique"] for name in controls)
        table.add_row(f"{key}, unique", f"{row['unique']:,}", "", *(f"{n:,}" for n in beside))
    beside = (controls[name]["degree"]["correct"] for name in controls)
    table.add_row(
        "degree rank", f"{result['degree']['correct']:,}", "", *(f"{n:,}" for n in beside)
    )
    return table
