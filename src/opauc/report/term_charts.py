"""The curve of a feature with its band, over where the rows are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opauc.report.svg import Axis, BarFrame, Frame, short
from opauc.report.terms import MISSING, ShownTerm
from opauc.report.text import percent, plain, safe, signed
from opauc.types import Floats

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


def surface_chart(slug: str, effect: ShownTerm) -> str:
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


def surface_key(effect: ShownTerm) -> str:
    """Return the legend: what the colors are, from the lowest value to the highest."""
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


def strongest(effect: ShownTerm) -> float:
    """Return the size that the deepest color stands for."""
    return max(float(np.abs(effect.value).max(initial=0.0)), 1e-12)


def _cell(box: tuple[float, float, float, float], value: float, largest: float, says: str) -> str:
    left, top, wide, high = box
    return (
        f'<rect class="{_look(value)}" x="{left:.2f}" y="{top:.2f}" width="{wide - GAP:.2f}" '
        f'height="{high - GAP:.2f}" fill-opacity="{_depth(value, largest)}">'
        f"<title>{safe(says)}</title></rect>"
    )


def _framed(slug: str, effect: ShownTerm, marks: str) -> str:
    beside, below = (safe(short(name, AXIS_LETTERS)) for name in effect.inputs)
    middle, center = LEFT + (WIDTH - LEFT - RIGHT) / 2, TOP + (HEIGHT - TOP - BOTTOM) / 2
    about = (
        f"From {signed(effect.value.min())} to {signed(effect.value.max())} log-odds beside the effects of each alone."
    )
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{slug}-title {slug}-about">'
        f'<title id="{slug}-title">{safe(effect.name)}</title><desc id="{slug}-about">{safe(about)}</desc>'
        f'{marks}<text class="name" x="{middle:g}" y="{HEIGHT - 8}" text-anchor="middle">{below}</text>'
        f'<text class="name" transform="translate(12 {center:g}) rotate(-90)" text-anchor="middle">{beside}</text>'
        "</svg>"
    )


def _shown(effect: ShownTerm, side: int) -> NDArray[np.int64]:
    """Return the places of a side that are drawn: all, or those of the largest effects, in their order."""
    sizes: Floats = np.abs(effect.value).max(axis=1 - side)
    return np.sort(np.argsort(-sizes, kind="stable")[:MOST_CELLS])


def _name(place: float | str) -> str:
    return place if isinstance(place, str) else plain(float(f"{place:.3g}"))


def _look(value: float) -> str:
    return "up" if value > 0.0 else "down"


def _depth(value: float, largest: float) -> str:
    return f"{0.06 + 0.94 * abs(value) / largest:.3f}"


EFFECT = "Effect, log-odds"
# Errors may reach so far beyond the effects, in lengths of their range; what is farther is cut.
ERROR_ROOM = 0.6
# Room at either end, and the least range.
ROOM, LEAST = 0.05, 1e-6


def effect_range(value: Floats, spread: Floats) -> tuple[float, float]:
    """Return from where to where an axis of effects goes: zero is on it, errors are as far as they are not wild.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.report.term_charts import effect_range
    >>> low, high = effect_range(np.array([0.0, 1.0]), np.array([0.1, 100.0]))
    >>> round(low, 2), round(high, 2)
    (-0.71, 1.71)
    """
    least, most = min(0.0, float(value.min())), max(0.0, float(value.max()))
    beyond = ERROR_ROOM * (most - least)
    low = min(least, max(float((value - spread).min()), least - beyond))
    high = max(most, min(float((value + spread).max()), most + beyond))
    room = ROOM * max(high - low, LEAST)
    return low - room, high + room


# Of the height of the chart the rows take so much, in so many bars.
ROWS_SHARE, N_BARS = 0.16, 40
# Where a missing value is drawn: so far right of the numbers, which end before, as shares of their width.
MISSING_AT, MISSING_END, LAST_TICK = 0.18, 0.28, 0.93
# Letters of the name below the axis.
NAME_LETTERS = 30
# Up to so many points each has a dot.
MOST_DOTS = 12
# A scale is logarithmic where half of the rows lie in so small a part of it.
CROWDED = 0.08
# ... and the greatest value is so many times the least above zero.
WIDE_RANGE = 15.0
# There zero stands at the least of the other values divided by this.
ZERO_BELOW = 3.0


def curve_chart(slug: str, effect: ShownTerm) -> str:
    """The effect of each value of a feature, two standard errors about it, and the rows that have such values."""
    n, value, spread = effect.n_numbers, effect.value, 2.0 * effect.error
    places, rows = np.array(effect.at[0][:n], float), None if effect.rows is None else effect.rows[:n]
    logarithmic, missing = _is_crowded(places, rows), value.size > n
    across = _across(places, logarithmic)
    up, shown = _up(value, spread, rows is not None), _on_powers(places) if logarithmic else places
    frame = Frame(_with_missing(across) if missing else across, up, short(effect.name, NAME_LETTERS), EFFECT)
    low, high = (value - spread)[:n], (value + spread)[:n]
    band = frame.path(np.concatenate([shown, shown[::-1]]), np.concatenate([high, low[::-1]]))
    marks = "" if rows is None else _row_bars(frame, shown, rows)
    marks += f'<path class="guide" d="{frame.path([frame.across.low, frame.across.high], [0.0, 0.0])}"/>'
    marks += f'<path class="area band" d="{band}Z"/><path class="curve" d="{frame.path(shown, value[:n])}"/>'
    if n <= MOST_DOTS:
        names = [plain(float(place)) for place in places]
        marks += "".join(_dot(frame, *point) for point in zip(names, shown, value[:n], spread[:n], strict=True))
    if missing:
        at = _beyond(frame.across, MISSING_AT)
        reach = frame.path([at, at], [value[n] - spread[n], value[n] + spread[n]])
        marks += f'<path class="reach" d="{reach}"/>' + _dot(frame, MISSING, at, value[n], spread[n])
    ends = f"From {signed(value.min())} to {signed(value.max())} log-odds"
    return frame.chart(slug, f"Effect of {effect.name}", f"{ends}; the band is ± 2 standard errors.", marks)


def _dot(frame: Frame, name: str, at: float, value: float, spread: float) -> str:
    return frame.dot(at, value, f"{name}: {signed(value)} ± {spread:.2g}")


def _is_crowded(places: Floats, rows: Floats | None) -> bool:
    """Tell whether half of the rows, or of the places, lie at the low end of values of which none is negative."""
    low, high = float(places[0]), float(places[-1])
    middle = float(np.median(places)) if rows is None or not rows.any() else _median(places, rows)
    wide = high >= WIDE_RANGE * float(places[places > 0.0].min(initial=np.inf))
    return low >= 0.0 and wide and middle - low < CROWDED * (high - low)


def _on_powers(places: Floats) -> Floats:
    """Return where values stand on a logarithmic axis: zero a little before the others."""
    return np.where(places > 0.0, places, places[places > 0.0].min() / ZERO_BELOW)


def _across(places: Floats, logarithmic: bool) -> Axis:
    """Return the axis of the values."""
    if not logarithmic:
        axis = Axis.fitting(float(places[0]), float(places[-1]))
        return axis if (places % 1.0).any() else axis.whole()
    shown = _on_powers(places)
    axis = Axis.powers(float(shown[0]), float(shown[-1]))
    if places[0] > 0.0:
        return axis
    ticks = [(tick, label) for tick, label in zip(axis.ticks, axis.labels, strict=True) if tick >= shown[1]]
    where, labels = zip((float(shown[0]), "0"), *ticks, strict=True)
    return Axis(axis.low, axis.high, where, labels, True)


def _with_missing(axis: Axis) -> Axis:
    """Return the axis with room for a missing value at its end."""
    ends = axis.at(np.array(axis.ticks))
    kept = [at for at in range(len(axis.ticks)) if ends[at] <= LAST_TICK]
    ticks = [axis.ticks[at] for at in kept] + [_place(axis, 1.0 + MISSING_AT)]
    labels = [*(axis.labels[at] for at in kept), MISSING]
    return Axis(axis.low, _place(axis, 1.0 + MISSING_END), tuple(ticks), tuple(labels), axis.logarithmic)


def _place(axis: Axis, share: float) -> float:
    """Return the value so far along an axis, beyond its end too."""
    if axis.logarithmic:
        return float(axis.low * (axis.high / axis.low) ** share)
    return float(axis.low + (axis.high - axis.low) * share)


def _beyond(across: Axis, share: float) -> float:
    """Return where the missing value stands on an axis that was lengthened for it."""
    return _place(across, (1.0 + share) / (1.0 + MISSING_END))


def _up(value: Floats, spread: Floats, with_rows: bool) -> Axis:
    low, high = effect_range(value, spread)
    below = ROWS_SHARE / (1.0 - ROWS_SHARE) * (high - low) if with_rows else 0.0
    return Axis.linear(low - below, high)


def _row_bars(frame: Frame, places: Floats, rows: Floats) -> str:
    """Return where the rows are: bars of equal width along the foot of the chart."""
    total = float(rows.sum())
    if not total > 0.0:
        return ""
    at = frame.across.at(places)
    edges = np.linspace(at[0], at[-1], N_BARS + 1)
    heights = np.diff(np.interp(edges, *_cumulative(at, rows)))
    reach = ROWS_SHARE * (frame.up.high - frame.up.low) / max(float(heights.max()), 1e-300)
    along = [_place(frame.across, float(edge)) for edge in edges]
    tops = frame.up.low + reach * np.concatenate([[0.0], np.repeat(heights, 2), [0.0]])
    return f'<path class="rows" d="{frame.path(np.repeat(along, 2), tops)}Z"/>'


def _cumulative(places: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Return points of the distribution function: the rows of a place lie half-way to its neighbors.

    >>> import numpy as np
    >>> from opauc.report.term_charts import _cumulative
    >>> [part.tolist() for part in _cumulative(np.array([0.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0]))]
    [[0.0, 1.0, 3.0, 4.0], [0.0, 1.0, 3.0, 4.0]]
    """
    borders = np.concatenate([places[:1], (places[1:] + places[:-1]) / 2, places[-1:]])
    return borders, np.concatenate([[0.0], np.cumsum(rows)])


