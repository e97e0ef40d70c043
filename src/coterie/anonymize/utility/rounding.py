"""Rounding of the original's figures before they are published."""

from __future__ import annotations

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
    step = 10 ** max(len(str(value)) - 2, 1)
    return int(round(value / step) * step)
