"""The frame of a chart: two named axes, marks placed on them, and all of it as inline SVG."""

from __future__ import annotations

from typing import NamedTuple

from numpy.typing import ArrayLike

from opauc.report.axes import Axis
from opauc.report.text import safe

WIDTH, HEIGHT = 400, 330
LEFT, RIGHT, TOP, BOTTOM = 72, 12, 12, 56


class Frame(NamedTuple):
    """Two axes and what they show; sizes are those of the view box, colours come from the page's style."""

    across: Axis
    up: Axis
    x_name: str
    y_name: str

    def x(self, value: ArrayLike) -> str:
        """Return where a value lies from the left."""
        return f"{LEFT + (WIDTH - LEFT - RIGHT) * float(self.across.at(value)):.2f}"

    def y(self, value: ArrayLike) -> str:
        """Return where a value lies from the top."""
        return f"{TOP + (HEIGHT - TOP - BOTTOM) * (1 - float(self.up.at(value))):.2f}"

    def path(self, x: ArrayLike, y: ArrayLike) -> str:
        """Return the drawing commands of a line through the points."""
        lefts = LEFT + (WIDTH - LEFT - RIGHT) * self.across.at(x)
        tops = TOP + (HEIGHT - TOP - BOTTOM) * (1 - self.up.at(y))
        return "M" + "L".join(f"{left:.2f} {top:.2f}" for left, top in zip(lefts, tops, strict=True))

    def dot(self, x: float, y: float, says: str) -> str:
        """Return a dot that says something when pointed at."""
        return f'<circle class="dot" cx="{self.x(x)}" cy="{self.y(y)}" r="4"><title>{safe(says)}</title></circle>'

    def chart(self, slug: str, title: str, description: str, marks: str) -> str:
        """Return the chart: grid, axes and their names around the marks."""
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
        centre = TOP + (bottom - TOP) / 2
        return (
            f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{slug}-title {slug}-about">'
            f'<title id="{slug}-title">{safe(title)}</title><desc id="{slug}-about">{safe(description)}</desc>'
            f'{columns}{lines}<path class="axis" d="M{LEFT} {TOP}V{bottom}H{right}"/>{marks}'
            f'<text class="name" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{x_name}</text>'
            f'<text class="name" transform="translate(12 {centre}) rotate(-90)" text-anchor="middle">{y_name}</text>'
            "</svg>"
        )
