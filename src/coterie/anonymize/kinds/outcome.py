"""What is measured of directions, weights, sides and attributes in a release."""

from __future__ import annotations

from dataclasses import dataclass, field

from coterie.anonymize.figures import Private


@dataclass(frozen=True)
class KindMeasure:
    """One measure of the original and of the release (mean over the draws)."""

    name: str
    original: float | None  # None if it is not defined
    published: float | None
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
class DistanceMeasure:
    """The distance of two distributions, 0 to 1 (mean over the draws)."""

    name: str
    value: float
    tolerance: float

    @property
    def kept(self) -> bool:
        """Whether the distance is within the tolerance."""
        return self.value <= self.tolerance


@dataclass(frozen=True)
class NetworkAttack:
    """The people whom an attacker who knows everything finds, in the release and in a copy."""

    label: str
    guesses: int
    correct: int  # in the draw where the most were found
    expected: float  # by luck
    naive: int  # in a copy with only the names removed


@dataclass(frozen=True)
class SensitiveRisk:
    """What classes say about one sensitive column."""

    column: str
    least_values: int  # different values in the class with the fewest
    largest_distance: float  # of a class from everybody
    certain_people: int  # people whose class has a single value


@dataclass(frozen=True, repr=False)
class KindOutcome(Private):
    """The utility and risk of what a release contains besides undirected edges."""

    measures: list[KindMeasure] = field(default_factory=list)
    distances: list[DistanceMeasure] = field(default_factory=list)
    sensitive: list[SensitiveRisk] = field(default_factory=list)
    attacks: list[NetworkAttack] = field(default_factory=list)

    def not_kept(self) -> list[str]:
        """Return one phrase per measure outside its tolerance."""
        found = [
            f"{m.name} ({m.published:.3g} instead of {m.original:.3g})"
            for m in self.measures
            if not m.kept
        ]
        return found + [f"{d.name} (distance {d.value:.2g})" for d in self.distances if not d.kept]
