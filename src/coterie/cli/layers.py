"""`coterie cluster --layers` and `--time`: blocks of a graph with layers, or over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.cli.reading import file_or_dataset
from coterie.cli.session import Session, stopwatch

if TYPE_CHECKING:
    from coterie.models.hard.layered import LayeredBlockModel

_OBJECTIVES = ("auto", "degree-corrected", "simple")


def cluster_layers(
    session: Session,
    path: str,
    *,
    layer: str,
    every: str | None,
    blocks: str,
    objective: str,
    out: Path | None,
    report: Path | None,
) -> JsonObject:
    """Find the blocks of every layer, and which layers share them."""
    from coterie.data.layers import read_layers
    from coterie.models.hard.layered import LayeredBlockModel

    if blocks != "auto":
        raise InputError(f"layers do not support --blocks {blocks}", remedy="use --blocks auto")
    if objective not in _OBJECTIVES:
        raise InputError(
            f"layers do not support --objective {objective}",
            remedy=f"use one of {', '.join(_OBJECTIVES)}",
        )
    given = {k: v for k, v in session.reading.given.items() if k != "time"}
    data = read_layers(
        file_or_dataset(path), layer=layer, every=every, threads=session.threads, **given
    )
    session.say(f"{len(data.names):,} layers, {data.n_nodes:,} nodes, {data.n_edges:,} edges")
    model = LayeredBlockModel(objective, rng=session.seed)
    with session.progress("clustering") as callback, stopwatch() as seconds:
        model.fit(data, engine=session.engine(), callback=callback)
    session.interrupted = model.interrupted_
    if out is not None:
        from coterie.data.writers import write_table

        columns = {name: labels.tolist() for name, labels in model.labels_.items()}
        write_table(out, {"node": data.ids.tolist(), **columns})
    if report is not None:
        from coterie.report.layers_report import render
        from coterie.report.pdf import write_page

        write_page(render(model, name=Path(path).name, assumed=session.assumed), report)
    return _show(session, model, seconds())


def _show(session: Session, model: LayeredBlockModel, seconds: float) -> JsonObject:
    """Print the blocks per layer and what was found; return the JSON output."""
    data, group = model.layers_, model.group_of()
    rows = [
        {
            "layer": name,
            "edges": graph.n_edges,
            "blocks": model.n_blocks_[name],
            "group": group[name],
        }
        for name, graph in zip(data.names, data.graphs, strict=True)
    ]
    columns = ("layer", "edges", "blocks", "group")
    session.show_table([[*row.values()] for row in rows], *columns, right=columns[1:])
    explanation = model.explain()
    for sentence in explanation:
        session.show(sentence)
    session.show(f"description length {model.description_length_:,.2f} nats; {seconds:.2f} seconds")
    return {
        "nodes": data.n_nodes,
        "edges": data.n_edges,
        "blocks": max(model.n_blocks_.values()),
        "model": model.model_,
        "objective": model.model_,
        "description_length": model.description_length_,
        "shared_length": model.shared_length_,
        "separate_length": model.separate_length_,
        "interrupted": model.interrupted_,
        "layers": rows,
        "events": [event._asdict() for event in model.events_],
        "explanation": explanation,
        "seconds": seconds,
    }
