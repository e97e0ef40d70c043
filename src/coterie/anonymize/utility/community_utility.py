"""Whether the communities of a release are those of the original.

Communities are found by a method that does not know the blocks of the release. The private identity
map says which original node each published node stands for, so both results can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from coterie.anonymize.figures import (
    AGREEMENT_SHARE,
    CLEAR_AGREEMENT,
    FOREIGN_SHARE,
    Private,
)
from coterie.anonymize.published_graph import PublishedGraph
from coterie.anonymize.utility.communities import (
    community_agreement,
    find_communities,
    foreign_modularity,
    modularity,
)
from coterie.data import Graph
from coterie.engine import Engine, LocalEngine

_SEED = 0  # fixed: the result depends on the graph alone
# Two searches on one graph agree at 0.74 to 0.97 on a network with weak communities, so that one
# pair is not enough. Large graphs are searched twice, to save time.
_SEARCHES = 4
_SEARCHES_OF_LARGE_GRAPHS, _LARGE_EDGES = 2, 250_000


class CommunityFigures(NamedTuple):
    """The communities of one graph in a few numbers. Nodes without an edge are in none."""

    community_modularity: float
    communities: int  # with at least two nodes
    communities_for_half: int  # how many of the largest contain half of all nodes
    largest_community: float  # share of the nodes


class CommunityDraw(NamedTuple):
    """The communities of one draw, compared with those of the original."""

    figures: CommunityFigures
    foreign_modularity: float  # of the draw's communities, in the original
    agreement: float  # normalized mutual information with the original's, mean over searches


@dataclass(frozen=True, repr=False)
class CommunityUtility(Private):
    """How far the communities of a release agree with those of the original."""

    original: CommunityFigures
    self_agreement: float  # of two searches on the original, mean over all pairs of searches
    draws: list[CommunityDraw]

    @property
    def foreign_modularity(self) -> float:
        """Modularity of the released communities in the original, mean over the draws."""
        return float(np.mean([draw.foreign_modularity for draw in self.draws]))

    @property
    def agreement(self) -> float:
        """Agreement of original and release, mean over the draws."""
        return float(np.mean([draw.agreement for draw in self.draws]))

    @property
    def foreign_share(self) -> float:
        """`foreign_modularity` as a share of the modularity of the original's own communities."""
        own = self.original.community_modularity
        return self.foreign_modularity / own if own > 0 else 1.0


class PublicCommunities(NamedTuple):
    """What the report of a release shows about communities."""

    original: float  # modularity of the original's own communities
    published: float  # modularity of the release's own communities
    foreign: float  # modularity of the release's communities in the original
    agreement: float
    self_agreement: float
    foreign_kept: bool
    agreement_kept: bool | None  # None if the original's communities are not clear


def public_communities(found: CommunityUtility) -> PublicCommunities:
    """Return the figures of communities, to three digits."""
    published = float(np.mean([draw.figures.community_modularity for draw in found.draws]))
    clear = found.self_agreement > CLEAR_AGREEMENT
    return PublicCommunities(
        original=round(found.original.community_modularity, 3),
        published=round(published, 3),
        foreign=round(found.foreign_modularity, 3),
        agreement=round(found.agreement, 3),
        self_agreement=round(found.self_agreement, 3),
        foreign_kept=found.foreign_share >= FOREIGN_SHARE - 1e-9,
        agreement_kept=found.agreement >= AGREEMENT_SHARE * found.self_agreement - 1e-9
        if clear
        else None,
    )


def community_figures(graph: Graph, labels: np.ndarray) -> CommunityFigures:
    """Count and measure communities.

    >>> path = Graph.from_edges([0, 1, 3], [1, 2, 4], n_nodes=6)
    >>> community_figures(path, np.array([0, 0, 0, 1, 1, 2]))[1:]
    (2, 1, 0.5)
    """
    sizes = np.sort(np.bincount(labels))[::-1] if len(labels) else np.zeros(1, np.int64)
    reached = np.cumsum(sizes) * 2 >= len(labels)
    return CommunityFigures(
        modularity(graph, labels),
        int((sizes > 1).sum()),
        int(np.argmax(reached)) + 1,
        float(sizes[0] / max(len(labels), 1)),
    )


def independent_communities(graph: Graph, run: int = 0) -> np.ndarray:
    """Return the communities of a graph; each `run` uses a seed of its own."""
    return find_communities(graph, np.random.default_rng([_SEED, run]))


def assess_communities(
    original: Graph, releases: list[PublishedGraph], engine: Engine | None = None
) -> CommunityUtility:
    """Find communities several times in the original and once per draw, and compare them."""
    runs = _SEARCHES if original.n_edges <= _LARGE_EDGES else _SEARCHES_OF_LARGE_GRAPHS
    searches = [*((original, run) for run in range(runs)), *((graph, 0) for graph, _ in releases)]
    found = (engine or LocalEngine(1)).map(independent_communities, *zip(*searches, strict=True))
    own, drawn = found[:runs], found[runs:]
    return CommunityUtility(
        original=community_figures(original, own[0]),
        self_agreement=_mean([community_agreement(a, b) for a, b in combinations(own, 2)]),
        draws=[
            CommunityDraw(
                community_figures(graph, labels),
                foreign_modularity(original, labels, identity),
                _mean([community_agreement(one, labels[identity]) for one in own]),
            )
            for (graph, identity), labels in zip(releases, drawn, strict=True)
        ],
    )


def _mean(values: list[float]) -> float:
    return float(np.mean(values))
