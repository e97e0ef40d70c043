"""Rounding of the original's figures before they are published."""

from __future__ import annotations

import math

_DIGITS = 3


def round_figure(value: float) -> float:
    """Round to three significant digits; integers stay as they are.

    >>> round_figure(4.193987), round_figure(0.0073187), round_figure(12)
    (4.19, 0.00732, 12)
    """
    return value if isinstance(value, int) else float(f"{value:.{_DIGITS}g}")


def round_degree(value: int) -> int:
    """Round a figure of one person (the largest degree) to two digits, or to tens if small.

    >>> round_degree(2628), round_degree(504), round_degree(47)
    (2600, 500, 50)
    """
    step = _degree_step(value)
    return int(round(value / step) * step)


def figure_error(rounded: float) -> float:
    """Return the largest error of a figure that `round_figure` returned.

    >>> figure_error(4.19), figure_error(12)
    (0.005, 0.0)
    """
    if isinstance(rounded, int) or not rounded:
        return 0.0
    return float(f"5e{math.floor(math.log10(abs(rounded))) - _DIGITS}")


def degree_error(rounded: float) -> float:
    """Return the largest error of a degree that `round_degree` returned.

    >>> degree_error(2600), degree_error(20)
    (50.0, 5.0)
    """
    return _degree_step(rounded) / 2


def _degree_step(degree: float) -> int:
    return int(10 ** max(len(str(int(degree))) - 2, 1))
