"""What a clustering offers besides labels: communities, new nodes, link scores, pictures."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import reference as ref

import coterie as ct
from coterie.base.errors import AssumptionWarning, InputError
from coterie.kernels.graphs.triangles import best_two_steps, shared_weight
from coterie.models.hard.clustering import join_costs
from coterie.models.hard.link_scores import _logistic, _of_whole_graph, _Precision
from coterie.models.hard.posterior import sample_partitions

OBJECTIVES = ("simple", "degree-corrected", "directed", "weighted")


def random_graph(n: int, m: int, seed: int, *, objective: str = "simple") -> ct.Graph:
    rng = np.random.default_rng(seed)
    source, target = rng.integers(0, n, (2, m))
    weights = None
    if objective == "weighted":
        pairs = np.unique(np.sort([source, target], axis=0)[:, source != target], axis=1)
        source, target = pairs
        weights = rng.integers(1, 5, len(source))
    return ct.Graph.from_edges(
        source, target, weights=weights, n_nodes=n, directed=objective == "directed"
    )


def fitted(graph: ct.Graph, labels: np.ndarray, objective: str, **kwargs: Any):
    """A model with exactly these labels."""
    k = int(labels.max()) + 1
    model = ct.GeneralizedKMeans(k, objective=objective, search="paper", max_iter=0, init=labels)
    model.fit(graph)
    np.testing.assert_array_equal(model.labels_, labels)
    return model


@pytest.mark.parametrize("library", ["networkx", "igraph", "scipy", "scipy matrix"])
def test_fit_accepts_graphs_of_other_libraries(library: str) -> None:
    G = nx.karate_club_graph()
    graph = ct.Graph.from_networkx(G)
    if library == "networkx":
        given: Any = G
    elif library == "igraph":
        given = pytest.importorskip("igraph").Graph.from_networkx(G)
    elif library == "scipy":
        given = nx.to_scipy_sparse_array(G)
    else:
        given = scipy.sparse.csr_matrix(nx.to_scipy_sparse_array(G))
    model = ct.GeneralizedKMeans(2, objective="degree-corrected").fit(given)
    expected = ct.GeneralizedKMeans(2, objective="degree-corrected").fit(graph)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert [len(c) for c in model.communities(given)] == np.bincount(model.labels_).tolist()


def test_fit_reads_the_weights_of_other_libraries_for_the_weighted_objective() -> None:
    G = nx.karate_club_graph()
    model = ct.GeneralizedKMeans(2, objective="weighted").fit(G)
    assert model.block_edges_[np.triu_indices(2)].sum() == G.size(weight="weight")
    unweighted = ct.GeneralizedKMeans(2).fit(G)
    assert unweighted.block_edges_[np.triu_indices(2)].sum() == G.size()


def test_soft_models_and_anonymizer_accept_networkx_graphs() -> None:
    G = nx.karate_club_graph()
    graph = ct.Graph.from_networkx(G)
    soft = ct.MMSBM(2, max_iter=5).fit(G)
    np.testing.assert_array_equal(
        soft.memberships_, ct.MMSBM(2, max_iter=5).fit(graph).memberships_
    )


def test_communities_are_sets_of_the_nodes_that_were_given() -> None:
    G = nx.grid_2d_graph(4, 5)  # nodes are tuples
    model = ct.GeneralizedKMeans(3).fit(G)
    found = model.communities(G)
    assert nx.community.is_partition(G, found)
    assert found == model.communities()
    by_id = model.labels_by_id(G)
    for nodes in found:
        assert len({by_id[node] for node in nodes}) == 1
    assert [min(by_id[node] for node in nodes) for nodes in found] == sorted(set(by_id.values()))


def test_communities_of_another_graph_are_refused() -> None:
    model = ct.GeneralizedKMeans(2).fit(nx.path_graph(6))
    with pytest.raises(InputError, match="the graph has 5 nodes, the model was fitted to 6"):
        model.communities(nx.path_graph(5))
    ratings = ct.Ratings.from_arrays([0, 1, 2], [0, 1, 1], [1, 2, 2])
    with pytest.raises(InputError, match="labels_by_id"):
        ct.GeneralizedKMeans(1, objective="ratings").fit(ratings).communities(ratings)


def test_to_networkx_keeps_attributes_and_adds_the_block() -> None:
    G = nx.karate_club_graph()
    model = ct.GeneralizedKMeans(2, objective="degree-corrected").fit(G)
    H = model.to_networkx(G)
    assert "block" not in G.nodes[0]  # the given graph is not changed
    assert [H.nodes[v]["block"] for v in H] == model.labels_.tolist()
    assert H.nodes[0]["club"] == G.nodes[0]["club"]
    assert H.edges[0, 1] == G.edges[0, 1]
    assert nx.utils.graphs_equal(nx.Graph(model.to_networkx().edges), nx.Graph(G.edges))


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(OBJECTIVES), st.integers(0, 10_000))
def test_new_node_joins_the_block_with_the_lowest_entropy(objective: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(3, 12)), int(rng.integers(1, 4))
    graph = random_graph(n, 3 * n, seed, objective=objective)
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - min(n, k))])[:n].astype(np.int32)
    k = int(labels.max()) + 1
    model = fitted(graph, labels, objective)
    out = rng.permutation(n)[: rng.integers(0, n + 1)]
    back = rng.permutation(n)[: rng.integers(0, n + 1)] if graph.directed else out[:0]
    weights = rng.integers(1, 4, n) if objective == "weighted" else np.ones(n)
    ends = (out, weights[out].astype(float)), (back, np.ones(len(back)))
    costs = join_costs(objective, labels, model.block_edges_, *ends)

    def entropy(block: int) -> float:
        z = [*labels.tolist(), block]
        source, target = (side.tolist() for side in graph.edges())
        old = list(zip(source, target, strict=True))
        edges = [*old, *((n, v) for v in out.tolist()), *((v, n) for v in back.tolist())]
        if objective == "weighted":
            heavy = [*graph.edge_weights().tolist(), *weights[out].tolist()]
            return ref.entropy_weighted(
                [(a, b, w) for (a, b), w in zip(edges, heavy, strict=True)], z, k
            )
        by_name = {
            "simple": ref.entropy_simple,
            "degree-corrected": ref.entropy_degree_corrected,
            "directed": ref.entropy_directed,
        }
        return by_name[objective](edges, z, k)

    wanted = np.array([entropy(block) for block in range(k)])
    np.testing.assert_allclose(costs - costs[0], wanted - wanted[0], atol=1e-8)
    neighbours = {int(v): int(weights[v]) for v in out} if objective == "weighted" else out.tolist()
    options = {"predecessors": [back.tolist()]} if graph.directed else {}
    assert wanted[model.predict([neighbours], **options)[0]] == pytest.approx(wanted.min())


def test_prediction_for_a_node_of_the_graph_is_its_block() -> None:
    """A locally optimal clustering: every node would choose its block again."""
    G = nx.planted_partition_graph(3, 30, 0.4, 0.02, seed=2)
    model = ct.GeneralizedKMeans(3, objective="degree-corrected").fit(G)
    found = model.predict([list(G[v]) for v in G])
    assert (found == model.labels_).mean() > 0.95
    with pytest.raises(InputError, match="no node 'x'"):
        model.predict([["x"]])
    with pytest.raises(InputError, match="no directions"):
        model.predict([[0]], predecessors=[[1]])


def test_prediction_of_points_is_the_nearest_centre() -> None:
    points = np.array([[0.0], [0.1], [9.0], [9.2]])
    model = ct.GeneralizedKMeans(2, objective="gaussian").fit(points)
    assert model.predict([[8.0], [1.0]]).tolist() == model.labels_[[2, 0]].tolist()


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["simple", "degree-corrected", "directed"]), st.integers(0, 10_000))
def test_link_scores_leave_the_pair_itself_out(objective: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 10))
    graph = random_graph(n, 2 * n, seed, objective=objective)
    if graph.n_edges == 0:
        return
    labels = np.unique(rng.integers(0, 3, n), return_inverse=True)[1].astype(np.int32)
    model = fitted(graph, labels, objective)
    u, v = np.nonzero(~np.eye(n, dtype=bool))
    edges = list(zip(*(side.tolist() for side in graph.edges()), strict=True))
    wanted = [
        ref.link_probability(edges, labels.tolist(), int(a), int(b), model=objective)
        for a, b in zip(u, v, strict=True)
    ]
    np.testing.assert_allclose(model.score_pairs(u, v, closure=False), wanted, rtol=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(OBJECTIVES), st.integers(0, 10_000), st.integers(1, 12), st.booleans())
def test_predicted_links_are_the_best_absent_pairs(
    objective: str, seed: int, count: int, closure: bool
) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 14))
    graph = random_graph(n, 3 * n, seed, objective=objective)
    labels = np.unique(rng.integers(0, 4, n), return_inverse=True)[1].astype(np.int32)
    model = fitted(graph, labels, objective)
    absent = [
        (a, b)
        for a in range(n)
        for b in range(n)
        if (a != b if graph.directed else a < b) and graph.csr[a, b] == 0
    ]
    found = model.predict_links(count, closure=closure)
    assert len(found) == min(count, len(absent))
    assert {(a, b) for a, b, _ in found} <= set(absent)
    if absent:
        ends = (list(side) for side in zip(*absent, strict=True))
        scores = np.sort(model.score_pairs(*ends, closure=closure))
        best = scores[::-1][:count]
        np.testing.assert_allclose([p for _, _, p in found], best, rtol=1e-9)


def test_scores_are_averaged_over_samples() -> None:
    graph = random_graph(12, 30, 4)
    parts = [np.arange(12) % 2, np.arange(12) // 6]
    each = [
        fitted(graph, z.astype(np.int32), "simple").score_pairs([0, 1], [5, 8], closure=False)
        for z in parts
    ]
    model = fitted(graph, parts[0].astype(np.int32), "simple")
    samples = sample_partitions(graph, [model.labels_], "simple", n_samples=2, n_chains=1)
    samples = replace(samples, levels_=(np.array(parts, np.int32),))
    averaged = model.score_pairs([0, 1], [5, 8], closure=False, samples=samples)
    np.testing.assert_allclose(averaged, np.mean(each, axis=0))
    H = model.to_networkx(samples=samples)
    assert [H.nodes[v]["confidence"] for v in range(12)] == samples.confidence_.tolist()


def test_weights_of_closure_are_those_of_scikit_learn() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    columns = rng.normal(size=(500, 3))
    columns[:, 0] = 1
    present = columns @ [0.5, 1.0, -2.0] + rng.logistic(size=500) > 0
    weight = rng.integers(1, 5, 500).astype(float)
    peer = LogisticRegression(C=1e2, tol=1e-10, max_iter=1000)
    peer.fit(columns[:, 1:], present, sample_weight=weight)
    found = _logistic(columns, present, weight)
    np.testing.assert_allclose(found, [peer.intercept_[0], *peer.coef_[0]], rtol=1e-4)


@pytest.mark.parametrize(
    "whole",
    [
        nx.powerlaw_cluster_graph(1000, 5, 0.6, seed=2),
        nx.planted_partition_graph(10, 60, 0.4, 0.01, seed=1),
        nx.caveman_graph(60, 9),
    ],
    ids=["clustered", "blocks", "cliques"],
)
def test_probabilities_of_links_are_right_on_edges_that_the_model_has_not_seen(
    whole: nx.Graph,
) -> None:
    """A tenth of the edges is removed; of the likeliest pairs as many are removed edges as said."""
    edges = np.random.default_rng(0).permutation(np.array(whole.edges))
    cut = len(edges) // 10
    graph = ct.Graph.from_edges(*edges[cut:].T, n_nodes=len(whole))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssumptionWarning)
        model = ct.BlockModel("degree-corrected").fit(graph)
    links = model.predict_links(min(1000, 2 * cut))
    removed = {tuple(sorted(pair)) for pair in edges[:cut].tolist()}
    true = np.array([tuple(sorted((u, v))) in removed for u, v, _ in links])
    p = np.array([p for *_, p in links])
    assert (np.diff(p) <= 0).all()
    bins = np.array_split(np.arange(len(p)), 5)
    assert np.mean([abs(p[part].mean() - true[part].mean()) for part in bins]) < 0.08
    assert len(links.calibration) == 10 and links.calibration_error < 0.08


def test_precision_of_the_whole_graph_follows_from_that_of_removed_edges() -> None:
    """Pairs of which q are connected: a tenth unseen, of the rest a tenth removed."""
    q = np.array([0.95, 0.5, 0.01])
    pairs = 1000 * np.array([1.0, 2.0, 30.0])
    removed, absent = 0.9 * 0.1 * q * pairs, (1 - q + 0.1 * q) * pairs
    curve = _Precision(np.cumsum(removed + absent)[:-1], removed / (removed + absent))
    whole = _of_whole_graph(curve)
    np.testing.assert_allclose(whole.share, 0.1 * q * pairs / absent)
    np.testing.assert_allclose(whole.ends, np.cumsum(absent)[:-1])


def test_common_neighbours_improve_link_prediction_where_there_are_triangles() -> None:
    """On held-out edges of a clustered network; on one without triangles nothing is lost."""
    for G, gain in (
        (nx.watts_strogatz_graph(400, 8, 0.1, seed=1), 0.02),
        (nx.planted_partition_graph(4, 60, 0.2, 0.01, seed=1), -0.02),
    ):
        edges = np.random.default_rng(0).permutation(np.array(G.edges))
        held, kept = edges[:150], edges[150:]
        graph = ct.Graph.from_edges(*kept.T, n_nodes=len(G))
        model = ct.GeneralizedKMeans(8, objective="degree-corrected").fit(graph)
        absent = np.array([(u, v) for u, v in nx.non_edges(G)])
        auc = {}
        for closure in (False, True):
            inside = model.score_pairs(*held.T, closure=closure)
            outside = np.sort(model.score_pairs(*absent.T, closure=closure))
            auc[closure] = np.searchsorted(outside, inside).mean() / len(outside)
        assert auc[True] > auc[False] + gain


@given(st.integers(2, 14), st.integers(0, 1_000), st.integers(1, 30))
@settings(max_examples=40, deadline=None)
def test_two_step_pairs_are_those_with_most_common_neighbours(
    n: int, seed: int, count: int
) -> None:
    graph = random_graph(n, 3 * n, seed)
    weight = 1 / np.log(np.maximum(graph.degrees, 2))
    dense = graph.to_numpy() > 0
    near = (dense * weight) @ dense
    absent = np.triu(~dense, 1) & (near > 0)
    u, v = np.nonzero(absent)
    np.testing.assert_allclose(shared_weight(graph.indptr, graph.indices, weight, u, v), near[u, v])
    first, second = best_two_steps(graph.indptr, graph.indices, weight, n, count)
    assert absent[first, second].all()
    found = np.sort(near[first, second])[::-1][:count]
    np.testing.assert_allclose(found, np.sort(near[u, v])[::-1][:count])


def test_scores_accept_single_nodes_names_and_tuples() -> None:
    model = ct.GeneralizedKMeans(1).fit(nx.grid_2d_graph(2, 2))
    assert model.score_pairs((0, 0), (1, 1)).shape == (1,)
    assert model.score_pairs([(0, 0), (0, 1)], [(1, 1), (1, 0)]).shape == (2,)
    named = ct.GeneralizedKMeans(1).fit(nx.path_graph(["ann", "bob", "cat"]))
    assert named.score_pairs("ann", ["bob", "cat", "ann"])[2] == 0
    with pytest.raises(InputError, match="no node 'dan'"):
        named.score_pairs("ann", "dan")


def test_plot_and_report_of_a_model(tmp_path) -> None:
    model = ct.GeneralizedKMeans(2, objective="degree-corrected").fit(nx.karate_club_graph())
    html = model.report(tmp_path / "r.html", name="the club")
    assert "2 blocks in the club" in html and 'class="chart network nodes"' in html
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == html
    picture = model.plot(tmp_path / "p.svg", title="the club")
    assert (tmp_path / "p.svg").read_text("utf-8") == picture.svg
    assert picture._repr_svg_().endswith(picture.svg.removeprefix("<svg"))
    assert ">the club</text>" in picture.svg and len(repr(picture)) < 60
    ratings = ct.Ratings.from_arrays([0, 1, 2, 0], [0, 1, 1, 1], [1, 2, 2, 1])
    two_sides = ct.GeneralizedKMeans(1, objective="ratings").fit(ratings)
    assert "the films" in two_sides.report(name="the films")
    assert "Mean rating by block" in two_sides.plot().svg
