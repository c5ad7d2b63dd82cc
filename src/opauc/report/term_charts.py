"""The charts of an additive model, as SVG: curves, levels, and the explained score of a row."""

from __future__ import annotations

import numpy as np

from opauc.report.inputs import MISSING, Contribution, ExplainedRow, ShownTerm
from opauc.report.point_names import point_name
from opauc.report.svg import Axis, BarFrame, Frame, shorten
from opauc.report.text import aligned, percent, plain, signed
from opauc.types import Floats

LOG_ODDS = "Contribution, log-odds"
# Error bars may extend this far beyond the values, as a share of the values' range; longer ones are cut.
ERROR_EXTENT = 0.6
# Margin at either end of an axis as a share of its range, and the smallest range.
MARGIN, MIN_RANGE = 0.05, 1e-6


def value_range(values: Floats, errors: Floats) -> tuple[float, float]:
    """Return the ends of an axis of log-odds: it includes zero, the values, and error bars up to a limit.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.report.term_charts import value_range
    >>> low, high = value_range(np.array([0.0, 1.0]), np.array([0.1, 100.0]))
    >>> round(low, 2), round(high, 2)
    (-0.71, 1.71)
    """
    least, most = min(0.0, float(values.min())), max(0.0, float(values.max()))
    extent = ERROR_EXTENT * (most - least)
    low = min(least, max(float((values - errors).min()), least - extent))
    high = max(most, min(float((values + errors).max()), most + extent))
    margin = MARGIN * max(high - low, MIN_RANGE)
    return low - margin, high + margin


# The histogram of the rows: its share of the height of the chart, and its number of bars.
HISTOGRAM_SHARE, N_BARS = 0.16, 40
# Missing values are drawn right of the numbers: position of the dot and end of the axis beyond the numbers, and the
# last position of a numeric tick, as shares of the numeric part of the axis.
MISSING_AT, MISSING_END, LAST_TICK = 0.18, 0.28, 0.93
CURVE_LETTERS = 30
# Curves of at most this many points have a dot at each.
MAX_DOTS = 12
# The axis is logarithmic if half of the rows lie in this share of the range ...
CROWDED = 0.08
# ... and the largest value is this many times the smallest positive one.
WIDE_RATIO = 15.0
# On a logarithmic axis zero is drawn at the smallest positive value divided by this.
ZERO_BELOW = 3.0


def curve_chart(slug: str, term: ShownTerm) -> str:
    """Draw a numeric main effect with a band of two standard errors, over a histogram of the rows."""
    n, values, errors = term.n_numbers, term.values, 2.0 * term.standard_errors
    points, rows = np.array(term.grid[0][:n], float), None if term.row_shares is None else term.row_shares[:n]
    logarithmic, has_missing = is_crowded(points, rows), values.size > n
    across = value_axis(points, logarithmic)
    up, x = _log_odds_axis(values, errors, rows is not None), positive_points(points) if logarithmic else points
    frame = Frame(_add_missing(across) if has_missing else across, up, shorten(term.name, CURVE_LETTERS), LOG_ODDS)
    low, high = (values - errors)[:n], (values + errors)[:n]
    band = frame.path(np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]]))
    marks = "" if rows is None else _histogram(frame, x, rows)
    marks += f'<path class="guide" d="{frame.path([frame.across.low, frame.across.high], [0.0, 0.0])}"/>'
    marks += f'<path class="area band" d="{band}Z"/><path class="curve" d="{frame.path(x, values[:n])}"/>'
    if n <= MAX_DOTS:
        names = [plain(float(point)) for point in points]
        marks += "".join(_dot(frame, *point) for point in zip(names, x, values[:n], errors[:n], strict=True))
    if has_missing:
        at = _value_at(frame.across, (1.0 + MISSING_AT) / (1.0 + MISSING_END))
        bar = frame.path([at, at], [values[n] - errors[n], values[n] + errors[n]])
        marks += f'<path class="error-bar" d="{bar}"/>' + _dot(frame, MISSING, at, values[n], errors[n])
    extremes = f"From {signed(values.min())} to {signed(values.max())} log-odds"
    return frame.chart(slug, f"Term {term.name}", f"{extremes}; the band is ± 2 standard errors.", marks)


