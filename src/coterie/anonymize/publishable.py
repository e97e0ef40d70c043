"""Figures of the original as a report may show them: too coarse to subtract one person from.

Who knows everybody but one, and an exact figure of all, knows the one. So what is measured of the
original is told to three digits, and a single person's degree to two at most.
"""

from __future__ import annotations

_DIGITS = 3


def coarse(value: float) -> float:
    """Three significant digits; counts stay whole.

    >>> coarse(4.193987), coarse(0.0073187), coarse(12)
    (4.19, 0.00732, 12)
    """
    return value if isinstance(value, int) else float(f"{value:.{_DIGITS}g}")


def coarse_degree(value: int) -> int:
    """One person's figure to two digits at most, more coarsely where small.

    >>> coarse_degree(2628), coarse_degree(504), coarse_degree(47)
    (2600, 500, 50)
    """
    step = 10 ** max(len(str(value)) - 2, 1)
    return int(round(value / step) * step)
