"""One release, stage by stage: cluster, draw, measure, attack, decide, record, summarise."""

from __future__ import annotations

import time
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.random import SeedSequence, default_rng

from coterie.anonymize.attacks.suite import AttackSuite
from coterie.anonymize.draw.bipartite import bipartite_classes
from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.draw.clustering import cluster_for_release, default_n_blocks
from coterie.anonymize.draw.dcsbm import Steps, StubModel, release_classes
from coterie.anonymize.draw.models import ReleaseModel, build_model
from coterie.anonymize.features.comparison import FeatureResults
from coterie.anonymize.features.model import FeatureModel, assess_features
from coterie.anonymize.features.network import Network, published_node_tables
from coterie.anonymize.ledger import Ledger, LedgerEntry, fingerprint_of
from coterie.anonymize.output.audit import AuditRecord, PublishedStatistics
from coterie.anonymize.output.public_summary import ReleaseFigures, summarize, summarize_for_owner
from coterie.anonymize.output.release import Release
from coterie.anonymize.output.release_folder import IdentityMap
from coterie.anonymize.policy import Policy, PolicyDecision
from coterie.anonymize.published_graph import PublishedGraph, assign_new_ids
from coterie.anonymize.risk.assessment import Risk, assess_risk
from coterie.anonymize.risk.left_out_edges import LeftOutEdges, leave_edges_out
from coterie.anonymize.settings_search import (
    BlockSettings,
    RememberedLabels,
    first_sufficient,
    possible_settings,
)
from coterie.anonymize.utility.measures import measure
from coterie.anonymize.utility.release_utility import Utility, assess_utility
from coterie.base.errors import CoterieError, InputError
from coterie.base.json_values import JsonObject
from coterie.base.progress import Callback, Progress
from coterie.base.randomness import as_generator
from coterie.base.version import __version__
from coterie.data import Graph
from coterie.engine import BackgroundTask, Engine

if TYPE_CHECKING:
    from coterie.anonymize.anonymizer import Anonymizer


_CLUSTERING = (0x636C7573,)  # the part of the entropy that seeds the clustering


class Input(NamedTuple):
    """What is released."""

    network: Network
    skeleton: Graph  # its undirected graph without weights
    sides: np.ndarray | None = None  # of a bipartite graph
    labels: np.ndarray | None = None  # blocks to use instead of a clustering


class Attempt(NamedTuple):
    """Graphs drawn with some blocks, and what was measured of them."""

    model: ReleaseModel
    releases: list[PublishedGraph]  # skeletons
    networks: list[Network]
    utility: Utility
    risk: Risk
    features: FeatureResults | None


class RecordedRun:
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