def _dot(frame: Frame, name: str, at: float, value: float, error: float) -> str:
    return frame.dot(at, value, f"{name}: {signed(value)} ± {error:.2g}")


def is_crowded(points: Floats, rows: Floats | None) -> bool:
    """Return whether no value is negative and half of the rows, or of the grid points, lie at the low end."""
    low, high = float(points[0]), float(points[-1])
    middle = float(np.median(points)) if rows is None or not rows.any() else _median(points, rows)
    wide = high >= WIDE_RATIO * float(points[points > 0.0].min(initial=np.inf))
    return low >= 0.0 and wide and middle - low < CROWDED * (high - low)


def positive_points(points: Floats) -> Floats:
    """Return the grid points for a logarithmic axis: zero is moved a little below the others."""
    return np.where(points > 0.0, points, points[points > 0.0].min() / ZERO_BELOW)


def value_axis(points: Floats, logarithmic: bool) -> Axis:
    """Return an axis for the values of a feature."""
    if not logarithmic:
        axis = Axis.fitting(float(points[0]), float(points[-1]))
        return axis if (points % 1.0).any() else axis.whole()
    x = positive_points(points)
    axis = Axis.powers(float(x[0]), float(x[-1]))
    if points[0] > 0.0:
        return axis
    others = [(tick, label) for tick, label in zip(axis.ticks, axis.labels, strict=True) if tick >= x[1]]
    ticks, labels = zip((float(x[0]), "0"), *others, strict=True)
    return Axis(axis.low, axis.high, ticks, labels, True)


def _add_missing(axis: Axis) -> Axis:
    """Return the axis extended at its high end by a tick for missing values."""
    positions = axis.at(np.array(axis.ticks))
    kept = [i for i in range(len(axis.ticks)) if positions[i] <= LAST_TICK]
    ticks = [axis.ticks[i] for i in kept] + [_value_at(axis, 1.0 + MISSING_AT)]
    labels = [*(axis.labels[i] for i in kept), MISSING]
    return Axis(axis.low, _value_at(axis, 1.0 + MISSING_END), tuple(ticks), tuple(labels), axis.logarithmic)


def _value_at(axis: Axis, position: float) -> float:
    """Return the value at a position on an axis, where 0 and 1 are its ends; positions above 1 extrapolate."""
    if axis.logarithmic:
        return float(axis.low * (axis.high / axis.low) ** position)
    return float(axis.low + (axis.high - axis.low) * position)


def _log_odds_axis(values: Floats, errors: Floats, with_histogram: bool) -> Axis:
    low, high = value_range(values, errors)
    below = HISTOGRAM_SHARE / (1.0 - HISTOGRAM_SHARE) * (high - low) if with_histogram else 0.0
    return Axis.linear(low - below, high)


def _histogram(frame: Frame, x: Floats, rows: Floats) -> str:
    """Draw the distribution of the rows in bars of equal width at the bottom of the chart."""
    total = float(rows.sum())
    if not total > 0.0:
        return ""
    at = frame.across.at(x)
    edges = np.linspace(at[0], at[-1], N_BARS + 1)
    heights = np.diff(np.interp(edges, *cumulative_rows(at, rows)))
    scale = HISTOGRAM_SHARE * (frame.up.high - frame.up.low) / max(float(heights.max()), 1e-300)
    values = [_value_at(frame.across, float(edge)) for edge in edges]
    tops = frame.up.low + scale * np.concatenate([[0.0], np.repeat(heights, 2), [0.0]])
    return f'<path class="rows" d="{frame.path(np.repeat(values, 2), tops)}Z"/>'


def cumulative_rows(points: Floats, rows: Floats) -> tuple[Floats, Floats]:
    """Return the distribution function of the rows, with those of a grid point spread half-way to its neighbors.

    >>> import numpy as np
    >>> from opauc.report.term_charts import cumulative_rows
    >>> [part.tolist() for part in cumulative_rows(np.array([0.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0]))]
    [[0.0, 1.0, 3.0, 4.0], [0.0, 1.0, 3.0, 4.0]]
    """
    borders = np.concatenate([points[:1], (points[1:] + points[:-1]) / 2, points[-1:]])
    return borders, np.concatenate([[0.0], np.cumsum(rows)])


