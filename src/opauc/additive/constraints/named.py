"""Constraints as users write them, with the names of columns and terms, resolved to positions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

import numpy as np

from opauc.additive.basis.basis import Basis
from opauc.additive.constraints.constraints import Bound, Constraints, FixedTerm, Shape
from opauc.additive.constraints.shape_rows import SHAPES
from opauc.additive.kernels.rows import CATEGORICAL, LEFT_OUT, NUMERIC
from opauc.core.parameters import is_whole
from opauc.errors import Parameter, ParameterError, nearest_first, unknown_name
from opauc.types import Floats

# A column by name or position, or several.
Columns: TypeAlias = str | int | Sequence[str | int]
ColumnPair: TypeAlias = tuple[str | int, str | int]
# The interval of a main effect at each of some values of each column; None where it is open.
Bounds: TypeAlias = Mapping[str | int, Mapping[float | str, tuple[float | None, float | None]]]


class ConstraintOptions(TypedDict, total=False):
    """The constraints that a user asks for, as `OnePassGAM.constrain` takes them."""

    increasing: Columns
    decreasing: Columns
    convex: Columns
    concave: Columns
    without: Columns
    pairs: Sequence[ColumnPair] | None
    no_pairs: bool
    equal_mean: Columns
    bounds: Bounds | None
    fixed: str | Sequence[str]


@dataclass(frozen=True, eq=False)
class NamedBasis:
    """A basis, the names of its inputs, and the categories of each by number.

    `columns` are the names of all columns of the table, `parts` the inputs of those that are used: several of a date.
    """

    basis: Basis
    inputs: Sequence[str]
    categories: Sequence[Mapping[int, str]]
    columns: Sequence[str]
    parts: Mapping[str, Sequence[int]]

    def resolve(self, options: ConstraintOptions, weights: Floats) -> Constraints:
        """Return constraints by positions, checked; fixed terms have the weights that they have now."""
        shapes = tuple(Shape(j, shape) for shape in SHAPES for j in self._numbers(shape, options.get(shape, ())))
        pairs = options.get("pairs")
        if options.get("no_pairs") and pairs:
            raise ParameterError(Parameter("no_pairs"), " and ", Parameter("pairs"), " contradict each other; take one")
        resolved = Constraints(
            shapes,
            tuple(j for column in _listed(options.get("without", ())) for j in self._find("without", column)),
            () if options.get("no_pairs") else None if pairs is None else tuple(map(self._pair, pairs)),
            tuple(self._groups(column) for column in _listed(options.get("equal_mean", ()))),
            tuple(self._bounds(options.get("bounds") or {})),
            tuple(self._fixed(name, weights) for name in _listed(options.get("fixed", ()))),
        )
        resolved.check(self.inputs)
        return resolved

    def _find(self, parameter: str, column: object) -> Sequence[int]:
        """Return the inputs of a column."""
        if is_whole(column) and 0 <= int(column) < len(self.columns):
            column = self.columns[int(column)]
        if column in self.inputs:
            return (self.inputs.index(str(column)),)
        if column in self.parts:
            return self.parts[str(column)]
        if column in self.columns:
            raise ParameterError(
                Parameter(parameter), f": the model does not use {column!r} (`dropped_columns_`); leave it out"
            )
        names = [*self.parts, *(name for name in self.inputs if name not in self.parts)]
        raise ParameterError(Parameter(parameter), f": {unknown_name('column', column, names)}")

    def _one(self, parameter: str, column: object) -> int:
        """Return the input of a column that becomes one."""
        found = self._find(parameter, column)
        if len(found) > 1:
            names = ", ".join(repr(self.inputs[j]) for j in found)
            raise ParameterError(Parameter(parameter), f": {column!r} is a date; take one of its parts: {names}")
        return found[0]

    def _numbers(self, parameter: str, columns: object) -> list[int]:
        """Return numeric inputs."""
        found = [self._one(parameter, column) for column in _listed(columns)]
        for j in found:
            if self.basis.tables.kinds[j] == CATEGORICAL:
                raise ParameterError(
                    Parameter(parameter), f": {self.inputs[j]!r} is categorical, and categories have no order; take a "
                    "numeric column, or train with ", Parameter("numeric", [self.inputs[j]]),
                )  # fmt: skip
        return found

    def _pair(self, pair: object) -> tuple[int, int]:
        """Return a pair of the basis, in its order."""
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise ParameterError(Parameter("pairs"), f": expected pairs of columns, got {pair!r}")
        one, two = (self._one("pairs", column) for column in pair)
        for found in ((one, two), (two, one)):
            if found in self.basis.effects:
                return found
        name = f"{self.inputs[one]} × {self.inputs[two]}"
        raise ParameterError(Parameter("pairs"), f": the model has no pair {name}{self._known_pairs(name)}")

    def _known_pairs(self, name: str) -> str:
        names = [self._name(inputs) for inputs in self.basis.effects if len(inputs) == 2]
        return f"; it has {', '.join(nearest_first(name, names))}" if names else "; it has no pairs"

    def _groups(self, column: object) -> int:
        """Return an input of categories or of two values."""
        j = self._one("equal_mean", column)
        if self.basis.tables.kinds[j] == NUMERIC:
            raise ParameterError(
                Parameter("equal_mean"), f": {self.inputs[j]!r} is numeric; take a column of categories or of two "
                "values, or train with ", Parameter("categorical", [self.inputs[j]]),
            )  # fmt: skip
        if self.basis.tables.kinds[j] == LEFT_OUT:
            raise ParameterError(Parameter("equal_mean"), f": {self.inputs[j]!r} has one value only; drop it")
        return j

    def _bounds(self, bounds: Bounds) -> Iterable[Bound]:
        """Yield the bounds of main effects at values."""
        for column, by_value in bounds.items():
            j = self._one("bounds", column)
            if (j,) not in self.basis.effects:
                raise ParameterError(Parameter("bounds"), f": {self.inputs[j]!r} has one value only; drop it")
            for value, interval in by_value.items():
                low, high = self._interval(j, interval)
                yield Bound(j, self._value(j, value), low, high)

    def _interval(self, j: int, interval: object) -> tuple[float | None, float | None]:
        ends = tuple(interval) if isinstance(interval, Sequence) and not isinstance(interval, str) else ()
        known = len(ends) == 2 and all(end is None or np.isfinite(end) for end in ends)
        if not known or ends == (None, None):
            raise ParameterError(
                Parameter("bounds"), f": {self.inputs[j]}: expected (low, high) in log-odds, None where open, got "
                f"{interval!r}",
            )  # fmt: skip
        low, high = (None if end is None else float(end) for end in ends)
        return low, high

    def _value(self, j: int, value: object) -> float:
        """Return a value of an input as a number: a category that has a column of its own, or a number."""
        if self.basis.tables.kinds[j] == CATEGORICAL:
            numbers = self.basis.column_numbers(j).tolist()
            own = {self.categories[j].get(number, str(number)): number for number in numbers}
            if value not in own:
                raise ParameterError(
                    Parameter("bounds"), f": {self.inputs[j]}: {unknown_name('category', value, own)} (rarer ones "
                    "share a column)",
                )  # fmt: skip
            return float(own[str(value)])
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            number = np.nan
        if not np.isfinite(number):
            raise ParameterError(Parameter("bounds"), f": {self.inputs[j]}: expected a number, got {value!r}")
        return number

    def _fixed(self, name: object, weights: Floats) -> FixedTerm:
        """Return a term with its weights."""
        names = {self._name(inputs): inputs for inputs in self.basis.effects if inputs}
        if name not in names:
            raise ParameterError(Parameter("fixed"), f": {unknown_name('term', name, names)}")
        inputs = names[str(name)]
        return FixedTerm(inputs, tuple(weights[self.basis.effects[inputs]].tolist()))

    def _name(self, inputs: Sequence[int]) -> str:
        return " × ".join(self.inputs[j] for j in inputs)


def _listed(columns: object) -> Sequence[object]:
    """Return one column or several as a list."""
    return [columns] if isinstance(columns, str) or is_whole(columns) else list(columns)  # type: ignore[call-overload]
