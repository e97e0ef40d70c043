"""No figure of the published report determines a statistic of fewer than min_class_size people.

Three kinds of proof. The rounding: for every number of people, the numbers that are published alike
are counted. The page: originals that differ in fewer than ten people are summarized, and there is
always another one with the same page to the last byte. The reader: an independent parser collects
every number of the page and tries to reconstruct head counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator, SeedSequence, default_rng

from coterie.anonymize.anonymizer import Anonymizer
from coterie.anonymize.draw.dcsbm import Steps
from coterie.anonymize.output.public_figures import PublicRounding, degree_grid
from coterie.anonymize.output.public_summary import (
    PublicSummary,
    ReleaseFigures,
    _degree_tail,
    summarize,
    summarize_for_owner,
)
from coterie.anonymize.policy import Policy
from coterie.anonymize.published_graph import PublishedGraph
from coterie.anonymize.utility import release_utility
from coterie.anonymize.utility.measures import measure
from coterie.anonymize.utility.release_utility import assess_utility
from coterie.data import Graph
from coterie.engine import LocalEngine
from coterie.report.release_report import render

GROUP = 10
N = 900

sizes = st.tuples(st.integers(10, 60), st.integers(2, 60)).map(lambda x: (x[0] * x[1], x[0]))


# --- the rounding ----------------------------------------------------------------------------


def _smallest_preimage(published: Iterable[object]) -> int:
    """Return how many of the inputs share the rarest published value."""
    return min(Counter(published).values())


@given(sizes)
def test_every_published_head_count_stands_for_at_least_min_class_size_numbers(
    case: tuple[int, int],
) -> None:
    n, group = case
    rounding = PublicRounding(n, group)
    counts = range(n + 1)
    assert _smallest_preimage(map(rounding.head_count, counts)) >= group
    assert _smallest_preimage(map(rounding.at_most, counts)) >= group
    whole = range(n // group * group)
    assert _smallest_preimage(rounding.at_least(c) for c in whole) >= group - 1
    assert _smallest_preimage(map(rounding.count, counts)) >= group
    for c in counts:
        assert abs(rounding.count(c).value - c) <= rounding.count(c).error


@given(sizes)
def test_every_published_share_stands_for_at_least_min_class_size_numbers(
    case: tuple[int, int],
) -> None:
    """A share of people times n does not give the number of people."""
    n, group = case
    rounding = PublicRounding(n, group)
    assert _smallest_preimage(rounding.share(c / n) for c in range(n + 1)) >= min(group, n // 2)


@given(sizes, st.floats(0, 1), st.floats(0, 0.9))
def test_a_published_mean_hides_what_min_class_size_people_contribute(
    case: tuple[int, int], share: float, part: float
) -> None:
    """A mean over n people of values up to 1: some change of less than `group` people's values is
    not visible."""
    n, group = case
    rounding = PublicRounding(n, group)
    shown = rounding.share(share)
    assert abs(shown.value - share) <= shown.error + 1e-9
    assert 2 * shown.error * n >= 2 * group * (1 - 1e-9)
    change = part * shown.error  # of one half of the step, in the direction of its middle
    moved = share + (change if shown.value >= share else -change)
    assert rounding.share(moved) == shown


@given(sizes, st.integers(0, 200), st.sampled_from([-1e-9, 0.0, 1e-9]), st.floats(0, 0.9))
def test_a_mean_at_the_boundary_of_two_steps_hides_as_much(
    case: tuple[int, int], number: int, beside: float, part: float
) -> None:
    """Where a figure lies decides nothing: at a boundary, one side still has a whole step."""
    n, group = case
    rounding = PublicRounding(n, group)
    step = rounding.share_step
    boundary = (number % max(1, int(1 / step)) + 0.5) * step
    shown = rounding.share(boundary + beside)
    assert abs(shown.value - boundary) == pytest.approx(shown.error)
    side = 1 if shown.value > boundary else -1
    moved = boundary + beside + side * max(part * 2 * shown.error, 1e-8)
    assert rounding.share(moved) == shown
    assert 2 * shown.error * n >= 2 * group * (1 - 1e-9)


@given(st.integers(20, 10**7), st.integers(10, 100))
def test_steps_depend_on_the_number_of_people_only(n: int, group: int) -> None:
    rounding = PublicRounding(n, group)
    assert rounding.share_step >= max(0.01, 2 * group / n) * (1 - 1e-9)
    assert rounding.bin_width >= group
    assert degree_grid(n) == [d for d in degree_grid(10**8) if d <= n]


# --- the page --------------------------------------------------------------------------------


def _hubs() -> nx.Graph:
    """Six communities with hubs, as many people as the other figures need for their rounding."""
    network = nx.barabasi_albert_graph(N, 5, seed=6)
    communities = nx.stochastic_block_model(
        [N // 6] * 6, np.full((6, 6), 0.001) + 0.04 * np.eye(6), seed=6
    )
    network.add_edges_from(communities.edges)
    return network


def _near_boundary() -> nx.Graph:
    """The same with fewer edges: one edge less would give another mean degree on the page."""
    network = _hubs()
    rounding, rng = PublicRounding(N, GROUP), default_rng(8)
    edges = [e for e in network.edges if min(network.degree[e[0]], network.degree[e[1]]) > 8]
    shown = [rounding.mean(2 * (network.number_of_edges() - k) / N) for k in range(len(edges))]
    last = next(k for k in range(100, len(edges)) if shown[k + 1] != shown[k])
    network.remove_edges_from(edges[k] for k in rng.permutation(len(edges))[:last].tolist())
    return network


def _near_cliques() -> nx.Graph:
    """Twenty groups of 45 people who nearly all know each other: many have the same degree."""
    rng = default_rng(6)
    group = np.arange(N) // (N // 20)
    known = rng.random((N, N)) < np.where(group[:, None] == group[None, :], 0.92, 0.0017)
    network = nx.Graph()
    network.add_nodes_from(range(N))
    network.add_edges_from(np.argwhere(np.triu(known, 1)).tolist())
    return network


@pytest.fixture(scope="module", params=[_hubs, _near_boundary, _near_cliques])
def people(request: pytest.FixtureRequest) -> tuple[Graph, np.ndarray]:
    """A network of 900 people, and its blocks."""
    network: nx.Graph = request.param()
    blocks = 20 if request.param is _near_cliques else 6
    graph = Graph.from_edges(*np.array(network.edges).T, n_nodes=N)
    return graph, (np.arange(N) // (N // blocks)).astype(np.int32)


@pytest.fixture(scope="module")
def figures(
    people: tuple[Graph, np.ndarray], tmp_path_factory: pytest.TempPathFactory
) -> tuple[ReleaseFigures, PublishedGraph]:
    graph, labels = people
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COTERIE_STATE", str(tmp_path_factory.mktemp("state")))
        release = Anonymizer(6, steps=Steps(rewire=False))._release_from(
            SeedSequence(9), graph, labels=labels
        )
    assert release.record is not None and release.graph is not None
    record = release.record
    published = PublishedGraph(release.graph, release.identity_maps[0].identity)
    made = ReleaseFigures(
        graph,
        release.graph,
        record.model,
        record.blocks,
        record.draws,
        record.utility,
        record.risk,
        record.decision,
    )
    return _with_original(made, published, graph, labels), published


def _with_original(
    figures: ReleaseFigures,
    published: PublishedGraph,
    original: Graph,
    labels: np.ndarray,
    *,
    communities: bool = True,
) -> ReleaseFigures:
    """Return the figures of the same released graph, compared with another original.

    Communities take most of the time; without them, those of the first original stay.
    """
    engine = LocalEngine(1)
    with pytest.MonkeyPatch.context() as patch:
        if not communities:
            known = figures.utility.communities
            patch.setattr(release_utility, "assess_communities", lambda *_: known)
        utility = assess_utility(original, measure(original, engine), labels, [published], engine)
    return replace(figures, original=original, utility=utility)


def _network(graph: Graph) -> nx.Graph:
    network = nx.Graph()
    network.add_nodes_from(range(graph.n_nodes))
    network.add_edges_from(zip(*(x.tolist() for x in graph.edges()), strict=True))
    return network


def _move_edges(
    graph: Graph, group: list[int], gives: int, gains: int, number: int, rng: Generator
) -> Graph:
    """Move edges from one member of a group to another; nobody else changes their number."""
    network = _network(graph)
    others = [w for w in network[gives] if w not in group and not network.has_edge(gains, w)]
    for w in rng.permutation(others)[:number].tolist():
        network.remove_edge(gives, w)
        network.add_edge(gains, w)
    return Graph.from_edges(*np.array(network.edges).T, n_nodes=graph.n_nodes)


def _among(ranks: slice) -> Callable[[Graph, Generator], Graph]:
    """Move edges between two of the people with these ranks by degree, the largest first."""

    def change(graph: Graph, rng: Generator) -> Graph:
        group = np.argsort(-graph.degrees, kind="stable")[ranks].tolist()
        assert len(group) < GROUP
        gives, gains = rng.choice(group, 2, replace=False).tolist()
        return _move_edges(graph, group, gives, gains, int(rng.integers(1, 30)), rng)

    return change


def _among_random_people(graph: Graph, rng: Generator) -> Graph:
    group = rng.choice(graph.n_nodes, GROUP - 1, replace=False).tolist()
    return _move_edges(graph, group, group[0], group[1], int(rng.integers(1, 9)), rng)


def _longer_chain(graph: Graph, rng: Generator) -> Graph:
    """Attach one or two people behind another: their edges go to the other members of a group."""
    network = _network(graph)
    group = rng.choice(graph.n_nodes, GROUP - 1, replace=False).tolist()
    chain = group[: rng.integers(2, 4)]
    for v in chain:
        network.remove_edges_from([(v, w) for w in list(network[v])])
    network.add_edges_from(pairwise(chain))
    network.add_edge(chain[-1], group[-1])
    while network.number_of_edges() < graph.n_edges:
        v, w = int(rng.choice(group[3:])), int(rng.integers(graph.n_nodes))
        if v != w and w not in chain:
            network.add_edge(v, w)
    return Graph.from_edges(*np.array(network.edges).T, n_nodes=graph.n_nodes)


def _raise_the_tenth(graph: Graph, rng: Generator) -> Graph:
    """Move edges of one of the ten best-connected people to those just below the tenth.

    Where many people have the degree of the tenth, an edge between two of them changes nothing.
    """
    ranked = np.argsort(-graph.degrees, kind="stable")
    highest = ranked[:GROUP].tolist()
    group = [int(rng.choice(highest)), *ranked[GROUP - 1 : 2 * GROUP - 3].tolist()]
    gains = [v for v in group[1:] if v != group[0]]
    assert len(set(group)) < GROUP
    number = int(rng.integers(1, 4))
    for v in gains:
        graph = _move_edges(graph, group, group[0], v, number, rng)
    return graph


def _degree_of_rank(rank: int) -> Callable[[Graph], object]:
    return lambda g: int(np.sort(g.degrees)[-rank])


_TOP, _LOWEST = slice(0, GROUP - 1), slice(-GROUP + 1, None)
# Nobody in near-cliques has 100 edges, none, or a long way to others.
_NOT_IN_NEAR_CLIQUES = (
    "how many people have at least 100 edges",
    "how many people have no edge",
    "the longest distance",
)
_STATISTICS: dict[str, tuple[Callable[[Graph, Generator], Graph], Callable[[Graph], object]]] = {
    "the largest degree": (_among(_TOP), _degree_of_rank(1)),
    "the two largest degrees": (_among(_TOP), lambda g: tuple(np.sort(g.degrees)[-2:].tolist())),
    "the degree of the tenth best-connected person": (_raise_the_tenth, _degree_of_rank(GROUP)),
    "how many people have at least 100 edges": (
        _among(_TOP),
        lambda g: int((g.degrees >= 100).sum()),
    ),
    "the first eigenvalue": (_among(_TOP), lambda g: round(measure(g).spectrum[0], 3)),
    "how many people have no edge": (_among(_LOWEST), lambda g: int((g.degrees == 0).sum())),
    "the smallest degree": (_among(_LOWEST), lambda g: int(g.degrees.min())),
    "the longest distance": (_longer_chain, lambda g: measure(g).diameter),
    "the degrees of nine people at random": (
        _among_random_people,
        lambda g: tuple(g.degrees.tolist()),
    ),
}


@pytest.mark.parametrize("statistic", _STATISTICS)
def test_the_page_does_not_determine(
    people: tuple[Graph, np.ndarray],
    figures: tuple[ReleaseFigures, PublishedGraph],
    statistic: str,
) -> None:
    """Another original has another value of the statistic and the same page."""
    graph, labels = people
    base, published = figures
    if graph.degrees.min() > 30 and statistic in _NOT_IN_NEAR_CLIQUES:
        return
    change, value = _STATISTICS[statistic]
    page = render(summarize(base, GROUP))
    owner = render(summarize_for_owner(base))
    rng = default_rng(3)
    for _ in range(200):
        other = change(graph, rng)
        assert other.n_edges == graph.n_edges
        if value(other) == value(graph):
            continue
        again = _with_original(
            base, published, other, labels, communities=statistic == "the largest degree"
        )
        if render(summarize(again, GROUP)) == page:
            assert render(summarize_for_owner(again)) != owner  # the owner's page is exact
            return
    pytest.fail(f"every page differs: {statistic} can be concluded from it")


def test_counts_of_attacks_and_of_classes_do_not_show_single_people(
    figures: tuple[ReleaseFigures, PublishedGraph],
) -> None:
    """Nine people more or fewer guessed right: the page may be the same, and never says a number
    below ten."""
    base, _ = figures
    summary = summarize(base, GROUP)
    for attack in summary.attacks:
        assert attack.result is None
        for number in (attack.found, attack.naive, attack.deleted_10, attack.expected):
            assert number is None or number >= GROUP
            assert number is None or number == N or number % GROUP == 0
    for limit in summary.limits:
        if limit.label.startswith("people guessed right"):
            assert limit.value >= GROUP and limit.limit is not None and limit.limit >= GROUP


def test_a_limit_that_holds_is_shown_as_held_and_an_exceeded_one_as_exceeded(
    figures: tuple[ReleaseFigures, PublishedGraph],
) -> None:
    base, _ = figures
    strict = Policy(min_class_size=N, known_degrees_share=0.0, attack_margin=0.0, releases=1)
    for decision in (base.decision, strict.check(base.risk, 2)):
        shown = summarize(replace(base, decision=decision), GROUP).limits
        for limit, public in zip(decision.limits, shown, strict=False):
            assert public.limit is not None
            holds = (
                public.value >= public.limit if public.at_least else public.value <= public.limit
            )
            assert holds == limit.holds, limit
    forced = summarize(replace(base, decision=strict.check(base.risk, 2)), GROUP)
    assert all(reason.startswith("limit exceeded: ") for reason in forced.reasons)
    assert not re.search(r"\d", " ".join(forced.reasons).replace("90 %", ""))


# --- the reader ------------------------------------------------------------------------------


class _Reader(HTMLParser):
    """Collect the words of a page and the rows of its tables; knows nothing of coterie."""

    def __init__(self) -> None:
        super().__init__()
        self.text: list[str] = []
        self.rows: list[list[str]] = []
        self._skip = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._skip += tag in ("style", "script")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._skip -= tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        if not self._skip:
            self.text.append(data)
            if self.rows and self.rows[-1]:
                self.rows[-1][-1] += data


def _read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    return reader


def _numbers(page: str) -> set[float]:
    """Return every number of a page: in its words, and in the coordinates of its drawings."""
    found = re.findall(r"(?<![\w.])-?\d[\d,]*\.?\d*(?:e-?\d+)?", page)
    return {float(text.replace(",", "")) for text in found if text.strip(",")}


def _degree_curve(page: str) -> list[tuple[int, float]]:
    """Return degree and share of the original, from the table of the chart."""
    rows = [[cell.split("\n")[0].strip() for cell in row] for row in _read(page).rows]
    start = next(i for i, row in enumerate(rows) if row[:2] == ["series", "degree"]) + 1
    curve = []
    for row in rows[start:]:
        if row[0] != "original":
            break
        curve.append((int(row[1].replace(",", "")), float(row[2])))
    return curve


def test_a_reader_of_the_page_cannot_reconstruct_head_counts(
    people: tuple[Graph, np.ndarray], figures: tuple[ReleaseFigures, PublishedGraph]
) -> None:
    """Share times n: the reader knows n and the rule, and is left with ten numbers or more."""
    graph, _ = people
    page = render(summarize(figures[0], GROUP))
    curve = _degree_curve(page)
    assert len(curve) > 5
    width = max(GROUP, -(-N // 1000))  # the rule: bins of this many people
    exact = []
    for degree, share in curve:
        truth = int((graph.degrees >= degree).sum())
        middle = [(j + 0.5) * width / N for j in range(N // width + 1)]
        bins = [j for j, m in enumerate(middle) if float(f"{m:.3g}") == share]
        assert len(bins) == 1
        first = bins[0] * width
        assert first <= truth and (truth < first + width or truth > N - width)
        exact.append(round(share * N) == truth)
    assert sum(exact) <= len(exact) / 3  # about one of ten by chance
    # Nor do differences of neighbouring points: each is known up to 2 · 10 people only.
    assert int((graph.degrees >= curve[-1][0]).sum()) >= GROUP


def test_no_number_of_the_page_is_an_exact_head_count_of_the_tail(
    people: tuple[Graph, np.ndarray], figures: tuple[ReleaseFigures, PublishedGraph]
) -> None:
    """Every number of the page, times n: where it hits the tail, other originals are hit as well.

    The tail of the original and the tails of originals in which nine people changed their degrees
    are compared with the page of the first: the numbers hit all of them equally often.
    """
    graph, _ = people
    numbers = _numbers(render(summarize(figures[0], GROUP)))
    products = {round(x * N / scale) for x in numbers for scale in (1, 100) if 0 <= x <= scale}

    def hits(tail: Graph) -> int:
        counts = {int((tail.degrees >= d).sum()) for d in range(40, 120)}
        return sum(count in products for count in counts if count > 0)

    rng = default_rng(1)
    others = [hits(_among(slice(i, i + 9))(graph, rng)) for i in range(0, 20, 2) for _ in range(5)]
    assert hits(graph) <= max(others)


def test_the_curve_ends_before_the_last_min_class_size_people(
    people: tuple[Graph, np.ndarray], figures: tuple[ReleaseFigures, PublishedGraph]
) -> None:
    """Its end is a degree of a fixed list, not the degree of a person."""
    graph, _ = people
    profiles = summarize(figures[0], GROUP).profiles
    ends = max(profiles["degree"].original.x)
    assert ends in degree_grid(10**6)
    assert int((graph.degrees >= ends).sum()) >= GROUP
    assert profiles["spectrum"].original.x == []
    for x in profiles["clustering"].original.x:
        in_bin = (graph.degrees >= x) & (graph.degrees < 2 * x)
        assert int(in_bin.sum()) >= 2 * GROUP / 0.2


@given(st.integers(0, 10**6), st.sampled_from([1, 3, 40]))
def test_the_curve_is_the_same_whatever_the_nine_best_connected_people_have(
    seed: int, scale: int
) -> None:
    """Not even where the list has every degree, so that the tenth degree can be read off."""
    rng = default_rng(seed)
    degrees = np.sort(1 + rng.binomial(4, 0.3, 300) * scale)[::-1]
    other = degrees.copy()
    other[: GROUP - 1] += rng.integers(0, 290, GROUP - 1)
    one, two = (_degree_tail(d, PublicRounding(300, GROUP)) for d in (degrees, other))
    assert one == two
    other[: GROUP + GROUP] = other[0] + 1000  # twenty people are seen
    assert _degree_tail(other, PublicRounding(300, GROUP)) != one


def test_exact_figures_of_the_original_are_in_the_private_page_only(
    figures: tuple[ReleaseFigures, PublishedGraph],
) -> None:
    base, _ = figures
    exact = base.utility.original
    # Only what is not also a figure of the released graph, which everybody can compute.
    released = base.utility.published
    secrets = {
        f"{value:.3g}"
        for value, other in (
            (exact.degree_max, released.degree_max),
            (exact.global_clustering, released.global_clustering),
            (exact.average_local_clustering, released.average_local_clustering),
            (exact.average_path_length, released.average_path_length),
            (exact.spectrum[0], base.utility.draws[0].spectrum[0]),
        )
        if f"{value:.3g}" != f"{other:.3g}"
    }
    assert len(secrets) >= 3
    public, private = (
        {f"{number:.3g}" for number in _numbers(" ".join(_read(render(summary)).text))}
        for summary in (summarize(base, GROUP), summarize_for_owner(base))
    )
    assert secrets <= private
    assert not secrets & public


def test_the_private_page_is_written_to_the_private_folder_only(
    people: tuple[Graph, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTERIE_STATE", str(tmp_path / "state"))
    graph, labels = people
    release = Anonymizer(6, dataset="people", steps=Steps(rewire=False))
    made = release.release(graph, labels=labels)
    made.write(tmp_path / "out")
    private = made.private_folder(tmp_path / "out")
    assert "PRIVATE" in (private / "report.html").read_text()
    assert "PRIVATE" not in (tmp_path / "out" / "report.html").read_text()
    assert type(made.summary) is PublicSummary
