"""At most K contacts per person: the rule, its stability on all small networks, and mutants."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from tests.anonymize.private.test_source_mutants import mutant
from tests.anonymize.private.test_whole_sketch import log_likelihood
from tests.support.privacy_checks import SmallGraph

import coterie as ct
from coterie.anonymize.ledger import Ledger
from coterie.anonymize.private import answers, budget, contact_bound, sketch_file
from coterie.anonymize.private.posterior import intervals
from coterie.base.errors import InputError
from coterie.report import sketch_report

N = 5
PAIRS = list(combinations(range(N), 2))
BOUNDS = (1, 2, 3)
EPSILON = Fraction(2)


def edges_of(code: int) -> list[tuple[int, int]]:
    return [pair for i, pair in enumerate(PAIRS) if code >> i & 1]


def code_of(graph: ct.Graph) -> int:
    source, target = (ends.tolist() for ends in graph.edges())
    return sum(1 << PAIRS.index(pair) for pair in zip(source, target, strict=True))


def plain_rule(edges: list[tuple[int, int]], most: int) -> set[tuple[int, int]]:
    """Return the kept edges by the words of the page: among the first ones of both ends."""
    first, second = np.array(PAIRS).T
    key = dict(zip(PAIRS, contact_bound.pair_keys(first, second).tolist(), strict=True))
    lists = [sorted((e for e in edges if v in e), key=key.get)[:most] for v in range(N)]
    return {e for e in edges if e in lists[e[0]] and e in lists[e[1]]}


def reduced_codes(rule, most: int) -> np.ndarray:
    """Return the reduced network of every network of five nodes."""
    return np.array(
        [code_of(rule(SmallGraph(N, frozenset(edges_of(c))).graph(), most)) for c in range(2**10)]
    )


@pytest.fixture(scope="module")
def reduced() -> dict[int, np.ndarray]:
    return {most: reduced_codes(contact_bound.first_contacts, most) for most in BOUNDS}


def changes(codes: np.ndarray) -> tuple[int, int, int]:
    """Return what one edge changes: edges, number of edges, and degrees (L1), at most."""
    member = (codes[:, None] >> np.arange(len(PAIRS)) & 1).astype(int)
    ends = np.array([[v in pair for v in range(N)] for pair in PAIRS]).astype(int)
    worst = np.zeros(3, int)
    for place in range(len(PAIRS)):
        moved = member - member[np.arange(len(codes)) ^ (1 << place)]
        found = (abs(moved).sum(1), abs(moved.sum(1)), abs(moved @ ends).sum(1))
        worst = np.maximum(worst, [each.max() for each in found])
    return tuple(worst.tolist())


def test_the_rule_is_that_of_the_page_and_bounds_the_degrees(reduced) -> None:
    for most, codes in reduced.items():
        for code in range(0, 2**10, 7):
            kept = plain_rule(edges_of(code), most)
            assert kept == set(edges_of(int(codes[code])))
        degree = [max(sum(v in e for e in edges_of(int(c))) for v in range(N)) for c in codes]
        assert max(degree) == most
    assert (reduced_codes(contact_bound.first_contacts, N - 1) == np.arange(2**10)).all()


def test_one_edge_changes_three_edges_one_count_and_two_degrees_at_most(reduced) -> None:
    """Over all networks of five nodes and all edges; the first is reached with one contact."""
    assert [changes(reduced[most]) for most in BOUNDS] == [(3, 1, 2)] * 3


def greedy(graph: ct.Graph, most: int) -> ct.Graph:
    """Return what another rule keeps: an edge, if both ends have room for it in the order."""
    source, target = graph.edges()
    degree, kept = np.zeros(graph.n_nodes, int), []
    for i in np.argsort(contact_bound.pair_keys(source, target)):
        if max(degree[source[i]], degree[target[i]]) < most:
            degree[[source[i], target[i]]] += 1
            kept.append(i)
    return ct.Graph.from_edges(source[kept], target[kept], n_nodes=graph.n_nodes)


def test_a_mutant_rule_that_fills_free_places_is_caught() -> None:
    assert changes(reduced_codes(greedy, 1))[0] > contact_bound.STABILITY


def crowded() -> tuple[ct.Graph, ct.Graph]:
    """Return neighbours whose reduced networks differ in three edges."""
    codes = reduced_codes(contact_bound.first_contacts, 1)
    for code in range(2**10):
        for place in range(len(PAIRS)):
            other = code ^ (1 << place)
            if int(codes[code] ^ codes[other]).bit_count() == 3:
                both = (SmallGraph(N, frozenset(edges_of(c))).graph() for c in (code, other))
                return tuple(both)
    raise AssertionError


def losses(shares: budget.Shares, module=answers) -> np.ndarray:
    """Return the loss of whole sketches of the worst neighbours, in closed form."""
    here, there = crowded()
    found = []
    for _ in range(60):
        seen = module.ask(here, np.arange(N), EPSILON, shares=shares, max_contacts=1)
        law = [
            log_likelihood(seen, contact_bound.first_contacts(each, 1), EPSILON, shares)
            for each in (here, there)
        ]
        found.append(law[0] - law[1])
    return np.abs(found)


def test_loss_of_sketches_with_a_bound_is_at_most_epsilon() -> None:
    shares = budget.shares_for("communities", 1)
    assert sum(shares.parts()) == 1 and shares.labels == Fraction(600, 3000)
    assert losses(shares).max() <= float(EPSILON) + 1e-9


def test_a_mutant_without_the_stability_is_caught() -> None:
    """With the mechanisms' full shares, three displaced edges cost more than epsilon."""
    text = "assert shares.stability == STABILITY"
    with mutant(answers, text, "assert True or STABILITY") as changed:
        assert losses(budget.shares_for("communities"), changed).max() > float(EPSILON)
    with pytest.raises(AssertionError, match="several edges"):
        losses(budget.shares_for("communities"))


