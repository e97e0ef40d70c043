"""What a clustering report shows, as numbers whose count depends on the blocks alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from coterie.data import Graph
from coterie.report.assumptions import taken_for_granted
from coterie.report.block_matrix import arrange, share
from coterie.report.shared_sections import history_rows

_DRAWN = 30  # blocks in the drawing of the block graph
_LISTED = 15  # blocks whose nodes are named
_NAMED = 8  # nodes named of each


def summarize(
    model: Any, graph: Graph, *, name: str = "the graph", assumed: Sequence[str] = ()
) -> dict[str, Any]:
    """Everything the report shows, of a size that depends on the blocks and not on the nodes."""
    labels = np.asarray(model.labels_)
    edges, pairs = np.asarray(model.block_edges_), np.asarray(model.block_pairs_)
    sizes = np.bincount(labels, minlength=len(edges))
    history = history_rows(model.history_)
    return {
        "name": name,
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "directed": graph.directed,
        "counted": "weight" if getattr(model, "objective", "") == "weighted" else "edges",
        "blocks": int((sizes > 0).sum()),
        "asked": len(edges),
        "entropy": float(model.entropy_),
        "entropy_without_blocks": _one_block(model, edges, pairs, graph.directed),
        "iterations": len(history),
        "converged": getattr(model, "converged_", None),
        "locally_optimal": getattr(model, "locally_optimal_", None),
        "seconds": history[-1]["seconds"] if history else 0.0,
        "history": history,
        "sizes": np.sort(sizes[sizes > 0])[::-1],
        "inside": _inside(edges, sizes, graph.directed),
        "matrix": arrange(edges, pairs, sizes, directed=graph.directed),
        "drawn": _largest(edges, pairs, sizes),
        "listed": _members(graph, labels, sizes, edges, pairs),
        "parameters": model.get_params(),
        "method": type(model).__name__,
        "assumed": taken_for_granted(model, graph, assumed),
    }


def _one_block(model: Any, edges: np.ndarray, pairs: np.ndarray, directed: bool) -> float | None:
    """S of the same graph without any block, where the objective is Bernoulli (cl:eq21)."""
    if getattr(model, "objective", "simple") not in ("simple", "directed"):
        return None
    once = np.ones_like(pairs, bool) if directed else np.triu(np.ones_like(pairs, bool))
    m, d = float(edges[once].sum()), float(pairs[once].sum())
    return _g(d) - _g(m) - _g(d - m)


def _g(x: float) -> float:
    return x * float(np.log(x)) if x > 0 else 0.0


def _inside(edges: np.ndarray, sizes: np.ndarray, directed: bool) -> dict[str, Any]:
    """Of the edge ends of each block, the share whose other end is in it too."""
    within = np.diag(edges).astype(np.float64)
    ends = edges.sum(0) + edges.sum(1) if directed else edges.sum(1) + within
    some = (sizes > 0) & (ends > 0)
    return {"sizes": sizes[some], "share": 2 * within[some] / ends[some]}


def _largest(edges: np.ndarray, pairs: np.ndarray, sizes: np.ndarray) -> dict[str, Any]:
    """The blocks that most edges end in: hubs are few, and without them leaves stand alone."""
    ends = edges.sum(1) + edges.sum(0)
    chosen = np.lexsort((-sizes, -ends))[:_DRAWN]
    chosen = chosen[sizes[chosen] > 0]
    square = np.ix_(chosen, chosen)
    density = share(edges[square].astype(np.float64), pairs[square])
    return {
        "blocks": chosen,
        "sizes": sizes[chosen],
        "density": np.maximum(density, density.T),
    }


def _members(
    graph: Graph, labels: np.ndarray, sizes: np.ndarray, edges: np.ndarray, pairs: np.ndarray
) -> list[dict[str, Any]]:
    """The largest blocks, each with its best-connected nodes by their own names."""
    degrees = graph.degrees
    largest = np.argsort(-sizes, kind="stable")[:_LISTED]
    found = []
    for block in largest[sizes[largest] > 0]:
        nodes = np.flatnonzero(labels == block)
        some = min(_NAMED, len(nodes))
        top = nodes[np.argpartition(-degrees[nodes], some - 1)[:some]]
        top = top[np.argsort(-degrees[top], kind="stable")]
        inside = float(edges[block, block])
        found.append(
            {
                "block": int(block),
                "nodes": len(nodes),
                "inside": inside,
                "density": inside / max(float(pairs[block, block]), 1.0),
                "degree": float(degrees[nodes].mean()),
                "names": [str(graph.ids[v]) for v in top],
            }
        )
    return found
