"""Numbers and names as the report page prints them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape

MINUS, NONE = "\u2212", "\u2013"
# HTML knows no control characters but these three; marks that turn the direction of writing could disguise a name.
CONTROLS = (*range(32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A))
UNPRINTABLE = {code: "\ufffd" for code in CONTROLS if chr(code) not in "\t\n\r"}


def safe(text: object) -> str:
    """Return text as HTML shows it, whatever is in it: markup, control characters, halves of characters."""
    whole = str(text).encode("utf-8", "replace").decode("utf-8")
    return escape(whole.translate(UNPRINTABLE))


def share(value: float) -> str:
    """Return a number of [0, 1] with four digits, more where it would look like one and is not.

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
    """Return bounds of six digits, rounded away from each other so that what is certain stays so."""
    return f"{math.floor(low * 1e6) / 1e6:.6f} to {math.ceil(high * 1e6) / 1e6:.6f}"


def percent(value: float) -> str:
    """Return a share as a percentage of three significant digits.

    Examples
    --------
    >>> from opauc.report.text import percent
    >>> percent(0.2393), percent(0.00012), percent(0.05)
    ('23.9 %', '0.012 %', '5 %')
    """
    return f"{100 * value:.3g} %"


def seconds(value: float) -> str:
    """Return a duration in the unit it is read in.

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
    """Return numbers with the same decimals, such that a number of the size of `scale` has `digits` digits.

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
    """Return a number with its sign and so many significant digits.

    Examples
    --------
    >>> from opauc.report.text import signed
    >>> signed(0.12345), signed(-2.0), signed(0.0)
    ('+0.123', '−2', '0')
    """
    return f"{value:+.{digits}g}".replace("-", MINUS) if value else "0"


def plain(value: object) -> str:
    """Return any value of a table in words: grouped digits, yes and no, lists with commas.

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
        return ", ".join(plain(part) for part in value)
    return str(value)


def figure(title: str, note: str, chart: str, listed: str = "", level: int = 2) -> str:
    """Return a chart under its title, a note and what is listed; all of it is HTML already."""
    return f"<figure><figcaption><h{level}>{title}</h{level}>{under(note)}{listed}</figcaption>{chart}</figure>"


def under(words: str) -> str:
    """Return words in small print, nothing where there are none."""
    return f'<p class="under">{words}</p>' if words else ""


def scroll(name: str, table: str) -> str:
    """Return a table that scrolls by itself where the page is narrower."""
    return f'<div class="scroll" role="region" aria-label="{name}" tabindex="0">{table}</div>'


def table_section(name: str, note: str, table: str, level: int = 2) -> str:
    """Return a table under its name and a note."""
    return f"<section><h{level}>{name}</h{level}>{under(note)}{scroll(name, table)}</section>"


def pairs_table(rows: Mapping[str, str], look: str = "pairs") -> str:
    """Return names and values, one a line, as a table."""
    body = "".join(f'<tr><th scope="row">{safe(key)}</th><td>{safe(value)}</td></tr>' for key, value in rows.items())
    return f'<table class="{look}"><tbody>{body}</tbody></table>'


def lines(parts: Iterable[str]) -> str:
    """Return the parts that are not empty, one a line."""
    return "\n".join(part for part in parts if part)
