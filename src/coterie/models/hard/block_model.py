"""BlockModel: blocks, their number, a hierarchy or the model, chosen by description length."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from coterie.base.errors import InputError
from coterie.base.json_values import JsonObject
from coterie.base.progress import Callback, silent
from coterie.base.randomness import RandomState
from coterie.data import Graph, Ratings
from coterie.data.foreign import as_graph
from coterie.engine import Engine
from coterie.engine.sharded_data import ShardedGraph
from coterie.models.data_kinds import digest
from coterie.models.declaration import (
    SEED,
    Ability,
    Constraint,
    DataKind,
    Declaration,
    Flag,
    Groups,
    Integer,
    OneOf,
    Optional,
    Real,
)
from coterie.models.hard.changes import BlockChanges, Event, block_events
from coterie.models.hard.checkpoint import ChosenBlocks, save_fit, search_saver
from coterie.models.hard.clustering import ClusteringFacts, FitJob, HardClustering
from coterie.models.hard.constraints import GivenBlocks, given_blocks, gone_nodes
from coterie.models.hard.costs import OBJECTIVES, BlockObjective, objective_for
from coterie.models.hard.costs.interface import Labels
from coterie.models.hard.description.choice import (
    CHOICES,
    DENSITIES,
    choose_description,
    description_length_of,
    description_length_of_result,
    graph_objective,
    is_described,
    model_assumption,
)
from coterie.models.hard.description.comparison import ComparedModel, compare_models
from coterie.models.hard.description.directed_weighted import DIRECTED, cell_data
from coterie.models.hard.description.fit import Described, DescriptionRun
from coterie.models.hard.k_means import merging_start
from coterie.models.hard.posterior import PosteriorSamples, sample_partitions
from coterie.models.hard.search import SEARCH_PARAMETERS, SearchResult, SearchTask, auto_k
from coterie.models.hard.validation import check_block_model, check_memory
from coterie.models.hard.weight_models import COUNTS, WEIGHT_MODELS, mean_weights, weight_model

_PARAMETERS: dict[str, Constraint] = {
    "model": OneOf(*CHOICES),
    "n_blocks": Optional(Integer(1)),
    "nested": Flag(),
    "density": Optional(OneOf(*DENSITIES)),
    "effort": Real(least=1),
    "n_init": Integer(1),
    "min_block_size": Integer(0),
    "connected": Flag(),
    "weight_model": OneOf(*WEIGHT_MODELS),
    "rng": SEED,
}


class BlockModel(HardClustering):
    """Inference of a stochastic block model by its description length.

    Finds the blocks that describe the data in the fewest nats, whatever their number. Every move
    and merge is judged by the description length; for ratings, likes and fractional weights the
    numbers of blocks are compared after a search at each. The whole data must fit into the memory
    of one machine.

    Parameters
    ----------
    model : str, default="auto"
        The model of the data. For a `Graph`: ``"simple"`` (undirected, unweighted),
        ``"degree-corrected"`` (Karrer & Newman, 2011), ``"communities"`` (degree-corrected, with
        few densities, see `density`; Zhang & Peixoto, 2020), ``"auto"`` (whichever of these has
        the shortest description, communities with both kinds of `density`), ``"directed"``,
        ``"directed-degree-corrected"`` or ``"weighted"``. For `Ratings`: ``"ratings"``,
        ``"binomial"`` or ``"likes"``.
    n_blocks : int, optional
        Number of blocks, for real-valued weights (see `weight_model`). By default it is chosen. For
        a given number of blocks without them, use `GeneralizedKMeans`.
    nested : bool, default=False
        Whether to find a hierarchy, blocks of blocks, which can tell apart more and smaller blocks
        (Peixoto, 2014). For the models ``"simple"``, ``"degree-corrected"`` and ``"auto"`` (of
        these two).
    density : {"per-block", "uniform"}, optional
        The densities of ``"communities"``: one inside each block (the default) or one inside all
        blocks; both have one between blocks. ``model_`` is then ``"communities"`` or
        ``"uniform-communities"``. With ``"auto"`` only this kind is tried.
    effort : float, default=1
        How long to search, in about the time of a fit with the default. What is above 1 is spent
        on splitting and merging random blocks and keeping what shortens the description. Graphs
        only; with real-valued weights it multiplies the number of perturbations.
    n_init : int, default=1
        Number of runs per model; the shortest description is kept.
    min_block_size : int, default=0
        Minimum number of nodes per block.
    connected : bool, default=False
        Whether every block must be connected (graphs only). Blocks that fall apart are split, and
        adjacent parts are merged again to the shortest description.
    weight_model : {"counts", "normal", "lognormal", "exponential"}, default="counts"
        What weights are. ``"counts"``: numbers of events; ``model="weighted"`` has Poisson cells,
        and a pair without an edge has weight 0. The others are for measured values on the edges
        that exist: which pairs have an edge is described by `model` (``"weighted"`` means
        ``"simple"``; also ``"degree-corrected"``, ``"directed"``,
        ``"directed-degree-corrected"``), and the weights of a cell have one normal, log-normal or
        exponential distribution, integrated over a conjugate prior (Peixoto, 2018). ``"normal"``
        allows negative weights.
    rng : int, numpy.random.Generator or None, default=0
        Seed. The same seed gives the same result for any number of threads. None uses fresh
        entropy from the operating system.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int32, or a pair of them
        Block of each node; for ratings the blocks of the users and those of the items.
    n_blocks_ : int or tuple of int
        Number of blocks.
    model_ : str
        The model of the result: the one that was chosen for ``model="auto"``, else `model`.
    description_length_ : float
        Description length of the result in nats. Graphs are described as multigraphs, so the
        lengths of the models ``"simple"``, ``"degree-corrected"`` and ``"communities"`` on one
        graph can be compared.
    description_lengths_ : dict of tuple to float
        The shortest description length in nats of every number of blocks that was tried.
    block_names_ : list
        The name of each block number, for graphs: that of `start` or `frozen` where the block
        persists, else the number.
    levels_ : list of ndarray of shape (n,), int32
        The hierarchy (``nested=True``): the block of each node per level, from the smallest blocks,
        which are also `labels_`, to the largest. The level with one block is left out.
    entropy_ : float
        Entropy S of the result in nats.
    block_edges_, block_pairs_, block_probabilities_ : ndarray
        The block matrix; see `GeneralizedKMeans`.
    block_weights_ : ndarray of shape (k, k)
        Mean weight of the edges of each cell, NaN without edges; for `weight_model` other than
        ``"counts"``. `block_edges_` then has numbers of edges.
    history_ : list of Iteration
        ``iteration``, ``seconds``, ``entropy`` and ``moved`` of each iteration of the best run. For
        graphs ``entropy`` is the description length.
    run_entropies_ : list of float
        Entropy of each run.
    converged_ : bool
        Whether the search stopped by itself.
    locally_optimal_ : bool
        Whether no single move to any block, or to a block of its own, shortens the description; for
        ratings and fractional weights whether none lowers S.
    interrupted_ : bool
        Whether Ctrl-C ended the search; the other attributes describe the best result so far.
    seconds_ : float
        Time of the search, without compiling.
    graph_ : Graph or None
        The graph that the model was fitted to; None for ratings.
    ratings_ : Ratings
        The ratings that the model was fitted to.

    See Also
    --------
    GeneralizedKMeans : The lowest entropy with a given number of blocks.
    compare_models : Describe a graph by every model.

    References
    ----------
    T. P. Peixoto. Hierarchical block structures and high-resolution model selection in large
    networks. Physical Review X 4, 011047, 2014.

    T. P. Peixoto. Nonparametric Bayesian inference of the microcanonical stochastic block model.
    Physical Review E 95, 012317, 2017.

    T. P. Peixoto. Nonparametric weighted stochastic block models. Physical Review E 97, 012306,
    2018.

    L. Zhang and T. P. Peixoto. Statistical inference of assortative community structures. Physical
    Review Research 2, 043271, 2020.

    Examples
    --------
    >>> import networkx
    >>> import coterie as ct
    >>> m = ct.BlockModel(rng=0).fit(networkx.karate_club_graph())
    >>> m.model_, m.n_blocks_, round(m.description_length_, 1)
    ('simple', 2, 215.3)
    """

    declaration = Declaration(
        name="block-model",
        assumptions={
            DataKind.GRAPH: model_assumption("auto"),
            DataKind.RATINGS: model_assumption("ratings"),
        },
        parameters=_PARAMETERS,
        abilities=frozenset({Ability.PREDICT, Ability.SAMPLE, Ability.CHECKPOINT, Ability.LEVELS}),
        groups=Groups.BLOCKS,
    )
    _SMALLEST: ClassVar[dict[str, Any]] = {"n_init": 1, "min_block_size": 0, "rng": 0}

    model_: str
    description_length_: float
    description_lengths_: dict[tuple[int, ...], float]
    levels_: list[np.ndarray]
    block_names_: list[Any]
    _given = GivenBlocks()

    def __init__(
        self,
        model: str = "auto",
        *,
        n_blocks: int | None = None,
        nested: bool = False,
        density: str | None = None,
        effort: float = 1,
        n_init: int = 1,
        min_block_size: int = 0,
        connected: bool = False,
        weight_model: str = COUNTS,
        rng: RandomState = 0,
    ) -> None:
        self.model = model
        self.n_blocks = n_blocks
        self.nested = nested
        self.density = density
        self.effort = effort
        self.n_init = n_init
        self.min_block_size = min_block_size
        self.connected = connected
        self.weight_model = weight_model
        self.rng = rng

    def check_parameters(self) -> None:
        """Raise InputError for a parameter that is invalid or does not fit the others."""
        super().check_parameters()
        check_block_model(self)

    def fit(
        self,
        X: Any,
        y: None = None,
        *,
        start: Any = None,
        frozen: Any = None,
        never_together: Any = None,
        must_link: Any = None,
        **options: Any,
    ) -> Self:
        """Find the blocks.

        Parameters
        ----------
        X : Graph, Ratings, ShardedGraph or ShardedRatings
            The data; see `GeneralizedKMeans.fit`. The following four arguments need a graph.
        y : None
            Accepted for scikit-learn; has no effect.
        start : fitted model, mapping, table or array of labels, optional
            Blocks to begin with: an earlier `BlockModel`, the block by node id, a table whose
            first columns are node and block, or one label per node. Nodes are found by their ids;
            new ones begin in the block that most of their neighbours are in. The search from there
            is short, and blocks that persist keep their numbers. The model ``"auto"`` is the one
            that describes these blocks best.
        frozen : mapping, table or list of nodes, optional
            Nodes that keep a given block; of a list, the block that they have in `start`.
        never_together : mapping, table or array, optional
            A category per node, None if it has none. No block has nodes of two categories; of a
            hierarchy this holds for the lowest level.
        must_link : list of groups of node ids, optional
            The nodes of each group share a block.
        **options
            `engine`, `callback`, `checkpoint`, `checkpoint_every` and `resume`; see
            `GeneralizedKMeans.fit`.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        InputError
            If the constraints contradict each other, or no node of `start` is in the graph.

        Examples
        --------
        >>> import networkx
        >>> import coterie as ct
        >>> G = networkx.karate_club_graph()
        >>> before = ct.BlockModel(rng=0).fit(G)
        >>> G.add_edge(0, "new member")
        >>> m = ct.BlockModel(rng=0).fit(G, start=before, must_link=[(0, "new member")])
        >>> print(m.diff(before).sentences()[1])
        1 node is new.
        """
        given = {
            "start": start,
            "frozen": frozen,
            "never_together": never_together,
            "must_link": must_link,
        }
        self._given = GivenBlocks()
        used = [name for name, value in given.items() if value is not None]
        if used:
            self.check_parameters()
            X = self._own_kind(X)
            self._check_given(X, used[0])
            self._given = given_blocks(X, **given)
        return super().fit(X, y, **options)

    def _check_given(self, data: Any, name: str) -> None:
        """Raise InputError if nothing can be given besides the data."""
        if not isinstance(data, Graph) or not self._describes(data):
            raise InputError(
                f"`{name}` needs a graph in memory, and a search that minimises its description",
                remedy="leave it out for ratings, shards and fractional weights",
            )
        for other, is_used in (
            ("connected", self.connected),
            ("min_block_size", self.min_block_size > 1),
            ("weight_model", self.weight_model != COUNTS),
        ):
            if is_used:
                raise InputError(
                    f"`{name}` does not support `{other}`", remedy="leave one of them out"
                )

    def diff(self, previous: Any) -> BlockChanges:
        """Return what changed since an earlier clustering.

        Parameters
        ----------
        previous : fitted model, mapping, table or array of labels
            The earlier blocks, as `start` of `fit` takes them.

        Returns
        -------
        BlockChanges
            The blocks that appear, split, merge and end, the nodes that moved, are new or gone,
            and the description lengths. Blocks are matched by their overlap.
        """
        graph = self._graph()
        given = given_blocks(graph, start=previous)
        assert given.start is not None
        same = self._given.names[: len(given.names)] == given.names
        now = self.labels_ if same else given.named(self.labels_)
        names = given.names + list(range(len(given.names), int(now.max(initial=-1)) + 1))
        there = np.flatnonzero(given.known >= 0)
        before, after = given.known[there], now[there]
        events = block_events(("", ""), [before, after])
        for block in np.setdiff1d(now, after).tolist():
            events.append(Event("", "appears", (), (block,), int((now == block).sum())))
        named = [
            event._replace(
                before=tuple(names[b] for b in event.before),
                after=tuple(names[b] for b in event.after),
            )
            for event in events
        ]
        ids = graph.ids[there].tolist()
        moved = [
            (ids[i], names[before[i]], names[after[i]]) for i in np.flatnonzero(before != after)
        ]
        earlier = None
        if not self.nested and self.weight_model == COUNTS:
            earlier = description_length_of(self.model_, graph, given.start)
        new = graph.ids[given.known < 0].tolist()
        gone = gone_nodes(previous, graph)
        return BlockChanges(named, moved, new, gone, self.description_length_, earlier)

    def sample(
        self,
        n_samples: int = 100,
        *,
        data: Graph | None = None,
        n_chains: int = 4,
        thin: int | None = None,
        burn_in: int | None = None,
        rng: RandomState = 0,
        engine: str | Engine = "local",
        callback: Callback = silent,
    ) -> PosteriorSamples:
        """Draw partitions from the posterior, to see how certain the blocks are.

        Moves of single nodes and merges and splits of blocks are drawn with the probabilities of
        the model, exp(-description length); the number of blocks may change. Of a hierarchy all
        levels are drawn; their number is that of the fitted one or smaller. The first chain starts
        at the fitted blocks, the others far from them. A warning says if the chains disagree, or
        if the samples are worth few independent ones.

        Parameters
        ----------
        n_samples : int, default=100
            Number of samples, of all chains together.
        data : Graph, optional
            The graph that the model was fitted to. By default, the one that it holds.
        n_chains : int, default=4
            Number of independent chains.
        thin : int, optional
            Sweeps over all nodes between two samples. The default is 2; 5 up to 100 nodes.
        burn_in : int, optional
            Sweeps before the first sample. The default is 20; 50 up to 100 nodes.
        rng : int, numpy.random.Generator or None, default=0
            Seed. The same seed gives the same samples for any number of threads.
        engine : str or Engine, default="local"
            Where the chains run: "local" or a `LocalEngine`.
        callback : callable, optional
            Called with a `Progress` after each sample.

        Returns
        -------
        PosteriorSamples
            The samples, with `marginals_`, `confidence_`, `consensus_`, `block_counts_`, `modes`,
            `r_hat_` and `effective_size_`.

        Raises
        ------
        InputError
            If the model is not fitted to this graph, or it has no posterior here.

        Examples
        --------
        >>> import networkx
        >>> import coterie as ct
        >>> model = ct.BlockModel("simple").fit(networkx.karate_club_graph())
        >>> samples = model.sample(200)
        >>> samples.labels_.shape, samples.chains_agree
        ((200, 34), True)
        """
        self._require_fit()
        if self._given.constrained:
            raise InputError(
                "samples do not support `frozen`, `never_together` and `must_link`",
                remedy="fit without them",
            )
        data = as_graph(self.graph_ if data is None else data, weighted=self._reads_weights())
        if data is None or isinstance(self.labels_, tuple) or len(self.labels_) != data.n_nodes:
            raise InputError(
                "the model was not fitted to this graph", remedy="call fit with the same graph"
            )
        return sample_partitions(
            data,
            self.levels_ if self.nested else [self.labels_],
            self.model_,
            weights=self.weight_model,
            nested=self.nested,
            n_samples=n_samples,
            n_chains=n_chains,
            thin=thin,
            burn_in=burn_in,
            rng=rng,
            engine=engine,
            callback=callback,
        )

    def compare(
        self, *, engine: str | Engine = "local", callback: Callback = silent
    ) -> list[ComparedModel]:
        """Describe the graph by every model, the shortest description first.

        Parameters
        ----------
        engine : str or Engine, default="local"
            Where the work runs; "local" or a `LocalEngine`.
        callback : callable, optional
            Called with a `Progress` after each step.

        Returns
        -------
        list of ComparedModel
            What `compare_models` returns for the graph of the fit, with the seed of the model.
        """
        return compare_models(self._graph(), rng=self.rng, engine=engine, callback=callback)

    def assumptions(self, data: Graph | Ratings) -> list[str]:
        sentences = [model_assumption(self._fitted_model(), self.weight_model)]
        if self.model == "auto":
            sentences.append(model_assumption("auto"))
        if self.nested:
            sentences.append(
                "The blocks are grouped into larger blocks, level by level; each level describes "
                "the numbers of edges between the blocks of the one below."
            )
        if self._blocks_chosen:
            sentences.append("The number of blocks is the one with the shortest description.")
        if self._given.start is None:
            sentences.append(self._start_sentence())
        return [*sentences, *self._given.sentences]

    def facts(self) -> ClusteringFacts:
        return ClusteringFacts(
            model=self.model_,
            model_chosen=self.model == "auto",
            blocks_chosen=self._blocks_chosen,
            description_length=self.description_length_,
            minimised_length=self._minimised,
            levels=tuple(self.levels_) if self.nested else (),
            counts_weights=self._edge_model() == "weighted",
            merges_first=self._settings().is_best,
        )

    def _fingerprint(self, data: Any) -> JsonObject:
        given = self._given
        arrays = [a for a in (given.start, given.ties, given.categories) if a is not None]
        return {**super()._fingerprint(data), "given": digest(arrays)}

    def _start_sentence(self) -> str:
        return f"{merging_start(self.n_init)}; another seed can give a slightly different result."

    @property
    def _blocks_chosen(self) -> bool:
        return self.n_blocks is None

    @property
    def _asked(self) -> str:
        """The name of the model that was asked for."""
        uniform = self.model == "communities" and self.density == "uniform"
        return DENSITIES["uniform"] if uniform else self.model

    def _data_type(self) -> type:
        known = OBJECTIVES.get(self.model)
        return Graph if known is None else known.data

    def _fitted_model(self) -> str:
        return str(vars(self).get("model_", self.model))

    def _edge_model(self) -> str:
        return graph_objective(self._fitted_model(), self.weight_model)

    def _reads_weights(self) -> bool:
        return self.model == "weighted" or self.weight_model != COUNTS

    def _remarks(self) -> list[str]:
        chosen = self._blocks_chosen and not self.nested and self.graph_ is not None
        return self.explain() if chosen and self.n_blocks_ == 1 else []

    def _check_cluster(self) -> None:
        raise InputError(
            "description lengths are minimised in one process, which does not support the Dask "
            "engine",
            remedy='use `engine="local"`, which also takes shards, or `search="paper"` with a '
            "number of blocks",
        )

    def _take_data(self, data: Any) -> tuple[Any, ShardedGraph | None]:
        vars(self).pop("model_", None)  # of an earlier fit
        data, shards = super()._take_data(data)
        self.model_ = self._asked
        if self.weight_model != COUNTS:
            self._require_weights(data)
        return data, shards

    def _require_weights(self, data: Any) -> None:
        """Raise an error if the weights cannot have the model that was chosen."""
        if not isinstance(data, Graph):
            raise InputError(
                f"`weight_model={self.weight_model!r}` needs a graph in memory",
                remedy="leave it out for ratings and points",
            )
        weight_model(self.weight_model, data)  # raises if the weights are not possible
        if data.directed and self.model not in DIRECTED:
            raise InputError(
                f"the model {self.model!r} requires an undirected graph and this one is directed",
                remedy='use `BlockModel("directed")`',
            )

    def _describes(self, data: Any) -> bool:
        """Return whether the search minimises the description length itself."""
        if self.weight_model != COUNTS:
            return True
        return self._settings().is_best and is_described(self.model, data)

    def _prepare(self, job: FitJob) -> None:
        if self.n_blocks is not None:
            job.set_blocks(self.n_blocks, "random", self.min_block_size)
            check_memory(job.objective, job.n_blocks, "best", job.engine.threads)

    def _search(self, job: FitJob) -> None:
        self._minimised = self._describes(job.data)
        if self._minimised:
            self._describe(job)
            return
        n_blocks, labels = self._choose_number(job)
        self._minimise_entropy(job, n_blocks, labels if self._settings().is_best else None)
        assert isinstance(job.objective, BlockObjective)
        self.description_length_ = description_length_of_result(
            self.model, job.objective, job.data, *self._sides()
        )

    def _choose_number(self, job: FitJob) -> tuple[tuple[int, ...], Labels]:
        """Return the numbers of blocks with the shortest description, and labels to start from."""
        fit = job.state
        if fit.chosen is None and is_described(self.model, job.data):
            found, lengths = self._shortest(job)
            fit.chosen = ChosenBlocks(
                (max(found.n_blocks, 1),), (found.labels,), _by_number(lengths)
            )
            save_fit(job.file, fit)
        elif fit.chosen is None:
            assert isinstance(job.objective, BlockObjective)
            tried = auto_k.choose(
                job.objective,
                rng=fit.rng,
                engine=job.engine,
                min_block_size=self.min_block_size,
                callback=job.callback,
            )
            fit.chosen = ChosenBlocks(
                tried[0].n_blocks,
                tried[0].labels,
                {c.n_blocks: c.description_length for c in tried},
            )
            save_fit(job.file, fit)
        self.description_lengths_ = fit.chosen.lengths
        return fit.chosen.n_blocks, fit.chosen.labels

    def _shortest(self, job: FitJob) -> tuple[Described, dict[int, float]]:
        """Return the shortest description, and the shortest per number of blocks."""
        assert isinstance(job.objective, BlockObjective)
        return choose_description(
            self._asked,
            job.objective,
            job.data,
            DescriptionRun(
                job.state.rng,
                job.engine,
                job.callback,
                search_saver(job.file, job.state),
                self.effort,
                self._given.start,
                self._given.ties,
                self._given.categories,
            ),
            n_init=self.n_init,
            min_block_size=self.min_block_size,
            nested=self.nested,
            density=self.density,
            weights=self.weight_model,
            n_blocks=self.n_blocks,
        )

    def _describe(self, job: FitJob) -> None:
        """Find the shortest description and set the fitted attributes."""
        found, lengths = self._shortest(job)
        labels = self._given.named(found.labels)
        count = int(labels.max(initial=0)) + 1
        self.block_names_ = [*self._given.names[:count], *range(len(self._given.names), count)]
        found = replace(found, labels=labels, levels=(labels, *found.levels[1:]))
        if self.nested:
            self.levels_ = list(found.levels)
        self.model_, self.interrupted_ = found.objective, found.interrupted
        self.description_lengths_ = _by_number(lengths)
        self.description_length_ = found.length
        score = self._settings().move_score
        final = objective_for(self._edge_model(), job.data, score, job.engine)
        n_blocks = (count,)
        self.seconds_ = job.seconds
        entropy = final.entropy(final.start((found.labels,), n_blocks))
        self._set_results(
            SearchTask(final, n_blocks, job.state.rng, job.engine),
            SearchResult(
                (found.labels,), entropy, found.history, not found.interrupted, found.interrupted
            ),
            optimal=found.locally_optimal,
        )
        if self.weight_model != COUNTS:
            topology = cell_data(job.data, found.objective)
            entropy += found.length - topology.length(found.labels)
            self.entropy_ = entropy
            self.block_weights_ = mean_weights(job.data, found.labels)
        self.run_entropies_ = [entropy]


def _by_number(lengths: dict[int, float]) -> dict[tuple[int, ...], float]:
    """Return lengths by the number of blocks per side."""
    return {(k,): length for k, length in lengths.items()}


class _SearchedBlockModel(BlockModel):
    """What `searched_block_model` returns."""

    declaration = replace(BlockModel.declaration, parameters={**_PARAMETERS, **SEARCH_PARAMETERS})

    def __init__(
        self,
        model: str = "auto",
        *,
        search: str = "best",
        move_score: str = "auto",
        alpha: float = 0.1,
        max_iter: int = 300,
        tol: float = 1e-6,
        **options: Any,
    ) -> None:
        super().__init__(model, **options)
        self.search = search
        self.move_score = move_score
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol

    def check_parameters(self) -> None:
        """Raise InputError for a parameter that is invalid or does not fit the others."""
        super().check_parameters()
        only_described = self.model not in OBJECTIVES or self.nested or self.weight_model != COUNTS
        if self.search == "paper" and only_described:
            kind = "`weight_model`"
            if self.weight_model == COUNTS:
                kind = f'`objective="{self.model}"`'
            if self.nested:
                kind = "`nested=True`"
            raise InputError(
                f'`search="paper"` does not support {kind}', remedy='use `search="best"`'
            )

    def _start_sentence(self) -> str:
        if self.search == "best":
            return super()._start_sentence()
        return "The blocks come from a random start; another seed can give slightly different ones."


def searched_block_model(model: str = "auto", **parameters: Any) -> BlockModel:
    """Return a `BlockModel` whose search for the lowest entropy has the settings of
    `GeneralizedKMeans`: search, move_score, alpha, max_iter, tol.

    `coterie cluster --blocks auto` has options for it, such as ``--search paper``: the number of
    blocks is chosen by description length, and Generalized k-means then finds the blocks from
    random labels. They have no effect where the description length itself is minimised, which only
    ``search="best"`` does.
    """
    return _SearchedBlockModel(model, **parameters)
