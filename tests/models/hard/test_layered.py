"""Blocks of layers and of periods of time, compared with the plain formulas and with plants."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference import description_length, labels_description
from tests.support.merge_change import merge_change

import coterie as ct
from coterie.kernels.hard.description import move_change, move_node
from coterie.models.hard.description.state import start_state
from coterie.models.hard.layered import change_length, labels_length, layered_data


def random_layers(rng: np.random.Generator, n: int, count: int) -> list[list[tuple[int, int]]]:
    """Return the edges of some random layers."""
    layers = []
    for _ in range(count):
        pairs = {(min(a, b), max(a, b)) for a, b in rng.integers(0, n, (2 * n, 2)) if a != b}
        layers.append(sorted((int(a), int(b)) for a, b in pairs))
    return layers


def graphs(layers: list[list[tuple[int, int]]], n: int) -> list[ct.Graph]:
    return [
        ct.Graph.from_edges(*map(list, zip(*layer, strict=True)), n_nodes=n) for layer in layers
    ]


def plain_length(layers: list[list[tuple[int, int]]], labels: list[int], model: str) -> float:
    """Return the sum of the lengths of the layers, with the labels paid for once."""
    own = labels_description([labels.count(r) for r in set(labels)])
    return own + sum(description_length(layer, labels, model) - own for layer in layers)


@pytest.mark.parametrize("model", ["simple", "degree-corrected"])
@pytest.mark.parametrize("seed", range(5))
def test_the_length_and_its_changes_are_those_of_the_formulas(model: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, layers = 9, random_layers(rng, 9, 1 + seed % 3)
    kind, graph, _ = layered_data(graphs(layers, n), model)
    state = start_state(kind, graph, rng.integers(0, 3, n).astype(np.int32))
    for _ in range(25):
        assert state.length() == pytest.approx(plain_length(layers, state.labels.tolist(), model))
        v, b = int(rng.integers(n)), int(rng.integers(4))  # 3: possibly a block of its own
        before, change = state.length(), move_change(*state.arguments, v, b)
        if state.labels[v] != b:
            move_node(*state.arguments, v, b)
        assert state.length() - before == pytest.approx(change, abs=1e-9)
    first, second = np.unique(state.labels)[:2]
    change = merge_change(state.model, state.blocks, state.upper, state.scratch, first, second)
    merged = np.where(state.labels == first, second, state.labels).tolist()
    assert state.length() + change == pytest.approx(plain_length(layers, merged, model))


def test_the_length_of_a_result_is_that_of_the_formulas() -> None:
    rng = np.random.default_rng(3)
    layers = random_layers(rng, 10, 3)
    given = dict(zip("abc", graphs(layers, 10), strict=True))
    found = ct.LayeredBlockModel("simple", rng=0).fit(given)
    chosen = [found.labels_[name].tolist() for name in "abc"]
    total = labels_description([len(group) for group in found.groups_])
    for group in found.groups_:
        labels = chosen["abc".index(group[0])]
        total += plain_length([layers["abc".index(name)] for name in group], labels, "simple")
    assert found.description_length_ == pytest.approx(total)
    assert found.description_length_ <= min(found.shared_length_, found.separate_length_) + 1e-9


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("shared", "count"), [(2, 2), (0, 5), (2, 6)])
def test_the_layers_that_share_planted_blocks_are_found(seed: int, shared: int, count: int) -> None:
    layers = ct.generators.layered_blocks(120, count, shared, n_blocks=3, rng=seed)
    model = ct.LayeredBlockModel(rng=0).fit(layers)
    sizes = sorted(len(group) for group in model.groups_)
    assert sizes == [1] * (count - shared) + [shared] * (shared > 0)
    assert all(n == 3 for n in model.n_blocks_.values())


def test_nodes_that_change_their_block_are_found_and_the_others_keep_its_number() -> None:
    rng = np.random.default_rng(1)
    before = np.repeat(np.arange(3), 60)
    after = before.copy()
    after[:24] = 3  # block 0 splits
    moved = rng.choice(np.arange(60, 180), 9, replace=False)
    after[moved] = after[moved] % 2 + 1
    edges = []
    for month in range(6):
        labels = before if month < 3 else after
        chance = np.where(labels[:, None] == labels, 0.25, 0.01)
        source, target = np.nonzero(np.triu(rng.random(chance.shape) < chance, 1))
        edges += [(a, b, f"2026-0{month + 1}-15") for a, b in zip(source, target, strict=True)]
    order = rng.permutation(len(edges))
    table = np.array(edges, dtype=object)[order]
    layers = ct.LayeredGraph.from_edges(*table.T, every="month")
    model = ct.LayeredBlockModel(rng=0).fit(layers)
    assert model.groups_ == [
        ("2026-01", "2026-02", "2026-03"),
        ("2026-04", "2026-05", "2026-06"),
    ]
    first, last = model.labels_["2026-01"], model.labels_["2026-06"]
    ids = layers.ids.astype(int)
    truth = np.flatnonzero(before[ids] != after[ids])
    assert np.array_equal(np.flatnonzero(first != last), truth)
    kinds = {event.kind for event in model.events_}
    assert kinds == {"splits", "nodes move"}
    assert f"2026-04: {len(truth)} nodes change their block" in model.explain()


def test_labels_cost_what_the_formula_says_and_a_small_change_costs_less() -> None:
    labels = np.array([0, 0, 0, 1, 1, 2] * 5)
    assert labels_length(labels) == pytest.approx(labels_description([15, 10, 5]))
    other = labels.copy()
    other[0] = 2
    assert change_length(labels, other) < labels_length(other)
    renamed = (labels + 1) % 3  # the numbers of blocks mean nothing
    assert change_length(labels, renamed) == pytest.approx(change_length(labels, labels))


def test_share_decides_what_is_tried() -> None:
    layers = ct.generators.layered_blocks(60, 3, 2, n_blocks=2, rng=0)
    together = ct.LayeredBlockModel(share="all").fit(layers)
    apart = ct.LayeredBlockModel(share="none").fit(layers)
    assert len(together.groups_) == 1 and len(apart.groups_) == 3
    assert together.description_length_ == together.shared_length_
    assert apart.description_length_ == apart.separate_length_
    assert "longer" not in " ".join(together.explain())  # nothing is said that was not measured
    assert all("as requested" in model.explain()[0] for model in (together, apart))
    one = ct.LayeredBlockModel().fit({"calls": layers.graphs[0]})
    assert one.explain()[0] == "There is one layer, so nothing is shared."


@pytest.mark.parametrize(
    ("layers", "every", "message"),
    [
        (["2026-01-01", "soon"], "month", "'soon' is not a time"),
        (["a", "b"], "fortnight", "unknown period"),
    ],
)
def test_times_that_are_none_are_named(layers: list[str], every: str, message: str) -> None:
    with pytest.raises(ct.InputError, match=message):
        ct.LayeredGraph.from_edges([0, 1], [1, 2], layers, every=every)


def test_a_layer_without_edges_or_with_directions_is_an_error() -> None:
    edges = ct.Graph.from_edges([0, 1], [1, 2])
    for other, message in (
        (ct.Graph.from_edges([], [], n_nodes=3), "no edges"),
        (ct.Graph.from_edges([0], [1], n_nodes=3, directed=True), "directed"),
    ):
        with pytest.raises(ct.InputError, match=message):
            ct.LayeredBlockModel().fit({"calls": edges, "mails": other})
