"""What `GeneralizedKMeans` and `BlockModel` share: data, checkpoints, engines and results.

`fit` reads from top to bottom: check the parameters (`declaration` and `validation.py`), build the
objective where the engine works (`objectives/`), search, describe the result (`results.py`). Which
search runs is what the two classes decide.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from coterie.base import renderers
from coterie.base.errors import AssumptionWarning, InputError
from coterie.base.json_values import JsonObject
from coterie.base.progress import Callback, Iteration, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.data import Graph, Ratings
from coterie.data.foreign import as_graph
from coterie.engine import Engine, LocalEngine, running_engine
from coterie.engine.checkpoint import RunCheckpoint, check_checkpoint_options
from coterie.engine.sharded_data import ShardedGraph, ShardedRatings
from coterie.models.data_kinds import data_digest, digest
from coterie.models.foreign_data import networkx_copy, node_names
from coterie.models.hard.checkpoint import KIND, HardFitState, seed_name
from coterie.models.hard.connected import connect
from coterie.models.hard.costs import (
    BlockObjective,
    GaussianObjective,
    make_objective,
    objective_for,
)
from coterie.models.hard.costs.block_state import BlockState
from coterie.models.hard.costs.gaussian import nearest_centre
from coterie.models.hard.costs.interface import ClusterState, Labels, Objective
from coterie.models.hard.description.choice import description_length_of_result
from coterie.models.hard.explanation import explain
from coterie.models.hard.label_tools import x_log_x
from coterie.models.hard.link_scores import LinkScores, PredictedLinks
from coterie.models.hard.predictor import HardPredictor
from coterie.models.hard.search import SearchResult, SearchSettings, SearchTask
from coterie.models.hard.search.runs import run_all
from coterie.models.hard.validation import block_counts, given_labels
from coterie.models.rating_model import RatingModel

if TYPE_CHECKING:
    import networkx

    from coterie.models.hard.posterior import PosteriorSamples
    from coterie.report.interactive import InteractiveDrawing
    from coterie.report.picture import Picture

_AVERAGED = 50  # sampled partitions over which link scores are averaged, at most
_MAY_CHANGE_ON_RESUME = ("max_iter", "tol")  # of search="paper"
RENAMED = {  # attributes of earlier versions
    "user_labels_": "labels_[0]",
    "item_labels_": "labels_[1]",
    "objective_": "model_ of a BlockModel, or objective of a GeneralizedKMeans",
}


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


@dataclass
class FitJob:
    """One fit in progress."""

    objective: Objective
    data: Any
    state: HardFitState
    file: RunCheckpoint
    engine: Engine
    callback: Callback
    n_blocks: tuple[int, ...] = ()  # per side, if they are given
    start: Labels | None = None  # the first labels, if they are given
    began: float = 0.0  # when the search began

    def set_blocks(self, n_blocks: Any, init: Any, min_block_size: int) -> None:
        """Check the given numbers of blocks and first labels, and keep them."""
        sizes = self.objective.n_elements
        self.n_blocks = block_counts(n_blocks, sizes, min_block_size)
        self.start = given_labels(init, sizes, self.n_blocks, min_block_size)

    @property
    def seconds(self) -> float:
        """The time since the search began."""
        return time.perf_counter() - self.began


class HardClustering(RatingModel):
    """A model that puts every node into exactly one block."""

    graph_: Graph | None
    labels_: Any
    block_edges_: np.ndarray
    centers_: np.ndarray
    entropy_: float
    history_: list[Iteration]
    run_entropies_: list[float]
    n_blocks_: Any
    interrupted_: bool
    converged_: bool
    locally_optimal_: bool
    seconds_: float
    n_features_in_: int  # of points
    n_init: int
    min_block_size: int
    connected: bool
    rng: RandomState

    def fit(
        self,
        X: Graph | Ratings | ShardedGraph | ShardedRatings | np.ndarray,
        y: None = None,
        *,
        engine: str | Engine = "local",
        callback: Callback = silent,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int = 10,
        resume: bool = False,
    ) -> Self:
        """Cluster the data.

        Ctrl-C ends the search early, keeps the best labels so far and sets `interrupted_`.

        Parameters
        ----------
        X : Graph, Ratings, ShardedGraph, ShardedRatings or array of shape (n, n_features)
            The data that the model requires. A networkx or igraph graph or a scipy sparse matrix
            is accepted as a graph; its weights (edge attribute "weight", or the entries) are read
            by models of weights. Shards are loaded into the memory of this process, except by
            ``search="paper"``; with the Dask engine the workers read them again and plan the moves,
            which this process checks and makes.
        y : None
            Accepted for scikit-learn; has no effect.
        engine : str or Engine, default="local"
            Where the work runs: ``"local"`` (threads of this process), ``"dask"`` (a cluster that
            is started on this machine), or a `LocalEngine` or `DaskEngine`.
        callback : callable, optional
            Called with a `Progress` after each iteration. By default nothing is reported.
        checkpoint : path-like, optional
            File to which the search is saved.
        checkpoint_every : int, default=10
            Number of iterations of ``search="paper"`` between two saves. The other searches are
            saved after each of their steps, as long as that takes less than 3 % of the time.
        resume : bool, default=False
            Continue from `checkpoint` if the file exists. The result is the same as without
            interruption. With ``search="paper"`` `max_iter` and `tol` may differ from the earlier
            fit: a single run that has ended goes on if `max_iter` is larger or `tol` smaller now.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        InputError
            If a parameter is invalid, does not fit the data, or does not fit the checkpoint.

        Examples
        --------
        >>> import coterie as ct
        >>> g = ct.Graph.from_edges([0, 0, 1], [1, 2, 2])
        >>> ct.GeneralizedKMeans(1).fit(g).labels_
        array([0, 0, 0], dtype=int32)
        """
        if isinstance(y, str | Engine):  # it was the second argument before version 1
            raise InputError(
                f"`engine` is given by name, not by place: {y!r}", remedy="use `engine=`"
            )
        data = self._own_kind(X)
        self.check_request(
            engine, checkpoint=checkpoint, checkpoint_every=checkpoint_every, resume=resume
        )
        rng = as_generator(self.rng)
        file = RunCheckpoint(KIND)
        if checkpoint is not None:
            file = RunCheckpoint(KIND, checkpoint, checkpoint_every, self._fingerprint(data))
        state = file.load(HardFitState) if resume else None
        data, shards = self._take_data(data)
        settings = self._settings()
        with running_engine(engine) as running, self._driver(running) as driver:
            objective = objective_for(
                self._edge_model(),
                data,
                settings.move_score,
                running,
                sequential=settings.is_best,
                shards=shards,
            )
            job = FitJob(objective, data, state or HardFitState(rng), file, driver, callback)
            self._prepare(job)
            job.began = time.perf_counter()
            self._search(job)
        for sentence in self._remarks():
            warnings.warn(sentence, AssumptionWarning, stacklevel=2)
        return self

    def check_request(
        self,
        engine: str | Engine = "local",
        *,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int = 10,
        resume: bool = False,
    ) -> None:
        """Raise an error for a fit that cannot work, before any work is done.

        The data are not needed, so the command line can call this before it reads a file or starts
        a cluster.

        Parameters
        ----------
        engine : {"local", "dask"} or Engine, default="local"
            The argument that `fit` will be given, as are the others.
        checkpoint : str or path-like, optional
            The checkpoint to write.
        checkpoint_every : int, default=10
            Iterations between two checkpoints.
        resume : bool, default=False
            Whether `fit` will continue from the checkpoint.
        """
        self.check_parameters()
        if not (isinstance(engine, LocalEngine) or (isinstance(engine, str) and engine != "dask")):
            self._check_cluster()
        check_checkpoint_options(checkpoint, checkpoint_every, resume)

    def fit_predict(self, X: Graph | Ratings | np.ndarray, y: None = None, **options: Any) -> Any:
        """Cluster the data and return the labels.

        Parameters
        ----------
        X : Graph, Ratings or array of shape (n, n_features)
            The data that the model requires.
        y : None
            Accepted for scikit-learn; has no effect.
        **options
            Passed to `fit`.

        Returns
        -------
        ndarray of shape (n,), int32, or a pair of them
            `labels_`: the block of each node; for ratings of each user and of each item.

        Examples
        --------
        >>> import coterie as ct
        >>> ct.GeneralizedKMeans(1).fit_predict(ct.Graph.from_edges([0, 1], [1, 2]))
        array([0, 0, 0], dtype=int32)
        """
        return self.fit(X, y, **options).labels_

    def score(self, X: Graph | Ratings | np.ndarray, y: None = None) -> float:
        """Return minus the entropy of data in the fitted blocks; higher is better.

        Parameters
        ----------
        X : Graph, Ratings or array of shape (n, n_features)
            A graph or ratings of the nodes that the model was fitted to; other points are in the
            block of the nearest centre. Of real-valued weights only the edges count.
        y : None
            Accepted for scikit-learn; has no effect.

        Returns
        -------
        float
            In nats; of the data of the fit, ``-entropy_``.

        Examples
        --------
        >>> import numpy as np
        >>> import coterie as ct
        >>> m = ct.GeneralizedKMeans(2, objective="gaussian").fit(np.array([[0.0], [1.0], [5.0]]))
        >>> bool(np.isclose(m.score(np.array([[0.0], [1.0], [5.0]])), -m.entropy_))
        True
        """
        self._require_fit()
        data = self._own_kind(X)
        if isinstance(data, ShardedGraph | ShardedRatings):
            data = data.load()
        if self._data_type() is np.ndarray:
            points = self._points(data)
            squares = nearest_centre(points, self.centers_)[1]
            return -float(squares.sum() / 2 + points.size / 2 * math.log(2 * math.pi))
        objective = make_objective(self._edge_model(), data)
        if objective.n_elements != tuple(map(len, self._sides())):
            raise InputError(
                "these data have other nodes than those that the model was fitted to",
                remedy="give data of the same nodes",
            )
        counts = tuple(int(z.max(initial=-1)) + 1 for z in self._sides())
        return -float(objective.entropy(objective.start(self._sides(), counts)))

    def labels_by_id(self, data: Graph | Ratings) -> dict[Any, int] | tuple[dict[Any, int], ...]:
        """Return the block of each node by its original id.

        Parameters
        ----------
        data : Graph, networkx.Graph, igraph.Graph or Ratings
            The data that the model was fitted to.

        Returns
        -------
        dict, or tuple of two dict
            Block by id; for ratings one dictionary for users and one for items.

        Examples
        --------
        >>> import numpy as np
        >>> import coterie as ct
        >>> g = ct.Graph.from_edges([0], [1], ids=np.array(["ann", "bob"]))
        >>> ct.GeneralizedKMeans(1).fit(g).labels_by_id(g)
        {'ann': 0, 'bob': 0}
        """
        if not isinstance(data, Ratings):
            return dict(zip(node_names(data), self.labels_.tolist(), strict=True))
        ids = (data.user_ids, data.item_ids)
        return tuple(
            dict(zip(names.tolist(), labels.tolist(), strict=True))
            for names, labels in zip(ids, self.labels_, strict=True)
        )

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
        """Return the probability that pairs of nodes are edges that the graph does not have.

        A tenth of the edges is assumed to be missing at random. The pair itself is left out
        (leave-one-out): an edge that is in the graph does not add to its own score, so scores of
        present and absent pairs can be compared. High scores of absent pairs are links to expect;
        low scores of present edges are surprising ones.

        Parameters
        ----------
        u, v : node id, or array-like of node ids of shape (pairs,)
            The ends of each pair; for a directed graph from u to v.
        closure : bool, default=True
            Whether common neighbours and an approximation of low rank count besides the blocks.
            How much they count, and which probability belongs to a score, is learned from edges
            that are removed to see, if there are 50 edges or more. Without closure, the score is
            the probability of an edge in the block model, and all pairs of nodes of the same blocks
            and degrees have the same one.
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
    ) -> PredictedLinks:
        """Return the absent pairs with the highest probability of an edge.

        A tenth of the edges is assumed to be missing; see `score_pairs`.

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
        PredictedLinks
            A list of (node id, node id, float): the ends and the score (see `score_pairs`), the
            highest first. Fewer than `n` if the graph has fewer absent pairs. Its `calibration`
            says how often pairs with such probabilities were right when edges were removed.

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
        links = self._link_scores(closure, samples)
        first, second, scores = links.most_likely(int(n))
        names = graph.ids.tolist()
        rows = zip(first.tolist(), second.tolist(), scores.tolist(), strict=True)
        found = [(names[a], names[b], score) for a, b, score in rows]
        return PredictedLinks(found, links.calibration)

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

    def show(
        self,
        *,
        attributes: Any = None,
        samples: PosteriorSamples | None = None,
        block_names: Mapping[int, str] | None = None,
    ) -> InteractiveDrawing:
        """Draw the network to explore it: zoom, search, open and close blocks, change the level.

        Parameters
        ----------
        attributes : NodeTable or mapping of str to values, optional
            What nodes can be coloured by: columns with one value per node, or a mapping by id.
        samples : PosteriorSamples, optional
            Partitions of `sample`, to colour the nodes by confidence.
        block_names : mapping of int to str, optional
            Names of blocks.

        Returns
        -------
        InteractiveDrawing
            The drawing, which a notebook shows; `save` writes it as one HTML file.
        """
        data = vars(self).get("ratings_") or self._graph()
        drawing: InteractiveDrawing = renderers.render(
            renderers.CLUSTER_SHOW,
            self,
            data=data,
            attributes=attributes,
            samples=samples,
            block_names=block_names,
        )
        return drawing

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

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say the new name of an attribute of earlier versions."""
            new = f"; it is called {RENAMED[name]} now" if name in RENAMED else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{new}")

    def predictor(self, ratings: Ratings) -> HardPredictor:
        """Return what the model has learned from ratings, as a Recommender uses it.

        Parameters
        ----------
        ratings : Ratings
            The ratings that it was fitted to.

        Returns
        -------
        HardPredictor
            The blocks, and how often each rating occurs in each pair of blocks.
        """
        users, items = self.labels_
        return HardPredictor.of_blocks(users, items, ratings)

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn asks about the estimator."""
        from sklearn.utils import InputTags, Tags, TargetTags

        points = self._data_type() is np.ndarray
        return Tags(
            estimator_type="clusterer",
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=points, sparse=not points),
            no_validation=not points,
        )

    def check_parameters(self) -> None:
        """Raise InputError for a parameter that is invalid or does not fit the others."""
        super().check_parameters()
        settings = self._settings()
        points = self._data_type() is np.ndarray
        if settings.is_best and settings.move_score == "fixed" and not points:
            raise InputError(
                '`search="best"`, the default, does not support `move_score="fixed"`',
                remedy='use `search="paper"`',
            )

    # what the two classes decide

    @abstractmethod
    def _data_type(self) -> type:
        """Return the type of data that the model requires."""

    @abstractmethod
    def _edge_model(self) -> str:
        """Return the objective that says which pairs have an edge."""

    def _settings(self) -> SearchSettings:
        """Return how the entropy is minimised."""
        return SearchSettings.among(self.get_params())

    @abstractmethod
    def _search(self, job: FitJob) -> None:
        """Find the blocks and set the fitted attributes."""

    @abstractmethod
    def _check_cluster(self) -> None:
        """Raise an error if the search cannot run on a cluster."""

    def _prepare(self, job: FitJob) -> None:
        """Check what depends on the data, before any work is done."""

    def _remarks(self) -> list[str]:
        """Return what to warn about after the fit."""
        return []

    @property
    def _blocks_chosen(self) -> bool:
        """Whether the model chooses the number of blocks."""
        return False

    def _fitted_model(self) -> str:
        """Return the name of the model of the result."""
        return self._edge_model()

    # the fit

    def _own_kind(self, data: Any) -> Any:
        """Return a graph of another library as a `Graph`, for models of graphs."""
        if self._data_type() is not Graph:
            return data
        return as_graph(data, weighted=self._reads_weights())

    def _reads_weights(self) -> bool:
        """Return whether the model has weights."""
        return self._edge_model() == "weighted"

    def _take_data(self, data: Any) -> tuple[Any, ShardedGraph | None]:
        """Load shards that the search needs in memory, and keep the data for the results.

        Return the data, and the shards that a graph was loaded from."""
        shards = None
        if isinstance(data, ShardedRatings):
            data = data.load()  # items need rows too, and shards contain those of users only
        elif isinstance(data, ShardedGraph) and (self._settings().is_best or self._blocks_chosen):
            shards, data = data, data.load()
        if isinstance(data, Ratings):
            self.ratings_ = data
        self.graph_ = data if isinstance(data, Graph) else None
        if self.connected and self.graph_ is None:
            raise InputError(
                "`connected` blocks need a graph in memory",
                remedy="leave it out for ratings, points and shards",
            )
        return data, shards

    def _driver(self, engine: Engine) -> AbstractContextManager[Engine]:
        """Return the engine that a search uses: for a sequential one, threads of this process."""
        if self._settings().is_best and not isinstance(engine, LocalEngine):
            return LocalEngine()
        return nullcontext(engine)

    def _minimise_entropy(
        self, job: FitJob, n_blocks: tuple[int, ...], start: Labels | None
    ) -> None:
        """Search at these numbers of blocks and set the fitted attributes."""
        task = SearchTask(
            job.objective,
            n_blocks,
            job.state.rng,
            job.engine,
            self._settings(),
            start,
            job.callback,
        )
        self.interrupted_ = run_all(task, job.state, job.file)
        self.seconds_ = job.seconds
        chosen = min(job.state.finished, key=lambda run: run.entropy)
        job.callback(Progress("checking", 0, entropy=chosen.entropy))
        self._set_results(task, chosen)
        self.run_entropies_ = [run.entropy for run in job.state.finished]

    def _set_results(
        self, task: SearchTask, found: SearchResult, optimal: bool | None = None
    ) -> None:
        """Set the fitted attributes that describe the best clustering.

        `optimal` says whether it is locally optimal; None: check.
        """
        if self.connected:
            task, joined = self._connect(task, found)
            if not np.array_equal(joined.labels[0], found.labels[0]):
                optimal = False if optimal is not None else None
            found = joined
        objective = task.objective
        self.labels_ = found.labels[0] if len(found.labels) == 1 else found.labels
        state = objective.start(found.labels, task.n_blocks)
        self.entropy_ = objective.entropy(state)
        self.history_ = found.history
        self.converged_ = found.converged
        occupied = tuple(int((sizes > 0).sum()) for sizes in state.sizes)
        self.n_blocks_ = occupied[0] if len(occupied) == 1 else occupied
        if isinstance(objective, GaussianObjective):
            self.centers_ = objective.centers(state)
            self.n_features_in_ = self.centers_.shape[1]
        if isinstance(objective, BlockObjective):
            edges, pairs = self.block_edges_, self.block_pairs_ = _cells(objective, state)
            out_of = pairs if pairs.ndim == edges.ndim else pairs[:, :, None]
            self.block_probabilities_ = np.divide(
                edges, out_of, out=np.zeros_like(edges), where=out_of > 0
            )
        if optimal is None:
            optimal = not found.interrupted and is_locally_optimal(
                objective, state, task.engine, self.min_block_size
            )
        self.locally_optimal_ = optimal

    def _connect(self, task: SearchTask, found: SearchResult) -> tuple[SearchTask, SearchResult]:
        """Return the result with connected blocks."""
        objective, graph = task.objective, self._graph()
        assert isinstance(objective, BlockObjective)
        name = self._fitted_model()
        length = partial(description_length_of_result, name, objective, graph)
        requested = None if self._blocks_chosen else task.n_blocks[0]
        labels = connect(name, graph, found.labels[0], requested, length)
        if requested is None:
            self.description_length_ = length(labels)
        count = max(int(labels.max(initial=-1)) + 1, requested or 1)
        return replace(task, n_blocks=(count,)), found._replace(labels=(labels,))

    def _fingerprint(self, data: Any) -> JsonObject:
        """Return what a checkpoint must agree with: the data and the parameters of the run."""
        free = ("rng",) if self._settings().is_best else ("rng", *_MAY_CHANGE_ON_RESUME)
        given = {n: v for n, v in self.get_params().items() if n not in free}
        for name, value in given.items():
            if name == "init" and not isinstance(value, str):
                given[name] = digest(value if isinstance(value, tuple) else [value])
            elif isinstance(value, tuple):
                given[name] = list(value)
        seed = seed_name(self.rng)
        return {"model": type(self).__name__, "data": data_digest(data), "seed": seed, **given}

    # what the results need

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
        """Return the scores of pairs; those of the last call are used again."""
        wanted = (self._graph(), self.labels_, samples, closure)
        known = vars(self).get("_known_scores")
        if known is not None and all(a is b for a, b in zip(known[0], wanted, strict=True)):
            return known[1]  # type: ignore[no-any-return]
        self._known_scores = (wanted, self._new_link_scores(closure, samples))
        return self._known_scores[1]

    def _new_link_scores(self, closure: bool, samples: PosteriorSamples | None) -> LinkScores:
        partitions = [self.labels_]
        if samples is not None:
            drawn = samples.labels_
            chosen = np.linspace(0, len(drawn) - 1, min(len(drawn), _AVERAGED)).astype(int)
            partitions = list(drawn[chosen])
        model = self.facts().model

        def refit(graph: Graph, labels: np.ndarray) -> np.ndarray:
            from coterie.models.hard.posterior import adapted  # here: it loads the searches

            return adapted(graph, labels, model)

        return LinkScores(
            self._edge_model(), self._graph(), partitions, closure=closure, refit=refit
        )

    # scikit-learn

    def _sides(self) -> Labels:
        """Return the labels of each side."""
        return self.labels_ if isinstance(self.labels_, tuple) else (self.labels_,)

    def _require_fit(self) -> None:
        """Raise an error for a model that is not fitted."""
        if "labels_" in vars(self):
            return
        problem = f"this {type(self).__name__} is not fitted yet: call `fit` first"
        if "sklearn" in sys.modules:  # its tools expect its own error
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(problem)
        raise InputError(problem)

    def _points(self, data: Any) -> np.ndarray:
        """Return points with the features of the fit, checked."""
        points: np.ndarray = make_objective("gaussian", data).given
        if points.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {points.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input",
                remedy="give the features of the fit",
            )
        return points


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


_CHUNK = 1 << 21  # elements scored at once


def _cells(objective: BlockObjective, state: BlockState) -> tuple[np.ndarray, np.ndarray]:
    """Return the totals (edges, inner ones once, weights, or ratings) and pairs of the cells.

    For ratings, cells are user blocks x item blocks; the totals have a third dimension, the levels,
    and the pairs are numbers of ratings."""
    counts = state.counts[0]
    if len(state.n_blocks) == 1:
        k = state.n_blocks[0]
        sizes = state.sizes[0]
        pairs = np.outer(sizes, sizes)
        inner = sizes * (sizes - 1)
        np.fill_diagonal(pairs, inner if objective.name == "directed" else inner / 2)
        return counts[:k].T.copy(), pairs
    k, q = state.n_blocks
    channels = counts.reshape(-1, q, k).transpose(2, 1, 0)  # user block, item block, channel
    if objective.name == "likes":
        return channels[:, :, 0].copy(), np.outer(state.sizes[0], state.sizes[1])
    if objective.name == "binomial":
        return channels[:, :, 0].copy(), channels[:, :, 2].copy()
    return channels[:, :, :-1].copy(), channels[:, :, -1].copy()


def is_locally_optimal(
    objective: Objective, state: ClusterState, engine: Engine, min_block_size: int
) -> bool:
    """Return whether no single move that `min_block_size` allows lowers S.

    This takes one pass over all elements, with exact scores whatever the search used.
    """
    for side, n in enumerate(objective.n_elements):
        objective.prepare(state, side, engine, score="exact")
        sizes, labels = state.sizes[side], state.labels[side]
        for start in range(0, n, _CHUNK):
            elements = np.arange(start, min(n, start + _CHUNK))
            elements = elements[sizes[labels[elements]] - 1 >= min_block_size]
            plan = objective.plan_moves(state, side, elements, engine, score="exact")
            if (plan.wanted != labels[elements]).any():
                return False
    return True


_CLOSED_FORM = ("simple", "directed", "weighted", "degree-corrected")


def join_costs(
    objective: str,
    labels: np.ndarray,
    block_edges: np.ndarray,
    outgoing: tuple[np.ndarray, np.ndarray],
    incoming: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Return (float64, (k,)) the entropy with the new node in each block, up to a constant.

    `outgoing` and `incoming` are node numbers and weights of the edges; an undirected graph has
    outgoing ones only.
    """
    if objective not in _CLOSED_FORM:
        raise InputError(
            f"new nodes are not placed by the objective {objective!r}",
            remedy=f"use one of {', '.join(_CLOSED_FORM)}",
        )
    k = len(block_edges)
    sizes = np.bincount(labels, minlength=k).astype(np.float64)
    x = np.bincount(labels[outgoing[0]], outgoing[1], minlength=k)
    edges = block_edges.astype(np.float64)
    if objective == "degree-corrected":
        return _degree_corrected(edges, x)
    pairs = np.outer(sizes, sizes)
    own = np.arange(k)
    if objective == "directed":
        back = np.bincount(labels[incoming[0]], incoming[1], minlength=k)
        pairs[own, own] = sizes * (sizes - 1)
        row, column = edges + x, edges.T + back  # the node in block y: row y, and column y
        more = sizes[None, :] + np.zeros((k, 1))  # pairs that the node adds to cell (y, j)
        cost = _cell(row, pairs + more) - _cell(edges, pairs)
        other = _cell(column, pairs.T + more) - _cell(edges.T, pairs.T)
        inner = _cell(edges[own, own] + x + back, pairs[own, own] + 2 * sizes) - _cell(
            edges[own, own], pairs[own, own]
        )
        both = cost + other
        both[own, own] = inner
        return np.asarray(both.sum(1))
    pairs[own, own] = sizes * (sizes - 1) / 2
    cell = _poisson if objective == "weighted" else _cell
    return np.asarray((cell(edges + x, pairs + sizes) - cell(edges, pairs)).sum(1))


def _degree_corrected(edges: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the change of sum_r g(K_r) - (1/2) sum_rs g(e_rs), with e_rr twice the inner edges."""
    k = len(edges)
    own = np.arange(k)
    ends = edges + np.diag(np.diag(edges))
    degrees = ends.sum(1)
    total = x.sum()
    with_edges = degrees + x  # the neighbours have one more edge in any case
    change = x_log_x(with_edges + total) - x_log_x(with_edges)
    cells = x_log_x(ends + x) - x_log_x(ends)
    cells[own, own] = (x_log_x(ends[own, own] + 2 * x) - x_log_x(ends[own, own])) / 2
    return np.asarray(change - cells.sum(1))


def _cell(d: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the entropy of Bernoulli cells; parallel edges to a new node are not possible."""
    return np.asarray(x_log_x(pairs) - x_log_x(d) - x_log_x(np.maximum(pairs - d, 0)))


def _poisson(weight: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the entropy of Poisson cells without the constant of the weights."""
    rate = np.divide(weight, pairs, out=np.ones(weight.shape), where=(weight > 0) & (pairs > 0))
    return np.asarray(weight - weight * np.log(rate))
