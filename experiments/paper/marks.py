"""Series of a chart that differ by color, by shape and by dash, so that they can be told apart without color."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from opauc.report.style import chart_style
from opauc.report.svg import Axis
from opauc.report.text import safe
from opauc.types import Floats

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Look(NamedTuple):
    """How a series looks: colors on light and on dark paper, the outline of its points, the dashes of its line."""

    name: str
    light: str
    dark: str
    outline: str  # around zero, within [-1, 1]
    dashes: str


LOOKS = (
    Look("one", "#0a5ea8", "#6fb6ff", "M-1 0A1 1 0 1 0 1 0A1 1 0 1 0 -1 0Z", ""),
    Look("two", "#b04a00", "#ffac5f", "M-.9 -.9H.9V.9H-.9Z", "7 3"),
    Look("three", "#1a7f37", "#6fdd8b", "M0 -1.15L1.1 .8H-1.1Z", "2 3"),
    Look("four", "#8250df", "#c9a6ff", "M0 -1.25L1.25 0L0 1.25L-1.25 0Z", "9 3 2 3"),
    Look("five", "#111827", "#f3f4f6", "M0 1.15L1.1 -.8H-1.1Z", "4 2"),
    Look("six", "#0f766e", "#5eead4", "M-.4 -1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z", "1 2"),
    Look("seven", "#be185d", "#ff9ecb", "M0 -1.25L.4 -.4H1.2L.55 .2L.8 1.1L0 .6L-.8 1.1L-.55 .2L-1.2 -.4H-.4Z", "12 3"),
    Look("eight", "#57606a", "#c9d1d9", "M-1.1 -.6L-.6 -1.1L0 -.5L.6 -1.1L1.1 -.6L.5 0L1.1 .6L.6 1.1L0 .5L-.6 1.1"
         "L-1.1 .6L-.5 0Z", "6 2 1 2 1 2"),
)  # fmt: skip


def marker(look: Look, x: float | str, y: float | str, size: float, tooltip: str = "") -> str:
    """A point in the shape of a look."""
    title = f"<title>{safe(tooltip)}</title>" if tooltip else ""
    return (
        f'<g transform="translate({x} {y}) scale({size:g})">'
        f'<path class="point {look.name}" d="{look.outline}">{title}</path></g>'
    )


def line(look: Look, path: str) -> str:
    """A line in the color and dashes of a look."""
    return f'<path class="series {look.name}" d="{path}"/>'


def swatch(look: Look, with_line: bool) -> str:
    """A small picture of a look for keys."""
    stroke = line(look, "M0 8H28") if with_line else ""
    return f'<svg class="swatch" viewBox="0 0 28 16" aria-hidden="true">{stroke}{marker(look, 14, 8, 4.5)}</svg>'


def look_style() -> str:
    """The style of all looks, on light and on dark paper."""
    dashes = "".join(f".series.{look.name}{{stroke-dasharray:{look.dashes or 'none'}}}" for look in LOOKS)
    light, dark = ("".join(_colors(look.name, color) for look, color in _in(theme)) for theme in ("light", "dark"))
    return (
        ".series{fill:none;stroke-width:2;stroke-linejoin:round}.point{stroke:var(--paper);stroke-width:.25}"
        f"{dashes}{light}@media screen and (prefers-color-scheme:dark){{{dark}}}"
    )


def _in(theme: str) -> Iterable[tuple[Look, str]]:
    return ((look, look.dark if theme == "dark" else look.light) for look in LOOKS)


def _colors(name: str, color: str) -> str:
    return f".series.{name}{{stroke:{color}}}.point.{name}{{fill:{color}}}"


def powers_of_two(values: Floats, most_ticks: int = 8) -> Axis:
    """A logarithmic axis over values, with ticks at powers of two.

    >>> powers_of_two(np.array([2.0**-12, 2.0**10])).labels
    ('2⁻¹²', '2⁻⁸', '2⁻⁴', '2⁰', '2⁴', '2⁸')
    """
    low, high = float(values.min()), float(values.max())
    first, last = int(np.ceil(np.log2(low) - 1e-9)), int(np.floor(np.log2(high) + 1e-9))
    stride = next((one for one in (1, 2, 4, 8, 16) if (last - first) // one < most_ticks), 32)
    exponents = range(-(-first // stride) * stride, last + 1, stride)
    return Axis(
        low,
        high,
        tuple(2.0**k for k in exponents),
        tuple(f"2{str(k).translate(SUPERSCRIPTS)}" for k in exponents),
        True,
    )


LETTER, KEY_LINE, GAP, TITLE = 7.6, 22.0, 26.0, 24.0


class Panel(NamedTuple):
    """A chart with its title."""

    title: str
    drawing: str


def sheet(panels: Sequence[Panel], key: Sequence[str], n_columns: int, with_lines: bool = True) -> str:
    """Charts side by side as one SVG file that needs no style sheet of a page, the key above them."""
    sizes = [
        tuple(float(part) for part in one.drawing.split('viewBox="0 0 ')[1].split('"')[0].split()) for one in panels
    ]
    width, height = max(size[0] for size in sizes), max(size[1] for size in sizes) + (TITLE if len(panels) > 1 else 0.0)
    n_columns = min(n_columns, len(panels))
    total = n_columns * width + (n_columns - 1) * GAP
    legend, room = key_lines(key, total, with_lines)
    parts = []
    for place, (panel, size) in enumerate(zip(panels, sizes, strict=True)):
        x = (place % n_columns) * (width + GAP)
        y = room + (place // n_columns) * (height + GAP)
        if len(panels) > 1:
            parts.append(f'<text class="name" x="{x + 6:g}" y="{y + 15:g}">{safe(panel.title)}</text>')
            y += TITLE
        sized = f'<svg x="{x:g}" y="{y:g}" width="{size[0]:g}" height="{size[1]:g}" '
        parts.append(panel.drawing.replace("<svg ", sized, 1))
    n_lines = -(-len(panels) // n_columns)
    whole = room + n_lines * height + (n_lines - 1) * GAP
    style = f"{chart_style()}{look_style()}svg{{font-family:system-ui,sans-serif}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {total:g} {whole:g}" width="{total:g}" '
        f'height="{whole:g}"><style>{style}</style>{legend}{"".join(parts)}</svg>\n'
    )


def key_lines(key: Sequence[str], width: float, with_lines: bool) -> tuple[str, float]:
    """The names of the series with their looks, in lines no longer than the width, and the height they take."""
    x, y, found = 6.0, 16.0, []
    for look, name in zip(LOOKS, key, strict=False):
        room = 44.0 + LETTER * len(name) + 14.0
        if x > 6.0 and x + room > width:
            x, y = 6.0, y + KEY_LINE
        stroke = line(look, f"M{x:g} {y:g}h28") if with_lines else ""
        text = f'<text x="{x + 36:g}" y="{y + 4.5:g}">{safe(name)}</text>'
        found.append(f"{stroke}{marker(look, f'{x + 14:g}', f'{y:g}', 4.5)}{text}")
        x += room
    return "".join(found), (y + KEY_LINE if key else 0.0)
