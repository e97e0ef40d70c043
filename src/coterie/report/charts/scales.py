"""Linear and logarithmic scales with round ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from coterie.base.number_text import power, short

_LEAST = 1e-300  # smaller numbers and differences lose digits and are drawn as this one


class Scale:
    """Map lo..hi onto start..end, linearly or by the logarithm.

    >>> Scale(0, 10, 0, 100)(5)
    50.0
    >>> Scale(1, 100, 0, 100, log=True)(10)
    50.0
    """

    def __init__(
        self, lo: float, hi: float, start: float, end: float, *, log: bool = False
    ) -> None:
        if log:
            lo, hi = max(lo, _LEAST), max(hi, _LEAST)
        if hi - lo < _LEAST:
            lo, hi = (lo / 2, lo * 2) if log else (lo - 0.5, lo + 0.5)
        self.lo, self.hi, self.start, self.end, self.log = lo, hi, start, end, log

    def __call__(self, value: float) -> float:
        lo, hi, at = (
            (math.log(self.lo), math.log(self.hi), math.log(max(value, _LEAST)))
            if self.log
            else (self.lo, self.hi, value)
        )
        return float(self.start + (at - lo) / (hi - lo) * (self.end - self.start))

    def ticks(self, count: int = 5) -> list[tuple[float, str]]:
        """Return round values inside the scale with their labels."""
        values = self._decades(count) if self.log else self._steps(count)
        texts = _decade_labels(values) if self.log else _labels(values)
        return list(zip(values, texts, strict=True))

    def _steps(self, count: int) -> list[float]:
        rough = (self.hi - self.lo) / max(1, count)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(s for s in (power, 2 * power, 5 * power, 10 * power) if s >= rough * 0.999)
        first, last = math.ceil(self.lo / step - 1e-9), math.floor(self.hi / step + 1e-9)
        return [i * step for i in range(first, last + 1)]

    def _decades(self, count: int) -> list[float]:
        low, high = math.log10(self.lo), math.log10(self.hi)
        stride = max(1, math.ceil((high - low) / max(1, count)))
        first = math.ceil(low - 1e-9)
        powers = [10.0**p for p in range(first, math.floor(high + 1e-9) + 1, stride)]
        if len(powers) >= 3:
            return powers
        finer = [
            m * 10.0**p for p in range(math.floor(low), math.ceil(high) + 1) for m in (1, 2, 5)
        ]
        inside = [v for v in finer if self.lo * 0.999 <= v <= self.hi * 1.001]
        return inside if len(inside) >= 2 else self._steps(count)


def _decade_labels(values: list[float]) -> list[str]:
    """Write the ticks of a log axis; as powers of ten if one is far from 1.

    >>> _decade_labels([0.01, 0.1, 1.0, 10.0]), _decade_labels([1e-5, 1e-3, 0.1])
    (['0.01', '0.1', '1', '10'], ['10⁻⁵', '10⁻³', '10⁻¹'])
    """
    far = bool(values) and (min(values) < 1e-3 or max(values) >= 1e9)
    texts = [power(v) if far else short(v) for v in values]
    return texts if len(set(texts)) == len(texts) else _labels(values)


def _labels(values: list[float]) -> list[str]:
    """Write the ticks of an axis in one notation, with enough decimals to distinguish them.

    >>> _labels([1496.53, 1496.5305]), _labels([0.0, 20_000.0])
    (['1,496.5300', '1,496.5305'], ['0', '20k'])
    """
    largest = max((abs(v) for v in values), default=0.0)
    smallest = min((abs(v) for v in values if v), default=0.0)
    if smallest and smallest < 1e-3:
        return [power(v) for v in values]
    if smallest and largest / smallest > 5e3:
        return [short(v) for v in values]
    unit, suffix = next(
        ((u, s) for u, s in ((1e6, "M"), (1e3, "k")) if largest >= u * (10 if u == 1e3 else 1)),
        (1.0, ""),
    )
    step = min((b - a for a, b in pairwise(sorted(values))), default=largest) / unit
    for decimals in range(13):
        texts = [f"{v / unit:,.{decimals}f}" for v in values]
        exact = all(
            abs(float(t.replace(",", "")) - v / unit) <= max(1e-3 * step, 1e-12)
            for t, v in zip(texts, values, strict=True)
        )
        if exact:
            break
    return [t if v == 0 else t + suffix for t, v in zip(texts, values, strict=True)]


def extent(parts: Iterable[np.ndarray], *, log: bool = False) -> tuple[float, float] | None:
    """Return the smallest and largest finite value (with `log`: positive value) of all parts."""
    values = np.concatenate([np.asarray(p, np.float64).ravel() for p in parts] or [np.empty(0)])
    values = values[np.isfinite(values) & ((values > 0) | (not log))]
    return (float(values.min()), float(values.max())) if len(values) else None


def thin(length: int, most: int = 120, *, log: bool = False) -> np.ndarray:
    """Choose at most `most` indices of 0..length-1, with first and last; with log more early ones.

    >>> thin(5, 3).tolist(), thin(2, 3).tolist(), thin(100, 5, log=True).tolist()
    ([0, 2, 4], [0, 1], [0, 2, 9, 31, 99])
    """
    if length <= most:
        return np.arange(length)
    spread = np.geomspace(1, length, most) - 1 if log else np.linspace(0, length - 1, most)
    return np.unique(spread.round().astype(int))
