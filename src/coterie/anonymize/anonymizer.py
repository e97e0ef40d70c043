"""The anonymizer: cluster a graph, draw a new one, measure it, attack it, decide."""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from coterie.anonymize.draw.bipartite import check_sides, find_sides
from coterie.anonymize.draw.dcsbm import Steps
from coterie.anonymize.draw.models import check_model
from coterie.anonymize.features.network import Network, skeleton_of
from coterie.anonymize.features.weights import check_weights
from coterie.anonymize.ledger import Ledger, check_dataset_name
from coterie.anonymize.output.public_summary import PublicSummary
from coterie.anonymize.output.release import Release
from coterie.anonymize.policy import ACKNOWLEDGED, Policy, PolicyDecision
from coterie.anonymize.release_run import Input, RecordedRun, ReleaseRun, number_of_blocks
from coterie.anonymize.settings_search import (
    ALTERNATIVE,
    MAX_TRIALS,
    Change,
    Trial,
    search_space,
    suggest,
)
from coterie.base.errors import InputError
from coterie.base.progress import Callback, silent
from coterie.base.randomness import RandomState
from coterie.data import Graph
from coterie.data.foreign import as_graph
from coterie.data.node_table import NodeTable
from coterie.engine import Engine, running_engine
from coterie.models.base import Estimator

_TRIAL_SECONDS = 30.0  # for trials of other parameters after a refusal, by the time of the first
_HUB_SHARE = 0.5  # of all connections; with more at one person, little else is left to publish
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
        Seed of the attacks [4]_ and of the edges that are left out. It does not determine the new
        graph: blocks and edges follow from randomness of the operating system, so somebody who
        guesses the seed cannot draw it again.

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
        graph = as_graph(graph, weighted=self.objective == "weighted")
        attributes = None if attributes is None else attributes.of_graph(graph)
        sides = self._check(graph, attributes, sides)
        given = Input(Network(graph, attributes), skeleton_of(graph), sides, labels)
        recorded = RecordedRun(ledger or Ledger(), self.dataset)
        started = time.process_time()
        with running_engine(engine) as running, recorded:
            policy = self.policy or Policy()
            used_up = policy.check_releases(recorded.earlier + self.draws).reasons
            impossible = used_up or self._impossible(given.skeleton)
            if impossible:
                release = self._refuse_without_drawing(given.skeleton, impossible)
            else:
                run = ReleaseRun(self, given, running, callback, recorded)
                release = run.run(self._entropy)
            if release.refused and suggest and labels is None and not used_up:
                used = time.process_time() - started
                found = self._suggestions(given, running, callback, release.decision, used)
                release = release._with_suggestions(found)
            return release

    _entropy: SeedSequence | None = None

    def _release_from(self, entropy: SeedSequence, graph: Graph, **options: Any) -> Release:
        """Release with known randomness. Only tests may call this: somebody who knows the entropy
        can draw the same graph again."""
        known = copy(self)
        known._entropy = entropy
        return known.release(graph, **options)

    def _check(
        self, graph: Graph, attributes: NodeTable | None, sides: np.ndarray | None
    ) -> np.ndarray | None:
        """Raise InputError for invalid parameters and for graphs that cannot be released.

        Returns the sides of a bipartite graph, None for others.
        """
        check_model(self.model)
        self._check_features(graph, attributes)
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

    def _check_features(self, graph: Graph, attributes: NodeTable | None) -> None:
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
        n, least, k = graph.n_nodes, self.min_class_size, number_of_blocks(self, graph)
        if not graph.n_edges:
            return ["the graph has no edge, so there is nothing to release"]
        if n < 2 * least:
            return [f"a graph of {n} people is too small for classes of {least}"]
        if k * least > n:
            return [
                f"{k} blocks of at least {least} people need {k * least} people, the graph has {n}"
            ]
        largest = int(graph.degrees.max())
        if largest >= _HUB_SHARE * graph.n_edges and n > 2 * least and self.objective == "simple":
            return [
                f"{largest:,} of {graph.n_edges:,} connections end at one person: a release cannot "
                "hide this person and keep the network"
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
        given: Input,
        engine: Engine,
        callback: Callback,
        refused: PolicyDecision,
        seconds: float,
    ) -> list[str]:
        """Look for the parameters that would pass and keep most of the original.

        There is nothing to try if the owner must accept something, or if one release takes long:
        `seconds` are the CPU seconds of the refused one.
        """
        exceeded = {limit.name for limit in refused.limits if not limit.holds}
        if exceeded == {ACKNOWLEDGED}:
            return [ALTERNATIVE]
        most = min(MAX_TRIALS, int(_TRIAL_SECONDS / max(seconds, 0.1)))

        def attempt(change: Change) -> Trial:
            parameters = {
                **self.get_params(),
                **change.parameters(),
                "dataset": None,  # a trial is never published, so it is not counted
                "policy": replace(self.policy or Policy(), releases=0),
            }
            trial = type(self)(**parameters)
            made = trial.release(
                given.network.graph,
                attributes=given.network.attributes,
                sides=given.sides,
                engine=engine,
                suggest=False,
            )
            return Trial.of(refused=made.refused, utility=made.utility)

        space = search_space(
            given.skeleton,
            self.policy or Policy(),
            n_blocks=number_of_blocks(self, given.skeleton),
            min_class_size=self.min_class_size,
            max_edge_probability=self.max_edge_probability,
        )
        if not most:
            slow = f"nothing else was tried, because one release takes {seconds:.0f} CPU s"
            return [slow, ALTERNATIVE]
        return suggest(space, attempt, callback, most)


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