class ReleaseRun:
    """The stages of a release that is possible. `run` goes through them."""

    def __init__(
        self,
        settings: Anonymizer,
        given: Input,
        engine: Engine,
        callback: Callback,
        recorded: RecordedRun,
    ) -> None:
        self.started = time.perf_counter()
        self.settings = settings
        self.policy = settings.policy or Policy()
        self.given = given
        self.graph = given.skeleton
        self.fingerprint = fingerprint_of(self.graph)
        self.engine = engine
        self.callback = callback
        self.recorded = recorded
        self.remembered = RememberedLabels()

    def run(self, entropy: SeedSequence | None) -> Release:
        """Make the release."""
        self.entropy = entropy or SeedSequence()
        # Secret too: whoever knows the seed of the clustering and all edges but one could cluster
        # both possible networks and see which one fits the release.
        secret = SeedSequence(self.entropy.entropy, spawn_key=_CLUSTERING)
        self.clustering_seed = int(secret.generate_state(1, np.uint64)[0] >> np.uint64(1))
        self.callback(Progress("measuring", 0, 1))
        self.before = measure(self.graph, self.engine)
        blocks = BlockSettings(number_of_blocks(self.settings, self.graph, self.clustering_seed))
        self.cluster(blocks)
        self.record()
        self.prepare()  # nothing is drawn before the entry in the ledger
        made = self.attempt(blocks)
        other = self.other_blocks(made, blocks)
        if other is not None:
            made = self.attempt(other)
        return self.summarise(made, self.decide(made))

    def cluster(self, blocks: BlockSettings) -> np.ndarray:
        """Return the block of each node: the given ones, or those of a clustering."""
        labels = self.given.labels
        if labels is None:
            return self._clustered(self.graph, blocks, self.engine, self.callback)
        if len(labels) != self.graph.n_nodes:
            raise InputError(f"{len(labels)} labels for {self.graph.n_nodes} nodes")
        return np.asarray(labels)

    def record(self) -> None:
        """Record the release in the ledger."""
        model, least = self.settings.model, self.settings.min_class_size
        details: JsonObject = {"model": model, "min_class_size": least}
        self.recorded.open(self.settings.draws, self.policy.releases, self.fingerprint, details)

    def prepare(self) -> None:
        """Prepare what is random: the secret draws, the attacks, the edges that are left out."""
        self.secret = default_rng(self.entropy)
        self.attack_rng, self.inference_rng = as_generator(self.settings.rng).spawn(2)
        self.suite = AttackSuite(self.graph, self.attack_rng)

    def attempt(self, blocks: BlockSettings) -> Attempt:
        """Draw, measure and attack, with these blocks."""
        # A3 and the attacks on the controls need only the original: they run in the background.
        with BackgroundTask(partial(self.leave_out, blocks), self.engine) as left_out:
            model = self.fit(blocks)
            block = model.classes.block
            feature_model = FeatureModel.fit(
                self.given.network,
                model.classes,
                min_size=self.settings.min_class_size,
                sensitive=tuple(self.settings.sensitive),
                sensitive_distance=self.policy.sensitive_distance,
            )
            with BackgroundTask(partial(self.suite.run_controls, block), self.engine) as controls:
                networks, releases = self.draw(model, feature_model)
                utility = assess_utility(
                    self.graph, self.before, block, releases, self.engine, self.callback
                )
                self.callback(Progress("attacking", 0))
                risk = assess_risk(
                    model,
                    releases,
                    self.suite,
                    self.engine,
                    edge_probability=self.policy.edge_probability,
                    controls=controls.result(),
                    left_out=left_out.result(),
                    callback=self.callback,
                )
                features = assess_features(
                    self.given.network,
                    self.given.sides,
                    feature_model,
                    model.classes,
                    [(n, r.identity) for n, r in zip(networks, releases, strict=True)],
                    self.attack_rng,
                    min_size=self.settings.min_class_size,
                )
        placed = [(n, r.identity) for n, r in zip(networks, releases, strict=True)]
        inference = feature_model.inference(self.graph, placed)
        risk = replace(risk, attribute_inference=inference)
        return Attempt(model, releases, networks, utility, risk, features)

    def leave_out(
        self, blocks: BlockSettings, engine: Engine, callback: Callback
    ) -> LeftOutEdges | None:
        """Cluster the graph again without some of its edges: the control of A2 and A3."""
        if not self.settings.infer_edges or self.given.labels is not None:
            return None

        def classes(rest: Graph) -> Classes:
            return self._classes(rest, self._clustered(rest, blocks, engine, callback), blocks)

        # A copy, so that each call leaves the same edges out.
        rng, certainty = deepcopy(self.inference_rng), self.policy.edge_probability
        allowed = self.policy.known_degrees_share
        return leave_edges_out(self.graph, classes, rng, certainty=certainty, allowed=allowed)

    def fit(self, blocks: BlockSettings) -> ReleaseModel:
        """Fit the model that graphs are drawn from."""
        settings = self.settings
        return build_model(
            settings.model,
            self.graph,
            self.cluster(blocks),
            min_size=settings.min_class_size,
            limit=settings.max_edge_probability,
            rng=self.secret,
            steps=settings.steps,
            core_share=blocks.core_share,
            merge_cores=blocks.merge_cores,
            sides=self.given.sides,
            callback=self.callback,
        )

    def draw(
        self, model: ReleaseModel, features: FeatureModel
    ) -> tuple[list[Network], list[PublishedGraph]]:
        """Draw graphs and everything on top of them, and number the nodes anew."""
        self.callback(Progress("drawing", 0, self.settings.draws))
        drawn = self.engine.map(model.draw, self.secret.spawn(self.settings.draws))
        networks = [features.draw(graph, self.secret) for graph in drawn]
        releases = [assign_new_ids(graph, self.secret, self.given.sides) for graph in drawn]
        return [
            network.renumbered(identity)
            for network, (_, identity) in zip(networks, releases, strict=True)
        ], releases

    def other_blocks(self, made: Attempt, blocks: BlockSettings) -> BlockSettings | None:
        """Return other blocks with which exact degrees disclose little enough, if they must."""
        allowed = self.policy.known_degrees_share
        disclosed = made.risk.disclosed_edges.known_degrees.disclosed
        if self.settings.model != "dcsbm" or self.given.sides is not None or disclosed <= allowed:
            return None
        self.callback(Progress("searching blocks that disclose less", 0))
        may_change = self.settings.n_blocks is None and self.given.labels is None
        return first_sufficient(
            self.graph,
            possible_settings(blocks.n_blocks, allowed, fewer=may_change),
            allowed,
            self.policy.edge_probability,
            lambda tried: self._classes(self.graph, self.cluster(tried), tried),
            lambda tried: self.leave_out(tried, self.engine, self.callback),
        )

    def decide(self, made: Attempt) -> PolicyDecision:
        """Let the policy decide, and record a refusal."""
        releases = self.recorded.earlier + self.settings.draws
        decision = self.policy.check(made.risk, releases, made.features, made.utility)
        self.recorded.decided(refused=decision.refused)
        return decision

    def summarise(self, made: Attempt, decision: PolicyDecision) -> Release:
        """Return the release, with what may be published about it and what its owner sees."""
        settings = self.settings
        figures = ReleaseFigures(
            original=self.graph,
            published=made.releases[0].graph,
            model=settings.model,
            blocks=made.model.classes.n_blocks,
            draws=settings.draws,
            utility=made.utility,
            risk=made.risk,
            decision=decision,
            objective=settings.objective,
            features=made.features,
        )
        return Release(
            [published.graph for published in made.networks],
            made.utility,
            made.risk,
            decision,
            [],
            summarize(figures, settings.min_class_size),
            self.audit(made, decision),
            [IdentityMap(self.graph.ids, identity) for _, identity in made.releases],
            self.recorded.ledger,
            self.recorded.entry,
            summarize_for_owner(figures),
            made.features,
            published_node_tables(made.networks, made.releases, self.given.sides),
        )

    def audit(self, made: Attempt, decision: PolicyDecision) -> AuditRecord:
        """Return the private record of the release."""
        settings, classes = self.settings, made.model.classes
        parameters = {"policy": self.policy, "steps": settings.steps or Steps()}
        return AuditRecord(
            model=settings.model,
            blocks=classes.n_blocks,
            draws=settings.draws,
            version=__version__,
            input_sha256=self.fingerprint,
            dataset=settings.dataset,
            earlier_releases=self.recorded.earlier,
            parameters={**settings.get_params(), **parameters},
            entropy=str(self.entropy.entropy),
            classes=classes.n_classes,
            # What a dcsbm release publishes besides degrees and edges between blocks
            published_statistics=PublishedStatistics(made.model.targets)
            if isinstance(made.model, StubModel)
            else None,
            utility=made.utility,
            risk=made.risk,
            decision=decision,
            seconds=time.perf_counter() - self.started,
            features=made.features,
        )

    def _clustered(
        self, graph: Graph, blocks: BlockSettings, engine: Engine, callback: Callback
    ) -> np.ndarray:
        """Cluster a graph, unless it was clustered before."""
        settings = self.settings
        cluster = partial(
            cluster_for_release,
            degree_corrected=settings.model == "dcsbm",
            min_block_size=settings.min_class_size,
            rng=self.clustering_seed,
            engine=engine,
            callback=callback,
        )
        return self.remembered.get(graph, blocks.n_blocks, cluster)

    def _classes(self, graph: Graph, labels: np.ndarray, blocks: BlockSettings) -> Classes:
        """Return the classes of a release with these blocks."""
        least, limit = self.settings.min_class_size, self.settings.max_edge_probability
        if self.given.sides is not None:
            return bipartite_classes(graph, labels, self.given.sides, least, limit)
        if self.settings.model != "dcsbm":
            return Classes(labels, labels)
        return release_classes(
            graph,
            labels,
            least,
            limit,
            cut=(self.settings.steps or Steps()).cut_blocks,
            core_share=blocks.core_share,
            merge_cores=blocks.merge_cores,
        )


def number_of_blocks(settings: Anonymizer, graph: Graph, seed: int = 0) -> int:
    """Return the number of blocks for a graph: the given one, or the default."""
    if settings.n_blocks is not None:
        return settings.n_blocks
    return default_n_blocks(graph, settings.min_class_size, seed)
