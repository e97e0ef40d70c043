"""`coterie anonymize --epsilon`: sketch, ledger, draw and report in one command."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject, as_json
from coterie.cli.input_options import load_graph_for_sketch
from coterie.cli.session import Session, stopwatch

if TYPE_CHECKING:
    from coterie.anonymize.output.release_folder import ReleaseFolders
    from coterie.data import Graph

SKETCH_NAME = "network.sketch"
COMPARISON_NAME = "comparison.json"

# Options that apply to one kind of release only, by parameter name
_ONLY_MEASURED = {
    "objective": "--objective",
    "attributes": "--attributes",
    "sensitive": "--sensitive",
    "blocks": "--blocks",
    "model": "--model",
    "rewire": "--rewire",
    "min_class_size": "--min-class-size",
    "max_edge_probability": "--max-edge-probability",
    "policy": "--policy",
    "research_truth": "--research-truth",
}
_ONLY_PRIVATE = {"nodes": "--nodes", "cap": "--cap"}


class PrivateOptions(NamedTuple):
    """The options of `coterie anonymize --epsilon`."""

    graph: str
    out: Path
    epsilon: str
    nodes: str | None
    cap: str
    dataset: str | None
    private: Path | None
    draws: int
    force: bool
    overwrite: bool
    output_format: str
    format: str | None
    separator: str | None


def refuse_other_options(context: typer.Context, epsilon: str | None) -> None:
    """Raise InputError for an option that does not apply to this kind of release."""
    kinds = _ONLY_PRIVATE if epsilon is None else _ONLY_MEASURED
    for name, option in kinds.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            if epsilon is None:
                raise InputError(f"{option} applies to private releases", remedy="add --epsilon E")
            raise InputError(
                f"{option} does not apply to a private release",
                remedy=f"leave out {option}, or --epsilon for a release that is not private",
            )


def run_private(session: Session, given: PrivateOptions) -> JsonObject:
    """Make a sketch, draw from it, and write the folder to publish and the private folder.

    The sketch is saved in the private folder before anything is drawn: if a later step fails, the
    budget was not spent in vain.
    """
    from coterie.anonymize.output.release_folder import (
        make_private_folder,
        plan_folders,
        staged_folder,
    )
    from coterie.anonymize.private.budget import parse_decimal, parse_epsilon
    from coterie.anonymize.private.draw import draw_graphs
    from coterie.anonymize.private.node_list import declared_ids, on_node_list
    from coterie.anonymize.private.sketch import PrivateSketch
    from coterie.report.sketch_report import render

    if given.nodes is None:
        raise InputError("--nodes is required with --epsilon", remedy="give N or a file of ids")
    if given.dataset is None:
        raise InputError("--dataset is required with --epsilon", remedy="name the network")
    parse_epsilon(given.epsilon, force=given.force)
    parse_decimal(given.cap, "cap")
    counted = given.nodes.isascii() and given.nodes.isdigit()
    folders = plan_folders(
        given.out,
        given.private,
        dataset=given.dataset,
        inputs=[given.graph, *([] if counted else [given.nodes])],
        overwrite=given.overwrite,
    )
    with stopwatch() as seconds:
        ids = declared_ids(int(given.nodes) if counted else given.nodes)
        data = load_graph_for_sketch(
            session, given.graph, format=given.format, separator=given.separator
        )
        original = on_node_list(data, ids)
        is_new = not folders.private.exists()
        make_private_folder(folders.private)
        kept = folders.private / SKETCH_NAME
        sketch = PrivateSketch(
            epsilon=given.epsilon, dataset=given.dataset, cap=given.cap, force=given.force
        )
        engine = session.engine()
        with session.progress("anonymize") as callback:
            try:
                sketch.fit(original, nodes=ids, path=kept, callback=callback)
            except BaseException:
                if is_new:
                    shutil.rmtree(folders.private, ignore_errors=True)
                raise
            answers = sketch.answers_
            try:
                graphs = draw_graphs(
                    answers, given.draws, rng=session.seed, engine=engine, callback=callback
                )
                page = render(answers, graphs, engine)
                with staged_folder(
                    folders,
                    graphs,
                    page,
                    format=given.output_format,
                    more={SKETCH_NAME: kept.read_bytes()},
                ) as publish:
                    _write_comparison(folders, original, graphs)
                    publish()
            except BaseException:
                session.say(f"the sketch is paid for and kept: {kept} (draw from it)")
                raise
        elapsed = seconds()
    spent = float(sketch.spent_)
    session.show(f"to publish: {given.out}")
    session.show(f"private, keep it and never publish it: {folders.private}")
    session.show(f"dataset {given.dataset!r} has spent epsilon {spent:g} of {given.cap}")
    return {
        "refused": False,
        "reasons": [],
        "epsilon": float(answers.exact_epsilon),
        "spent": spent,
        "cap": float(given.cap),
        "nodes": answers.n_nodes,
        "edges": [graph.n_edges for graph in graphs],
        "draws": given.draws,
        "dataset": given.dataset,
        "private": str(folders.private),
        "seconds": elapsed,
    }


def _write_comparison(folders: ReleaseFolders, original: Graph, graphs: Sequence[Graph]) -> None:
    """Write how the drawn graphs differ from the original: exact, so for the owner alone."""
    from coterie.anonymize.output.json_form import comparison_json
    from coterie.anonymize.utility.measures import compare
    from coterie.data.atomic_files import atomic_write

    compared = [comparison_json(compare(original, graph)) for graph in graphs]
    with atomic_write(folders.private / COMPARISON_NAME, permissions=0o600) as file:
        file.write(as_json({"draws": compared}) + "\n")