def _median(points: Floats, rows: Floats) -> float:
    borders, below = cumulative_rows(points, rows)
    return float(np.interp(0.5 * below[-1], below, borders))


# Levels drawn, letters of their names, and characters of all tick labels.
MAX_LEVELS, LEVEL_LETTERS, LEVEL_TICKS = 10, 15, 18


def level_chart(slug: str, term: ShownTerm) -> str:
    """Draw the levels with the most rows, their error bars of two standard errors and their shares of the rows."""
    shown = shown_levels(term)
    values, errors = term.values[shown], 2.0 * term.standard_errors[shown]
    axis = Axis.fitting(*value_range(values, errors), room=LEVEL_TICKS)
    frame = BarFrame(axis, LOG_ODDS, len(shown), LEVEL_LETTERS)
    marks = ""
    for line, (i, value, error) in enumerate(zip(shown, values, errors, strict=True)):
        name = point_name(term.grid[0][i])
        rows = "" if term.row_shares is None else rounded_percent(float(term.row_shares[i]))
        marks += frame.bar(line, 0.0, float(value), f"{name}: {signed(value)} ± {error:.2g}")
        marks += frame.whisker(line, value - error, value + error)
        marks += frame.labels(line, name, rows)
    extremes = f"From {signed(term.values.min())} to {signed(term.values.max())} log-odds"
    return frame.chart(slug, f"Term {term.name}", f"{extremes}; lines are ± 2 standard errors.", marks)


def shown_levels(term: ShownTerm) -> list[int]:
    """Return the indices of the levels to draw: those with the most rows, numbers in order, names by value.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.report import ShownTerm
    >>> from opauc.report.term_charts import shown_levels
    >>> port = ShownTerm("port", ("port",), (("S", "C", "Q"),), np.array([0.1, -0.5, 0.4]), np.zeros(3), 0.1)
    >>> shown_levels(port)
    [2, 0, 1]
    """
    weight = np.abs(term.values) if term.row_shares is None else term.row_shares
    most = np.sort(np.argsort(-weight, kind="stable")[: min(MAX_LEVELS, n_levels(term))])
    order: list[int] = (most if term.n_numbers else most[np.argsort(-term.values[most], kind="stable")]).tolist()
    return order


def n_levels(term: ShownTerm) -> int:
    """Return the number of levels that have rows, or of all levels if the rows are unknown."""
    n_with_rows = 0 if term.row_shares is None else int(np.count_nonzero(term.row_shares > 0.0))
    return n_with_rows or term.values.size


def rounded_percent(value: float) -> str:
    """Return a share in whole percent, or "< 1 %".

    Examples
    --------
    >>> from opauc.report.term_charts import rounded_percent
    >>> rounded_percent(0.213), rounded_percent(0.004), rounded_percent(0.0)
    ('21 %', '< 1 %', '0 %')
    """
    return "< 1 %" if 0.0 < value < 0.01 else percent(round(value, 2))


# Contributions drawn, letters of a label, letters of a feature value that stay visible, characters of all tick labels.
MAX_CONTRIBUTIONS, LABEL_LETTERS, VALUE_LETTERS, WATERFALL_TICKS = 9, 22, 7, 14
EQUALS, TIMES = " = ", " × "
SHORT_SUFFIXES = {" (categorical)": " (cat.)"}


