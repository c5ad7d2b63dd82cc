"""Format numbers and names for the report page."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape

MINUS, NONE = "\u2212", "\u2013"
# HTML allows no control characters but tab, newline and return; bidirectional marks could disguise a name.
CONTROLS = (*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
UNPRINTABLE = {code: "\ufffd" for code in CONTROLS if chr(code) not in "\t\n\r"}


def safe(text: object) -> str:
    """Return text escaped for HTML, with control characters and lone surrogates replaced."""
    valid = str(text).encode("utf-8", "replace").decode("utf-8")
    return escape(valid.translate(UNPRINTABLE))


def share(value: float) -> str:
    """Return a number of [0, 1] with four decimals, or more if it would otherwise round to one.

    Examples
    --------
    >>> from opauc.report.text import share
    >>> share(0.90123), share(1.0), share(0.99999)
    ('0.9012', '1.0000', '0.99999')
    """
    for digits in range(4, 9):
        if value == 1.0 or round(value, digits) < 1.0:
            return f"{value:.{digits}f}"
    return "0.99999999"


def outward(low: float, high: float) -> str:
    """Return bounds with six decimals, rounded outward so that they stay bounds."""
    return f"{math.floor(low * 1e6) / 1e6:.6f} to {math.ceil(high * 1e6) / 1e6:.6f}"


def percent(value: float) -> str:
    """Return a share as a percentage with three significant digits.

    Examples
    --------
    >>> from opauc.report.text import percent
    >>> percent(0.2393), percent(0.00012), percent(0.05)
    ('23.9 %', '0.012 %', '5 %')
    """
    return f"{100 * value:.3g} %"


def three_digits(value: float) -> str:
    """Return a share as a percentage with three significant digits, zeros included, for a column of them.

    Examples
    --------
    >>> from opauc.report.text import three_digits
    >>> three_digits(0.2393), three_digits(0.018), three_digits(0.00012), three_digits(1.0)
    ('23.9 %', '1.80 %', '0.0120 %', '100 %')
    """
    return f"{100 * value:#.3g}".rstrip(".") + " %"


def chance(value: float) -> str:
    """Return a share as a percentage with one decimal, or more if it would otherwise round to all.

    Examples
    --------
    >>> from opauc.report.text import chance
    >>> chance(0.8434), chance(1.0), chance(0.99996)
    ('84.3 %', '100.0 %', '99.996 %')
    """
    for digits in range(1, 6):
        if value == 1.0 or round(100.0 * value, digits) < 100.0:
            return f"{100.0 * value:.{digits}f} %"
    return "99.99999 %"


def count_of_thousand(value: float) -> str:
    """Return a count per 1,000 rows with one decimal.

    Examples
    --------
    >>> from opauc.report.text import count_of_thousand
    >>> count_of_thousand(12.34), count_of_thousand(0.004), count_of_thousand(0.0)
    ('12.3', '< 0.1', '0.0')
    """
    return "< 0.1" if 0.0 < value < 0.05 else f"{value:.1f}"


def breakable(name: object) -> str:
    """Return a name escaped for HTML that may be broken after "_" and "/".

    Examples
    --------
    >>> from opauc.report.text import breakable
    >>> breakable("total_of_special_requests")
    'total_<wbr>of_<wbr>special_<wbr>requests'
    >>> breakable("<b>_x")
    '&lt;b&gt;_<wbr>x'
    """
    return re.sub(r"(_+|(?<=\w)/)(?=\w)", r"\1<wbr>", safe(name))


def seconds(value: float) -> str:
    """Return a duration in a readable unit.

    Examples
    --------
    >>> from opauc.report.text import seconds
    >>> seconds(0.0123), seconds(12.3), seconds(7384)
    ('12.3 ms', '12.3 s', '2 h 3 min')
    """
    if not math.isfinite(value):
        return NONE
    if value < 1:
        return f"{1000 * value:.3g} ms"
    if value < 60:
        return f"{value:.3g} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def aligned(values: Sequence[float], scale: float, digits: int) -> list[str]:
    """Return numbers with equal decimals, so that a number of magnitude `scale` has `digits` significant digits.

    Examples
    --------
    >>> from opauc.report.text import aligned
    >>> aligned([1.23456, -0.045678], 1.23456, 4), aligned([2.5e-9, 1e-9], 2.5e-9, 4)
    (['1.235', '−0.046'], ['2.500e−09', '1.000e−09'])
    """
    decimals = digits - 1 - math.floor(math.log10(scale)) if 0 < scale < math.inf else digits - 1
    form = f".{max(decimals, 0)}f" if -4 < decimals <= 8 else f".{digits - 1}e"
    return [f"{value:{form}}".replace("-", MINUS) for value in values]


def signed(value: float, digits: int = 3) -> str:
    """Return a number with its sign and `digits` significant digits.

    Examples
    --------
    >>> from opauc.report.text import signed
    >>> signed(0.12345), signed(-2.0), signed(0.0)
    ('+0.123', '−2', '0')
    """
    return f"{value:+.{digits}g}".replace("-", MINUS) if value else "0"


def plain(value: object) -> str:
    """Return any value as table text: grouped digits, yes and no, comma-separated lists.

    Examples
    --------
    >>> from opauc.report.text import plain
    >>> plain(1234567), plain(-0.25), plain(True), plain(None), plain(["a", 2])
    ('1,234,567', '−0.25', 'yes', '–', 'a, 2')
    """
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", MINUS)
    if isinstance(value, float):
        return f"{value:.6g}".replace("-", MINUS)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return ", ".join(plain(item) for item in value)
    return str(value)
