"""The report of a private sketch and the graphs drawn from it.

The report may be published: it shows the sketch, which is public, and what follows from it. It
takes no figure of the original, so it cannot show one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from coterie.anonymize.figures import MEASURES
from coterie.anonymize.private.answers import SketchAnswers
from coterie.anonymize.private.exact_counts import node_triangles
from coterie.anonymize.private.plan import SketchPlan
from coterie.anonymize.private.posterior import Interval, intervals
from coterie.anonymize.utility.measures import Measures, measure
from coterie.base.number_text import SUPERSCRIPT, figure, percent, short
from coterie.data import Graph
from coterie.engine import Engine
from coterie.report.block_matrix import pairs_between, share
from coterie.report.charts import Axis, Chart, ChartTable, Series, heatmap, xy
from coterie.report.charts.drawing import Cell
from coterie.report.page import Fact, Page, Section, Verdict, written
from coterie.report.picture import Picture, draw_figures
from coterie.report.shared_sections import count
from coterie.report.sketch_accuracy import answer_noise, reliance

_FRIENDS = (1, 10, 50)  # the example people of the guarantee
_PRIOR = 0.01  # what somebody believes before the publication, in the example
_WEAK = 4  # an epsilon above this is shown as a warning
_MEASURED = 5  # graphs whose measures are shown; more say nothing new

_NOT_GUARANTEED = (
    "Who is in the list of people. The list is public; the guarantee is about friendships.",
    "That somebody has many friends. A person with d friends is protected by e^(dε), which is no "
    "useful limit for large d: hubs remain visible as hubs.",
    "Statistics of the whole network. They are what the sketch is for.",
    "Anything if the same network is also published in another way. The ε of several sketches add "
    "up; a release without differential privacy has no ε.",
)
_HOW = (
    "The sketch asked the questions above, each with its own share of ε. Noise was added to every "
    "answer with exact integer arithmetic and random bits of the operating system.",
    "The networks were drawn from the sketch alone. More draws from the same sketch cost no "
    "privacy, because the original is not read again.",
    "The network was read as a simple graph: no directions, no weights, no self-loops.",
)


_Points = tuple[np.ndarray, np.ndarray]


class _Drawn(NamedTuple):
    """A drawn graph that is shown, and its measures."""

    graph: Graph
    measures: Measures

    @property
    def triangles(self) -> int:
        """The number of triangles."""
        return int(node_triangles(self.graph).sum()) // 3


def compose(
    answers: SketchAnswers, graphs: Sequence[Graph] = (), engine: Engine | None = None
) -> Page:
    """Report a sketch and the graphs drawn from it; `render` returns it as HTML.

    The first five graphs are measured; `graphs` may be empty, for a report of the sketch alone.
    """
    drawn = [_Drawn(graph, measure(graph, engine, eigenvalues=0)) for graph in graphs[:_MEASURED]]
    figures = intervals(answers)
    return Page(
        "private sketch",
        "Private networks" if len(graphs) > 1 else "Private network" if graphs else "Sketch",
        _verdict(answers),
        _facts(answers, figures, len(graphs)),
        [
            _guarantee(answers),
            _rely(answers, figures, drawn),
            _figures(answers, figures, drawn),
            _asked(answers),
            _pictures(answers, drawn),
            Section("What is not guaranteed", notes=list(_NOT_GUARANTEED)),
            Section("How it was made", notes=list(_HOW)),
        ],
    )


render = written(compose)


def factor(epsilon: float) -> str:
    """Write e^epsilon for people.

    >>> factor(1), factor(10), factor(50), factor(5000)
    ('2.7', '22,000', '5·10²¹', '3·10²¹⁷¹')
    """
    if epsilon < math.log(1e6):
        value = math.exp(epsilon)
        places = 1 - math.floor(math.log10(value))
        return f"{round(value, places):,.{max(places, 0)}f}"
    power, rest = divmod(epsilon / math.log(10), 1)
    digit = round(10**rest)
    power, digit = (power + 1, 1) if digit == 10 else (power, digit)
    return f"{digit}·10{str(int(power)).translate(SUPERSCRIPT)}"


def _verdict(answers: SketchAnswers) -> Verdict:
    epsilon = float(answers.exact_epsilon)
    text = (
        "Every single friendship is protected by differential privacy. Compared with the same "
        "publication without this friendship, no result is more than "
        f"e^ε = {factor(epsilon)} times as likely (ε = {answers.epsilon}). So somebody who knows "
        "all other friendships can change the odds of this one by at most this factor."
    )
    if answers.person_epsilon is not None:
        text += (
            f" At most {answers.max_contacts:,} friendships per person were counted. Those of one "
            f"person together have ε = {answers.person_epsilon:g}: a factor of "
            f"{factor(answers.person_epsilon)}."
        )
    if epsilon > _WEAK:
        weak = ["This factor is large: it protects little."]
        return Verdict(text, "warn", "weak protection", weak)
    return Verdict(text, "good", "✓ differentially private")


def _facts(answers: SketchAnswers, figures: Mapping[str, Interval], graphs: int) -> list[Fact]:
    half = (figures["edges"].high - figures["edges"].low) / 2
    facts = [
        count("people", answers.n_nodes, "exact: the list is public"),
        count("friendships", max(answers.edge_count, 0), f"± {short(half, 2)} (95 %)"),
        Fact("ε", answers.epsilon, "smaller is more private"),
        Fact("largest factor", factor(float(answers.exact_epsilon)), "for one friendship"),
        count("blocks", answers.n_blocks),
    ]
    if answers.person_epsilon is not None:
        most = f"for the {answers.max_contacts:,} friendships that are counted at most"
        facts.append(Fact("ε per person", f"{answers.person_epsilon:g}", most))
    if graphs:
        facts.append(count("networks drawn", graphs))
    return facts


def _guarantee(answers: SketchAnswers) -> Section:
    rows: list[list[Cell]] = []
    contacts = answers.max_contacts
    for friends in _FRIENDS if contacts is None else dict.fromkeys((1, contacts)):
        exponent = friends * float(answers.exact_epsilon)
        who = "one friendship" if friends == 1 else f"a person’s {friends} friendships together"
        rows.append([who, factor(exponent), _believed(exponent)])
    columns = ["what somebody wonders about", "factor at most"]
    lead = (
        "Suppose somebody knows all friendships but the one between two people, and has an opinion "
        "about how likely it is. The publication can change the odds of this opinion by the factor "
        "below and not more, with any computer. A person means a node of the network here, and a "
        "friendship an edge."
    )
    caption = (
        "A person with d friends takes part in d friendships, so the factor is e^(dε). For many "
        "friends it is no useful limit: the guarantee is about friendships, not about people."
    )
    if contacts is not None:
        caption = (
            f"At most {contacts:,} friendships of a person were counted, chosen by a public rule "
            "that does not look at the network. The second factor compares with the same "
            "publication in which these were not counted; for somebody with no more friendships "
            "it compares with a network without any of them. It is no bound for everything that "
            "follows from a person's presence: without a person who has more friends, "
            "friendships of others would be counted instead."
        )
    together = (
        "The factor is no bound for somebody who expects friendships to come together. Example: a "
        "team of 20 either works together, 190 friendships at once, or not at all. At ε = 1, two "
        "of the questions alone change the odds of each of these friendships by a factor of more "
        "than 16,000 in half of all sketches: they reveal the team, as they would reveal it "
        "without any one of these friendships."
    )
    section = Section("What is guaranteed", lead, notes=[together])
    section.tabulate([*columns, f"a belief of {percent(_PRIOR)} becomes"], rows, caption)
    return section


def _believed(exponent: float) -> str:
    """Return what a belief of `_PRIOR` can become if its odds change by e^exponent."""
    odds = math.log(_PRIOR / (1 - _PRIOR)) + exponent
    probability = 1 / (1 + math.exp(-odds))
    return "anything" if probability > 0.99 else f"at most {percent(probability, 2)}"


def _rely(
    answers: SketchAnswers, figures: Mapping[str, Interval], drawn: Sequence[_Drawn]
) -> Section:
    rows: list[list[Cell]] = [
        [row.property, row.verdict, row.reason]
        for row in reliance(
            answers, figures, [each.measures for each in drawn], [each.triangles for each in drawn]
        )
    ]
    section = Section(
        "What a recipient may rely on",
        "From the noise of the answers, whose law is known, and from the drawn networks; without "
        "the original. “Yes” means that the 95 % interval reaches about 5 % to both sides or less, "
        "“roughly” about 25 % or less, unless the reason says otherwise.",
        label="What to rely on",
    )
    section.tabulate(["property", "reliable", "why"], rows)
    return section


_MODULARITY = "modularity of the blocks"
_ANSWERED = {  # measures of drawn graphs, and the figures of a sketch that they correspond to
    "edges": "edges",
    "degree_mean": "mean_degree",
    "degree_max": "largest_degree",
    "global_clustering": "global_clustering",
    "average_local_clustering": "mean_clustering",
    "assortativity": "assortativity",
}


def _figures(
    answers: SketchAnswers, figures: Mapping[str, Interval], drawn: Sequence[_Drawn]
) -> Section:
    """Show what the sketch says about the original, next to the drawn networks."""
    with_edges = [int((each.graph.degrees > 0).sum()) for each in drawn]
    rows = [
        _row("triangles", figures["triangles"], [each.triangles for each in drawn]),
        _row("people with a friend", figures["nodes_with_edges"], with_edges),
        _row(_MODULARITY, figures["modularity"], []),
    ]
    for declared in MEASURES:
        found = figures.get(_ANSWERED.get(declared.key, ""))
        values = [declared.of(each.measures) for each in drawn]
        known = [] if None in values else values
        if found is not None or known:
            rows.append(_row(declared.label, found, known))
    section = Section(
        "What the sketch says about the original",
        "The interval has the true figure with a probability of 95 %: of 100 sketches, about 95 "
        "intervals do. Before each draw the true answers are drawn from what the noise leaves "
        "open, so several draws differ by about as much. A figure without an interval was not "
        "asked.",
        label="Intervals",
    )
    if answers.max_contacts is not None:
        section.notes.append(
            f"The original here is the network with at most {answers.max_contacts:,} friendships "
            "per person. How many were left out is not asked."
        )
    section.tabulate(["figure", "estimate", "95 % interval", "drawn networks"], rows)
    return section


def _row(name: str, found: Interval | None, values: Sequence[float]) -> list[Cell]:
    estimate, between = "–", "–"
    if found is not None:
        estimate, between = figure(found.value), f"{figure(found.low)} to {figure(found.high)}"
    low, high = (figure(min(values)), figure(max(values))) if values else ("–", "–")
    return [name, estimate, between, low if low == high else f"{low} to {high}"]


def _asked(answers: SketchAnswers) -> Section:
    rows: list[list[Cell]] = [
        [
            row.question,
            f"{row.numbers:,}",
            percent(float(row.share)),
            f"± {short(row.error, 2)}",
            row.answer or "–",
        ]
        for row in answer_noise(answers)
    ]
    columns = ["question", "numbers", "share of ε", "expected error of each number", "noisy answer"]
    caption = (
        "The shares add up to 100 %. The errors of the triangles and of the damped sum depend on "
        "the original; they are estimated from the largest noisy degrees."
    )
    section = Section(
        "What was asked, and with how much noise",
        "These are all the questions that were put to the original. Each answer carries random "
        "noise; the smaller the share of ε, the larger the noise.",
        label="Questions and noise",
    )
    section.tabulate(columns, rows, caption)
    return section


def _pictures(answers: SketchAnswers, drawn: Sequence[_Drawn]) -> Section:
    section = Section("Pictures of the sketch and of the drawn networks", label="Pictures")
    smoothed = "The line is the sketch's noisy answer, smoothed."
    section.draw("Friends per person", _degrees(answers, drawn), smoothed)
    section.draw(
        "Blocks",
        _blocks(answers),
        "A dark diagonal means communities. A pattern without a dark diagonal is mostly noise.",
    )
    if drawn:
        clustering = xy(
            _curves(drawn, _clustering),
            Axis("friends", log=True),
            Axis("mean local clustering", lo=0.0),
            description="Mean local clustering by number of friends in the drawn networks.",
        )
        distances = xy(
            _curves(drawn, _distances),
            Axis("steps"),
            Axis("share of connected pairs", lo=0.0),
            description="Path lengths in the drawn networks.",
        )
        often = "How often two friends of a person are friends."
        section.draw("Clustering by number of friends", clustering, often)
        section.draw("Path lengths", distances, "How many steps lie between two people.")
    return section


def _curves(
    drawn: Sequence[_Drawn], points: Callable[[_Drawn], _Points], kind: str = "both"
) -> list[Series]:
    """Return one series per drawn graph."""
    names = (
        ["drawn network"] if len(drawn) == 1 else [f"network {i + 1}" for i in range(len(drawn))]
    )
    return [
        Series(name, *points(each), kind, colour=colour)
        for colour, (name, each) in enumerate(zip(names, drawn, strict=True), start=1)
    ]


def _clustering(drawn: _Drawn) -> _Points:
    bins = drawn.measures.clustering_by_degree
    return np.array([b.degree_from for b in bins]), np.array([b.clustering for b in bins])


def _distances(drawn: _Drawn) -> _Points:
    counts = np.array(drawn.measures.distances, np.float64)
    return np.arange(1, len(counts) + 1), counts / max(counts.sum(), 1)


def _people_by_degree(drawn: _Drawn) -> _Points:
    """Return the share of the people who have at least 1, 2, 3 … friends."""
    counts = np.bincount(drawn.graph.degrees)
    at_least = np.cumsum(counts[::-1])[::-1][1:] / max(drawn.graph.n_nodes, 1)
    return np.arange(1, len(counts)), at_least


def _degrees(answers: SketchAnswers, drawn: Sequence[_Drawn]) -> Chart:
    tail = answers.degree_distribution().tail[1:] / max(answers.n_nodes, 1)
    degree = np.arange(1, len(tail) + 1)
    shown = tail * answers.n_nodes >= 0.5
    sketch = Series("sketch", degree[shown], tail[shown], "line", colour=0)
    return xy(
        [sketch, *_curves(drawn, _people_by_degree, "points")],
        Axis("friends", log=True),
        Axis("share of people with at least this many", log=True),
        description="Degree distribution of the sketch and of the drawn networks.",
    )


def _blocks(answers: SketchAnswers) -> Chart:
    sizes = np.bincount(answers.labels, minlength=answers.n_blocks).astype(np.float64)
    density = share(np.maximum(answers.block_edges, 0), pairs_between(sizes))
    order = np.argsort(-sizes, kind="stable")
    names = [str(i + 1) for i in range(answers.n_blocks)]
    table = ChartTable(
        ["block", "people", "friendships inside (noisy)"],
        [
            [names[i], int(sizes[b]), int(max(answers.block_edges[b, b], 0))]
            for i, b in enumerate(order)
        ],
    )
    return heatmap(
        density[np.ix_(order, order)],
        names,
        value="friendships per pair",
        description="Friendships per pair of people, inside and between the blocks of the sketch.",
        log=True,
        tip=lambda i, j: (
            f"blocks {names[i]} and {names[j]}\n"
            f"{int(max(answers.block_edges[order[i], order[j]], 0)):,} friendships, with noise"
        ),
        row_title="block",
        column_title="block",
        table=table,
    )


_PLANNED_COUNTS = ("edges", "degree", "nodes_with_degree", "largest_degree", "triangles_100")


def draw_plan(plans: Sequence[SketchPlan]) -> Picture:
    """Draw the expected errors of several plans that differ in epsilon."""
    epsilon = np.array([float(each.epsilon) for each in plans])

    def series(key: str) -> Series:
        values = np.array([each[key].error for each in plans])
        return Series(plans[0][key].label, epsilon, values, "both")

    section = Section("Expected errors")
    for title, keys in (
        ("Counts", _PLANNED_COUNTS),
        ("Mean local clustering", ("mean_clustering",)),
    ):
        chart = xy(
            [series(key) for key in keys],
            Axis("epsilon", log=True),
            Axis("expected error", log=True),
            description=f"{title}: expected errors over epsilon.",
        )
        section.draw(title, chart, pictured=True)
    size = f"{plans[0].nodes:,} nodes, {plans[0].edges:,} edges"
    return draw_figures([section], f"Expected errors of a sketch of {size}")