def waterfall_chart(slug: str, row: ExplainedRow) -> str:
    """Draw the score of a row: from the baseline by the largest contributions and the sum of the others."""
    contributions = shown_contributions(row)
    ends = np.cumsum([row.baseline, *(contribution.value for contribution in contributions)])
    axis = Axis.fitting(*value_range(ends, np.zeros_like(ends)), room=WATERFALL_TICKS)
    frame = BarFrame(axis, "Log-odds", len(contributions) + 2, LABEL_LETTERS)
    bars = [Contribution("baseline", "", row.baseline), *contributions, Contribution("score", "", row.score())]
    numbers = aligned([bar.value for bar in bars], min(1.0, max(abs(bar.value) for bar in bars)), 3)
    marks = ""
    for line, (bar, start, number) in enumerate(zip(bars, [0.0, *ends[:-1], 0.0], numbers, strict=True)):
        marks += frame.bar(line, start, start + bar.value, f"{bar}: {signed(bar.value)}")
        css_class = "name" if 0 < line <= len(contributions) else "name sum"
        marks += frame.labels(line, contribution_label(bar), f"+{number}" if bar.value > 0.0 else number, css_class)
    description = (
        f"From the baseline, {signed(row.baseline)}, to the score, {signed(row.score())}, "
        f"by {len(row.contributions)} terms."
    )
    return frame.chart(slug, row.title, description, marks)


def shorten_parts(name: str) -> str:
    """Return the name of a term with a part of each of its features.

    Examples
    --------
    >>> from opauc.report.term_charts import shorten_parts
    >>> shorten_parts("age × previous_cancellations"), shorten_parts("age × sex")
    ('age × previous_cancel…', 'age × sex')
    """
    parts = name.split(TIMES)
    room = LABEL_LETTERS - len(TIMES) * (len(parts) - 1)
    by_length = sorted(range(len(parts)), key=lambda part: len(parts[part]))
    for n_left, part in zip(range(len(parts), 0, -1), by_length, strict=True):
        parts[part] = shorten(parts[part], room // n_left)
        room -= len(parts[part])
    return TIMES.join(parts)


def contribution_label(contribution: Contribution) -> str:
    """Return the name and the feature value of a contribution, shortened so that a part of both is visible.

    Examples
    --------
    >>> from opauc.report import Contribution
    >>> from opauc.report.term_charts import contribution_label
    >>> contribution_label(Contribution("native-country", "Dominican-Republic", 0.1))
    'native-coun… = Domini…'
    >>> contribution_label(Contribution("native-country", "Dominican-Republic", 0.1, " (trees)"))
    'native-country (trees)'
    >>> contribution_label(Contribution("shop", "1207", 0.1, " (categorical)"))
    'shop = 1207 (cat.)'
    >>> contribution_label(Contribution("hour_of_the_day × previous_stays", "", 0.1))
    'hour_of_t… × previous…'
    """
    name, value = contribution.name, contribution.feature_value
    if contribution.suffix:
        suffix = SHORT_SUFFIXES.get(contribution.suffix, contribution.suffix)
        room, both = LABEL_LETTERS - len(suffix), f"{name}{EQUALS}{value}"
        return (both if len(both) <= room else shorten(name, room)) + suffix
    if not value:
        return shorten_parts(name)
    value = shorten(value, max(VALUE_LETTERS, LABEL_LETTERS - len(EQUALS) - len(name)))
    return shorten(name, LABEL_LETTERS - len(EQUALS) - len(value)) + EQUALS + value


def shown_contributions(row: ExplainedRow) -> list[Contribution]:
    """Return the largest contributions that are not zero, by decreasing size, and the sum of the others under one name.

    Examples
    --------
    >>> from opauc.report import Contribution, ExplainedRow
    >>> from opauc.report.term_charts import shown_contributions
    >>> contributions = [Contribution(f"x{j}", "", 1.0) for j in range(12)]
    >>> shown_contributions(ExplainedRow("row 1", "", 0.0, contributions))[-1]
    Contribution(name='3 other terms', feature_value='', value=3.0, suffix='')
    """
    order = sorted((one for one in row.contributions if one.value), key=lambda contribution: -abs(contribution.value))
    if len(order) <= MAX_CONTRIBUTIONS + 1:
        return order
    rest = float(np.sum([contribution.value for contribution in order[MAX_CONTRIBUTIONS:]]))
    return [*order[:MAX_CONTRIBUTIONS], Contribution(f"{plain(len(order) - MAX_CONTRIBUTIONS)} other terms", "", rest)]