def _median(places: Floats, rows: Floats) -> float:
    borders, below = _cumulative(places, rows)
    return float(np.interp(0.5 * below[-1], below, borders))


MOST_LEVELS, LEVEL_LETTERS, TICKS_ROOM = 10, 15, 18


def level_chart(slug: str, effect: ShownTerm) -> str:
    """The effect of each of the levels that most rows have, two standard errors about it, and the share of the rows."""
    shown = shown_levels(effect)
    value, spread = effect.value[shown], 2.0 * effect.error[shown]
    frame = BarFrame(Axis.fitting(*effect_range(value, spread), room=TICKS_ROOM), EFFECT, len(shown), LEVEL_LETTERS)
    marks = ""
    for line, at in enumerate(shown):
        name, rows = level_name(effect, at), "" if effect.rows is None else rounded_percent(float(effect.rows[at]))
        says = f"{name}: {signed(value[line])} ± {spread[line]:.2g}"
        marks += frame.bar(line, 0.0, float(value[line]), says)
        marks += frame.reach(line, value[line] - spread[line], value[line] + spread[line])
        marks += frame.words(line, name, rows)
    about = (
        f"From {signed(effect.value.min())} to {signed(effect.value.max())} log-odds; lines are ± 2 standard errors."
    )
    return frame.chart(slug, f"Effect of {effect.name}", about, marks)


