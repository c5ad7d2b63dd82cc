"""Axes and frames of the SVG charts. All text is escaped here; colors come from the style sheet of the page."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from opauc.report.text import MINUS, safe
from opauc.types import Floats

ROUND_STEPS = (1.0, 2.0, 5.0, 10.0)
UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of finite values, linear or logarithmic, with its ticks and their labels."""

    low: float
    high: float
    ticks: tuple[float, ...]
    labels: tuple[str, ...]
    logarithmic: bool = False

    @classmethod
    def linear(cls, low: float, high: float, n_ticks: int = 5) -> Axis:
        """Return an axis from `low` to `high` with about `n_ticks` round ticks.

        Examples
        --------
        >>> from opauc.report.svg import Axis
        >>> Axis.linear(0, 1).labels
        ('0', '0.2', '0.4', '0.6', '0.8', '1')
        >>> Axis.linear(-3.1, 4.2).labels
        ('−2', '0', '2', '4')
        """
        rough = (high - low) / n_ticks
        unit = 10.0 ** np.floor(np.log10(rough))
        step = unit * min(ROUND_STEPS, key=lambda round_step: abs(np.log(round_step * unit / rough)))
        first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
        ticks = tuple(float(step * at) for at in np.arange(first, last + 1))
        return cls(low, high, ticks, tuple(_label(tick, step) for tick in ticks))

    @classmethod
    def fitting(cls, low: float, high: float, room: int = 32) -> Axis:
        """Return a linear axis with two to five ticks, whose labels fit into `room` characters if possible.

        A gap between two labels counts as a character.

        Examples
        --------
        >>> from opauc.report.svg import Axis
        >>> Axis.fitting(-6.2, 0.2, room=14).labels
        ('−6', '−4', '−2', '0')
        """
        for n_ticks in (5, 4, 3, 2):
            axis = cls.linear(low, high, n_ticks)
            if sum(map(len, axis.labels)) + len(axis.labels) - 1 <= room:
                break
        return axis

    @classmethod
    def powers(cls, low: float, high: float) -> Axis:
        """Return a logarithmic axis with ticks at powers of ten and, if those are few, between them.

        Examples
        --------
        >>> from opauc.report.svg import Axis
        >>> Axis.powers(128, 48_842).labels
        ('300', '1k', '3k', '10k', '30k')
        >>> Axis.powers(0.00002, 0.05).labels
        ('1e−4', '0.001', '0.01')
        """
        exponents = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        for multiples in ((1,), (1, 3), (1, 2, 5)):
            ticks = tuple(m * 10.0**power for power in exponents for m in multiples if low <= m * 10.0**power <= high)
            if len(ticks) >= 3:
                break
        ticks = ticks[:: -(-len(ticks) // 6)]
        return cls(low, high, ticks, tuple(_with_unit(tick) for tick in ticks), True)

    def whole(self) -> Axis:
        """Return the axis with integer ticks only; the same axis if fewer than two are left.

        Examples
        --------
        >>> from opauc.report.svg import Axis
        >>> Axis.linear(1, 3, 4).labels, Axis.linear(1, 3, 4).whole().labels
        (('1', '1.5', '2', '2.5', '3'), ('1', '2', '3'))
        """
        kept = [(tick, label) for tick, label in zip(self.ticks, self.labels, strict=True) if tick == round(tick)]
        if len(kept) < 2:
            return self
        ticks, labels = zip(*kept, strict=True)
        return Axis(self.low, self.high, ticks, labels, self.logarithmic)

    def at(self, values: ArrayLike) -> Floats:
        """Return positions of values, 0 at the low end and 1 at the high end, clipped to the axis."""
        value = np.clip(np.asarray(values, np.float64), self.low, self.high)
        if self.logarithmic:
            position: Floats = np.log(value / self.low) / np.log(self.high / self.low)
            return position
        return (value - self.low) / (self.high - self.low)


def _label(tick: float, step: float) -> str:
    """Return a tick label with the decimals its step needs, or in scientific notation if those are many."""
    power = _power(step)
    if tick != 0 and (abs(tick) >= 1e5 or power < -3):
        return _with_power(tick, max(_power(tick) - power, 0))
    text = f"{tick:.{max(0, -power)}f}" if tick != round(tick) else f"{tick + 0.0:.0f}"
    return text.replace("-", MINUS)


def _power(value: float) -> int:
    return int(f"{value:.6e}".split("e")[1])


def _with_power(tick: float, decimals: int) -> str:
    leading, power = f"{tick:.{decimals}e}".split("e")
    return f"{leading}e{int(power)}".replace("-", MINUS)


def _with_unit(tick: float) -> str:
    if tick < 1e-3 or tick >= 1e12:
        return _with_power(tick, 0)
    for size, unit in UNITS:
        if tick >= size:
            return f"{tick / size:g}{unit}"
    return f"{tick:g}"


WIDTH, HEIGHT = 400, 330
LEFT, RIGHT, TOP, BOTTOM = 72, 12, 12, 56


class Frame(NamedTuple):
    """The two axes of a chart with their names; sizes are in units of the view box."""

    across: Axis
    up: Axis
    x_name: str
    y_name: str

    def x(self, value: ArrayLike) -> str:
        """Return the x coordinate of a value."""
        return f"{LEFT + (WIDTH - LEFT - RIGHT) * float(self.across.at(value)):.2f}"

    def y(self, value: ArrayLike) -> str:
        """Return the y coordinate of a value."""
        return f"{TOP + (HEIGHT - TOP - BOTTOM) * (1 - float(self.up.at(value))):.2f}"

    def path(self, x: ArrayLike, y: ArrayLike) -> str:
        """Return the path commands of a line through the points."""
        lefts = LEFT + (WIDTH - LEFT - RIGHT) * self.across.at(x)
        tops = TOP + (HEIGHT - TOP - BOTTOM) * (1 - self.up.at(y))
        return "M" + "L".join(f"{left:.2f} {top:.2f}" for left, top in zip(lefts, tops, strict=True))

    def dot(self, x: float, y: float, tooltip: str) -> str:
        """Return a dot with a tooltip."""
        return f'<circle class="dot" cx="{self.x(x)}" cy="{self.y(y)}" r="4"><title>{safe(tooltip)}</title></circle>'

    def chart(self, slug: str, title: str, description: str, marks: str) -> str:
        """Return the SVG chart: grid, axes and axis names around the marks."""
        bottom, right, middle = HEIGHT - BOTTOM, WIDTH - RIGHT, LEFT + (WIDTH - LEFT - RIGHT) / 2
        columns = "".join(
            f'<path class="grid" d="M{self.x(tick)} {TOP}V{bottom}"/>'
            f'<text x="{self.x(tick)}" y="{bottom + 23}" text-anchor="middle">{label}</text>'
            for tick, label in zip(self.across.ticks, self.across.labels, strict=True)
        )
        lines = "".join(
            f'<path class="grid" d="M{LEFT} {self.y(tick)}H{right}"/>'
            f'<text x="{LEFT - 8}" y="{self.y(tick)}" dy=".35em" text-anchor="end">{label}</text>'
            for tick, label in zip(self.up.ticks, self.up.labels, strict=True)
        )
        x_name, y_name = (
            safe(f"{name}, log scale" if axis.logarithmic else name)
            for name, axis in ((self.x_name, self.across), (self.y_name, self.up))
        )
        center = TOP + (bottom - TOP) / 2
        return (
            f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{slug}-title {slug}-about">'
            f'<title id="{slug}-title">{safe(title)}</title><desc id="{slug}-about">{safe(description)}</desc>'
            f'{columns}{lines}<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>{marks}'
            f'<text class="name" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{x_name}</text>'
            f'<text class="name" transform="translate(12 {center}) rotate(-90)" text-anchor="middle">{y_name}</text>'
            "</svg>"
        )


BAR_WIDTH = 400
BAR_RIGHT, BAR_TOP, BAR_BOTTOM = 62, 4, 52
LINE, BAR = 25.0, 13.0
# Width of a letter, and space between the names and the bars; Unicode widths that count as two letters.
LETTER, GAP = 8.2, 10.0
WIDE = ("W", "F")


class BarFrame(NamedTuple):
    """A horizontal axis under `n_lines` named bars; `letters` is the space for their names."""

    across: Axis
    x_name: str
    n_lines: int
    letters: int

    @property
    def left(self) -> float:
        """x coordinate of the low end of the axis."""
        return LETTER * self.letters + GAP

    @property
    def height(self) -> float:
        """Height of the chart."""
        return BAR_TOP + LINE * self.n_lines + BAR_BOTTOM

    def x(self, value: ArrayLike) -> float:
        """Return the x coordinate of a value."""
        return self.left + (BAR_WIDTH - self.left - BAR_RIGHT) * float(self.across.at(value))

    def bar(self, line: int, start: float, end: float, tooltip: str) -> str:
        """Return a bar between two values with a tooltip."""
        left, right = sorted((self.x(start), self.x(end)))
        css_class, top = ("up" if end >= start else "down"), self._middle(line) - BAR / 2
        return (
            f'<rect class="{css_class}" x="{left:.2f}" y="{top:.2f}" width="{max(right - left, 0.5):.2f}" '
            f'height="{BAR:g}">'
            f"<title>{safe(tooltip)}</title></rect>"
        )

    def whisker(self, line: int, low: float, high: float) -> str:
        """Return an error bar from a low to a high value."""
        middle = self._middle(line)
        return f'<path class="whisker" d="M{self.x(low):.2f} {middle:.2f}H{self.x(high):.2f}"/>'

    def labels(self, line: int, name: str, number: str, css_class: str = "name") -> str:
        """Return the name left of a bar and the number right of it."""
        middle, shown = f"{self._middle(line):.2f}", safe(shorten(name, self.letters))
        return (
            f'<text class="{css_class}" x="{self.left - GAP:g}" y="{middle}" dy=".35em" text-anchor="end">{shown}'
            f"<title>{safe(name)}</title></text>"
            f'<text x="{BAR_WIDTH - 2}" y="{middle}" dy=".35em" text-anchor="end">{safe(number)}</text>'
        )

    def chart(self, slug: str, title: str, description: str, marks: str) -> str:
        """Return the SVG chart: the axis, its ticks and its name under the marks."""
        bottom = BAR_TOP + LINE * self.n_lines
        ticks = "".join(
            f'<path class="grid" d="M{self.x(tick):.2f} {BAR_TOP}V{bottom:g}"/>'
            f'<text x="{self.x(tick):.2f}" y="{bottom + 18:g}" text-anchor="middle">{label}</text>'
            for tick, label in zip(self.across.ticks, self.across.labels, strict=True)
        )
        middle = self.left + (BAR_WIDTH - self.left - BAR_RIGHT) / 2
        return (
            f'<svg class="chart" viewBox="0 0 {BAR_WIDTH} {self.height:g}" role="img" '
            f'aria-labelledby="{slug}-title {slug}-about">'
            f'<title id="{slug}-title">{safe(title)}</title><desc id="{slug}-about">{safe(description)}</desc>'
            f'{ticks}<path class="axis" d="M{self.x(0.0):.2f} {BAR_TOP}V{bottom:g}"/>{marks}'
            f'<text class="name" x="{middle:g}" y="{self.height - 8:g}" text-anchor="middle">{safe(self.x_name)}</text>'
            "</svg>"
        )

    def _middle(self, line: int) -> float:
        return BAR_TOP + LINE * (line + 0.5)


def shorten(name: str, room: int) -> str:
    """Return a name cut to `room` letters; wide letters count as two.

    Examples
    --------
    >>> from opauc.report.svg import shorten
    >>> shorten("native-country = United-States", 15), shorten("age = 39", 15)
    ('native-country…', 'age = 39')
    """
    left, kept = room, ""
    for letter in name:
        left -= 2 if unicodedata.east_asian_width(letter) in WIDE else 1
        if left < 0:
            return kept[:-1].rstrip() + "…"
        kept += letter
    return kept
