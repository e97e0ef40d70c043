"""The anonymizer: cluster a graph, draw a new one, measure it, attack it, decide."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.draw.clustering import cluster_for_release, default_n_blocks
from coterie.anonymize.draw.dcsbm import Steps, StubModel, release_classes
from coterie.anonymize.draw.models import ReleaseModel, build_model, check_model
from coterie.anonymize.output.audit import AuditRecord, Ledger, PublishedStatistics, fingerprint
from coterie.anonymize.output.identity_map import IdentityMap
from coterie.anonymize.output.public_summary import PublicSummary, summarize
from coterie.anonymize.output.release import Release
from coterie.anonymize.policy import Policy, PolicyDecision
from coterie.anonymize.published_graph import assign_new_ids
from coterie.anonymize.risk.assessment import assess_risk
from coterie.anonymize.risk.attack_suite import AttackSuite
from coterie.anonymize.risk.edge_inference import EdgeInference, edge_inference
from coterie.anonymize.suggestions import Change, possible_changes, suggest
from coterie.anonymize.utility.measures import measure
from coterie.anonymize.utility.release_utility import assess_utility
from coterie.base.errors import InputError
from coterie.base.progress import Callback, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.base.version import __version__
from coterie.data import Graph
from coterie.engine import Engine, running_engine
from coterie.engine.background import BackgroundTask
from coterie.models.base import Estimator


class Anonymizer(Estimator):
    """Make a new graph that is similar to an original, and decide whether it may be published.

    The nodes are clustered into blocks, and each block is divided into classes of people with
    similar degree. The new graph is drawn from statistics of the classes only, so within a class
    people cannot be distinguished. Before it is released, the graph is measured and attacked, and a
    privacy policy decides. This does not provide differential privacy.

    Parameters
    ----------
    n_blocks : int, optional
        Number of blocks of the clustering. The default is half the square root of the number of
        nodes.
    min_class_size : int, default=10
        Minimum number of people per class.
    max_edge_probability : float, default=0.85
        Classes are merged until no original edge connects two classes whose members are connected
        with this probability or more.
    model : {"dcsbm", "sbm", "exact-counts"}, default="dcsbm"
        How graphs are drawn. "dcsbm" reproduces degrees, clustering and path lengths, starting
        from a degree-corrected block model [3]_; "sbm" draws from the stochastic block model of
        Prost & Yoon [1]_; "exact-counts" also keeps the number of edges between blocks [2]_.
    steps : Steps, optional
        Steps of the "dcsbm" model to switch off. The default runs all of them.
    draws : int, default=1
        Number of graphs to draw.
    policy : Policy, optional
        The limits that the release must not exceed. The default is ``Policy()``.
    infer_edges : bool, default=True
        Measure the risk A3, which takes a second clustering.
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
    >>> release.risk.a1.smallest >= 10
    True
    """

    def __init__(
        self,
        n_blocks: int | None = None,
        *,
        min_class_size: int = 10,
        max_edge_probability: float = 0.85,
        model: str = "dcsbm",
        steps: Steps | None = None,
        draws: int = 1,
        policy: Policy | None = None,
        infer_edges: bool = True,
        rng: RandomState = 0,
    ) -> None:
        self.n_blocks = n_blocks
        self.min_class_size = min_class_size
        self.max_edge_probability = max_edge_probability
        self.model = model
        self.steps = steps
        self.draws = draws
        self.policy = policy
        self.infer_edges = infer_edges
        self.rng = rng

    def release(
        self,
        graph: Graph,
        *,
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
            The original, undirected and without weights.
        labels : array of int, shape (n_nodes,), optional
            Blocks to use instead of a clustering.
        engine : str or Engine, default="local"
            Where the work runs.
        callback : callable, optional
            Called with a `Progress` after each step.
        ledger : Ledger, optional
            Where releases of the same original are counted. The default is the user's state
            folder.
        suggest : bool, default=True
            If the release is refused, look for parameters that would pass. This takes up to three
            more releases.

        Returns
        -------
        Release
            The new graphs, their utility and risk, and the decision.

        Raises
        ------
        InputError
            If a parameter is invalid, or the graph is directed or weighted.
        """
        return self._release_from(
            SeedSequence(),
            graph,
            labels=labels,
            engine=engine,
            callback=callback,
            ledger=ledger,
            suggest=suggest,
        )

    def _release_from(
        self,
        entropy: SeedSequence,
        graph: Graph,
        *,
        labels: np.ndarray | None = None,
        engine: str | Engine = "local",
        callback: Callback = silent,
        ledger: Ledger | None = None,
        suggest: bool = True,
    ) -> Release:
        """Release with known randomness. Only tests may call this: somebody who knows the entropy
        can draw the same graph again."""
        self._check(graph)
        counts = ledger or Ledger()
        with running_engine(engine) as running:
            used_up = self._too_many_releases(graph, counts)
            impossible = used_up or self._impossible(graph)
            if impossible:
                release = self._refuse_without_drawing(graph, impossible)
            else:
                release = self._release(entropy, graph, labels, running, callback, counts)
            if release.refused and suggest and labels is None and not used_up:
                found = self._suggestions(graph, release, running, callback)
                release = release._with_suggestions(found)
            return release

    def _release(
        self,
        entropy: SeedSequence,
        graph: Graph,
        labels: np.ndarray | None,
        engine: Engine,
        callback: Callback,
        ledger: Ledger,
    ) -> Release:
        """Make a release that is possible: cluster, draw, measure, attack, decide."""
        started = time.perf_counter()
        secret = default_rng(entropy)
        policy = self.policy or Policy()
        input_hash = fingerprint(graph)
        earlier = ledger.count(input_hash)

        callback(Progress("measuring", 0, 1))
        before = measure(graph, engine)
        blocks = self._cluster(graph, engine, callback) if labels is None else np.asarray(labels)
        if len(blocks) != graph.n_nodes:
            raise InputError(f"{len(blocks)} labels for {graph.n_nodes} nodes")

        attack_rng, inference_rng = as_generator(self.rng).spawn(2)
        suite = AttackSuite(graph, attack_rng)
        infer = self._inference if self.infer_edges and labels is None else _no_inference
        # A3 and the attacks on the controls need only the original, so they run in the background.
        with BackgroundTask(partial(infer, graph, inference_rng), engine) as inference:
            model = build_model(
                self.model,
                graph,
                blocks,
                min_size=self.min_class_size,
                limit=self.max_edge_probability,
                path_length=before.average_path_length,
                rng=secret,
                steps=self.steps,
                engine=engine,
                callback=callback,
            )
            classes = model.classes
            with BackgroundTask(partial(suite.run_controls, classes.block), engine) as controls:
                callback(Progress("drawing", 0, self.draws))
                drawn = engine.map(model.draw, secret.spawn(self.draws))
                releases = [assign_new_ids(g, secret) for g in drawn]
                utility = assess_utility(graph, before, classes.block, releases, engine, callback)
                callback(Progress("attacking", 0))
                risk = assess_risk(
                    model,
                    releases,
                    suite,
                    engine,
                    edge_probability=policy.edge_probability,
                    controls=controls.result(),
                    inference=inference.result(),
                    callback=callback,
                )
        decision = policy.check(risk, earlier + self.draws)
        summary = summarize(
            original=graph,
            published=releases[0].graph,
            model=self.model,
            blocks=classes.n_blocks,
            draws=self.draws,
            utility=utility,
            risk=risk,
            decision=decision,
        )
        record = AuditRecord(
            model=self.model,
            blocks=classes.n_blocks,
            draws=self.draws,
            version=__version__,
            input_sha256=input_hash,
            earlier_releases=earlier,
            parameters={**self.get_params(), "policy": policy, "steps": self.steps or Steps()},
            entropy=str(entropy.entropy),
            classes=classes.n_classes,
            published_statistics=_published_statistics(model),
            utility=utility,
            risk=risk,
            decision=decision,
            seconds=time.perf_counter() - started,
        )
        return Release(
            [published for published, _ in releases],
            utility,
            risk,
            decision,
            [],
            summary,
            record,
            [IdentityMap(graph.ids, identity) for _, identity in releases],
        )

    def _check(self, graph: Graph) -> None:
        """Raise InputError for invalid parameters and for graphs that cannot be released."""
        check_model(self.model)
        if graph.directed or graph.weights is not None:
            kind = "directed" if graph.directed else "weighted"
            raise InputError(
                f"a {kind} graph cannot be released",
                remedy="read it as a simple graph, without directions and weights",
            )
        for name, value in (("draws", self.draws), ("min_class_size", self.min_class_size)):
            if value < 1:
                raise InputError(f"{name}={value} is less than 1")
        if self.n_blocks is not None and self.n_blocks < 1:
            raise InputError(f"n_blocks={self.n_blocks} is less than 1")
        if not 0 < self.max_edge_probability <= 1:
            raise InputError(
                f"max_edge_probability={self.max_edge_probability} is not between 0 and 1"
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
        return []

    def _too_many_releases(self, graph: Graph, ledger: Ledger) -> list[str]:
        """Return why the policy allows no further release of this graph at all."""
        policy = self.policy or Policy()
        if not policy.releases:
            return []
        return policy.check_releases(ledger.count(fingerprint(graph)) + self.draws).reasons

    def _refuse_without_drawing(self, graph: Graph, reasons: list[str]) -> Release:
        """Return the refusal of a release that cannot be drawn."""
        summary = PublicSummary(
            refused=True,
            reasons=reasons,
            model=self.model,
            nodes=graph.n_nodes,
            edges=graph.n_edges,
        )
        return Release([], None, None, PolicyDecision(reasons=reasons), [], summary)

    def _suggestions(
        self, graph: Graph, refused: Release, engine: Engine, callback: Callback
    ) -> list[str]:
        """Look for parameters with which the release would pass."""
        inference_failed = any(reason.startswith("A3") for reason in refused.reasons)

        def passes(change: Change) -> bool:
            parameters = {
                **self.get_params(),
                **change.parameters(),
                "infer_edges": inference_failed,
            }
            trial = type(self)(**parameters)
            return not trial.release(graph, engine=engine, suggest=False).refused

        changes = possible_changes(
            graph,
            self.policy or Policy(),
            n_blocks=self._number_of_blocks(graph),
            min_class_size=self.min_class_size,
            max_edge_probability=self.max_edge_probability,
        )
        return suggest(changes, passes, callback)

    def _number_of_blocks(self, graph: Graph) -> int:
        return self.n_blocks if self.n_blocks is not None else default_n_blocks(graph)

    def _cluster(self, graph: Graph, engine: Engine, callback: Callback) -> np.ndarray:
        return cluster_for_release(
            graph,
            self._number_of_blocks(graph),
            degree_corrected=self.model == "dcsbm",
            min_block_size=self.min_class_size,
            rng=self.rng,
            engine=engine,
            callback=callback,
        )

    def _inference(
        self, graph: Graph, rng: Generator, engine: Engine, callback: Callback
    ) -> EdgeInference | None:
        """Measure A3: cluster the graph again, with some edges held out."""

        def classes(rest: Graph) -> Classes:
            labels = self._cluster(rest, engine, callback)
            if self.model != "dcsbm":
                return Classes(labels, labels)
            return release_classes(rest, labels, self.min_class_size, self.max_edge_probability)

        return edge_inference(graph, classes, rng)


def _no_inference(
    graph: Graph, rng: Generator, engine: Engine, callback: Callback
) -> EdgeInference | None:
    """Skip A3."""
    return None


def _published_statistics(model: ReleaseModel) -> PublishedStatistics | None:
    """Return what a dcsbm release publishes in addition to degrees and edges between blocks."""
    if not isinstance(model, StubModel):
        return None
    return PublishedStatistics(model.targets, model.ring_settings)
