"""What a clustering offers besides its labels: communities, scores, explanations, pictures.

`GeneralizedKMeans` and `BlockModel` inherit these methods. They work on the graph of the last fit,
`graph_`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.base import renderers
from coterie.base.errors import InputError
from coterie.data import Graph, Ratings
from coterie.models.base import Estimator
from coterie.models.foreign_data import networkx_copy, node_names
from coterie.models.hard.costs.gaussian import nearest_centre
from coterie.models.hard.explanation import explain
from coterie.models.hard.link_scores import LinkScores
from coterie.models.hard.new_nodes import join_costs

if TYPE_CHECKING:
    import networkx

    from coterie.models.hard.posterior import PosteriorSamples
    from coterie.report.picture import Picture

_AVERAGED = 50  # sampled partitions over which link scores are averaged, at most


@dataclass(frozen=True)
class ClusteringFacts:
    """What a report and the command line show of a fitted clustering, whatever its class."""

    model: str  # of the result: "simple", "communities", …
    model_chosen: bool  # by the fit
    blocks_chosen: bool  # their number, by the fit
    description_length: float | None  # in nats, if it was computed
    minimised_length: bool  # the search minimised the description length: `history_` has it
    levels: tuple[np.ndarray, ...]  # of a hierarchy: the labels per level
    counts_weights: bool  # a cell of the block matrix has the total weight, not a number of edges
    merges_first: bool  # the search begins by merging many small blocks


class GraphResults(Estimator):
    """Methods of a fitted hard clustering that need the graph."""

    graph_: Graph | None
    labels_: Any
    interrupted_: bool
    block_edges_: np.ndarray
    centers_: np.ndarray

    def communities(self, graph: Any = None) -> list[set[Any]]:
        """Return the blocks as a list of sets of nodes, as networkx does.

        Parameters
        ----------
        graph : Graph, networkx.Graph, igraph.Graph or scipy sparse matrix, optional
            The graph that the model was fitted to. By default, the one that `fit` was given.

        Returns
        -------
        list of set
            The nodes of each block, named as in the graph, in the order of the block numbers.
            Empty blocks are left out, so the sets are a partition.

        Raises
        ------
        InputError
            If the model was not fitted to a graph, or the graph has another number of nodes.

        Examples
        --------
        >>> import networkx
        >>> import coterie as ct
        >>> G = networkx.Graph([("ann", "bob"), ("cat", "dan")])
        >>> found = ct.GeneralizedKMeans(1).fit(G).communities(G)
        >>> found == [{"ann", "bob", "cat", "dan"}]
        True
        >>> networkx.community.is_partition(G, found)
        True
        """
        names = self._names(graph)
        order = np.argsort(self.labels_, kind="stable")
        cuts = np.flatnonzero(np.diff(self.labels_[order])) + 1
        parts = np.split(order, cuts) if len(order) else []
        return [{names[v] for v in part.tolist()} for part in parts]

    def to_networkx(
        self, graph: Any = None, *, samples: PosteriorSamples | None = None
    ) -> networkx.Graph:
        """Return the graph as a networkx graph with the block of each node.

        Parameters
        ----------
        graph : networkx.Graph, Graph, igraph.Graph or scipy sparse matrix, optional
            The graph that the model was fitted to. A networkx graph is copied with all its
            attributes. By default, the one that `fit` was given.
        samples : PosteriorSamples, optional
            What `sample` returned, to add how certain the blocks are.

        Returns
        -------
        networkx.Graph or networkx.DiGraph
            A graph whose nodes have the attribute "block", and with `samples` "confidence".

        Examples
        --------
        >>> import coterie as ct
        >>> G = ct.GeneralizedKMeans(1).fit(ct.Graph.from_edges(["ann"], ["bob"])).to_networkx()
        >>> dict(G.nodes(data="block"))
        {'ann': 0, 'bob': 0}
        """
        names = self._names(graph)
        copy = networkx_copy(self._graph() if graph is None else graph)
        for name, block in zip(names, self.labels_.tolist(), strict=True):
            copy.nodes[name]["block"] = block
        if samples is not None:
            for name, value in zip(names, samples.confidence_.tolist(), strict=True):
                copy.nodes[name]["confidence"] = value
        return copy

    def predict(self, neighbours: Any, *, predecessors: Sequence[Any] | None = None) -> np.ndarray:
        """Return the block of new nodes with known edges; the model does not change.

        Each new node is added on its own, to the block in which the entropy of the graph with it
        is lowest. This is how the search decides for a node that is in the graph.

        Parameters
        ----------
        neighbours : sequence of sequences of node ids
            The neighbours of each new node; for a directed graph, the nodes that it points to. For
            a weighted graph, one dictionary of weights by node id per new node. For points
            (``objective="gaussian"``), an array of shape (new points, n_features).
        predecessors : sequence of sequences of node ids, optional
            The nodes that point to each new node (directed graphs only). By default none.

        Returns
        -------
        ndarray of shape (new nodes,), int32
            The block of each new node.

        Raises
        ------
        InputError
            If a neighbour is not in the graph.

        Examples
        --------
        Two triangles, joined by one edge; a new node with edges to one of them:

        >>> import coterie as ct
        >>> g = ct.Graph.from_edges([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3])
        >>> m = ct.GeneralizedKMeans(2, rng=0).fit(g)
        >>> bool(m.predict([[3, 4]])[0] == m.labels_[5])
        True
        """
        self._require_fit()
        if self._data_type() is np.ndarray:
            return nearest_centre(self._points(neighbours), self.centers_)[0]
        graph = self._graph()
        place = _places(graph)
        if predecessors is not None and not graph.directed:
            raise InputError(
                "`predecessors` were given, but the graph has no directions",
                remedy="give all neighbours together",
            )
        back = [()] * len(neighbours) if predecessors is None else predecessors
        if len(back) != len(neighbours):
            raise InputError(
                f"{len(neighbours)} lists of neighbours and {len(back)} of predecessors",
                remedy="give one of each per new node",
            )
        blocks = [
            join_costs(
                self._edge_model(),
                graph,
                self.labels_,
                np.asarray(self.block_edges_),
                _ends(outgoing, place),
                _ends(incoming, place),
            ).argmin()
            for outgoing, incoming in zip(neighbours, back, strict=True)
        ]
        return np.array(blocks, np.int32)

    def score_pairs(
        self,
        u: Any,
        v: Any,
        *,
        closure: bool = True,
        samples: PosteriorSamples | None = None,
    ) -> np.ndarray:
        """Return the probability of an edge between pairs of nodes, present or absent.

        The pair itself is left out (leave-one-out): an edge that is in the graph does not add to
        its own score, so scores of present and absent pairs can be compared. High scores of absent
        pairs are links to expect; low scores of present edges are surprising ones.

        Parameters
        ----------
        u, v : node id, or array-like of node ids of shape (pairs,)
            The ends of each pair; for a directed graph from u to v.
        closure : bool, default=True
            Whether common neighbours add to the probability of the block model. How much they
            count is learned from the graph itself. Without them, all pairs of nodes of the same
            blocks and degrees have the same score.
        samples : PosteriorSamples, optional
            What `sample` returned: the probabilities of the block model are averaged over its
            partitions (at most 50 of them). By default, the fitted blocks are used.

        Returns
        -------
        ndarray of float64 of shape (pairs,)
            The probabilities; 0 for a node and itself.

        Raises
        ------
        InputError
            If a node is not in the graph.

        Examples
        --------
        >>> import coterie as ct
        >>> g = ct.Graph.from_edges([0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3])
        >>> inside, across = ct.GeneralizedKMeans(2, rng=0).fit(g).score_pairs([0, 0], [1, 4])
        >>> bool(inside > across)
        True
        """
        graph = self._graph()
        place = _places(graph)
        first, second = (_numbers(_as_list(side, place), place) for side in (u, v))
        first, second = np.broadcast_arrays(first, second)
        return self._link_scores(closure, samples).score(first, second)

    def predict_links(
        self, n: int = 10, *, closure: bool = True, samples: PosteriorSamples | None = None
    ) -> list[tuple[Any, Any, float]]:
        """Return the absent pairs with the highest probability of an edge.

        Parameters
        ----------
        n : int, default=10
            Number of pairs.
        closure : bool, default=True
            Whether common neighbours count; see `score_pairs`.
        samples : PosteriorSamples, optional
            What `sample` returned; see `score_pairs`.

        Returns
        -------
        list of (node id, node id, float)
            The ends and the score (see `score_pairs`), the highest first. Fewer than `n` if the
            graph has fewer absent pairs.

        Examples
        --------
        >>> import coterie as ct
        >>> g = ct.Graph.from_edges([0, 0, 1, 1, 2], [1, 2, 2, 3, 3])
        >>> [(u, v) for u, v, _ in ct.GeneralizedKMeans(1).fit(g).predict_links(3)]
        [(0, 3)]
        """
        if not isinstance(n, int | np.integer) or n < 1:
            raise InputError(f"invalid number of links: {n!r}", remedy="give an integer above 0")
        graph = self._graph()
        first, second, scores = self._link_scores(closure, samples).most_likely(int(n))
        names = graph.ids.tolist()
        rows = zip(first.tolist(), second.tolist(), scores.tolist(), strict=True)
        return [(names[a], names[b], score) for a, b, score in rows]

    def explain(self) -> list[str]:
        """Say in sentences what the blocks are, and what to try instead.

        Returns
        -------
        list of str
            Whether a grouping was found, whether the blocks are roles (similar neighbours) or
            communities (many edges inside), and how many are not connected.

        Examples
        --------
        >>> import coterie as ct
        >>> star = ct.Graph.from_edges([0, 0, 0, 0], [1, 2, 3, 4])
        >>> print(ct.GeneralizedKMeans(2).fit(star).explain()[0][:42])
        These blocks are roles, not communities: n
        """
        facts = self.facts()
        return explain(
            self._graph(),
            self.labels_,
            facts.model,
            chosen=facts.blocks_chosen and not self.interrupted_,
            nested=bool(facts.levels),
        )

    @abstractmethod
    def facts(self) -> ClusteringFacts:
        """Return what a report shows of the fitted model.

        Returns
        -------
        ClusteringFacts
            The model of the result, what was chosen, and what the search minimised.
        """

    @abstractmethod
    def _data_type(self) -> type:
        """Return the type of data that the model requires."""

    @abstractmethod
    def _edge_model(self) -> str:
        """Return the objective that says which pairs have an edge."""

    @abstractmethod
    def _require_fit(self) -> None:
        """Raise an error for a model that is not fitted."""

    @abstractmethod
    def _points(self, data: Any) -> np.ndarray:
        """Return points with the features of the fit, checked."""

    def plot(
        self, path: str | PathLike[str] | None = None, *, title: str = "", **style: Any
    ) -> Picture:
        """Draw the network in the colours of the blocks, the convergence and the block matrix.

        With a style, only the network is drawn, for a paper.

        Parameters
        ----------
        path : str or path-like, optional
            File to write; the suffix gives the format: .svg, .png, which requires the package
            resvg_py (`pip install 'coterie[png]'`), or .pdf, which requires an installed browser.
            By default no file is written.
        title : str, default=""
            A title above the picture.
        **style
            How the network looks: `color` ("block", or a value per node as a sequence or by id),
            `palette` ("okabe-ito", "viridis", "grey", "page" or up to seven colours),
            `block_names` (a mapping), `hulls` (an area around each block), `n_names` (nodes
            named), `node_size`, `font` and `font_size`.

        Returns
        -------
        Picture
            The drawing, which a notebook shows; `save` writes it to a file. Above 3,000 nodes
            nodes that are close together are one dot, above 50,000 the blocks are drawn; for
            ratings there is no drawing of the network.
        """
        data = vars(self).get("ratings_") or self._graph()
        picture: Picture = renderers.render(
            renderers.CLUSTER_PLOT, self, data=data, title=title, **style
        )
        if path is not None:
            picture.save(path)
        return picture

    def report(self, path: str | PathLike[str] | None = None, *, name: str = "the graph") -> str:
        """Return the report of the clustering as one HTML page.

        Parameters
        ----------
        path : str or path-like, optional
            File to write, .html, or .pdf, which requires an installed browser. By default no file
            is written.
        name : str, default="the graph"
            What the page calls the data.

        Returns
        -------
        str
            The page; it fetches nothing from the network.
        """
        data = vars(self).get("ratings_") or self._graph()
        html: str = renderers.render(renderers.CLUSTER_REPORT, self, data=data, name=name)
        if path is not None:
            renderers.render(renderers.PAGE_FILE, html, path=path)
        return html

    def _graph(self) -> Graph:
        """Return the graph of the last fit."""
        graph: Graph | None = vars(self).get("graph_")
        if graph is None:
            raise InputError(
                "this needs a clustering of a graph in memory",
                remedy="call `fit` with a graph first (not with ratings, points or shards)",
            )
        return graph

    def _names(self, graph: Any) -> list[Any]:
        """Return the nodes of the given graph, or of the one of the last fit."""
        self._require_fit()
        if isinstance(graph, Ratings) or isinstance(self.labels_, tuple):
            raise InputError(
                "users and items are not the nodes of one graph", remedy="use `labels_by_id`"
            )
        names = node_names(self._graph() if graph is None else graph)
        if len(names) != len(self.labels_):
            raise InputError(
                f"the graph has {len(names):,} nodes, the model was fitted to "
                f"{len(self.labels_):,}",
                remedy="give the graph that the model was fitted to",
            )
        return names

    def _link_scores(self, closure: bool, samples: PosteriorSamples | None) -> LinkScores:
        partitions = [self.labels_]
        if samples is not None:
            drawn = samples.labels_
            chosen = np.linspace(0, len(drawn) - 1, min(len(drawn), _AVERAGED)).astype(int)
            partitions = list(drawn[chosen])
        return LinkScores(self._edge_model(), self._graph(), partitions, closure=closure)


def _places(graph: Graph) -> dict[Any, int]:
    return {name: number for number, name in enumerate(graph.ids.tolist())}


def _as_list(ids: Any, place: Mapping[Any, int]) -> list[Any]:
    """Return ids as a list; one id, which may be text or a tuple, is a list of one."""
    if isinstance(ids, np.ndarray):
        return list(np.atleast_1d(ids).tolist())
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        return [ids]
    return [ids] if isinstance(ids, tuple) and ids in place else list(ids)


def _numbers(ids: Sequence[Any], place: Mapping[Any, int]) -> np.ndarray:
    missing = next((name for name in ids if name not in place), None)
    if missing is not None:
        raise InputError(
            f"the graph has no node {missing!r}", remedy="give ids as they are in `graph.ids`"
        )
    return np.array([place[name] for name in ids], np.int64)


def _ends(given: Any, place: Mapping[Any, int]) -> tuple[np.ndarray, np.ndarray]:
    """Return node numbers and weights of the edges of a new node; repeated ones count once."""
    if isinstance(given, Mapping):
        names = list(given)
        return _numbers(names, place), np.array([float(given[name]) for name in names])
    names = list(dict.fromkeys(_as_list(given, place)))
    return _numbers(names, place), np.ones(len(names))
