"""Numbers as text for people: in reports, on the terminal, in the application."""

from __future__ import annotations

import math

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def short(value: float | int | None, digits: int = 3) -> str:
    """Write a number for people: about three digits, k and M for thousands and millions.

    >>> [short(v) for v in (0, 12, 0.31811, 1234, 275_700, 2_500_000, 0.00001234, None)]
    ['0', '12', '0.318', '1,234', '276k', '2.5M', '1.23·10⁻⁵', '–']
    """
    if value is None or not math.isfinite(value):
        return "–"
    size = abs(value)
    if size >= 999.5e6:
        return power(value, digits)
    if size >= 999_500:
        return f"{float(f'{value / 1e6:.{max(digits, 3)}g}'):g}M"
    if size >= 10_000:
        return f"{float(f'{value / 1e3:.{max(digits, 3)}g}'):g}k"
    if size >= 1_000:
        return f"{value:,.0f}"
    if size >= 1e-4 or size == 0:
        return _decimal(value, digits)
    return power(value, digits)


def percent(share: float | int | None, digits: int = 3) -> str:
    """Write a share as a percentage for people.

    >>> [percent(v) for v in (0, 0.5, 5.3844e-05, 1 / 3, 1e-9, None)]
    ['0 %', '50 %', '0.00538 %', '33.3 %', '< 0.001 %', '–']
    """
    if share is None or not math.isfinite(share):
        return "–"
    return "< 0.001 %" if 0 < share < 1e-5 else f"{_decimal(100 * share, digits)} %"


def figure(value: float | int | None, digits: int = 4, decimals: int = 0) -> str:
    """Write a count or a measure: whole numbers as such, others with about four digits.

    `decimals`: of numbers above 1,000 that are not whole.

    >>> [figure(v) for v in (44_916_549, 198050.0, 0.30103, -36.04, 1234.56, None)]
    ['44,916,549', '198,050', '0.301', '-36.04', '1,235', '–']
    """
    if value is None or not math.isfinite(value):
        return "–"
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.{decimals}f}" if abs(value) >= 1_000 else short(value, digits)


def _decimal(value: float, digits: int) -> str:
    """Write a number with this many digits and without an exponent."""
    if value == 0:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    text = f"{value:,.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def power(value: float, digits: int = 2) -> str:
    """Write a number with a power of ten: 2·10⁻⁵."""
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    power = "10" + str(int(exponent)).translate(SUPERSCRIPT)
    return power if float(mantissa) == 1 else f"{float(mantissa):g}·{power}"
