"""A kernel gives the same bits as plain Python and compiled, so it may change at any time."""

from __future__ import annotations

import ast
import contextlib
import importlib
import pkgutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import coterie as ct
from coterie import kernels
from coterie.anonymize.draw.classes import Classes
from coterie.kernels.numba.dispatch import Kernel

FOLDER = Path(kernels.__file__).parent
# The part of a result that is not uninitialised memory
FILLED = dict.fromkeys(
    ("anonymize.wiring.wire", "anonymize.clique_wiring.join_outer"),
    lambda r: (r[0][: r[2]], r[1][: r[2]], *r[2:]),
)


def copied(value, roots):
    """Copy all arrays in nested tuples; those that share memory still do (`roots`)."""
    if isinstance(value, np.ndarray):
        root = value
        while isinstance(root.base, np.ndarray):
            root = root.base
        if not root.flags.c_contiguous or not root.flags.writeable:
            return value.copy()
        copy = roots.setdefault(id(root), (root.copy(), root))[0]  # the root keeps its id valid
        offset = value.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        return np.ndarray(value.shape, value.dtype, copy, offset, value.strides)
    if isinstance(value, tuple):
        items = [copied(item, roots) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def assert_same_bits(mine, expected, where):
    """Compare values, types and array contents, NaN included."""
    assert type(mine) is type(expected), (where, mine, expected)
    if isinstance(mine, np.ndarray):
        assert mine.dtype == expected.dtype and mine.shape == expected.shape, where
        assert mine.tobytes() == expected.tobytes(), (where, mine, expected)
    elif isinstance(mine, tuple):
        assert len(mine) == len(expected), where
        for a, b in zip(mine, expected, strict=True):
            assert_same_bits(a, b, where)
    elif isinstance(mine, float):
        assert np.float64(mine).tobytes() == np.float64(expected).tobytes(), (where, mine, expected)
    else:
        assert mine == expected, (where, mine, expected)


@pytest.fixture
def compared(monkeypatch):
    """Run every kernel twice, compiled and plain; yields the names of the kernels compared."""
    seen = set()
    one_at_a_time = threading.Lock()  # threads share arrays, of which each writes its own part

    def call(kernel, *args):
        with one_at_a_time:
            return compare(kernel, args)

    def compare(kernel, args):
        plain_args = copied(args, {})
        result = kernel._compiled(args)
        if kernel._may_be_plain:
            where = f"{kernel.__module__}.{kernel.__name__}".removeprefix("coterie.kernels.")
            filled = FILLED.get(where, lambda whole: whole)
            assert_same_bits(filled(kernel._run_plain(plain_args)), filled(result), where)
            assert_same_bits(plain_args, args, where)
            seen.add(where)
        return result

    monkeypatch.setattr(Kernel, "__call__", call)
    return seen


def random_graph(n, m, seed, **kind):
    rng = np.random.default_rng(seed)
    blocks = np.arange(n) % 3
    u, v = rng.integers(0, n, (2, 3 * m))
    keep = (u != v) & ((blocks[u] == blocks[v]) | (rng.random(3 * m) < 0.15))
    return ct.Graph.from_edges(u[keep][:m], v[keep][:m], n_nodes=n, **kind)


def random_ratings(seed, count=90):
    rng = np.random.default_rng(seed)
    users, items = rng.integers(0, 14, count), rng.integers(0, 9, count)
    return ct.Ratings.from_arrays(users, items, rng.integers(1, 6, count), merge=True)


@pytest.mark.parametrize("search", ["paper", "best"])
@pytest.mark.parametrize("objective", ["simple", "degree-corrected", "directed", "weighted"])
def test_clustering_of_graphs(compared, objective, search):
    pairs = np.unique(np.sort(np.random.default_rng(1).integers(0, 20, (80, 2))), axis=0)
    u, v = pairs[pairs[:, 0] < pairs[:, 1]].T
    weights = np.arange(len(u)) % 7 + 0.25 if objective == "weighted" else None
    graph = ct.Graph.from_edges(u, v, weights=weights, directed=objective == "directed")
    ct.GeneralizedKMeans(n_blocks=3, objective=objective, search=search, max_iter=6).fit(graph)
    assert "hard.scores.plan_moves" in compared


def test_clustering_with_automatic_blocks_and_fixed_scores(compared):
    graph = random_graph(24, 60, 2)
    ct.GeneralizedKMeans(n_blocks="auto", max_iter=6).fit(graph)
    ct.GeneralizedKMeans(n_blocks=3, search="paper", score="fixed", max_iter=6).fit(graph)
    assert len(compared) > 15


@pytest.mark.parametrize("objective", ["ratings", "binomial", "likes"])
def test_clustering_of_ratings(compared, objective):
    ratings = random_ratings(3)
    ct.GeneralizedKMeans(n_blocks=(3, 2), objective=objective, max_iter=5).fit(ratings)
    assert compared


def test_soft_models(compared):
    ct.MMSBM(n_groups=2, max_iter=3).fit(random_graph(20, 50, 4))
    ct.MMSBM(n_groups=(2, 2), max_iter=3).fit(random_ratings(5))
    ct.MCMMSBM(n_groups=(2, 2), samples=3, max_iter=3).fit(random_ratings(6))
    assert compared


@pytest.mark.parametrize(
    "text",
    [
        "1 2\n2 3\n3 1\n10 2\n",
        "# nodes: 9\n0\t1\n5\t7\n",
        'a,b\n"x y",z\nz,"q""r"\nü,x y\n',
        "1;2;3\r\n2;3;4\r\n",
        "007 9223372036854775807\n-5 18446744073709551616\n0 -9223372036854775808\n",
        "4294967296 1\n1 2147483647\n2147483648 4294967297\n",
        "1 2\n1 2\n2 1\n\n% end\n3 3\n",
    ],
)
def test_reading_text(compared, tmp_path, text):
    path = tmp_path / "graph.txt"
    path.write_text(text, encoding="utf-8")
    with contextlib.suppress(ct.InputError), warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.AssumptionWarning)
        ct.read_graph(path)
    assert any(name.startswith("io.") for name in compared)


