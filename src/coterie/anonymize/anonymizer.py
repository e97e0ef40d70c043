"""The anonymizer: cluster, draw, measure, attack, decide."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from coterie.anonymize.draw.classes import Classes
from coterie.anonymize.draw.clustering import blocks_for, default_blocks
from coterie.anonymize.draw.dcsbm import Steps, StubModel, release_classes
from coterie.anonymize.draw.models import build_model, check_model
from coterie.anonymize.output.audit import Ledger, fingerprint
from coterie.anonymize.output.public_summary import public_summary
from coterie.anonymize.output.release import Release
from coterie.anonymize.policy import Policy
from coterie.anonymize.risk.assessment import Case, assess, release_levels, utility_of
from coterie.anonymize.risk.attack_suite import AttackSuite, Target
from coterie.anonymize.risk.attacks import relabel
from coterie.anonymize.risk.edge_inference import edge_inference
from coterie.anonymize.suggestions import advise
from coterie.anonymize.utility.measures import measure
from coterie.base.errors import InputError
from coterie.base.progress import Callback, Progress, silent
from coterie.base.randomness import RandomState, as_generator
from coterie.base.version import __version__
from coterie.data import Graph
from coterie.engine import Engine, running_engine
from coterie.engine.background import BackgroundTask
from coterie.models.base import Estimator


class Anonymizer(Estimator):
    """Makes a new graph like the old one, and says whether it may be published.

    n_blocks               blocks of the clustering; None: half the square root of the nodes
    min_class_size         nodes in the smallest class (a block's nodes of like degree)
    max_edge_probability   no original edge in a cell of classes that are joined with this
                           probability or more: classes are merged until none is left
    model                  "dcsbm", "sbm" (the paper's) or "exact-counts" (Hay et al.)
    steps                  switches of the dcsbm release's steps
    draws                  graphs to draw from the one model
    policy                 limits that the release must keep
    infer_edges            measure A3, which takes a second clustering
    rng                    of the clustering and the attacks alone; what is drawn for the release
                           comes from the operating system's entropy
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
        look_for_advice: bool = True,
        _secret: Generator | None = None,
    ) -> Release:
        """Draw, measure and attack; never writes. `labels` replaces the clustering by your own.

        A refused release says what would pass, which takes up to three more releases to find out
        (`look_for_advice`). `_secret` replaces the operating system's entropy in tests alone.
        """
        self._check(graph)
        with running_engine(engine) as running:
            used_up = self._used_up(graph, ledger or Ledger())
            impossible = used_up or self._impossible(graph)
            if impossible:
                release = self._nothing(graph, impossible)
            else:
                release = self._release(graph, labels, running, callback, ledger, _secret)
            if release.refused and look_for_advice and labels is None and not used_up:
                hints = advise(self, graph, release, running, callback)
                release = release.with_advice(hints)
            return release

    def _release(
        self,
        graph: Graph,
        labels: np.ndarray | None,
        engine: Engine,
        callback: Callback,
        ledger: Ledger | None,
        secret: Generator | None,
    ) -> Release:
        started = time.perf_counter()
        entropy = SeedSequence()
        secret = secret or default_rng(entropy)
        callback(Progress("measuring", 0, 1))
        before = measure(graph, engine)
        blocks = self._cluster(graph, engine, callback) if labels is None else np.asarray(labels)
        if len(blocks) != graph.n_nodes:
            raise InputError(f"{len(blocks)} labels for {graph.n_nodes} nodes")
        policy = self.policy or Policy()
        input_hash = fingerprint(graph)
        earlier = (ledger or Ledger()).count(input_hash)
        # What needs only the original runs beside what makes the release: A3, and the controls.
        attacker, holder = as_generator(self.rng).spawn(2)
        battery = AttackSuite(graph, attacker)
        infer = self._inference if self.infer_edges and labels is None else _no_inference
        with BackgroundTask(partial(infer, graph, holder), engine) as inference:
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
            with BackgroundTask(
                partial(_controls, battery, model.classes.block), engine
            ) as controls:
                callback(Progress("drawing", 0, self.draws))
                drawn = engine.map(model.draw, secret.spawn(self.draws))
                releases = [Target(*relabel(g, secret)) for g in drawn]
                case = Case(graph, before, model, releases)
                utility = utility_of(case, engine, callback)
                callback(Progress("attacking", 0))
                risk, limits = assess(
                    case,
                    policy,
                    engine,
                    battery=battery,
                    controls=controls.result(),
                    releases_before=earlier,
                    inference=inference.result(),
                    callback=callback,
                )
        levels = release_levels(risk)
        reasons = [limit.reason for limit in limits if not limit.holds]
        about = {
            "refused": bool(reasons),
            "reasons": reasons,
            "model": self.model,
            "blocks": model.classes.n_blocks,
            "draws": self.draws,
        }
        summary = public_summary(
            original=graph,
            published=releases[0].graph,
            before=before,
            utility=utility,
            risk=risk,
            limits=limits,
            levels=levels,
            about=about,
        )
        record = {
            **about,
            "version": __version__,
            "input_sha256": input_hash,
            "earlier_releases_of_this_input": earlier,
            "parameters": {**self.get_params(), "policy": policy, "steps": self.steps or Steps()},
            "entropy": str(entropy.entropy),
            "classes": model.classes.n_classes,
            "published_statistics": _statistics(model),
            "utility": utility,
            "risk": risk,
            "levels": levels,
            "limits": [limit._asdict() for limit in limits],
            "seconds": time.perf_counter() - started,
        }
        graphs, truths = [list(side) for side in zip(*releases, strict=True)]
        return Release(graphs, utility, risk, reasons, [], summary, record, graph.ids, truths)

    def _check(self, graph: Graph) -> None:
        check_model(self.model)
        if graph.directed or graph.weights is not None:
            kind = "directed" if graph.directed else "weighted"
            raise InputError(
                f"a {kind} graph cannot be released yet",
                remedy="read it as a simple graph: directions and weights are then left out",
            )
        for name, value, low in (
            ("draws", self.draws, 1),
            ("min_class_size", self.min_class_size, 1),
        ):
            if value < low:
                raise InputError(f"{name}={value} is below {low}")
        if self.n_blocks is not None and self.n_blocks < 1:
            raise InputError(f"n_blocks={self.n_blocks} is below 1")
        if not 0 < self.max_edge_probability <= 1:
            raise InputError(f"max_edge_probability={self.max_edge_probability} is not in (0, 1]")

    def _impossible(self, graph: Graph) -> list[str]:
        """Why no release of this graph can be made with these numbers; empty if one can."""
        n, least = graph.n_nodes, self.min_class_size
        if not graph.n_edges:
            return ["the graph has no edge: there is nothing to release"]
        if n < 2 * least:
            return [f"a graph of {n} people is too small to hide anybody among {least}"]
        if self._n_blocks(graph) * least > n:
            return [
                f"{self._n_blocks(graph)} blocks of at least {least} people need "
                f"{self._n_blocks(graph) * least}, the graph has {n}"
            ]
        return []

    def _used_up(self, graph: Graph, ledger: Ledger) -> list[str]:
        """Why nothing more may be released of this graph, whatever is changed; empty if it may."""
        policy = self.policy or Policy()
        releases = ledger.count(fingerprint(graph)) + self.draws if policy.releases else 0
        limit = policy.release_limit(releases)
        return [] if limit is None or limit.holds else [limit.reason]

    def _nothing(self, graph: Graph, reasons: list[str]) -> Release:
        """The refusal of what cannot even be drawn."""
        about = {
            "refused": True,
            "reasons": reasons,
            "model": self.model,
            "nodes": graph.n_nodes,
            "edges": graph.n_edges,
        }
        record = {**about, "input_sha256": fingerprint(graph), "parameters": self.get_params()}
        return Release([], {}, {}, reasons, [], about, record)

    def _n_blocks(self, graph: Graph) -> int:
        return self.n_blocks if self.n_blocks is not None else default_blocks(graph)

    def _cluster(self, graph: Graph, engine: Engine, callback: Callback) -> np.ndarray:
        return blocks_for(
            graph,
            self._n_blocks(graph),
            degree_corrected=self.model == "dcsbm",
            min_block_size=self.min_class_size,
            rng=self.rng,
            engine=engine,
            callback=callback,
        )

    def _inference(
        self, graph: Graph, rng: Generator, engine: Engine, callback: Callback
    ) -> dict[str, Any]:
        """A3: the same clustering of a graph with fewer edges."""

        def classes(rest: Graph) -> Classes:
            labels = self._cluster(rest, engine, callback)
            if self.model != "dcsbm":
                return Classes(labels, labels)
            return release_classes(rest, labels, self.min_class_size, self.max_edge_probability)

        return edge_inference(graph, classes, rng)


def _no_inference(*unused: Any) -> None:
    """A3 where it is not asked for."""


def _controls(
    battery: AttackSuite, blocks: np.ndarray, engine: Engine, callback: Callback
) -> dict[str, Any]:
    """What the attacks find in the naive copy and in the thinned one."""
    return battery.run(battery.controls, engine, blocks=blocks, callback=callback)[0]


def _statistics(model: Any) -> dict[str, Any] | None:
    """The statistics of the original a dcsbm release publishes beside degrees and block edges."""
    if not isinstance(model, StubModel):
        return None
    return {"shape": model.shape._asdict(), "dials": model.dials._asdict()}
