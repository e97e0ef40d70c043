"""The anonymizer: cluster a graph, draw a new one, measure it, attack it, decide."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from coterie.anonymize.block_settings import (
    BlockSettings,
    RememberedLabels,
    first_sufficient,
    possible_settings,
)
from coterie.anonymize.draw.bipartite import bipartite_classes, check_sides, find_sides
from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.draw.clustering import (
    cluster_for_release,
    default_n_blocks,
)
from coterie.anonymize.draw.dcsbm import Steps, StubModel, release_classes
from coterie.anonymize.draw.models import ReleaseModel, build_model, check_model
from coterie.anonymize.kinds.model import KindModel, assess_kind
from coterie.anonymize.kinds.network import Network, skeleton_of
from coterie.anonymize.kinds.node_table import published_node_tables
from coterie.anonymize.kinds.outcome import KindOutcome
from coterie.anonymize.kinds.weights import check_weights
from coterie.anonymize.ledger import Ledger, LedgerEntry, check_dataset_name, fingerprint_of
from coterie.anonymize.output.audit import AuditRecord, PublishedStatistics
from coterie.anonymize.output.identity_map import IdentityMap
from coterie.anonymize.output.public_summary import (
    PublicSummary,
    ReleaseFigures,
    summarize,
    summarize_for_owner,
)
from coterie.anonymize.output.release import Release
from coterie.anonymize.policy import Policy, PolicyDecision
from coterie.anonymize.published_graph import PublishedGraph, assign_new_ids
from coterie.anonymize.risk.assessment import Risk, assess_risk
from coterie.anonymize.risk.attack_suite import AttackSuite
from coterie.anonymize.risk.left_out_edges import LeftOutEdges, leave_edges_out
from coterie.anonymize.suggestions import Change, Trial, search_space, suggest
from coterie.anonymize.utility.measures import measure
from coterie.anonymize.utility.release_utility import Utility, assess_utility
from coterie.base.errors import CoterieError, InputError
from coterie.base.json_values import JsonObject
from coterie.base.progress import Callback, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.base.version import __version__
from coterie.data import Graph
from coterie.data.node_table import NodeTable
from coterie.engine import BackgroundTask, Engine, running_engine
from coterie.models.base import Estimator

OBJECTIVES = ("simple", "directed", "weighted", "bipartite")


class Anonymizer(Estimator):
    """Make a new graph that is similar to an original, and decide whether it may be published.

    The nodes are clustered into blocks, and each block is divided into classes of people with
    similar degree. The new graph is drawn from statistics of the classes only, so within a class
    people cannot be distinguished. Before it is released, the graph is measured and attacked, and a
    privacy policy decides. This does not provide differential privacy.

    Parameters
    ----------
    n_blocks : int, optional
        Number of blocks of the clustering. The default is one per 40 to 100 people, more people in
        denser graphs, but at least half and at most four times the square root of their number; in
        a disassortative graph it is half the square root. If there are more communities of twice
        the smallest class, each gets a block.
    min_class_size : int, default=10
        Minimum number of people per class.
    max_edge_probability : float, default=0.85
        Classes are merged until no original edge connects two classes whose members are connected
        with this probability or more.
    model : {"dcsbm", "sbm", "exact-counts"}, default="dcsbm"
        How graphs are drawn. "dcsbm" reproduces degrees, clustering and path lengths, starting
        from a degree-corrected block model [3]_; "sbm" draws from the stochastic block model of
        Prost & Yoon [1]_; "exact-counts" also keeps the number of edges between blocks [2]_.
    objective : {"simple", "directed", "weighted", "bipartite"}, default="simple"
        What is released: edges alone, with directions, with weights, or between two sides such as
        people and items. The graph must be of this kind. All but "simple" need the model "dcsbm".
    sensitive : sequence of str, default=()
        Attributes that a class must not disclose: in every class they have several values, in
        proportions not far from those of everybody, see `Policy`.
    steps : Steps, optional
        Steps of the "dcsbm" model to switch off. The default runs all of them.
    draws : int, default=1
        Number of graphs to draw.
    policy : Policy, optional
        The limits that the release must not exceed. The default is ``Policy()``.
    dataset : str, optional
        Name of the original in the ledger, which counts what was released from it. The release is
        recorded under this name before it is drawn, and counts even if it is never written.
        Required if the policy limits `releases`. Without a name, a release is recorded as
        "unnamed" when it is written.
    infer_edges : bool, default=True
        Measure the risk A3, and compare the edges that can be named with edges that were left out
        of the data. Both take a second clustering. Without it, the limit for attackers who know
        exact degrees applies to all edges that they can name.
    rng : None, int or numpy.random.Generator, default=0
        Seed of the clustering and of the attacks [4]_. It does not determine the new graph, which
        is drawn with randomness of the operating system: somebody who guesses the seed cannot
        draw it again.

    See Also
    --------
    Release : The result.
    Policy : The limits.
    Steps : The steps of the "dcsbm" model.

    References
    ----------
    .. [1] F. Prost and J. Yoon, "Parallel Clustering of Graphs for Anonymization and Recommender
       Systems".
    .. [2] M. Hay, G. Miklau, D. Jensen, D. Towsley and P. Weis, "Resisting structural
       re-identification in anonymized social networks", PVLDB 1(1), 2008.
    .. [3] B. Karrer and M. E. J. Newman, "Stochastic blockmodels and community structure in
       networks", Physical Review E 83, 016107, 2011.
    .. [4] A. Narayanan and V. Shmatikov, "De-anonymizing social networks", IEEE Symposium on
       Security and Privacy, 2009.

    Examples
    --------
    >>> import coterie as ct
    >>> from coterie.data.demo_data import social_network
    >>> people, _ = social_network()
    >>> release = ct.Anonymizer(6, infer_edges=False).release(people, suggest=False)
    >>> release.graph.n_nodes
    300
    >>> release.risk.class_size.smallest >= 10
    True
    """

    def __init__(
        self,
        n_blocks: int | None = None,
        *,
        min_class_size: int = 10,
        max_edge_probability: float = 0.85,
        model: str = "dcsbm",
        objective: str = "simple",
        sensitive: Sequence[str] = (),
        steps: Steps | None = None,
        draws: int = 1,
        policy: Policy | None = None,
        dataset: str | None = None,
        infer_edges: bool = True,
        rng: RandomState = 0,
    ) -> None:
        self.n_blocks = n_blocks
        self.min_class_size = min_class_size
        self.max_edge_probability = max_edge_probability
        self.model = model
        self.objective = objective
        self.sensitive = sensitive
        self.steps = steps
        self.draws = draws
        self.policy = policy
        self.dataset = dataset
        self.infer_edges = infer_edges
        self.rng = rng

    def release(
        self,
        graph: Graph,
        *,
        attributes: NodeTable | None = None,
        sides: np.ndarray | None = None,
        labels: np.ndarray | None = None,
        engine: str | Engine = "local",
        callback: Callback = silent,
        ledger: Ledger | None = None,
        suggest: bool = True,
    ) -> Release:
        """Draw, measure and attack new graphs, and decide; nothing is written.

        Parameters
        ----------
        graph : Graph
            The original; undirected and without weights unless `objective` says otherwise.
        attributes : NodeTable, optional
            What is known about each node, to be released too.
        sides : array of bool, shape (n_nodes,), optional
            With ``objective="bipartite"``, the side of each node. By default it follows from the
            edges.
        labels : array of int, shape (n_nodes,), optional
            Blocks to use instead of a clustering.
        engine : str or Engine, default="local"
            Where the work runs.
        callback : callable, optional
            Called with a `Progress` after each step.
        ledger : Ledger, optional
            Where releases are counted, by the name of the `dataset`. The default is the user's
            state folder.
        suggest : bool, default=True
            If the release is refused, look for parameters that would pass, and suggest those that
            keep most of the original. This takes up to five more releases.

        Returns
        -------
        Release
            The new graphs, their utility and risk, and the decision.

        Raises
        ------
        InputError
            If a parameter is invalid, or the graph is directed or weighted.
        LedgerRefusal
            If the ledger of the dataset is damaged, missing after it existed, or locked.
        """
        return self._release_from(
            None,
            graph,
            attributes=attributes,
            sides=sides,
            labels=labels,
            engine=engine,
            callback=callback,
            ledger=ledger,
            suggest=suggest,
        )

    def _release_from(
        self,
        entropy: SeedSequence | None,
        graph: Graph,
        *,
        attributes: NodeTable | None = None,
        sides: np.ndarray | None = None,
        labels: np.ndarray | None = None,
        engine: str | Engine = "local",
        callback: Callback = silent,
        ledger: Ledger | None = None,
        suggest: bool = True,
    ) -> Release:
        """Release with known randomness. Only tests may call this: somebody who knows the entropy
        can draw the same graph again."""
        attributes = None if attributes is None else attributes.of_graph(graph)
        sides = self._check(graph, attributes, sides)
        network = Network(graph, attributes)
        graph = skeleton_of(graph)
        run = _RecordedRun(ledger or Ledger(), self.dataset)
        with running_engine(engine) as running, run:
            used_up = self._too_many_releases(run.earlier)
            impossible = used_up or self._impossible(graph)
            if impossible:
                release = self._refuse_without_drawing(graph, impossible)
            else:
                release = self._release(
                    entropy, graph, network, sides, labels, running, callback, run
                )
            if release.refused and suggest and labels is None and not used_up:
                found = self._suggestions(graph, network, sides, running, callback)
                release = release._with_suggestions(found)
            return release

    def _release(
        self,
        entropy: SeedSequence | None,
        graph: Graph,
        network: Network,
        sides: np.ndarray | None,
        labels: np.ndarray | None,
        engine: Engine,
        callback: Callback,
        run: _RecordedRun,
    ) -> Release:
        """Make a release that is possible: cluster, draw, measure, attack, decide.

        `graph` is the skeleton of the network.
        """
        started = time.perf_counter()
        policy = self.policy or Policy()
        input_hash = fingerprint_of(graph)

        callback(Progress("measuring", 0, 1))
        before = measure(graph, engine)
        if labels is not None and len(labels) != graph.n_nodes:
            raise InputError(f"{len(labels)} labels for {graph.n_nodes} nodes")
        remembered = RememberedLabels()
        settings = BlockSettings(self._number_of_blocks(graph))

        def blocks(settings: BlockSettings) -> np.ndarray:
            if labels is not None:
                return np.asarray(labels)
            cluster = partial(self._cluster, engine=engine, callback=callback)
            return remembered.get(graph, settings.n_blocks, cluster)

        blocks(settings)

        details = {"model": self.model, "min_class_size": self.min_class_size}
        run.open(self.draws, policy.releases, input_hash, details)
        entropy = entropy or SeedSequence()  # nothing random before the entry in the ledger
        secret = default_rng(entropy)
        attack_rng, inference_rng = as_generator(self.rng).spawn(2)
        suite = AttackSuite(graph, attack_rng)
        leave_out = partial(
            self._leave_out if self.infer_edges and labels is None else _nothing_left_out,
            graph,
            sides,
            inference_rng,
            policy.edge_probability,
            remembered,
        )

        def attempt(
            settings: BlockSettings,
        ) -> _Attempt:
            """Draw and measure, with these blocks."""
            # A3 and the attacks on the controls need only the original: they run in the background.
            with BackgroundTask(partial(leave_out, settings), engine) as left_out:
                model = build_model(
                    self.model,
                    graph,
                    blocks(settings),
                    min_size=self.min_class_size,
                    limit=self.max_edge_probability,
                    rng=secret,
                    steps=self.steps,
                    core_share=settings.core_share,
                    merge_cores=settings.merge_cores,
                    sides=sides,
                    callback=callback,
                )
                kind_model = KindModel.fit(
                    network,
                    model.classes,
                    min_size=self.min_class_size,
                    sensitive=tuple(self.sensitive),
                    sensitive_distance=policy.sensitive_distance,
                )
                block = model.classes.block
                with BackgroundTask(partial(suite.run_controls, block), engine) as controls:
                    callback(Progress("drawing", 0, self.draws))
                    drawn = engine.map(model.draw, secret.spawn(self.draws))
                    networks = [kind_model.draw(g, secret) for g in drawn]
                    releases = [assign_new_ids(g, secret, sides) for g in drawn]
                    utility = assess_utility(graph, before, block, releases, engine, callback)
                    callback(Progress("attacking", 0))
                    risk = assess_risk(
                        model,
                        releases,
                        suite,
                        engine,
                        edge_probability=policy.edge_probability,
                        controls=controls.result(),
                        left_out=left_out.result(),
                        callback=callback,
                    )
                    identities = [identity for _, identity in releases]
                    networks = [
                        drawn_network.renumbered(identity)
                        for drawn_network, identity in zip(networks, identities, strict=True)
                    ]
                    kind = assess_kind(
                        network,
                        sides,
                        kind_model,
                        model.classes,
                        list(zip(networks, identities, strict=True)),
                        attack_rng,
                        min_size=self.min_class_size,
                    )
            return _Attempt(model, releases, networks, utility, risk, kind)

        made = attempt(settings)
        allowed = policy.known_degrees_share
        if (
            self.model == "dcsbm"
            and sides is None
            and made.risk.disclosed_edges.known_degrees.disclosed > allowed
        ):
            callback(Progress("searching blocks that disclose less", 0))
            found = first_sufficient(
                graph,
                possible_settings(
                    settings.n_blocks,
                    allowed,
                    fewer=self.n_blocks is None and labels is None,
                ),
                allowed,
                policy.edge_probability,
                lambda tried: self._classes(graph, sides, blocks(tried), tried),
                lambda tried: leave_out(tried, engine, callback),
            )
            if found is not None:
                made = attempt(found)
        model, releases, utility, risk = made.model, made.releases, made.utility, made.risk
        classes = model.classes
        decision = policy.check(risk, run.earlier + self.draws, made.kind)
        run.decided(refused=decision.refused)
        figures = ReleaseFigures(
            original=graph,
            published=releases[0].graph,
            model=self.model,
            blocks=classes.n_blocks,
            draws=self.draws,
            utility=utility,
            risk=risk,
            decision=decision,
            objective=self.objective,
            kind=made.kind,
        )
        record = AuditRecord(
            model=self.model,
            blocks=classes.n_blocks,
            draws=self.draws,
            version=__version__,
            input_sha256=input_hash,
            dataset=self.dataset,
            earlier_releases=run.earlier,
            parameters={**self.get_params(), "policy": policy, "steps": self.steps or Steps()},
            entropy=str(entropy.entropy),
            classes=classes.n_classes,
            published_statistics=_published_statistics(model),
            utility=utility,
            risk=risk,
            decision=decision,
            seconds=time.perf_counter() - started,
            kind=made.kind,
        )
        return Release(
            [published.graph for published in made.networks],
            utility,
            risk,
            decision,
            [],
            summarize(figures, self.min_class_size),
            record,
            [IdentityMap(graph.ids, identity) for _, identity in releases],
            run.ledger,
            run.entry,
            summarize_for_owner(figures),
            made.kind,
            published_node_tables(made.networks, releases, sides),
        )

    def _check(
        self, graph: Graph, attributes: NodeTable | None, sides: np.ndarray | None
    ) -> np.ndarray | None:
        """Raise InputError for invalid parameters and for graphs that cannot be released.

        Returns the sides of a bipartite graph, None for others.
        """
        check_model(self.model)
        self._check_kind(graph, attributes)
        for name, value in (("draws", self.draws), ("min_class_size", self.min_class_size)):
            if value < 1:
                raise InputError(f"{name}={value} is less than 1")
        require_name(self.dataset, self.policy)
        if self.n_blocks is not None and self.n_blocks < 1:
            raise InputError(f"n_blocks={self.n_blocks} is less than 1")
        if not 0 < self.max_edge_probability <= 1:
            raise InputError(
                f"max_edge_probability={self.max_edge_probability} is not between 0 and 1"
            )
        if self.objective != "bipartite":
            return None
        if sides is None:
            return find_sides(graph)
        check_sides(graph, np.asarray(sides, bool))
        return np.asarray(sides, bool)

    def _check_kind(self, graph: Graph, attributes: NodeTable | None) -> None:
        """Raise InputError if the graph is not of the kind that `objective` says."""
        if self.objective not in OBJECTIVES:
            raise InputError(
                f"unknown objective {self.objective!r}",
                remedy=f"use one of {', '.join(OBJECTIVES)}",
            )
        if graph.directed and graph.weights is not None:
            raise InputError(
                "a graph with directions and weights cannot be released",
                remedy="read it without directions or without weights",
            )
        found = "directed" if graph.directed else "weighted"
        if (graph.directed or graph.weights is not None) and self.objective != found:
            raise InputError(
                f"a {found} graph cannot be released with `objective={self.objective!r}`",
                remedy=f"set `objective={found!r}`, or read it as a simple graph, without "
                "directions and weights",
            )
        missing = {"directed": not graph.directed, "weighted": graph.weights is None}
        if missing.get(self.objective, False):
            raise InputError(
                f"the graph is not {self.objective}",
                remedy=f"read it with `{self.objective}=True`, or use `objective='simple'`",
            )
        if self.objective != "simple" and self.model != "dcsbm":
            raise InputError(
                f"the model {self.model!r} draws simple graphs only", remedy="use `model='dcsbm'`"
            )
        if graph.weights is not None:
            check_weights(graph.edge_weights())
        for name in self.sensitive:
            if attributes is None:
                raise InputError(
                    f"there is no table with the sensitive column {name!r}",
                    remedy="give `attributes`",
                )
            if len(np.unique(attributes[name].values)) < 2:
                raise InputError(
                    f"the sensitive column {name!r} has a single value, so everybody's is known",
                    remedy="remove the column",
                )

    def _impossible(self, graph: Graph) -> list[str]:
        """Return why no release of this graph is possible with these parameters."""
        n, least, k = graph.n_nodes, self.min_class_size, self._number_of_blocks(graph)
        if not graph.n_edges:
            return ["the graph has no edge, so there is nothing to release"]
        if n < 2 * least:
            return [f"a graph of {n} people is too small for classes of {least}"]
        if k * least > n:
            return [
                f"{k} blocks of at least {least} people need {k * least} people, the graph has {n}"
            ]
        policy, density = self.policy or Policy(), 2 * graph.n_edges / (n * (n - 1))
        if policy.edge_share <= 0 and density >= policy.edge_probability:
            # The density of some cell is at least the mean. Counting the 4-cliques of a complete
            # graph, to refuse it afterwards, would take hours.
            return [
                f"A2: {100 * density:.3g} % of all pairs of people are connected, so with any "
                f"classes some edges are in cells (pairs of classes) of which "
                f"{100 * policy.edge_probability:g} % of the pairs or more are connected in the "
                "original (the policy allows 0 %)"
            ]
        return []

    def _too_many_releases(self, earlier: int) -> list[str]:
        """Return why the policy allows no further release of this dataset at all."""
        return (self.policy or Policy()).check_releases(earlier + self.draws).reasons

    def _refuse_without_drawing(self, graph: Graph, reasons: list[str]) -> Release:
        """Return the refusal of a release that cannot be drawn."""
        summary = PublicSummary(
            refused=True,
            reasons=reasons,
            model=self.model,
            nodes=graph.n_nodes,
            edges=graph.n_edges,
        )
        decision = PolicyDecision(reasons=reasons, weaker=(self.policy or Policy()).weaker())
        return Release([], None, None, decision, [], summary)

    def _suggestions(
        self,
        graph: Graph,
        network: Network,
        sides: np.ndarray | None,
        engine: Engine,
        callback: Callback,
    ) -> list[str]:
        """Look for the parameters that would pass and keep most of the original."""

        def attempt(change: Change) -> Trial:
            parameters = {
                **self.get_params(),
                **change.parameters(),
                "dataset": None,  # a trial is never published, so it is not counted
                "policy": replace(self.policy or Policy(), releases=0),
            }
            trial = type(self)(**parameters)
            made = trial.release(
                network.graph,
                attributes=network.attributes,
                sides=sides,
                engine=engine,
                suggest=False,
            )
            return Trial.of(refused=made.refused, utility=made.utility)

        space = search_space(
            graph,
            self.policy or Policy(),
            n_blocks=self._number_of_blocks(graph),
            min_class_size=self.min_class_size,
            max_edge_probability=self.max_edge_probability,
        )
        return suggest(space, attempt, callback)

    def _number_of_blocks(self, graph: Graph) -> int:
        if self.n_blocks is not None:
            return self.n_blocks
        return default_n_blocks(graph, self.min_class_size)

    def _cluster(
        self, graph: Graph, n_blocks: int, engine: Engine, callback: Callback
    ) -> np.ndarray:
        return cluster_for_release(
            graph,
            n_blocks,
            degree_corrected=self.model == "dcsbm",
            min_block_size=self.min_class_size,
            rng=self.rng,
            engine=engine,
            callback=callback,
        )

    def _classes(
        self,
        graph: Graph,
        sides: np.ndarray | None,
        labels: np.ndarray,
        settings: BlockSettings,
    ) -> Classes:
        """Return the classes of a release with these blocks."""
        if sides is not None:
            return bipartite_classes(
                graph, labels, sides, self.min_class_size, self.max_edge_probability
            )
        if self.model != "dcsbm":
            return Classes(labels, labels)
        return release_classes(
            graph,
            labels,
            self.min_class_size,
            self.max_edge_probability,
            cut=(self.steps or Steps()).cut_blocks,
            core_share=settings.core_share,
            merge_cores=settings.merge_cores,
        )

    def _leave_out(
        self,
        graph: Graph,
        sides: np.ndarray | None,
        rng: Generator,
        certainty: float,
        remembered: RememberedLabels,
        settings: BlockSettings,
        engine: Engine,
        callback: Callback,
    ) -> LeftOutEdges | None:
        """Cluster the graph again without some of its edges: the control of A2 and A3."""

        def classes(rest: Graph) -> Classes:
            cluster = partial(self._cluster, engine=engine, callback=callback)
            labels = remembered.get(rest, settings.n_blocks, cluster)
            return self._classes(rest, sides, labels, settings)

        # A copy, so that each call leaves the same edges out.
        return leave_edges_out(graph, classes, deepcopy(rng), certainty=certainty)


def require_name(dataset: str | None, policy: Policy | None) -> None:
    """Raise InputError if a dataset has an impossible name, or none although releases count."""
    if dataset is not None:
        check_dataset_name(dataset)
    elif policy is not None and policy.releases:
        raise InputError(
            f"the policy limits the releases of a dataset to {policy.releases}, and the dataset "
            "has no name",
            remedy="set `dataset` to a name, the same each time",
        )


class _Attempt(NamedTuple):
    """Graphs drawn with some blocks, and what was measured of them."""

    model: ReleaseModel
    releases: list[PublishedGraph]  # skeletons
    networks: list[Network]
    utility: Utility
    risk: Risk
    kind: KindOutcome | None


class _RecordedRun:
    """The entry of a release in the ledger; none if the dataset has no name.

    If the block fails after the entry was opened, the entry is recorded as failed.
    """

    def __init__(self, ledger: Ledger, dataset: str | None) -> None:
        self.ledger = ledger
        self.dataset = dataset
        self.entry: LedgerEntry | None = None
        self.earlier = 0 if dataset is None else ledger.releases(dataset)

    def __enter__(self) -> None:
        pass

    def open(self, graphs: int, limit: int, fingerprint: str, details: JsonObject) -> None:
        """Record the release before it is drawn."""
        if self.dataset is not None:
            self.entry = self.ledger.begin(
                self.dataset,
                kind="release",
                graphs=graphs,
                max_releases=limit,
                fingerprint=fingerprint,
                details=details,
            )
            self.earlier = self.ledger.releases(self.dataset) - graphs

    def decided(self, *, refused: bool) -> None:
        """Record that the policy refused: the release is never written, so it does not count."""
        if self.entry is not None and refused:
            self.ledger.finish(self.entry, "refused")
            self.entry = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and self.entry is not None:
            with suppress(CoterieError):  # the first error matters; the entry counts anyway
                self.ledger.finish(self.entry, "failed")


def _nothing_left_out(
    graph: Graph,
    sides: np.ndarray | None,
    rng: Generator,
    certainty: float,
    remembered: RememberedLabels,
    settings: BlockSettings,
    engine: Engine,
    callback: Callback,
) -> LeftOutEdges | None:
    """Skip A3 and the control of A2."""
    return None


def _published_statistics(model: ReleaseModel) -> PublishedStatistics | None:
    """Return what a dcsbm release publishes in addition to degrees and edges between blocks."""
    if not isinstance(model, StubModel):
        return None
    return PublishedStatistics(model.targets)
