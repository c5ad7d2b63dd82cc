"""Tables and trees of a model in SQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from opauc.exports.portable import CATEGORY, Curve, Levels, Line, PortableModel, Steps, Table
from opauc.exports.sql.columns import look_up
from opauc.exports.sql.query import Query, Term, join_terms
from opauc.types import Floats

# Comparisons one after the other are the fastest for so few; more are grouped (`python -m benchmarks.sql_export`).
MOST_IN_A_ROW = 24


def choose(cuts: Sequence[tuple[str, str]], last: str) -> str:
    """Return the first result whose condition holds, `last` where none does; the conditions hold from some on.

    Examples
    --------
    >>> from opauc.exports.sql.tables import choose
    >>> choose([("x < 1", "a"), ("x < 2", "b")], "c")
    'CASE WHEN x < 1 THEN a WHEN x < 2 THEN b ELSE c END'
    """
    if not cuts:
        return last
    if len(cuts) <= MOST_IN_A_ROW:
        return f"CASE {' '.join(f'WHEN {condition} THEN {result}' for condition, result in cuts)} ELSE {last} END"
    size = max(MOST_IN_A_ROW // 2, round(len(cuts) ** 0.5))
    groups = [cuts[at : at + size] for at in range(0, len(cuts), size)]
    chosen = [(group[-1][0], choose(group[:-1], group[-1][1])) for group in groups[:-1]]
    return choose(chosen, choose(groups[-1], last))


@dataclass(frozen=True)
class Cells:
    """An axis as cells: in each, a function of the input's distance from its start."""

    missing: Term  # whether the input is missing
    conditions: list[str]  # that a value is not beyond each cell but the last
    distances: list[str]  # from the start of each cell, empty where a cell has one value
    step: int


