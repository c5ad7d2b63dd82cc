"""The frame of a chart of named lines: a name at the left, a bar on an axis, a figure at the right."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from numpy.typing import ArrayLike

from opauc.report.axes import Axis
from opauc.report.text import safe

WIDTH = 400
RIGHT, TOP, BOTTOM = 62, 4, 52
LINE, BAR = 25.0, 13.0
# Room that a letter of a name takes, and what lies between the names and the bars; letters that take twice as much.
LETTER, GAP = 8.2, 10.0
WIDE = ("W", "F")


class BarFrame(NamedTuple):
    """An axis, its name, how many lines there are above it, and how many letters of their names have room."""

    across: Axis
    x_name: str
    n_lines: int
    letters: int

    @property
    def left(self) -> float:
        """Where the axis begins."""
        return LETTER * self.letters + GAP

    @property
    def height(self) -> float:
        """Height of the chart."""
        return TOP + LINE * self.n_lines + BOTTOM

    def x(self, value: ArrayLike) -> float:
        """Return where a value lies from the left."""
        return self.left + (WIDTH - self.left - RIGHT) * float(self.across.at(value))

    def bar(self, line: int, start: float, end: float, says: str) -> str:
        """Return a bar between two values that says something when pointed at."""
        left, right = sorted((self.x(start), self.x(end)))
        look, top = ("up" if end >= start else "down"), self._middle(line) - BAR / 2
        return (
            f'<rect class="{look}" x="{left:.2f}" y="{top:.2f}" width="{max(right - left, 0.5):.2f}" height="{BAR:g}">'
            f"<title>{safe(says)}</title></rect>"
        )

    def reach(self, line: int, low: float, high: float) -> str:
        """Return the line of an error from a low value to a high one."""
        middle = self._middle(line)
        return f'<path class="whisker" d="M{self.x(low):.2f} {middle:.2f}H{self.x(high):.2f}"/>'

    def words(self, line: int, name: str, figure: str, look: str = "name") -> str:
        """Return what stands at the left and at the right of a line."""
        middle, shown = f"{self._middle(line):.2f}", safe(short(name, self.letters))
        return (
            f'<text class="{look}" x="{self.left - GAP:g}" y="{middle}" dy=".35em" text-anchor="end">{shown}'
            f"<title>{safe(name)}</title></text>"
            f'<text x="{WIDTH - 2}" y="{middle}" dy=".35em" text-anchor="end">{safe(figure)}</text>'
        )

    def chart(self, slug: str, title: str, description: str, marks: str) -> str:
        """Return the chart: the axis, its ticks and its name under the marks."""
        bottom = TOP + LINE * self.n_lines
        ticks = "".join(
            f'<path class="grid" d="M{self.x(tick):.2f} {TOP}V{bottom:g}"/>'
            f'<text x="{self.x(tick):.2f}" y="{bottom + 18:g}" text-anchor="middle">{label}</text>'
            for tick, label in zip(self.across.ticks, self.across.labels, strict=True)
        )
        middle = self.left + (WIDTH - self.left - RIGHT) / 2
        return (
            f'<svg class="chart" viewBox="0 0 {WIDTH} {self.height:g}" role="img" '
            f'aria-labelledby="{slug}-title {slug}-about">'
            f'<title id="{slug}-title">{safe(title)}</title><desc id="{slug}-about">{safe(description)}</desc>'
            f'{ticks}<path class="axis" d="M{self.x(0.0):.2f} {TOP}V{bottom:g}"/>{marks}'
            f'<text class="name" x="{middle:g}" y="{self.height - 8:g}" text-anchor="middle">{safe(self.x_name)}</text>'
            "</svg>"
        )

    def _middle(self, line: int) -> float:
        return TOP + LINE * (line + 0.5)


def short(name: str, room: int) -> str:
    """Return a name as far as there is room; wide letters take the room of two.

    Examples
    --------
    >>> from opauc.report.bar_frame import short
    >>> short("native-country = United-States", 15), short("age = 39", 15)
    ('native-country…', 'age = 39')
    """
    left, kept = room, ""
    for letter in name:
        left -= 2 if unicodedata.east_asian_width(letter) in WIDE else 1
        if left < 0:
            return kept[:-1].rstrip() + "…"
        kept += letter
    return kept
