"""The privacy budget: epsilon as an exact fraction, and the share of each answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from coterie.anonymize.ledger import exact_text
from coterie.anonymize.private.contact_bound import STABILITY
from coterie.base.errors import InputError

MAX_EPSILON = 10  # above it, a sketch protects so little that `allow_large_epsilon` is required
LARGEST_EPSILON = 100  # with `allow_large_epsilon`; the sampler's integers are bounded by it
SMALLEST_EPSILON = Fraction("0.0001")  # below it, noise hides any network that fits a computer
MAX_DECIMALS = 6

_DECIMAL = re.compile(r"\d{1,3}(\.\d{1,6})?|\.\d{1,6}", re.ASCII)


@dataclass(frozen=True)
class Shares:
    """The part of epsilon that the mechanism of each answer gets; the costs add up to exactly one.

    They are constants, so that nothing about them depends on the graph. The denominators of the
    costs divide 1000 (the sampler's integers are bounded by it). If the network is reduced before
    the questions, an answer from the fifth on costs `stability` times what its mechanism gets.
    """

    edge_count: Fraction
    degrees: Fraction
    degree_counts: Fraction
    largest_degrees: Fraction
    labels: Fraction
    block_edges: Fraction
    bin_edges: Fraction
    triangles: Fraction
    clustering_sums: tuple[Fraction, ...]  # one per damping degree
    capped_sums: tuple[Fraction, ...] = ()  # one per entry of `HIGHEST_DEGREES`
    stability: int = 1

    DENOMINATOR: ClassVar[int] = 1000

    def __post_init__(self) -> None:
        parts = self.parts()
        if sum(parts) != 1 or any(part <= 0 for part in parts):
            raise ValueError("the shares must be positive and add up to exactly 1")
        if any((part * self.DENOMINATOR).denominator != 1 for part in parts):
            raise ValueError(f"the shares must be multiples of 1 / {self.DENOMINATOR}")

    def parts(self) -> tuple[Fraction, ...]:
        """Return what each answer costs, in the order in which they are asked."""
        counts = (self.edge_count, self.degrees, self.degree_counts, self.largest_degrees)
        single = (self.labels, self.block_edges, self.bin_edges, self.triangles)
        others = (*single, *self.clustering_sums, *self.capped_sums)
        return (*counts, *(self.stability * part for part in others))

    def divided(self, stability: int) -> Shares:
        """Return shares of the same cost for a network that was reduced before the questions.

        One edge of the original changes `stability` edges of it, but no more of the first four
        answers than an edge does.
        """
        return replace(
            self,
            labels=self.labels / stability,
            block_edges=self.block_edges / stability,
            bin_edges=self.bin_edges / stability,
            triangles=self.triangles / stability,
            clustering_sums=tuple(part / stability for part in self.clustering_sums),
            capped_sums=tuple(part / stability for part in self.capped_sums),
            stability=stability,
        )

    @classmethod
    def of_thousandths(cls, *parts: int, damped: int = 1) -> Shares:
        """Return the shares, given in thousandths, in the order in which they are asked.

        `damped` is the number of damped clustering sums, which come after the triangles.
        """
        exact = [Fraction(part, cls.DENOMINATOR) for part in parts]
        edges, degrees, counts, largest, labels, blocks, bins, triangles = exact[:8]
        sums, capped = tuple(exact[8 : 8 + damped]), tuple(exact[8 + damped :])
        return cls(edges, degrees, counts, largest, labels, blocks, bins, triangles, sums, capped)


DAMPING_DEGREES = (24,)
DAMPING_BEFORE = (6, 24)  # of the rules 1 and 2
HIGHEST_DEGREES = (0, 5)  # of the nodes that a capped sum counts; 0: of all nodes

# By purpose. Edges, degrees, degree counts, largest degrees, blocks, edges between blocks and
# between degree bins, triangles; then the clustering sums. Chosen on 16 networks of different
# kinds: see "Shares" in docs/explanation/differential-privacy.md.
PURPOSES = {
    "balanced": Shares.of_thousandths(20, 100, 180, 50, 400, 30, 50, 50, 30, 60, 30),
    "degrees": Shares.of_thousandths(30, 150, 350, 120, 100, 30, 100, 40, 20, 40, 20),
    "communities": Shares.of_thousandths(20, 100, 80, 30, 600, 50, 30, 30, 20, 30, 10),
    "clustering": Shares.of_thousandths(20, 60, 120, 40, 200, 30, 40, 200, 100, 120, 70),
}
SHARES = PURPOSES["balanced"]
SHARES_BEFORE = Shares.of_thousandths(20, 100, 180, 50, 400, 30, 50, 50, 80, 40, damped=2)


def shares_for(purpose: str, max_contacts: int | None = None) -> Shares:
    """Return the shares for a purpose; raise InputError if there is none of this name."""
    if purpose not in PURPOSES:
        raise InputError(
            f"there are no shares for {purpose!r}", remedy=f"use one of {', '.join(PURPOSES)}"
        )
    shares = PURPOSES[purpose]
    return shares if max_contacts is None else shares.divided(STABILITY)


def parse_epsilon(
    epsilon: str | int | Fraction,
    *,
    allow_large_epsilon: bool = False,
    smallest: Fraction = SMALLEST_EPSILON,
) -> Fraction:
    """Return epsilon as an exact fraction; raise InputError if it is not a usable number.

    A float is refused: 0.1 is not one tenth. Text such as "0.1" is exact. Sketches of earlier
    versions may have an epsilon below `SMALLEST_EPSILON`.

    >>> parse_epsilon("0.5")
    Fraction(1, 2)
    """
    value = parse_decimal(epsilon, "epsilon")
    if value <= 0:
        raise InputError(
            f"epsilon is {epsilon}; it must be above 0", remedy='use, for example, `epsilon="1"`'
        )
    if value < smallest:
        raise InputError(
            f"epsilon is {epsilon}; the smallest value is {exact_text(smallest)}, with which the "
            "number of edges is off by half a million",
            remedy='use, for example, `epsilon="1"`',
        )
    if value > LARGEST_EPSILON:
        raise InputError(
            f"epsilon is {epsilon}; the largest value is {LARGEST_EPSILON}",
            remedy='use, for example, `epsilon="1"`',
        )
    if value > MAX_EPSILON and not allow_large_epsilon:
        raise InputError(
            f"epsilon is {epsilon}: a bound of e^{epsilon} protects nobody",
            remedy=f"use at most {MAX_EPSILON} (1 is usual), or set `allow_large_epsilon`",
        )
    return value


def parse_decimal(value: str | int | Fraction, name: str) -> Fraction:
    """Return a decimal number as an exact fraction; raise InputError if it is not one.

    >>> parse_decimal("4", "cap")
    Fraction(4, 1)
    """
    if isinstance(value, float):
        raise InputError(
            f"{name} is the floating-point number {value!r}, which is not exact",
            remedy=f'give it as text: `{name}="{value!r}"`',
        )
    text = exact_text(value) if isinstance(value, Fraction) else str(value).strip()
    if isinstance(value, bool) or not _DECIMAL.fullmatch(text):
        raise InputError(
            f"{name} is {value!r}, which is not a positive decimal number below 1000, without an "
            f"exponent and with at most {MAX_DECIMALS} digits after the point",
            remedy=f'use, for example, `{name}="0.5"`',
        )
    return Fraction(text)