def test_every_scale_with_a_bound_fits_the_sampler() -> None:
    for purpose in budget.PURPOSES:
        shares = budget.shares_for(purpose, 1)
        for part in (shares.labels, shares.block_edges, shares.bin_edges, *shares.capped_sums):
            for digits in ("0.0001", "0.00011", "9.99999", "99.99999"):
                scale = 170 / (Fraction(digits) * part)
                assert scale.numerator < 2**34 and scale.denominator < 2**42


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bound")
    rng = np.random.default_rng(0)
    graph = ct.Graph.from_edges(*rng.integers(0, 60, (2, 400)), n_nodes=60)
    sketch = ct.PrivateSketch(epsilon="40", dataset="a", cap="40", max_contacts=4, ledger=folder)
    sketch.set_params(allow_large_epsilon=True)
    Ledger(folder).init("a", cap=Fraction(40), owner="test")
    return folder, sketch.fit(graph, nodes=60, path=folder / "a.sketch")


def test_the_file_the_ledger_and_the_figures_have_the_bound(fitted) -> None:
    folder, sketch = fitted
    loaded = ct.load_sketch(folder / "a.sketch")
    assert loaded.max_contacts == loaded.answers_.max_contacts == 4
    assert sketch_file.to_bytes(loaded.answers_) == (folder / "a.sketch").read_bytes()
    assert loaded.answers_.shares == sketch.answers_.shares
    entry = Ledger(folder).entries("a")[-1]
    assert (entry.details["max_contacts"], entry.details["epsilon_per_person"]) == (4, "160")
    assert intervals(loaded.answers_)["largest_degree"].high <= 4
    assert loaded.interval("edges").value <= 60 * 4 / 2 + 30  # of about 390 in the original
    assert loaded.draw(rng=0).degrees.max() <= 5


def test_the_report_states_epsilon_of_a_friendship_and_of_a_person(fitted) -> None:
    page = sketch_report.render(fitted[1].answers_)
    assert "ε per person" in page and "160" in page
    assert "At most 4 friendships per person were counted" in page
    assert "no bound for everything that follows from a person" in page


@pytest.mark.parametrize("wrong", [0, 59, 2.5, True])
def test_a_bound_that_bounds_nothing_is_refused_and_costs_nothing(wrong, tmp_path) -> None:
    sketch = ct.PrivateSketch(dataset="a", max_contacts=wrong, ledger=tmp_path)
    with pytest.raises(InputError, match="maximum number of contacts"):
        sketch.fit(ct.Graph.from_edges([0], [1]), nodes=60)
    with pytest.raises(InputError, match="at most 5 digits"):
        sketch.set_params(max_contacts=4, epsilon="0.123456").fit(
            ct.Graph.from_edges([0], [1]), nodes=60
        )
    assert not Ledger(tmp_path).spent("a")