def test_reading_ratings(compared, tmp_path):
    path = tmp_path / "ratings.csv"
    rows = [f"u{i % 7},i{i % 5},{1 + i % 5}" for i in range(35)]
    path.write_text("user,item,rating\n" + "\n".join(rows) + "\n", encoding="utf-8")
    ct.read_ratings(path)
    assert any(name.startswith("io.") for name in compared)


def test_release_and_its_checks(compared, tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path))
    graph = random_graph(60, 150, 7)
    ct.Anonymizer(n_blocks=3, min_class_size=3, dataset="plain").release(graph)
    assert len([name for name in compared if name.startswith("anonymize.")]) > 5


def test_private_sketch_and_draw(compared, tmp_path, monkeypatch):
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path))
    sketch = ct.PrivateSketch(epsilon="2", dataset="plain").fit(random_graph(50, 120, 8), nodes=50)
    sketch.draw(rng=0)
    assert compared


def test_hierarchies_communities_and_samples(compared):
    graph = random_graph(24, 60, 9)
    ct.GeneralizedKMeans(n_blocks="nested", objective="degree-corrected").fit(graph)
    model = ct.GeneralizedKMeans(n_blocks="auto", objective="communities").fit(graph)
    model.sample(n_chains=1, n_samples=3)
    model.score_pairs([0, 1], [2, 3])
    assert compared


def test_attributes_directions_weights_and_sides(compared):
    from coterie.anonymize.draw.bipartite import BipartiteModel
    from coterie.anonymize.kinds.model import KindModel
    from coterie.anonymize.kinds.network import Network
    from coterie.data.node_table import NodeTable

    rng = np.random.default_rng(0)
    skeleton = random_graph(60, 150, 10)
    source, target = skeleton.edges()
    label = (np.arange(60) % 3).astype(np.int32)
    classes = Classes(label, label)
    columns = {"team": [f"t{i % 2}" for i in range(60)], "age": np.arange(60) % 9}
    table = NodeTable.from_columns(skeleton, range(60), columns)
    directed = ct.Graph.from_edges(source, target, n_nodes=60, directed=True)
    weighted = ct.Graph.from_edges(source, target, n_nodes=60, weights=source % 4 + 1.0)
    for graph in (directed, weighted):
        KindModel.fit(Network(graph, table), classes, min_size=5).draw(skeleton, rng)
    joined = ct.Graph.from_edges(source, 60 + target, n_nodes=120)
    sides = np.arange(120) >= 60
    BipartiteModel.fit(joined, np.tile(label, 2), sides, min_size=5, limit=0.85, rng=rng)
    assert compared


def test_comparison_of_two_graphs(compared):
    from coterie.anonymize.utility.full_measures import measure_fully
    from coterie.anonymize.utility.measures import measure

    graph = random_graph(40, 90, 9)
    measure_fully(graph, measure(graph), threshold=0.1)
    assert any(name.startswith("graphs.triangles") for name in compared)


def test_every_kernel_file_uses_the_dispatcher_of_this_package():
    wrong = []
    for path in FOLDER.rglob("*.py"):
        if path.parent.name == "numba":
            continue
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        modules = {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)}
        if any(module.split(".")[0] == "numba" for module in modules):
            wrong.append(str(path))
    assert not wrong, f"write `from coterie.kernels.numba.dispatch import njit` in {wrong}"


def test_importing_all_kernels_does_not_import_numba():
    names = [m.name for m in pkgutil.walk_packages([str(FOLDER)], "coterie.kernels.")]
    imports = "; ".join(f"import {name}" for name in names if ".numba.cache" not in name)
    code = f"{imports}; import sys; assert 'numba' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    for name in names:
        importlib.import_module(name)