def shown_levels(effect: ShownTerm) -> list[int]:
    """Return the levels that are drawn: those of most rows, numbers in their order, names by their effect.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.report.terms import ShownTerm
    >>> from opauc.report.term_charts import shown_levels
    >>> port = ShownTerm("port", ("port",), (("S", "C", "Q"),), np.array([0.1, -0.5, 0.4]), np.zeros(3), 0.1)
    >>> shown_levels(port)
    [2, 0, 1]
    """
    weight = np.abs(effect.value) if effect.rows is None else effect.rows
    most = np.sort(np.argsort(-weight, kind="stable")[: min(MOST_LEVELS, n_levels(effect))])
    order: list[int] = (most if effect.n_numbers else most[np.argsort(-effect.value[most], kind="stable")]).tolist()
    return order


def n_levels(effect: ShownTerm) -> int:
    """Return how many levels there are that any rows have; all where that is not known."""
    seen = 0 if effect.rows is None else int(np.count_nonzero(effect.rows > 0.0))
    return seen or effect.value.size


def level_name(effect: ShownTerm, at: int) -> str:
    """Return what a level is called."""
    name = effect.at[0][at]
    return name if isinstance(name, str) else plain(float(name))


def rounded_percent(value: float) -> str:
    """Return a share as whole per cent, or that it is less than one.

    Examples
    --------
    >>> from opauc.report.term_charts import rounded_percent
    >>> rounded_percent(0.213), rounded_percent(0.004), rounded_percent(0.0)
    ('21 %', '< 1 %', '0 %')
    """
    return "< 1 %" if 0.0 < value < 0.01 else percent(round(value, 2))