@dataclass
class SqlTables:
    """The tables of a model on the inputs of a row."""

    query: Query
    model: PortableModel
    inputs: Sequence[Term]
    _cells: dict[int, Cells] = field(default_factory=dict)

    def value(self, table: Table) -> Term:
        """Return the value of a table."""
        return self._of_one(table.axes[0], table.values) if len(table.axes) == 1 else self._of_two(table)

    def place(self, number: int) -> Term:
        """Return the place of an input on an axis of steps or levels, null where it is missing."""
        axis = self.model.axes[number]
        places = np.arange(axis.size, dtype=np.float64)
        return self.query.bind(self._of_one(number, places, str_of=lambda value: str(int(value)), missing="NULL"))

    def _of_one(
        self, number: int, values: Floats, str_of: Callable[[float], str] | None = None, missing: str | None = None
    ) -> Term:
        axis = self.model.axes[number]
        one, double = self.inputs[axis.input], self.query.dialect.double_of
        str_of = double if str_of is None else str_of
        missing = str_of(values[0]) if missing is None else missing
        is_missing = f"WHEN {one.text} IS NULL THEN {missing}"
        if isinstance(axis, Line):
            return Term(f"CASE {is_missing} ELSE {double(values[1])} * {one.text} END", one.step)
        if isinstance(axis, Levels) and not self._is_category(axis.input):
            literals = zip(axis.numbers.tolist(), axis.places.tolist(), strict=True)
            named = {double(level): str_of(values[place]) for level, place in literals}
            other = f"CASE WHEN {{0}} IS NULL THEN {missing} ELSE {str_of(values[axis.other])} END"
            return look_up(self.query, one, named, other)
        if isinstance(axis, Levels):
            pieces = _merged(
                [(f"{one.text} < {double(level)}", str_of(values[place])) for level, place in _ranges(axis)[:-1]],
                str_of(values[_ranges(axis)[-1][1]]),
            )
        elif isinstance(axis, Steps):
            pieces = _merged(
                [(f"{one.text} <= {double(cut)}", str_of(value))
                 for cut, value in zip(axis.cuts, values[1:-1], strict=True)],
                str_of(values[-1]),
            )  # fmt: skip
        else:
            pieces = self._segments(axis, values, one)
        text = choose(*pieces)
        return Term(
            f"CASE {is_missing} {text.removeprefix('CASE ')}"
            if _is_flat(pieces[0])
            else f"CASE {is_missing} ELSE {text} END",
            one.step,
        )

    def _segments(self, axis: Curve, values: Floats, one: Term) -> tuple[list[tuple[str, str]], str]:
        double, knots = self.query.dialect.double_of, axis.knots.tolist()
        slopes = np.diff(values[1:]) / np.diff(axis.knots)
        pieces = [(f"{one.text} < {double(knots[0])}", double(values[1]))]
        for at, slope in enumerate(slopes.tolist()):
            rise = f"{double(values[at + 1])} + {double(slope)} * ({one.text} - {double(knots[at])})"
            pieces.append((f"{one.text} < {double(knots[at + 1])}", rise if slope else double(values[at + 1])))
        return pieces, double(values[-1])

    def _of_two(self, table: Table) -> Term:
        """Return the value of a table of two axes, 0 where either input is missing."""
        first, second = (self._cells_of(number) for number in table.axes)
        rows = []
        for i in range(len(first.distances)):
            cells = [self._in_cell(table, (i, j), (first, second)) for j in range(len(second.distances))]
            rows.append(choose(*_merged(list(zip(second.conditions, cells[:-1], strict=True)), cells[-1])))
        text = choose(*_merged(list(zip(first.conditions, rows[:-1], strict=True)), rows[-1]))
        zero = self.query.dialect.double_of(0.0)
        is_missing = f"{first.missing.text} IS NULL OR {second.missing.text} IS NULL"
        return Term(f"CASE WHEN {is_missing} THEN {zero} ELSE {text} END", max(first.step, second.step))

    def _in_cell(self, table: Table, at: tuple[int, int], cells: tuple[Cells, Cells]) -> str:
        """Return the value in a cell: constant, linear or bilinear."""
        double, (i, j) = self.query.dialect.double_of, at
        u, w = (one.distances[k] for one, k in zip(cells, at, strict=True))
        values = table.values[i + 1 : i + 3, j + 1 : j + 3]
        widths = [self._width(number, k) for number, k in zip(table.axes, at, strict=True)]
        constant, by_u, by_w, by_both = float(values[0, 0]), 0.0, 0.0, 0.0
        if u:
            by_u = float(values[1, 0] - values[0, 0]) / widths[0]
        if w:
            by_w = float(values[0, 1] - values[0, 0]) / widths[1]
        if u and w:
            by_both = float(values[1, 1] - values[1, 0] - values[0, 1] + values[0, 0]) / widths[0] / widths[1]
        text = double(constant)
        if by_u:
            text += f" + {double(by_u)} * {u}"
        if by_w and by_both:
            return f"{text} + ({double(by_w)} + {double(by_both)} * {u}) * {w}"
        if by_w:
            return f"{text} + {double(by_w)} * {w}"
        return f"{text} + {double(by_both)} * {u} * {w}" if by_both else text

    def _width(self, number: int, cell: int) -> float:
        axis = self.model.axes[number]
        return (
            float(axis.knots[cell + 1] - axis.knots[cell]) if isinstance(axis, Curve) and axis.knots.size > 1 else 1.0
        )

    def _cells_of(self, number: int) -> Cells:
        if number not in self._cells:
            self._cells[number] = self._make_cells(number)
        return self._cells[number]

    def _make_cells(self, number: int) -> Cells:
        axis, double = self.model.axes[number], self.query.dialect.double_of
        one = self.inputs[axis.input]
        if not isinstance(axis, Curve):
            place = self.place(number)
            conditions = [f"{place.text} <= {at}" for at in range(1, axis.size - 1)]
            return Cells(one, conditions, [""] * (axis.size - 1), max(place.step, one.step))
        if axis.knots.size == 1:
            return Cells(one, [], [""], one.step)
        low, high = double(axis.knots[0]), double(axis.knots[-1])
        within = self.query.bind(
            join_terms(f"CASE WHEN {{0}} < {low} THEN {low} WHEN {{0}} > {high} THEN {high} ELSE {{0}} END", one)
        )
        conditions = [f"{within.text} < {double(knot)}" for knot in axis.knots[1:-1]]
        distances = [f"({within.text} - {double(knot)})" for knot in axis.knots[:-1]]
        return Cells(one, conditions, distances, within.step)

    def _is_category(self, number: int) -> bool:
        return self.model.columns[self.model.inputs[number].column].kind == CATEGORY


def _ranges(axis: Levels) -> list[tuple[float, int]]:
    """Return the places of whole numbers, each with the number before which it ends; the last ends nowhere."""
    places, end = list[tuple[float, int]](), -np.inf
    for number, place in zip(axis.numbers.tolist(), axis.places.tolist(), strict=True):
        if number > end:
            places.append((number, axis.other))
        end = number + 1.0
        places.append((end, place))
    return [*places, (np.inf, axis.other)]


def _merged(pieces: Sequence[tuple[str, str]], last: str) -> tuple[list[tuple[str, str]], str]:
    """Return pieces without those that give what the next gives."""
    kept = list[tuple[str, str]]()
    for at, (condition, result) in enumerate(pieces):
        following = pieces[at + 1][1] if at + 1 < len(pieces) else last
        if result != following:
            kept.append((condition, result))
    return kept, last


def _is_flat(cuts: Sequence[tuple[str, str]]) -> bool:
    return 0 < len(cuts) <= MOST_IN_A_ROW
