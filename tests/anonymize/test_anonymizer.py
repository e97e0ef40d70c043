"""The anonymizer: similar graphs, fresh randomness, refusals with reasons and suggestions."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from numpy.random import SeedSequence

from coterie.anonymize.anonymizer import Anonymizer
from coterie.anonymize.draw.dcsbm import Steps
from coterie.anonymize.ledger import Ledger
from coterie.anonymize.output.release import Release
from coterie.anonymize.policy import Policy
from coterie.base.errors import InputError, LedgerRefusal
from coterie.data import Graph
from coterie.engine import LocalEngine

QUICK = Steps(rewire=False)


@pytest.fixture(scope="module")
def people() -> tuple[Graph, np.ndarray]:
    """Four communities of 100, with their labels."""
    sizes, inside, across = [100] * 4, 0.12, 0.008
    p = np.full((4, 4), across) + np.eye(4) * (inside - across)
    network = nx.stochastic_block_model(sizes, p, seed=4)
    graph = Graph.from_edges(*np.array(network.edges).T, n_nodes=400)
    return graph, (np.arange(400) // 100).astype(np.int32)


@pytest.fixture(scope="module")
def release(people: tuple[Graph, np.ndarray], tmp_path_factory: pytest.TempPathFactory) -> Release:
    graph, labels = people
    ledger = Ledger(tmp_path_factory.mktemp("state"))
    return Anonymizer(4, draws=2)._release_from(
        SeedSequence(5), graph, labels=labels, ledger=ledger
    )


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))


def test_a_release_is_similar_to_the_original_and_within_the_limits(release: Release) -> None:
    assert not release.refused, release.reasons
    assert release.graph is not None and release.graph.n_nodes == 400
    assert release.utility is not None and release.risk is not None
    assert release.utility.degree_ks < 0.05
    before, after = release.utility.original, release.utility.published
    assert abs(after.average_path_length / before.average_path_length - 1) < 0.05
    assert abs(after.edges - before.edges) < 0.01 * before.edges
    assert release.risk.class_size.smallest >= 10
    assert release.risk.disclosed_edges.above_limit == 0
    assert release.risk.attacks.attacks_have_power
    assert len(release.risk.attacks.averaging) == 2


def test_new_ids_do_not_follow_the_original_order(
    release: Release, people: tuple[Graph, np.ndarray]
) -> None:
    """Blocks are consecutive in the original; consecutive new ids share a block only by luck."""
    for identities in release.identity_maps:
        block = np.empty(400, int)
        block[identities.identity] = people[1]
        assert (block[1:] == block[:-1]).mean() < 0.4


def test_the_seed_does_not_determine_the_graph(people: tuple[Graph, np.ndarray]) -> None:
    graph, labels = people
    quick = Anonymizer(4, steps=QUICK, rng=0)
    one, two = (quick.release(graph, labels=labels) for _ in range(2))
    assert not np.array_equal(one.graphs[0].indices, two.graphs[0].indices)
    assert one.record is not None and two.record is not None
    assert one.record.entropy != two.record.entropy


def test_the_public_method_takes_no_randomness_for_the_graph() -> None:
    assert list(inspect.signature(Anonymizer.release).parameters) == [
        "self", "graph", "attributes", "sides", "labels", "engine", "callback", "ledger", "suggest",
    ]  # fmt: skip


def test_known_entropy_draws_the_same_graph(people: tuple[Graph, np.ndarray]) -> None:
    graph, labels = people
    quick = Anonymizer(4, steps=QUICK)
    same = [quick._release_from(SeedSequence(1), graph, labels=labels) for _ in range(2)]
    assert np.array_equal(same[0].graphs[0].indices, same[1].graphs[0].indices)


def test_results_do_not_depend_on_the_number_of_threads(people: tuple[Graph, np.ndarray]) -> None:
    """With two threads, A3 and the attacks on the controls run in the background."""
    graph, _ = people
    one, two = (
        Anonymizer(4)._release_from(SeedSequence(7), graph, engine=LocalEngine(n)) for n in (1, 2)
    )
    assert one.risk is not None and one.risk.edge_inference is not None
    assert (one.risk, one.utility) == (two.risk, two.utility)
    assert np.array_equal(one.graphs[0].indices, two.graphs[0].indices)


def test_suggestions_pass(people: tuple[Graph, np.ndarray]) -> None:
    graph, _ = people
    made = Anonymizer(50, infer_edges=False).release(graph)
    assert made.refused and made.graph is None and made.utility is None and made.risk is None
    assert made.reasons == ["50 blocks of at least 10 people need 500 people, the graph has 400"]
    suggestion, alternative = made.suggestions
    assert "differentially private" in alternative and "`epsilon=1`" in alternative
    blocks = int(re.fullmatch(r"`n_blocks=(\d+)` would pass \(tried\)", suggestion).group(1))
    assert not Anonymizer(blocks, infer_edges=False).release(graph).refused


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (Graph.from_edges([0, 1], [1, 2]), "too small for classes of 10"),
        (Graph.from_edges([], [], n_nodes=50), "no edge"),
        (Graph.from_edges(*np.triu_indices(40, 1), n_nodes=40), "A2"),
        (Graph.from_edges(*np.triu_indices(700, 1), n_nodes=700), "100 % of all pairs"),
    ],
)
def test_graphs_that_cannot_be_protected_are_refused(graph: Graph, words: str) -> None:
    made = Anonymizer(2, infer_edges=False).release(graph)
    assert made.refused and words in made.reasons[0]


@pytest.mark.parametrize("kind", ["directed", "weighted"])
def test_directed_and_weighted_graphs_are_rejected(kind: str) -> None:
    weights = [1.0, 2.0] if kind == "weighted" else None
    graph = Graph.from_edges([0, 1], [1, 2], weights=weights, directed=kind == "directed")
    with pytest.raises(InputError, match=kind):
        Anonymizer(1).release(graph)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"draws": 0}, "draws=0 is less than 1"),
        ({"min_class_size": 0}, "min_class_size=0 is less than 1"),
        ({"n_blocks": 0}, "n_blocks=0 is less than 1"),
        ({"max_edge_probability": 1.5}, "not between 0 and 1"),
        ({"model": "magic"}, "unknown model 'magic'"),
    ],
)
def test_invalid_parameters_are_rejected(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Anonymizer(**parameters).release(Graph.from_edges([0], [1]))


def test_labels_of_another_length_are_rejected(people: tuple[Graph, np.ndarray]) -> None:
    with pytest.raises(InputError, match="3 labels for 400 nodes"):
        Anonymizer(4).release(people[0], labels=np.zeros(3, np.int32))


@pytest.mark.parametrize("model", ["sbm", "exact-counts"])
def test_block_models_draw_the_expected_number_of_edges(
    people: tuple[Graph, np.ndarray], model: str
) -> None:
    graph, labels = people
    made = Anonymizer(4, model=model)._release_from(SeedSequence(2), graph, labels=labels)
    assert not made.refused and made.utility is not None
    edges = made.utility.published.edges
    assert (edges == graph.n_edges) == (model == "exact-counts")
    assert abs(edges - graph.n_edges) < 0.15 * graph.n_edges


def test_the_policy_limits_the_number_of_releases(
    people: tuple[Graph, np.ndarray], tmp_path: Path
) -> None:
    graph, labels = people
    twice = Anonymizer(4, policy=Policy(releases=2), dataset="people", steps=QUICK)
    for i in range(2):
        made = twice._release_from(SeedSequence(i), graph, labels=labels)
        made.write(tmp_path / f"out{i}", lambda summary: "<html></html>")
        made.write(tmp_path / f"copy{i}", lambda summary: "<html></html>")  # no new graph
    third = twice.release(graph, labels=labels)
    assert third.refused and "release number 3" in third.reasons[0]


@pytest.mark.parametrize("change", ["ids renamed", "one line left out"])
def test_a_changed_file_is_still_the_same_dataset(
    people: tuple[Graph, np.ndarray], change: str
) -> None:
    graph, labels = people
    once = Anonymizer(4, policy=Policy(releases=1), dataset="people", steps=QUICK)
    assert not once.release(graph, labels=labels).refused
    source, target = graph.edges()
    if change == "ids renamed":
        names = np.array([f"x{i}" for i in range(400)], object)
        other = Graph.from_edges(source, target, n_nodes=400, ids=names)
    else:
        other = Graph.from_edges(source[1:], target[1:], n_nodes=400)
    second = once.release(other, labels=labels)
    assert second.refused and "release number 2" in second.reasons[0]


def test_a_limit_on_releases_needs_the_name_of_the_dataset(
    people: tuple[Graph, np.ndarray],
) -> None:
    graph, labels = people
    with pytest.raises(InputError, match="set `dataset` to a name"):
        Anonymizer(4, policy=Policy(releases=1), steps=QUICK).release(graph, labels=labels)


def test_a_release_is_counted_before_it_is_drawn(
    people: tuple[Graph, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, labels = people
    ledger = Ledger(tmp_path / "books")
    seen: list[int] = []

    def fails(*arguments: object, **options: object) -> None:
        seen.append(ledger.releases("people"))
        raise KeyboardInterrupt

    monkeypatch.setattr("coterie.anonymize.release_run.build_model", fails)
    with pytest.raises(KeyboardInterrupt):
        Anonymizer(4, dataset="people").release(graph, labels=labels, ledger=ledger)
    assert seen == [1]
    assert [entry.state for entry in ledger.entries("people")] == ["failed"]
    assert ledger.releases("people") == 1


def test_a_refused_release_and_trials_for_suggestions_are_not_counted(
    people: tuple[Graph, np.ndarray], tmp_path: Path
) -> None:
    graph, _ = people
    ledger = Ledger(tmp_path / "books")
    policy = Policy(min_class_size=30, releases=1)
    strict = Anonymizer(4, policy=policy, dataset="people", steps=QUICK, infer_edges=False)
    made = strict.release(graph, ledger=ledger)
    assert made.refused and "would pass (tried)" in made.suggestions[0]
    assert [entry.state for entry in ledger.entries("people")] == ["refused"]
    made.write(tmp_path / "out", lambda summary: "", force=True)
    assert [entry.state for entry in ledger.entries("people")] == ["refused", "written"]


def test_a_damaged_ledger_stops_a_release_before_any_work(
    people: tuple[Graph, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, labels = people
    ledger = Ledger(tmp_path / "books")
    ledger.begin("people", kind="release", details={})
    ledger.file("people").write_text("")
    monkeypatch.setattr("coterie.anonymize.release_run.measure", None)  # not called
    with pytest.raises(LedgerRefusal, match="damaged"):
        Anonymizer(4, dataset="people").release(graph, labels=labels, ledger=ledger)


def test_a_star_is_refused_with_a_reason_before_any_work() -> None:
    star = Graph.from_edges(np.zeros(5000, int), np.arange(1, 5001))
    release = Anonymizer().release(star)
    assert release.refused and release.graph is None
    assert release.reasons == [
        "5,000 of 5,000 connections end at one person: a release cannot hide this person and keep "
        "the network"
    ]


def test_the_seed_of_the_clustering_is_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who knows all edges but one could repeat the clustering of both worlds with a public seed."""
    seen = []

    def watch(graph: Graph, n_blocks: int, **settings: object) -> np.ndarray:
        seen.append(settings["rng"])
        return np.arange(graph.n_nodes) * n_blocks // graph.n_nodes

    monkeypatch.setattr("coterie.anonymize.release_run.cluster_for_release", watch)
    edges = np.array(nx.gnm_random_graph(100, 400, seed=0).edges)
    graph = Graph.from_edges(edges[:, 0], edges[:, 1], n_nodes=100)
    for entropy in (1, 2, 1):
        Anonymizer(4, infer_edges=False, rng=0)._release_from(
            SeedSequence(entropy), graph, suggest=False
        )
    assert seen[0] == seen[2] != seen[1] and 0 not in seen
