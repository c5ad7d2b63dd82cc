"""The portable form of additive models: curves, levels, surfaces, codes, crossed codes and trees as tables."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.basis import Basis
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, HIGH, LOW, NUMERIC
from opauc.additive.multiclass.fit import MulticlassFit
from opauc.additive.multiclass.scorer import REST_POWER
from opauc.additive.state import AdditiveFit
from opauc.additive.terms.explain import Terms
from opauc.additive.terms.term_sums import TermColumns
from opauc.additive.terms.tree_terms import TreeTerms
from opauc.core.model import Model
from opauc.exports.portable import (
    UNSEEN_CATEGORY,
    Axis,
    CrossedTable,
    Curve,
    Levels,
    Member,
    PortableModel,
    PortableTerm,
    Steps,
    Table,
    Trees,
)
from opauc.exports.portable_classes import ClassLink, PortableClasses, join_models
from opauc.exports.table_columns import inputs_of, number_columns, schema_columns
from opauc.types import Floats

NO_NUMBERS = np.empty(0, np.int64)
ALL_NUMBERS = range(2**53)


def additive_model(model: Model, fit: AdditiveFit) -> PortableModel:
    """Return the portable form of a model with an additive fit."""
    basis = fit.current.basis
    schema = None if model.reading is None else model.reading.schema
    if schema is None:
        names = model.feature_names or tuple(f"x{j}" for j in range(basis.n_inputs))
        columns = number_columns(names)
    else:
        columns = schema_columns(schema, _distinguished(basis))
    inputs = inputs_of(columns)
    categories = [{}] * basis.n_inputs if schema is None else schema.category_names()
    parts = AdditiveParts(Terms(fit, [one.name for one in inputs], categories))
    terms = tuple(parts.term(number, [one.column for one in inputs]) for number in range(len(parts.terms.term_columns)))
    trees = parts.trees()
    labels = model.classes.tolist()
    threshold = 0.0 if model.threshold is None else model.threshold.score
    return PortableModel(
        model.estimator, columns, inputs, tuple(parts.axes), terms, trees, parts.terms.numbers.baseline, 1.0, 0.0,
        (labels[0], labels[1]), threshold,
    )  # fmt: skip


def additive_classes(model: Model, fit: MulticlassFit) -> PortableClasses:
    """Return the portable form of an additive model of several classes."""
    n_classes = fit.n_classes
    link = ClassLink(1.0 - 1.0 / n_classes, REST_POWER, (0.0,) * n_classes, scores_are_odds=True)
    return join_models([additive_model(model, one) for one in fit.class_fits], link, model.classes.tolist())


def _distinguished(basis: Basis) -> list[Container[int]]:
    """Return the category numbers of each input that any table tells from those without a number."""
    crossed = {member.input for code in basis.crossed.codes for member in code.members}
    return [
        ALL_NUMBERS if j in crossed else frozenset() if numbers is None else frozenset(numbers.tolist())
        for j, numbers in enumerate(basis.kept_numbers())
    ]


class AdditiveParts:
    """The axes of a fitted state, made as its terms need them, and its terms as tables on them.

    Values of tables are those of the basis itself in rows at the places of the axes.
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.axes: list[Axis] = []
        self._numbers: dict[tuple[str, int], int] = {}  # of axes, by what they are for and their input or coded column
        numbers = terms.numbers
        self._lowest, self._highest = numbers.extremes(terms.grid_rows)
        self._column_weights = numbers.column_weights.tocsc()

    @property
    def _basis(self) -> Basis:
        return self.terms.basis

    @property
    def _tree_terms(self) -> TreeTerms | None:
        return self.terms.numbers.trees

    def term(self, number: int, columns: Sequence[int]) -> PortableTerm:
        """Return a term; `columns` has the column of each input."""
        term, numbers = self.terms.term_columns[number], self.terms.numbers
        weights = self._column_weights[:, [number]].toarray()[:, 0]
        crossed = () if term.crossed is None else (self._crossed(term.crossed),)
        return PortableTerm(
            term.name, tuple(columns[j] for j in term.inputs), float(weights[0] - numbers.means[number]),
            tuple(self._tables(term, weights)), crossed, float(numbers.mean_contributions[number]),
            float(self._lowest[number]), float(self._highest[number]),
        )  # fmt: skip

    def trees(self) -> Trees | None:
        """Return the trees, None if there are none."""
        terms = self._tree_terms
        if terms is None:
            return None
        ensemble = terms.ensemble
        owners = {term.inputs[0]: at for at, term in enumerate(self.terms.term_columns) if not term.grid_inputs}
        coded = np.unique(ensemble.splits.columns)
        sources = ensemble.codes.sources[coded].tolist()
        return Trees(
            tuple(self._coded_axis(column) for column in coded.tolist()),
            tuple(owners[j] for j in sources),
            np.searchsorted(coded, ensemble.splits.columns),
            ensemble.splits.codes.astype(np.int64),
            ensemble.splits.children.astype(np.int64),
            ensemble.splits.roots.astype(np.int64),
            terms.values,
        )

    def _tables(self, term: TermColumns, weights: Floats) -> Iterator[Table]:
        """Yield the tables of a term whose columns have these weights."""
        _, effects, _, _ = self._basis.split_weights(self.terms.solution.final.weights)
        used = np.flatnonzero(weights)
        for inputs, columns in self._basis.effects.items():
            in_effect = (used >= columns.start) & (used < columns.stop)
            has_levels = inputs == term.inputs and term.levels.stop > term.levels.start
            if in_effect.any() or (has_levels and not term.is_code):
                axes = tuple(self._main_axis(j) for j in inputs[:1]) if len(inputs) == 1 else self._pair_axes(inputs)
                values = self._values(inputs, axes, columns, weights)
                if has_levels and not term.is_code:
                    values = self._with_effects(values, axes[0], inputs[0], effects[term.levels])
                yield Table(axes, values)
        if term.is_code:
            axis = self._code_axis(term.inputs[0])
            yield Table((axis,), np.concatenate([[0.0], effects[term.levels], [0.0]]))
        if (trees := self._tree_terms) is not None and (term.is_main_effect or not term.grid_inputs):
            sign = 1.0 if term.is_main_effect else -1.0
            for column in np.flatnonzero(trees.ensemble.codes.sources == term.inputs[0]).tolist():
                axis = self._coded_axis(column)
                values = sign * trees.main[column, : self.axes[axis].size]
                if values.any():
                    yield Table((axis,), values)

    def _values(self, inputs: tuple[int, ...], axes: tuple[int, ...], columns: slice, weights: Floats) -> Floats:
        """Return what columns with these weights add at each place of the axes of their inputs."""
        places = [self._representatives(axis) for axis in axes]
        points = np.meshgrid(*places, indexing="ij")
        rows = np.full((points[0].size, self._basis.n_inputs), np.nan)
        for j, values in zip(inputs, points, strict=True):
            rows[:, j] = values.ravel()
        out: Floats = self._basis.rows(rows)[:, columns] @ weights[columns]
        return out.reshape(points[0].shape)

    def _representatives(self, number: int) -> Floats:
        """Return a value of the input at each place of an axis, nan first."""
        axis = self.axes[number]
        if isinstance(axis, Curve):
            return np.append(np.nan, axis.knots)
        assert isinstance(axis, Levels), "tables of columns are on curves and levels"
        values = np.full(axis.size, UNSEEN_CATEGORY)
        values[axis.places[::-1]] = axis.numbers[::-1]
        values[axis.other] = UNSEEN_CATEGORY
        values[0] = np.nan
        return values

    def _with_effects(self, values: Floats, axis_number: int, j: int, effects: Floats) -> Floats:
        """Return the values of a categorical input with the random effects of single categories added."""
        axis = self.axes[axis_number]
        assert isinstance(axis, Levels), "only categories have random effects in a main effect"
        out = values.copy()
        out[axis.places[np.searchsorted(axis.numbers, self._basis.random_effects.numbers_of(j))]] += effects
        return out

    def _main_axis(self, j: int) -> int:
        """Return the number of the axis of the curve or the levels of an input."""
        basis, kind = self._basis, self._basis.tables.kinds[j]
        numbers, scale = NO_NUMBERS, basis.tables.scales[j]
        if kind in (BINARY, NUMERIC):
            begin, end = basis.tables.knot_ends[j : j + 2].tolist()
            knots = np.unique(np.append(basis.tables.knots[begin:end], scale[[LOW, HIGH]]))
            return self._number(("main", j), Curve(j, knots))
        if kind == CATEGORICAL:
            numbers = basis.column_numbers(j)
            if j not in basis.coded_inputs():
                numbers = np.union1d(numbers, basis.random_effects.numbers_of(j))
        return self._number(("main", j), _levels(j, np.sort(numbers)))

    def _code_axis(self, j: int) -> int:
        """Return the number of the axis of the values of a numeric input that have effects of their own."""
        return self._number(("code", j), _levels(j, self._basis.random_effects.numbers_of(j)))

    def _pair_axes(self, inputs: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self._pair_axis(j) for j in inputs)

    def _pair_axis(self, j: int) -> int:
        """Return the number of the axis of an input in its pairs."""
        tables, kind = self._basis.tables, self._basis.tables.kinds[j]
        if kind == BINARY:
            return self._number(("pair", j), Curve(j, tables.scales[j, [LOW, HIGH]]))
        if kind == NUMERIC:
            begin, end = tables.pair_knot_ends[j : j + 2].tolist()
            return self._number(("pair", j), Curve(j, tables.pair_knots[begin:end]))
        begin, end = tables.pair_level_ends[j : j + 2].tolist()
        of_levels = 1 + tables.pair_levels[begin:end].astype(np.int64)
        numbers, pooled = self._basis.column_numbers(j), int(of_levels[-1])
        order = np.argsort(numbers)
        return self._number(
            ("pair", j), Levels(j, numbers[order].astype(np.float64), of_levels[: numbers.size][order], pooled)
        )

    def _coded_axis(self, column: int) -> int:
        """Return the number of the axis of a coded column of the trees."""
        assert self._tree_terms is not None, "asked for where there are trees"
        codes = self._tree_terms.ensemble.codes
        j, pooled = int(codes.sources[column]), int(codes.pooled_codes[column])
        if not pooled:
            begin, end = codes.cut_ends[column : column + 2].tolist()
            return self._number(("trees", column), Steps(j, codes.cuts[begin:end]))
        begin, end = codes.category_ends[column : column + 2].tolist()
        own = codes.category_codes[begin:end].astype(np.int64)
        numbers = np.flatnonzero(own != pooled)
        return self._number(("trees", column), Levels(j, numbers.astype(np.float64), own[numbers], pooled))

    def _crossed(self, number: int) -> CrossedTable:
        """Return the effects of a crossed code."""
        crossed = self._basis.crossed
        _, _, effects, _ = self._basis.split_weights(self.terms.solution.final.weights)
        of_levels = effects[crossed.parts()[number]]
        levels = np.flatnonzero(of_levels)
        code = crossed.codes[number]
        members = tuple(Member(member.input, member.edges) for member in code.members)
        return CrossedTable(members, code.n_levels, levels, of_levels[levels])

    def _number(self, key: tuple[str, int], axis: Axis) -> int:
        """Return the number of an axis, which is added if it is new."""
        if key not in self._numbers:
            self._numbers[key] = len(self.axes)
            self.axes.append(axis)
        return self._numbers[key]


def _levels(j: int, numbers: NDArray[np.int64]) -> Levels:
    """Return the axis on which each of these sorted numbers has a place of its own."""
    return Levels(j, numbers.astype(np.float64), 1 + np.arange(numbers.size), 1 + numbers.size)
