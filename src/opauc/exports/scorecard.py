"""A model as a scorecard: points for each bin of each term, which add up to the score."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import log
from typing import NamedTuple

import numpy as np

from opauc.errors import Parameter, ParameterError, UnsupportedOperationError
from opauc.exports.format import ExportOptions
from opauc.exports.portable import CATEGORY, Curve, Levels, Line, PortableModel, PortableTerm, Steps, Table
from opauc.types import Floats

EPOCH = datetime(1970, 1, 1)
# Within a bin of a curve the log-odds differ by at most this from those of the bin, where the bins are not rounded.
MOST_DIFFERENCE = 0.05
# Digits of the ends of bins, relative to the range of the knots: so many make bins readable.
DIGITS = 4
# Categories that are listed in one row.
MOST_LISTED = 40


class Row(NamedTuple):
    """A row of a scorecard: a bin of a term in words, its points, and what it adds to the log-odds."""

    term: str
    bin: str
    points: float
    log_odds: float


@dataclass(frozen=True)
class Scale:
    """How log-odds become points.

    Attributes
    ----------
    points_to_double : float
        The points by which the odds of the positive class double; 0 leaves log-odds as they are.
    base_points, base_odds : float
        The points of a row with these odds.
    """

    points_to_double: float = 20.0
    base_points: float = 600.0
    base_odds: float = 50.0

    @property
    def factor(self) -> float:
        """The points of one unit of log-odds."""
        return self.points_to_double / log(2.0) if self.points_to_double else 1.0

    @property
    def offset(self) -> float:
        """The points of log-odds of 0."""
        return self.base_points - self.factor * log(self.base_odds) if self.points_to_double else 0.0

    @property
    def words(self) -> str:
        """What the points mean."""
        if not self.points_to_double:
            return "points are log-odds"
        base = f"{self.base_points:g} points are odds of {self.base_odds:g} to 1"
        return f"{self.points_to_double:g} points double the odds; {base}"


@dataclass(frozen=True)
class Bin:
    """A bin of an axis in words, the lowest and the highest value of a table in it, and its place or its ends."""

    words: str
    lowest: float
    highest: float

    @property
    def value(self) -> float:
        """The value of the bin."""
        return (self.lowest + self.highest) / 2.0


@dataclass(frozen=True)
class Scorecard:
    """A scorecard: the points that every row has, the rows of the bins, and how far points are from the model.

    Attributes
    ----------
    scale : Scale
        How log-odds become points.
    base : float
        The log-odds that every row has.
    rows : tuple of Row
        The bins: a row of data has one of each term, or of each part of it.
    largest_difference : float
        A bound of the difference of log-odds between the scorecard and the model.

    Examples
    --------
    >>> from opauc import OnePassGAM
    >>> from opauc.exports.make_portable import make_portable
    >>> from opauc.exports.scorecard import Scale, make_scorecard
    >>> X, y = [[0.0], [1.0], [0.0], [1.0]] * 30, [0, 0, 0, 1] * 30
    >>> model = OnePassGAM(trees=False, interactions=0, random_state=0).fit(X, y)
    >>> scorecard = make_scorecard(make_portable(model._to_model()), Scale())
    >>> [row.bin for row in scorecard.rows][-1], scorecard.largest_difference < 1.0
    ('x0: missing', True)
    """

    scale: Scale
    base: float
    rows: tuple[Row, ...]
    largest_difference: float

    @property
    def base_points(self) -> float:
        """The points that every row has."""
        return self.scale.offset + self.scale.factor * self.base

    def lines(self) -> Iterator[tuple[str, str, float | None, float | None]]:
        """Yield the lines of a file: the scale, the base, the largest difference, then the rows."""
        yield "(scale)", self.scale.words, None, None
        difference = self.scale.factor * self.largest_difference
        yield "(largest difference from the model)", "all rows", difference, self.largest_difference
        yield "(base)", "all rows", self.base_points, self.base
        yield from self.rows


def make_scorecard(model: PortableModel, scale: Scale) -> Scorecard:
    """Return the scorecard of a model; raise for what has no bins: trees, combinations, straight lines."""
    if scale.points_to_double < 0 or not np.isfinite(scale.points_to_double):
        raise ParameterError(Parameter("points_to_double"), f" must be at least 0, got {scale.points_to_double}")
    if not (scale.base_odds > 0 and np.isfinite(scale.base_odds)):
        raise ParameterError(Parameter("base_odds"), f" must be positive, got {scale.base_odds}")
    if model.trees is not None or any(term.crossed for term in model.terms):
        raise UnsupportedOperationError(
            "a scorecard has bins of columns and pairs, but trees and effects of combinations have none; train with ",
            Parameter("trees", False),
        )
    if any(isinstance(axis, Line) for axis in model.axes):
        raise UnsupportedOperationError(
            f"a scorecard has bins, but {model.estimator} draws straight lines, which have none; train OnePassGAM"
        )
    bins_of, rows, difference = _Bins(model), list[Row](), 0.0
    for term in model.terms:
        for table in _merged_tables(term):
            bins = bins_of.of(term, table)
            values = [model.slope * one.value for one in bins]
            rows += [
                Row(term.name, one.words, scale.factor * value, value) for one, value in zip(bins, values, strict=True)
            ]
            difference += max(abs(model.slope) * (one.highest - one.lowest) / 2.0 for one in bins)
    base = model.slope * (model.baseline + sum(term.constant for term in model.terms)) + model.offset
    return Scorecard(scale, base, tuple(rows), difference)


def _merged_tables(term: PortableTerm) -> list[Table]:
    """Return the tables of a term, one for each axis or pair of axes."""
    values: dict[tuple[int, ...], Floats] = {}
    for table in term.tables:
        values[table.axes] = values[table.axes] + table.values if table.axes in values else table.values
    return [Table(axes, values[axes]) for axes in values]


@dataclass(frozen=True)
class _Bins:
    """The bins of the tables of a model."""

    model: PortableModel

    def of(self, term: PortableTerm, table: Table) -> list[Bin]:
        """Return the bins of a table of a term, of one axis or of two."""
        return list(self._of_one(table) if len(table.axes) == 1 else self._of_two(term, table))

    def _of_one(self, table: Table) -> Iterator[Bin]:
        axis, values = self.model.axes[table.axes[0]], table.values
        if isinstance(axis, Curve):
            yield from self._of_curve(axis, values)
        else:
            for words, place in self._cells(table.axes[0]):
                yield Bin(words, float(values[place]), float(values[place]))
        yield Bin(f"{self._name(axis.input)}: missing", float(values[0]), float(values[0]))

    def _of_curve(self, axis: Curve, values: Floats) -> Iterator[Bin]:
        cuts = [cut for cut in curve_cuts(axis.knots, values[1:]) if np.isfinite(cut)]
        ends = [-np.inf, *cuts, np.inf]
        for low, high in itertools.pairwise(ends):
            inside = axis.knots[(axis.knots > low) & (axis.knots < high)]
            points = np.concatenate([[low], inside, [high]])
            heights = np.interp(points, axis.knots, values[1:])
            yield Bin(self._range(axis.input, low, high), float(heights.min()), float(heights.max()))

    def _of_two(self, term: PortableTerm, table: Table) -> Iterator[Bin]:
        firsts, seconds = (list(self._cells(number)) for number in table.axes)
        for words, i in firsts:
            for others, j in seconds:
                corners = table.values[np.ix_(self._corners(table.axes[0], i), self._corners(table.axes[1], j))]
                yield Bin(f"{words} and {others}", float(corners.min()), float(corners.max()))
        yield Bin(f"{term.name}: either missing", 0.0, 0.0)

    def _corners(self, number: int, place: int) -> list[int]:
        """Return the places of the values of a cell: those of both ends on a curve."""
        axis = self.model.axes[number]
        if not isinstance(axis, Curve):
            return [place]
        return sorted({max(1, place - 1), min(place, axis.knots.size)})

    def _cells(self, number: int) -> Iterator[tuple[str, int]]:
        """Yield the cells of an axis in words, with their places; a curve has one more cell than knots."""
        axis = self.model.axes[number]
        if isinstance(axis, Levels):
            yield from self._levels(axis)
            return
        assert isinstance(axis, Curve | Steps), "straight lines have no cells"
        cuts = axis.knots if isinstance(axis, Curve) else axis.cuts
        ends = [-np.inf, *cuts.tolist(), np.inf]
        for place, (low, high) in enumerate(itertools.pairwise(ends), 1):
            yield self._range(axis.input, low, high), place

    def _levels(self, axis: Levels) -> Iterator[tuple[str, int]]:
        column = self.model.columns[self.model.inputs[axis.input].column]
        names = {float(number): name for name, number in column.categories.items()}
        listed: dict[int, list[str]] = {}
        for number, place in zip(axis.numbers.tolist(), axis.places.tolist(), strict=True):
            if place != axis.other:
                name = names.get(number, f"{number:.17g}") if column.kind == CATEGORY else f"{number:.17g}"
                listed.setdefault(place, []).append(name)
        for place, values in listed.items():
            for at in range(0, len(values), MOST_LISTED):
                yield f"{self._name(axis.input)}: {', '.join(values[at : at + MOST_LISTED])}", place
        yield f"{self._name(axis.input)}: all others", axis.other

    def _name(self, number: int) -> str:
        return self.model.inputs[number].name

    def _range(self, number: int, low: float, high: float) -> str:
        """Return an interval in words: it has its lower end, and not its upper end."""
        name, low_text, high_text = self._name(number), self._end(number, low), self._end(number, high)
        if np.isinf(low) and np.isinf(high):
            return f"{name}: any number"
        if np.isinf(low):
            return f"{name}: below {high_text}"
        return f"{name}: {low_text} or more" if np.isinf(high) else f"{name}: {low_text} to {high_text}"

    def _end(self, number: int, value: float) -> str:
        if self.model.inputs[number].part != "day" or np.isinf(value):
            return repr(value).removesuffix(".0")
        try:
            time = EPOCH + timedelta(days=value)
        except OverflowError:
            return repr(value)
        return time.isoformat(sep=" ", timespec="minutes") if value % 1.0 else f"{time:%Y-%m-%d}"


def curve_cuts(knots: Floats, values: Floats) -> list[float]:
    """Return cuts of a curve into bins in each of which it rises or falls by no more than twice the difference allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.exports.scorecard import curve_cuts
    >>> curve_cuts(np.array([0.0, 10.0, 20.0]), np.array([0.0, 0.05, 0.25]))
    [12.5, 17.5]
    """
    cuts, room = list[float](), 2.0 * MOST_DIFFERENCE
    low = high = float(values[0])
    for at in range(knots.size - 1):
        left, right, start, end = float(knots[at]), float(knots[at + 1]), float(values[at]), float(values[at + 1])
        while max(high, end) - min(low, end) > room * (1.0 + 1e-9):
            limit = low + room if end > start else high - room
            cut = left + (right - left) * (limit - start) / (end - start)
            cuts.append(_rounded(cut, knots))
            low = high = limit
        low, high = min(low, end), max(high, end)
    return sorted({cut for cut in cuts if knots[0] <= cut <= knots[-1]})


def _rounded(cut: float, knots: Floats) -> float:
    """Return a cut with few digits."""
    span = float(knots[-1] - knots[0])
    return round(cut, DIGITS - int(np.ceil(np.log10(span)))) if span > 0 else cut


def scale_of(options: ExportOptions) -> Scale:
    """Return the scale of options."""
    return Scale(options.points_to_double, options.base_points, options.base_odds)
