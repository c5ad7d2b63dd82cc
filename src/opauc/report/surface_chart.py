"""What two features do together, as a map of cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opauc.report.additive import ShownEffect
from opauc.report.bar_frame import short
from opauc.report.text import plain, safe, signed
from opauc.rows import Floats

WIDTH, HEIGHT = 400, 330
LEFT, RIGHT, TOP, BOTTOM = 120, 4, 4, 62
MOST_CELLS = 8
# Letters of a name that have room at the left, and the room of one below the cells.
LETTERS_LEFT, LETTER = 11, 9.5
# Letters of the name of an axis.
AXIS_LETTERS = 30
GAP = 1.5
# Steps of the legend, and its size.
LEGEND_STEPS, STEP = 9, 22


def surface_chart(slug: str, effect: ShownEffect) -> str:
    """The effect of each pair of values: orange raises the score, blue lowers it, the deeper the more."""
    down, across = (_shown(effect, side) for side in (0, 1))
    value, error = effect.value[np.ix_(down, across)], effect.error[np.ix_(down, across)]
    names = [[_name(effect.at[side][at]) for at in kept] for side, kept in enumerate((down, across))]
    largest = strongest(effect)
    wide, high = (WIDTH - LEFT - RIGHT) / len(across), (HEIGHT - TOP - BOTTOM) / len(down)
    marks = ""
    for i, first in enumerate(names[0]):
        top = HEIGHT - BOTTOM - high * (i + 1)  # greater numbers are higher up
        middle = f"{top + high / 2:.2f}"
        marks += f'<text x="{LEFT - 8}" y="{middle}" dy=".35em" text-anchor="end">{safe(short(first, LETTERS_LEFT))}'
        marks += f"<title>{safe(first)}</title></text>"
        for j, second in enumerate(names[1]):
            says = f"{first}, {second}: {signed(value[i, j])} ± {2 * error[i, j]:.2g}"
            box = (LEFT + wide * j, top, wide, high)
            marks += _cell(box, float(value[i, j]), largest, says)
    room = max(int(wide / LETTER), 2)
    for j, second in enumerate(names[1]):
        middle = f"{LEFT + wide * (j + 0.5):.2f}"
        marks += f'<text x="{middle}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{safe(short(second, room))}'
        marks += f"<title>{safe(second)}</title></text>"
    return _framed(slug, effect, marks)


def surface_key(effect: ShownEffect) -> str:
    """Return the legend: what the colours are, from the lowest value to the highest."""
    largest, values = strongest(effect), np.linspace(-1.0, 1.0, LEGEND_STEPS)
    cells = "".join(
        f'<rect class="{_look(value)}" x="{STEP * at}" y="0" width="{STEP - GAP}" height="12" '
        f'fill-opacity="{_depth(value, 1.0)}"/>'
        for at, value in enumerate(values.tolist())
    )
    return (
        f'<span class="legend"><span>{signed(-largest, 2)}</span>'
        f'<svg viewBox="0 0 {STEP * LEGEND_STEPS} 12" aria-hidden="true">{cells}</svg>'
        f"<span>{signed(largest, 2)}</span></span>"
    )


def strongest(effect: ShownEffect) -> float:
    """Return the size that the deepest colour stands for."""
    return max(float(np.abs(effect.value).max(initial=0.0)), 1e-12)


def _cell(box: tuple[float, float, float, float], value: float, largest: float, says: str) -> str:
    left, top, wide, high = box
    return (
        f'<rect class="{_look(value)}" x="{left:.2f}" y="{top:.2f}" width="{wide - GAP:.2f}" '
        f'height="{high - GAP:.2f}" fill-opacity="{_depth(value, largest)}">'
        f"<title>{safe(says)}</title></rect>"
    )


def _framed(slug: str, effect: ShownEffect, marks: str) -> str:
    beside, below = (safe(short(name, AXIS_LETTERS)) for name in effect.inputs)
    middle, centre = LEFT + (WIDTH - LEFT - RIGHT) / 2, TOP + (HEIGHT - TOP - BOTTOM) / 2
    about = (
        f"From {signed(effect.value.min())} to {signed(effect.value.max())} log-odds beside the effects of each alone."
    )
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{slug}-title {slug}-about">'
        f'<title id="{slug}-title">{safe(effect.name)}</title><desc id="{slug}-about">{safe(about)}</desc>'
        f'{marks}<text class="name" x="{middle:g}" y="{HEIGHT - 8}" text-anchor="middle">{below}</text>'
        f'<text class="name" transform="translate(12 {centre:g}) rotate(-90)" text-anchor="middle">{beside}</text>'
        "</svg>"
    )


def _shown(effect: ShownEffect, side: int) -> NDArray[np.int64]:
    """Return the places of a side that are drawn: all, or those of the largest effects, in their order."""
    sizes: Floats = np.abs(effect.value).max(axis=1 - side)
    return np.sort(np.argsort(-sizes, kind="stable")[:MOST_CELLS])


def _name(place: float | str) -> str:
    return place if isinstance(place, str) else plain(float(f"{place:.3g}"))


def _look(value: float) -> str:
    return "up" if value > 0.0 else "down"


def _depth(value: float, largest: float) -> str:
    return f"{0.06 + 0.94 * abs(value) / largest:.3f}"
