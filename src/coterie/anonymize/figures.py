"""Every figure of the utility and of the risk of a release, declared once.

JSON, the published page, the private page, the printed tables and the application show these lists.
What a figure is called and means, whether it is shown in percent, which difference counts as
preserved, and whether and how rounded it is published are said here and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

NOT_IN_JSON = {"json": False}  # metadata of fields of which the JSON output has no key

# One rule says which difference from the original counts as preserved.
RELATIVE = 0.1  # counts, means, lengths, eigenvalues: of the original's figure
COEFFICIENT = 0.05  # correlations and modularity, which may be 0: the difference
SHARE = 0.02  # shares of people or edges, and the distance of two distributions: the difference

# What a release may be used for; each figure that is judged belongs to one purpose.
PURPOSES = {
    "degrees": "who has how many connections",
    "groups": "groups and communities",
    "circles": "triangles, circles and small patterns",
    "paths": "paths, spreading and robustness",
    "core": "the dense core",
}
FIT_SHARE = 0.75  # of the properties of a purpose that must be preserved to be fit for it
WORTH_SHARE = 0.5  # with less of all properties preserved, a release is not worth publishing


@dataclass(frozen=True)
class Figure:
    """One number of a graph, and how it is shown."""

    key: str  # attribute of the measures; parts are separated by points
    label: str
    percent: bool = False  # a share, shown in percent
    # The largest difference from the original's figure that counts as preserved
    relative: float | None = None
    absolute: float | None = None
    # How the original's figure is rounded in public: "exact" (everybody can count it), "share",
    # "mean", "count"; "" if it is not shown, because it belongs to single people or to few.
    # Figures of risk are rounded towards their limit: "share up" or "down", "people up" or "down".
    rounding: str = ""
    countable: bool = False  # exact in public if every draw has as many edges as the original
    name_in_sentences: str = ""  # about what is lost, if it is not the label
    # Whether the release's figure, and whether it is preserved, may be published. Not for figures
    # that one or few people determine, nor for figures of the release that depend on the original:
    # a reader could compute them for every guess about the original.
    public: bool = True
    purpose: str = ""  # what it is needed for, one of PURPOSES; "" if it is not judged
    # In the words of the application
    meaning: str = field(default="", metadata=NOT_IN_JSON)
    # Of figures of risk: the figure must not be below its limit; else not above
    at_least: bool = field(default=False, metadata=NOT_IN_JSON)

    def of(self, measures: Any) -> Any:
        """Return this figure of the measures of a graph; None if it was not measured."""
        for part in self.key.split("."):
            measures = measures[int(part)] if part.isdigit() else getattr(measures, part)
        return measures

    @property
    def tolerance(self) -> float:
        """The tolerance, relative or absolute."""
        return (self.relative or 0.0) if self.absolute is None else self.absolute

    def keeps(self, original: float, published: float) -> bool:
        """Return whether the difference is within the tolerance."""
        allowed = self.absolute
        if allowed is None:
            allowed = abs(original) * (self.relative or 0.0)
        return abs(published - original) <= allowed + 1e-9

    def lost(self, original: float, published: float) -> str:
        """Return the sentence that says that the figure is not preserved, for the owner."""
        name = self.name_in_sentences or self.label
        return f"{name}: {shown(original)} became {shown(published)}"


class FigureRow(NamedTuple):
    """A figure of the original and of the release (mean over the draws)."""

    figure: Figure
    original: float | None  # None if it is not shown
    published: float
    kept: bool = True
    error: float = 0.0  # of `original`, by rounding

    @property
    def difference(self) -> float | None:
        """Relative difference from the original; None if the original is 0 or not shown."""
        if not self.original:
            return None
        return (self.published - self.original) / abs(self.original)


# Measures of a graph, in the order of tables and reports
MEASURES = (
    Figure("nodes", "nodes", rounding="exact"),
    Figure("edges", "edges", rounding="mean", countable=True),
    Figure(
        "average_path_length",
        "average path length",
        rounding="mean",
        meaning="steps from one person to another, on average",
        relative=RELATIVE,
        purpose="paths",
    ),
    Figure("diameter", "diameter", meaning="steps between the two people who are furthest apart"),
    Figure(
        "global_clustering",
        "global clustering",
        rounding="share",
        meaning="how often two friends of a person are friends",
        relative=RELATIVE,
        purpose="circles",
    ),
    Figure(
        "average_local_clustering",
        "mean local clustering",
        rounding="share",
        meaning="the same, computed for each person and averaged",
        relative=RELATIVE,
        purpose="circles",
    ),
    Figure(
        "degree_mean",
        "mean degree",
        rounding="mean",
        countable=True,
        meaning="connections per person",
    ),
    Figure(
        "degree_max",
        "largest degree",
        meaning="connections of the best-connected person",
        relative=RELATIVE,
        purpose="degrees",
    ),
    Figure(
        "assortativity",
        "assortativity",
        rounding="share",
        meaning="whether well-connected people know each other (-1 to 1)",
        absolute=COEFFICIENT,
        purpose="degrees",
    ),
    Figure(
        "isolates", "nodes without an edge", rounding="count", meaning="people without a connection"
    ),
    Figure(
        "largest_component",
        "nodes in the largest component",
        percent=True,
        rounding="share",
        name_in_sentences="size of the largest component",
        meaning="people who can all reach each other",
        absolute=SHARE,
        purpose="paths",
    ),
    Figure("core_max", "largest core number", meaning="how dense the densest part is"),
    Figure(
        "modularity",
        "modularity of the blocks",
        rounding="share",
        meaning="how clearly the blocks are separated (0 to 1)",
        absolute=COEFFICIENT,
        purpose="groups",
    ),
    Figure(
        "community_modularity",
        "modularity of communities",
        rounding="share",
        meaning="how clearly the communities are separated (0 to 1)",
    ),
    Figure("communities", "communities", meaning="groups of people with many connections inside"),
    Figure(
        "communities_for_half",
        "communities with half of the nodes",
        meaning="how many of the largest groups hold half of all people",
    ),
    Figure(
        "largest_community",
        "nodes in the largest community",
        percent=True,
        meaning="share of all people in the largest group",
    ),
)

EPIDEMIC_MULTIPLES = (1.5, 3.0, 6.0)  # of the epidemic threshold of the original


def _further(purpose: str, key: str, label: str, *, public: bool = True) -> Figure:
    return Figure(key, label, relative=RELATIVE, purpose=purpose, public=public)


# What a release is not fitted to. In public, figures of the original are not shown.
FURTHER_MEASURES = (
    _further("circles", "graphlets.open_triples", "open triples"),
    _further("circles", "graphlets.triangles", "triangles"),
    _further("circles", "graphlets.four_paths", "paths of 4 nodes"),
    _further("circles", "graphlets.four_stars", "stars of 4 nodes", public=False),
    _further("circles", "graphlets.four_cycles", "squares without a diagonal"),
    _further("circles", "graphlets.tailed_triangles", "triangles with a tail"),
    _further("circles", "graphlets.diamonds", "diamonds (squares with one diagonal)"),
    _further("circles", "graphlets.four_cliques", "4-cliques"),
    _further("circles", "graphlets.squares", "squares, with or without diagonals"),
    _further("core", "cores.mean", "mean core number"),
    _further("core", "cores.innermost", "innermost core"),
    _further("core", "cores.innermost_nodes", "nodes in the innermost core"),
    _further("paths", "betweenness.largest", "largest betweenness", public=False),
    _further("paths", "betweenness.gini", "betweenness, Gini"),
    _further("degrees", "pagerank_gini", "PageRank, Gini"),
    _further("degrees", "degree_second_moment", "degree, second moment", public=False),
    _further("degrees", "pendants", "nodes with one edge"),
    _further("paths", "effective_diameter", "effective diameter (90 %)"),
    _further("core", "largest_eigenvalue", "largest eigenvalue", public=False),
    _further("core", "smallest_eigenvalue", "smallest eigenvalue", public=False),
    _further("paths", "cut_points.articulation_points", "articulation points"),
    _further("paths", "cut_points.bridges", "bridges"),
    _further("paths", "robustness.random_mean", "robustness, random failure"),
    _further("paths", "robustness.targeted_mean", "robustness, largest degrees first"),
    *(
        # Not public: measured at the threshold of the original. So close to it that two
        # simulations of one graph differ by more than 10 %, the size is not judged.
        _further(
            "paths" if multiple > 2 else "",
            f"epidemic.{place}.share",
            f"epidemic size at {multiple:g} × threshold",
            public=False,
        )
        for place, multiple in enumerate(EPIDEMIC_MULTIPLES)
    ),
)
FIGURES = {figure.key: figure for figure in (*MEASURES, *FURTHER_MEASURES)}

# What a network has besides undirected edges. Distances are those of two distributions, 0 to 1; a
# figure of an attribute has its name in place of {column}. In public, figures of the original are
# not shown, and distances are rounded up.
DIRECTION_MEASURES = (
    Figure("reciprocity", "share of mutual edges (reciprocity)", absolute=SHARE),
    Figure("cycles", "directed clustering, cycles", relative=RELATIVE),
    Figure("middlemen", "directed clustering, middlemen", relative=RELATIVE),
    Figure("two in", "directed clustering, two in", relative=RELATIVE),
    Figure("two out", "directed clustering, two out", relative=RELATIVE),
)
DIRECTION_DISTANCES = (
    Figure("out", "out-degrees", absolute=SHARE),
    Figure("in", "in-degrees", absolute=SHARE),
)
WEIGHT_MEASURES = (
    Figure("sum", "sum of the weights", relative=RELATIVE),
    Figure("degrees", "correlation of weights with degrees", absolute=COEFFICIENT),
    Figure(
        "common neighbours", "correlation of weights with common neighbours", absolute=COEFFICIENT
    ),
)
WEIGHT_DISTANCES = (
    Figure("strengths", "strengths (sum of weights per node)", absolute=SHARE),
    Figure("weights", "weights", absolute=SHARE),
)
SIDE_MEASURES = (Figure("butterflies", "butterflies", relative=RELATIVE),)
SIDE_DISTANCES = (
    Figure("first", "degrees of the first side", absolute=SHARE),
    Figure("second", "degrees of the second side", absolute=SHARE),
)
ATTRIBUTE_MEASURES = (
    Figure("assortativity", "assortativity by {column}", absolute=COEFFICIENT),
    Figure(
        "degrees", "share of the variance of degrees explained by {column}", absolute=COEFFICIENT
    ),
)
ATTRIBUTE_VALUES = Figure("values", "values of {column}", absolute=SHARE)
# The tolerance of combinations comes on top of the distance of a random sample.
ATTRIBUTE_COMBINATIONS = Figure("combinations", "combinations of attributes", absolute=SHARE)


def _risk(key: str, label: str, rounding: str, meaning: str = "") -> Figure:
    """Declare a figure of risk: a share, or a number of people or graphs."""
    return Figure(
        key,
        label,
        percent=rounding.startswith("share"),
        at_least=rounding.endswith("down"),
        rounding=rounding,
        meaning=meaning,
    )


# What the policy limits. Words in {} say which, if there are several.
SMALLEST_CLASS = _risk(
    "class",
    "people in the smallest class",
    "people down",
    "nobody can be told apart from fewer people than these",
)
PROBABLE_EDGES = _risk(
    "probability",
    "edges disclosed with a probability of {certainty} or more",
    "share up",
    "connections that the release makes almost certain",
)
DENSE_CELLS = _risk(
    "density",
    "edges in cells of true density {certainty} or more",
    "share up",
    "connections between two groups of people of whom nearly everybody knows everybody",
)
NAMED_EDGES = _risk(
    "named",
    "edges named {which}",
    "share up",
    "connections that somebody could name who knows how many connections each person has, beyond "
    "what could be said of anybody",
)
ALL_NAMED_EDGES = _risk(
    "inferred",
    "edges named in all, all degrees known",
    "share up",
    "connections that follow from group and number of connections, also if they were not in the "
    "data",
)
EDGE_INFERENCE = _risk(
    "inference",
    "edge inference",
    "share up",
    "how much better than by chance somebody tells real connections from others",
)
PEOPLE_FOUND = _risk(
    "people",
    "people guessed right{by}",
    "people up",
    "as many as luck allows; see the attacks below",
)
SENSITIVE_VALUES = _risk("values", "different values of {column} in every class", "people down")
SENSITIVE_DISTANCE = _risk(
    "distance", "distance of the values of {column} in a class from everybody's", "share up"
)
ATTRIBUTE_INFERENCE = _risk(
    "attribute",
    "people whose {column} is guessed right because they are in the data",
    "share up",
    "what the group of a person says about this column, beyond what it says about anybody",
)
RELEASES = _risk(
    "releases",
    "graphs published from this original",
    "exact",
    "several releases from the same data could be compared with each other",
)
KEPT_PROPERTIES = _risk(
    "kept", "properties preserved", "share down", "how much of the network the release keeps"
)
RISK_FIGURES = (
    SMALLEST_CLASS,
    PROBABLE_EDGES,
    DENSE_CELLS,
    NAMED_EDGES,
    ALL_NAMED_EDGES,
    EDGE_INFERENCE,
    PEOPLE_FOUND,
    SENSITIVE_VALUES,
    SENSITIVE_DISTANCE,
    ATTRIBUTE_INFERENCE,
    RELEASES,
    KEPT_PROPERTIES,
)

# What is not one number
DEGREES = Figure(
    "degrees",
    "degree distribution",
    absolute=SHARE,  # Kolmogorov-Smirnov distance
    purpose="degrees",
    meaning="how many people have how many connections",
)
EIGENVALUES = Figure(
    "spectrum",
    "largest eigenvalues",
    relative=RELATIVE,  # of each of the three largest
    purpose="core",
    meaning="the coarse structure of the network in three numbers",
)
# Communities of the release, measured in the original: of the modularity of its own communities
FOREIGN_SHARE = 0.85
# Agreement of original and release: of the agreement of two searches on the original, if that is
# above CLEAR_AGREEMENT. Below, communities are not clear enough to compare who is in which.
AGREEMENT_SHARE = 0.75
CLEAR_AGREEMENT = 0.5


def measured(original: Any, published: Any) -> list[tuple[Figure, float, float]]:
    """Return the figures that both measures have; without blocks there is no modularity."""
    found = [(figure, figure.of(original), figure.of(published)) for figure in MEASURES]
    return [row for row in found if row[1] is not None and row[2] is not None]


def public_rows(rows: list[FigureRow], group: int) -> list[FigureRow]:
    """Select the further measures that do not depend on few people; hide the original's figures.

    That a measure is preserved says that the original's figure is within the tolerance of the
    published one. For a count, at least `group` numbers must be within it on each side.
    """
    return [
        row._replace(original=None)
        for row in rows
        if row.figure.public
        and (
            not isinstance(row.original, int)
            or row.figure.tolerance * min(row.original, row.published) >= group
        )
    ]


@dataclass(frozen=True)
class FeatureMeasure:
    """A figure of directions, weights, sides or attributes, of original and release."""

    name: str
    original: float | None  # None if it is not defined
    published: float | None  # mean over the draws
    tolerance: float
    relative: bool = False  # the tolerance is a share of the original

    @property
    def error(self) -> float | None:
        """The difference; relative to the original if the tolerance is."""
        if self.original is None or self.published is None:
            return None
        difference = self.published - self.original
        if not self.relative:
            return difference
        return difference / abs(self.original) if self.original else None

    @property
    def kept(self) -> bool:
        """Whether the difference is within the tolerance."""
        return self.error is None or abs(self.error) <= self.tolerance


@dataclass(frozen=True)
class DistributionDistance:
    """The distance of a distribution of the original and of the release, 0 to 1."""

    name: str
    value: float  # mean over the draws
    tolerance: float

    @property
    def kept(self) -> bool:
        """Whether the distance is within the tolerance."""
        return self.value <= self.tolerance


class FeatureRow(NamedTuple):
    """A figure of directions, weights, sides or attributes, as pages and tables show it."""

    name: str
    original: float | None  # None if it is not shown
    published: float | None
    kept: bool
    is_distance: bool = False  # `published` is the distance from the original


class Private:
    """A result that holds figures of the original: it is never printed by accident."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: figures of the original, private>"


def shown(value: float) -> str:
    """Return a number with three digits, or all digits before the point.

    >>> [shown(x) for x in (0.03456, 12.34, 1127.4)]
    ['0.0346', '12.3', '1,127']
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
