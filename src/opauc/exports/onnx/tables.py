"""Tables of one and two axes: what each term gets from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from opauc.exports.onnx.graph import DOUBLE, Graph
from opauc.exports.portable import Axis, Curve, Levels, Line, PortableTerm, Steps, Table
from opauc.types import Floats


class TableGraph:
    """Places of rows on axes, each added when it is first needed, and what terms get from tables.

    Parameters
    ----------
    graph : Graph
        Where nodes are added.
    axes : sequence of Axis
        The axes of the model.
    matrix : str
        The matrix of inputs.
    n_inputs : int
        Number of inputs.
    """

    def __init__(self, graph: Graph, axes: Sequence[Axis], matrix: str, n_inputs: int) -> None:
        self.graph: Graph = graph
        self.axes: Sequence[Axis] = axes
        self.matrix: str = matrix
        self.n_inputs: int = n_inputs
        self.missing: str = graph.cast(graph.add("IsNaN", matrix), DOUBLE)
        self._places: dict[int, str] = {}
        self._weights: dict[int, str] = {}

    def place(self, number: int) -> str:
        """Add the places on an axis of levels, as a column of int64."""
        if number not in self._places:
            axis, graph = self.axes[number], self.graph
            assert isinstance(axis, Levels), "only levels have whole places"
            value = graph.columns(self.matrix, [axis.input])
            keys, places = (axis.numbers, axis.places) if axis.numbers.size else (np.zeros(1), [axis.other])
            place = graph.lookup(value, keys, places, axis.other, (np.float64, np.int64))
            zero = graph.constant(0, np.int64)
            self._places[number] = graph.add("Where", graph.add("IsNaN", value), zero, place)
        return self._places[number]

    def contributions(self, terms: Sequence[PortableTerm]) -> list[str]:
        """Add matrices of a column for each term, whose sum is what constants and tables contribute."""
        weights = _Weights(self.n_inputs, len(terms))
        single, gathered = list[str](), list[int]()
        for at, term in enumerate(terms):
            weights.constants[0, at] += term.constant
            for table in term.tables:
                axis = self.axes[table.axes[0]]
                if len(table.axes) == 1 and not isinstance(axis, Levels):
                    weights.add(table, axis, at)
                else:
                    single.append(self._column(table))
                    gathered.append(at)
        parts = [self.graph.constant(weights.constants)]
        if weights.missing.any():
            parts.append(self._product(self.missing, weights.missing))
        if weights.slopes.any():
            numbers = self.graph.add("Where", self.graph.add("IsNaN", self.matrix), self._zero, self.matrix)
            parts.append(self._product(numbers, weights.slopes))
        parts += [self._product(self._shares(axes), matrix) for axes, matrix in weights.of_points(self.axes, Curve)]
        parts += [self._product(self._passed(axes), matrix) for axes, matrix in weights.of_points(self.axes, Steps)]
        if single:
            of_terms = np.zeros((len(single), len(terms)))
            of_terms[np.arange(len(single)), gathered] = 1.0
            parts.append(self._product(self.graph.joined(single), of_terms))
        return parts

    @property
    def _zero(self) -> str:
        return self.graph.constant(0.0)

    def _product(self, matrix: str, weights: Floats) -> str:
        return self.graph.add("MatMul", matrix, self.graph.constant(weights))

    def _inputs_of_points(self, axes: Sequence[int], counts: Sequence[int]) -> str:
        """Add the input of each point of axes, side by side."""
        inputs: NDArray[np.int64] = np.repeat([self.axes[number].input for number in axes], counts)
        return self.graph.columns(self.matrix, inputs)

    def _shares(self, axes: Sequence[int]) -> str:
        """Add for each piece of curves the share of it that is below the input, 0 where the input is missing."""
        graph = self.graph
        curves = [axis for axis in (self.axes[number] for number in axes) if isinstance(axis, Curve)]
        starts = np.concatenate([curve.knots[:-1] for curve in curves])
        widths = np.concatenate([np.diff(curve.knots) for curve in curves])
        values = self._inputs_of_points(axes, [curve.knots.size - 1 for curve in curves])
        shares = graph.add("Div", graph.add("Sub", values, graph.constant([starts])), graph.constant([widths]))
        clipped = graph.add("Clip", shares, self._zero, graph.constant(1.0))
        return graph.add("Where", graph.add("IsNaN", values), self._zero, clipped)

    def _passed(self, axes: Sequence[int]) -> str:
        """Add for each cut of steps 1 where it is below the input, else 0."""
        steps = [axis for axis in (self.axes[number] for number in axes) if isinstance(axis, Steps)]
        cuts = np.concatenate([one.cuts for one in steps])
        values = self._inputs_of_points(axes, [one.cuts.size for one in steps])
        return self.graph.cast(self.graph.add("Greater", values, self.graph.constant([cuts])), DOUBLE)

    def _column(self, table: Table) -> str:
        """Add the value of a table of levels or of two axes."""
        graph, one = self.graph, table.axes[0]
        if len(table.axes) == 1:
            return graph.add("Gather", graph.constant(table.values), self.place(one), axis=0)
        other, values = table.axes[1], table.values
        has_levels = [isinstance(self.axes[number], Levels) for number in (one, other)]
        if all(has_levels):
            row = graph.add("Mul", self.place(one), graph.constant(values.shape[1], np.int64))
            return graph.add("Gather", graph.constant(values.ravel()), graph.add("Add", row, self.place(other)), axis=0)
        if any(has_levels):
            levels, curve = (one, other) if has_levels[0] else (other, one)
            # Of the curve only knots have weights: where an input is missing the value is 0.
            of_levels = (values if has_levels[0] else values.T)[:, 1:]
            place = graph.add("Reshape", self.place(levels), graph.constant([-1], np.int64))
            rows = graph.add("Gather", graph.constant(of_levels), place, axis=0)
            return graph.row_sums(graph.add("Mul", rows, self._weights_of(curve)))
        rows = self._product(self._weights_of(one), values[1:, 1:])
        return graph.row_sums(graph.add("Mul", rows, self._weights_of(other)))

    def _weights_of(self, number: int) -> str:
        """Add the weights of the knots of a curve, all 0 where the input is missing."""
        if number not in self._weights:
            axis, graph = self.axes[number], self.graph
            assert isinstance(axis, Curve), "pairs are of curves and levels"
            present = graph.add("Sub", graph.constant(1.0), graph.columns(self.missing, [axis.input]))
            if axis.knots.size > 1:
                shares = self._shares([number])
                none = graph.add("Mul", present, self._zero)
                present = graph.add("Sub", graph.joined([present, shares]), graph.joined([shares, none]))
            self._weights[number] = present
        return self._weights[number]


class _Weights:
    """Tables of one axis as weights: of missing values, of numbers, and of the points of curves and steps."""

    def __init__(self, n_inputs: int, n_terms: int) -> None:
        self.constants = np.zeros((1, n_terms))
        self.missing = np.zeros((n_inputs, n_terms))
        self.slopes = np.zeros((n_inputs, n_terms))
        self._changes: dict[int, dict[int, Floats]] = {}  # of each axis and term, from point to point

    def add(self, table: Table, axis: Axis, term: int) -> None:
        """Add a table on a line, a curve or steps."""
        values = table.values
        if isinstance(axis, Line):
            self.missing[axis.input, term] += values[0]
            self.slopes[axis.input, term] += values[1]
            return
        self.constants[0, term] += values[1]
        self.missing[axis.input, term] += values[0] - values[1]
        of_axis = self._changes.setdefault(table.axes[0], {})
        of_axis[term] = of_axis.get(term, 0.0) + np.diff(values[1:])

    def of_points(self, axes: Sequence[Axis], kind: type[Curve] | type[Steps]) -> list[tuple[list[int], Floats]]:
        """Return the axes of a kind that have points, and the weights of all their points: one pair, or none."""
        numbers = [
            number for number, changes in self._changes.items()
            if isinstance(axes[number], kind) and next(iter(changes.values())).size
        ]  # fmt: skip
        if not numbers:
            return []
        blocks = []
        for number in numbers:
            changes = self._changes[number]
            blocks.append(np.zeros((next(iter(changes.values())).size, self.constants.size)))
            for term, weights in changes.items():
                blocks[-1][:, term] = weights
        return [(numbers, np.concatenate(blocks))]
