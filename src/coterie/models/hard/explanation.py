"""What the blocks of a network mean, in sentences: nothing, roles or communities, and what to try.

A block model groups nodes with similar neighbours. Newcomers expect communities, so the result
says which of the two the blocks are. Parameters stand between backticks; the command line writes
its options instead.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from coterie.data import Graph
from coterie.models.hard.connected import disconnected_blocks

_CLEAR = 0.1  # modularity below which blocks are roles
_MOST = 0.5  # share of the edges inside blocks from which blocks are communities
_COMMUNITIES = 'For groups that are connected densely inside, try `BlockModel("communities")`.'


class InsideEdges(NamedTuple):
    """How many edges are inside blocks, and how many would be by chance."""

    share: float
    by_chance: float  # in a random graph with the same degrees

    @property
    def modularity(self) -> float:
        """The difference of both."""
        return self.share - self.by_chance


def inside_edges(graph: Graph, labels: np.ndarray) -> InsideEdges:
    """Return the share of the edges inside blocks.

    >>> inside_edges(Graph.from_edges([0, 2], [1, 3]), np.array([0, 0, 1, 1]))
    InsideEdges(share=1.0, by_chance=0.5)
    """
    source, target = (labels[ends] for ends in graph.edges())
    k = int(labels.max(initial=0)) + 1
    edges = max(len(source), 1)
    out, back = (np.bincount(ends, minlength=k) / edges for ends in (source, target))
    degrees = (out, back) if graph.directed else ((out + back) / 2,) * 2
    return InsideEdges(float((source == target).sum() / edges), float(degrees[0] @ degrees[1]))


def explain(
    graph: Graph,
    labels: np.ndarray,
    objective: str,
    *,
    chosen: bool = False,
    nested: bool = False,
) -> list[str]:
    """Return sentences about the blocks.

    `chosen`: the number of blocks was chosen by the search, not given.
    """
    blocks = len(np.unique(labels))
    if graph.n_edges == 0 or blocks == 0:
        return []
    if blocks == 1:
        return [_one_block(objective)] if chosen else []
    found = inside_edges(graph, labels)
    counted = (
        f"{_percent(found.share)} of the edges are inside blocks, where chance would give "
        f"{_percent(found.by_chance)}"
    )
    hubs = ' To keep hubs and leaves together, try `objective="degree-corrected"`.'
    if found.modularity < _CLEAR:
        said = (
            "These blocks are roles, not communities: nodes of a block have similar neighbours "
            f"(for example hubs, or their leaves), but only {counted}. "
            f"{_COMMUNITIES}{hubs if objective == 'simple' else ''}"
        )
    elif found.share < _MOST:
        said = (
            f"Nodes of a block are connected to each other more often than by chance: {counted}. "
            f"But most edges lead to other blocks, so these are not communities. {_COMMUNITIES}"
        )
    else:
        said = f"These blocks are communities: {counted}."
    sentences = [said]
    apart = disconnected_blocks(graph, labels)
    if apart:
        sentences.append(
            f"{apart:,} of the {blocks:,} blocks "
            + ("is" if apart == 1 else "are")
            + " not connected inside"
            + ("." if nested else "; `connected=True` splits such blocks.")
        )
    return sentences


def _one_block(objective: str) -> str:
    than = (
        "one density alone" if objective in ("simple", "directed", "weighted") else "degrees alone"
    )
    anyway = "For the best two groups anyway, use"
    if objective.endswith("communities"):
        anyway += ' `GeneralizedKMeans(2, objective="degree-corrected")`.'
    else:
        anyway += (
            f" `GeneralizedKMeans(2)`. A model with fewer parameters may find more. {_COMMUNITIES}"
        )
    return (
        f"No grouping describes this network better than {than}, so all nodes are in one block. "
        + anyway
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
