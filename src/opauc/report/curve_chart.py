"""The curve of a feature with its band, over where the rows are."""

from __future__ import annotations

import numpy as np

from opauc.report.additive import MISSING, ShownEffect
from opauc.report.axes import Axis
from opauc.report.bar_frame import short
from opauc.report.effect_range import EFFECT, effect_range
from opauc.report.frame import Frame
from opauc.report.text import plain, signed
from opauc.rows import Floats

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


def curve_chart(slug: str, effect: ShownEffect) -> str:
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
    """Return points of the distribution function: the rows of a place lie half-way to its neighbours.

    >>> import numpy as np
    >>> from opauc.report.curve_chart import _cumulative
    >>> [part.tolist() for part in _cumulative(np.array([0.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0]))]
    [[0.0, 1.0, 3.0, 4.0], [0.0, 1.0, 3.0, 4.0]]
    """
    borders = np.concatenate([places[:1], (places[1:] + places[:-1]) / 2, places[-1:]])
    return borders, np.concatenate([[0.0], np.cumsum(rows)])


def _median(places: Floats, rows: Floats) -> float:
    borders, below = _cumulative(places, rows)
    return float(np.interp(0.5 * below[-1], below, borders))
