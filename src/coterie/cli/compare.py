"""`coterie compare`: how similar two graphs are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coterie.base.json_values import JsonObject
from coterie.cli.measure_tables import counted, show_features, show_measures
from coterie.cli.network_input import compare_features, load_both
from coterie.cli.reading import ANYTHING
from coterie.cli.session import Session, command, stopwatch

if TYPE_CHECKING:
    from coterie.anonymize.utility.community_utility import CommunityUtility
    from coterie.anonymize.utility.full_measures import FullComparison


@command(unused=("seed",), reads=ANYTHING, answers=True)
def run(
    session: Session,
    original: str,
    published: str,
    full: bool = False,
    truth: Path | None = None,
    objective: str = "simple",
    attributes: Path | None = None,
    published_attributes: Path | None = None,
) -> JsonObject:
    """Compare two graphs, measure by measure.

    Prints one row per measure: number of nodes and edges, path lengths, clustering, degrees,
    assortativity, components, core numbers and communities.

    Example: coterie compare friends.csv release/graph.csv --full
    """
    from coterie.anonymize.features.network import skeleton_of
    from coterie.anonymize.output.json_form import (
        comparison_json,
        full_comparison_json,
        result_json,
    )
    from coterie.anonymize.output.release_folder import read_identity_map
    from coterie.anonymize.utility.full_measures import compare_fully
    from coterie.anonymize.utility.measures import compare

    networks = load_both(
        session, (original, attributes), (published, published_attributes), objective
    )
    first, second = (skeleton_of(network.graph) for network in networks)
    identity = None if truth is None else read_identity_map(truth, first, second)
    with stopwatch() as seconds, session.progress("compare") as callback:
        if full:
            everything = compare_fully(
                first, second, session.engine(), identity=identity, callback=callback
            )
            found, result = everything.basic, full_comparison_json(everything)
        else:
            found = compare(first, second, session.engine(), identity=identity)
            result = comparison_json(found)
        features = compare_features(*networks)
        if features is not None:
            result["features"] = result_json(features)
        result["seconds"] = seconds()
    show_measures(session, found.original, found.published, found.degree_ks, "two graphs")
    if full:
        columns = ("measure", "original", "published", "difference", "")
        rows = _full_rows(everything)
        session.show_table(rows, *columns, title="further measures", boxed=True)
        session.show(_counts(everything))
    if found.communities is not None:
        title = "communities, person by person"
        rows = _community_rows(found.communities)
        session.show_table(rows, "communities", "", title=title, boxed=True)
    if features is not None:
        show_features(session, features)
    nodes, edges = (
        f"{getattr(found.original, what):,} and {getattr(found.published, what):,} {what}"
        for what in ("nodes", "edges")
    )
    session.summary = f"{nodes}, {edges}; shares of degrees differ by {found.degree_ks:.4f} (KS)"
    return result


def _full_rows(comparison: FullComparison) -> list[tuple[str, ...]]:
    """Return the rows of the further measures, with the relative difference."""
    from coterie.anonymize.utility.full_measures import full_rows

    rows: list[tuple[str, ...]] = []
    for row in full_rows(comparison.original, [comparison.published]):
        error = "–" if row.difference is None else f"{100 * row.difference:+.1f} %"
        kept = "kept" if row.kept else f"not kept (± {100 * row.figure.tolerance:g} %)"
        figures = counted(row.original), counted(row.published)
        rows.append((row.figure.label, *figures, error, kept))
    return rows


def _counts(comparison: FullComparison) -> str:
    """Say which measures come from a sample or from simulations."""
    used, nodes = comparison.original.betweenness.sources, comparison.basic.original.nodes
    paths = "all nodes" if used == nodes else f"a sample of {used:,} nodes"
    outbreaks = comparison.original.epidemic[0].outbreaks
    return (
        f"Betweenness: shortest paths from {paths}. Robustness: share of the nodes in the largest "
        "component, mean while nodes are removed one by one. Epidemic size: largest of all "
        f"outbreaks, mean over {outbreaks} simulations; the threshold follows from the degrees of "
        "the original."
    )


def _community_rows(found: CommunityUtility) -> list[tuple[str, ...]]:
    """Return rows that say whether the published communities are the original's."""
    draw = found.draws[0]
    figures = {
        "modularity in the original, of its own communities": found.original[0],
        "modularity in the original, of the published communities": draw.foreign_modularity,
        "agreement of original and published (1: equal, 0: unrelated)": draw.agreement,
        "agreement of two searches on the original": found.self_agreement,
    }
    return [(name, f"{value:.4f}") for name, value in figures.items()]
