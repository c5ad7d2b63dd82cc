"""The terms of an additive model: columns, values with standard errors, importances, contributions, and row shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.column_names import (
    CATEGORICAL_SUFFIX,
    OTHERS,
    TREES_SUFFIX,
    level_names,
    place_names,
)
from opauc.additive.basis.leaf_indicators import LeafIndicators
from opauc.additive.drift import BinCounts
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, HIGH, LOW, MISSING, NUMERIC
from opauc.additive.kernels.trees import TreeSplits
from opauc.additive.purify import MainPart, find_main_part
from opauc.additive.state import AdditiveFit
from opauc.additive.terms import Explanation, Term
from opauc.types import Floats

# A category number that no category has: its rows belong to the pooled categories.
NO_CATEGORY = -1.0
NO_LEVELS = slice(0, 0)

# The values at which a term is given, as shown to users, and rows that have these values and no others.
Grid = tuple[tuple[tuple[float | str, ...], ...], Floats]


class TermColumns(NamedTuple):
    """The columns of a term with their weights in it, and its random effects.

    `grid_inputs` are the inputs along whose values the term can be given: `inputs`, or none for trees. A column that
    occurs several times has the sum of its weights.
    """

    name: str
    inputs: tuple[int, ...]
    grid_inputs: tuple[int, ...]
    columns: NDArray[np.int64]
    weights: Floats
    levels: slice

    @property
    def is_code(self) -> bool:
        """Whether the term has the effects of single values of a numeric input: it has no columns."""
        return not self.columns.size

    @property
    def is_main_effect(self) -> bool:
        """Whether the term is the curve or the levels of an input."""
        return len(self.grid_inputs) == 1 and not self.is_code

    def plus(self, columns: NDArray[np.int64], weights: Floats) -> TermColumns:
        """Return the term with more weights of columns."""
        return self._replace(columns=np.append(self.columns, columns), weights=np.append(self.weights, weights))


@dataclass(frozen=True, eq=False)
class Terms:
    """The terms of a fitted state, given the names of its inputs and the categories by number.

    Sums over rows are weighted by their curvature, p (1 - p): rows near the decision boundary count most. What a pair
    or the trees do by one input alone belongs to the main effect of that input (`purify`).

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.explain import Terms
    >>> from opauc.additive.settings import AdditiveSettings
    >>> from opauc.additive.state import AdditiveFit
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> labels = (rows[:, 0] + np.random.default_rng(1).normal(size=400) > 0).astype(np.int8)
    >>> fitted = AdditiveFit.start(AdditiveSettings(), np.zeros(2, bool), 0).update(rows, labels)
    >>> terms = Terms(fitted, ("age", "fare"), ({}, {}))
    >>> terms.importances()["age"] > 5 * terms.importances()["fare"]
    True
    """

    solution: AdditiveFit
    inputs: Sequence[str]
    categories: Sequence[Mapping[int, str]]

    @property
    def basis(self) -> Basis:
        """The basis of the fitted state."""
        return self.solution.current.basis

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the terms: "age", "age × fare", "shop (categorical)", "age (trees)"."""
        return tuple(term.name for term in self.term_columns)

    def importances(self) -> dict[str, float]:
        """Return the standard deviation of each term over the rows."""
        return dict(zip(self.names, self._deviations.tolist(), strict=True))

    def input_importances(self) -> Floats:
        """Return the importance of each input: the sum over its terms, that of a pair shared evenly by its two."""
        importances = np.zeros(len(self.inputs))
        for term, deviation in zip(self.term_columns, self._deviations.tolist(), strict=True):
            importances[list(term.inputs)] += deviation / len(term.inputs)
        return importances

    def list_terms(self) -> list[Term]:
        """Return all terms, the most important first."""
        return list(self._terms)

    @cached_property
    def _terms(self) -> tuple[Term, ...]:
        covariance = self.solution.current.model.covariance(self.solution.final)
        terms = [self._describe(number, covariance) for number in range(len(self.term_columns))]
        return tuple(sorted(terms, key=lambda term: -term.importance))

    def explain(self, rows: Floats) -> Explanation:
        """Return the scores of rows as sums of terms."""
        means, column_weights, level_weights = self._term_means, self._column_weights, self._level_weights
        contributions = np.empty((rows.shape[0], means.size))
        for part, block in self.basis.blocks(rows):
            levels = self.basis.random_effects.rows(rows[part])
            contributions[part] = (block @ column_weights + levels @ level_weights).toarray()
        roots = 0.0 if self._leaf_shares is None else self._leaf_shares.roots
        intercept = self.solution.final.weights[0] + roots
        return Explanation(self.names, contributions - means, float(intercept + means.sum()))

    @cached_property
    def term_columns(self) -> list[TermColumns]:
        """The columns of each term: main effects, pairs, coded inputs, then the shares of inputs in trees.

        What pairs and trees do by single inputs alone is moved to the main effects of these.
        """
        terms = self._fitted_terms.copy()
        main_effects = {term.inputs[0]: number for number, term in enumerate(terms) if term.is_main_effect}
        for number, part in self._main_parts.items():
            for j, columns, matrix in zip(*part, strict=True):
                weights = matrix @ self._fitted_terms[number].weights
                terms[number] = terms[number].plus(columns, -weights)
                terms[main_effects[j]] = terms[main_effects[j]].plus(columns, weights)
        return terms

    @cached_property
    def _fitted_terms(self) -> list[TermColumns]:
        """The terms as they were fitted: pairs and trees include what single inputs do."""
        weights, coded = self.solution.final.weights, self.basis.coded_inputs()
        every_column, terms = np.arange(self.basis.n_columns), []
        for inputs, columns in self.basis.effects.items():
            if inputs:
                has_levels = len(inputs) == 1 and inputs[0] not in coded
                levels = self.basis.random_effects.of_input(inputs[0]) if has_levels else NO_LEVELS
                name = " × ".join(self.inputs[j] for j in inputs)
                terms.append(TermColumns(name, inputs, inputs, every_column[columns], weights[columns], levels))
        for j in coded:
            name, levels = self.inputs[j] + CATEGORICAL_SUFFIX, self.basis.random_effects.of_input(j)
            terms.append(TermColumns(name, (j,), (j,), every_column[:0], np.empty(0), levels))
        if self._leaf_shares is not None:
            leaves = every_column[self.basis.effects[()]]
            for j, share in zip(self._leaf_shares.inputs.tolist(), self._leaf_shares.shares.T, strict=True):
                terms.append(TermColumns(self.inputs[j] + TREES_SUFFIX, (j,), (), leaves, share, NO_LEVELS))
        return terms

    @cached_property
    def _main_parts(self) -> dict[int, MainPart]:
        """What pairs and trees do by single inputs alone, by the number of the term."""
        return {
            number: find_main_part(self.basis, self._gram, term.inputs, term.columns)
            for number, term in enumerate(self._fitted_terms)
            if len(term.grid_inputs) != 1 and all((j,) in self.basis.effects for j in term.inputs)
        }

    def _describe(self, number: int, covariance: Floats) -> Term:
        """Return a term with its values along a grid, their standard errors, and its importance."""
        term, deviation, mean = self.term_columns[number], float(self._deviations[number]), self._term_means[number]
        inputs = tuple(self.inputs[j] for j in term.inputs)
        if not term.grid_inputs:
            return Term(term.name, inputs, (), np.empty(0), np.empty(0), deviation)
        at, rows = self._code_grid(term.inputs[0]) if term.is_code else self._grid(term.grid_inputs)
        columns = self.basis.rows(rows).toarray()
        levels = self.basis.random_effects.rows(rows)[:, term.levels]
        value = columns[:, term.columns] @ term.weights + levels @ self._all_level_weights[term.levels] - mean
        # The error of the centered term: the intercept has the rest.
        variance = self._variances(number, columns - self._column_means, covariance)
        error = np.sqrt(np.maximum(variance + levels @ self._level_variances[term.levels], 0.0))
        shape = tuple(len(values) for values in at)
        value, error = value.reshape(shape), error.reshape(shape)
        for numbers in (value, error):
            numbers.setflags(write=False)  # terms are kept
        return Term(term.name, inputs, at, value, error, deviation)

    def _variances(self, number: int, columns: Floats, covariance: Floats) -> Floats:
        """Return the variance of a main effect or a pair in rows of centered columns; trees count as known."""
        term = self._fitted_terms[number]
        derivatives = np.zeros_like(columns)
        derivatives[:, term.columns] = columns[:, term.columns]
        for other, part in self._main_parts.items():
            pair = self._fitted_terms[other]
            for j, at, matrix in zip(*part, strict=True) if pair.grid_inputs else ():
                if other == number:
                    derivatives[:, pair.columns] -= columns[:, at] @ matrix
                elif term.is_main_effect and term.inputs == (j,):
                    derivatives[:, pair.columns] += columns[:, at] @ matrix
        used = np.flatnonzero(derivatives.any(axis=0))
        derivatives = derivatives[:, used]
        variances: Floats = np.einsum("ia,ia->i", derivatives @ covariance[np.ix_(used, used)], derivatives)
        return variances

    @cached_property
    def _term_means(self) -> Floats:
        """The mean of each term over the rows."""
        means: Floats = self._column_means @ self._column_weights + self._level_shares @ self._level_weights
        return means

    @cached_property
    def _deviations(self) -> Floats:
        """The standard deviation of each term over the rows."""
        total, weights = max(self._gram[0, 0], 1e-300), self._column_weights
        squares = 2.0 * weights.multiply(self._gram @ weights).sum(axis=0)
        squares = (squares - np.diagonal(self._gram) @ weights.power(2)) / total
        for number, term in enumerate(self.term_columns):
            effects = self._all_level_weights[term.levels]
            if effects.size:  # added to the weight of the column that pools these categories
                pooled = 0.0 if term.is_code else self._column_weights[self.basis.pooled_column(term.inputs[0]), number]
                squares[number] += float(self._level_shares[term.levels] @ (effects * (effects + 2.0 * pooled)))
        deviations: Floats = np.sqrt(np.maximum(squares - self._term_means**2, 0.0))
        return deviations

    @cached_property
    def _leaf_shares(self) -> LeafShares | None:
        """The leaf weights, divided among the inputs; None where there are no trees."""
        if not isinstance(self.basis.trees, LeafIndicators):
            return None
        columns = self.basis.effects[()]
        weights, mass = self.solution.final.weights[columns], self._column_means[columns]
        return divide_leaf_weights(self.basis.trees.splits, weights, mass)

    @cached_property
    def _column_weights(self) -> csr_array:
        """The weight of each column in each term."""
        parts = [(term.columns, term.weights) for term in self.term_columns]
        return _stack_columns(parts, self.basis.n_columns)

    @cached_property
    def _level_weights(self) -> csr_array:
        """The weight of each random effect in each term."""
        every_level = np.arange(self.basis.random_effects.size)
        parts = [(every_level[term.levels], self._all_level_weights[term.levels]) for term in self.term_columns]
        return _stack_columns(parts, self.basis.random_effects.size)

    @cached_property
    def _all_level_weights(self) -> Floats:
        """The weights of the random effects."""
        return self.solution.final.weights[self.basis.n_columns :]

    @cached_property
    def _level_shares(self) -> Floats:
        """The share of the rows that has each random effect."""
        shares: Floats = self.solution.current.model.random_effects.curvature / max(self._gram[0, 0], 1e-300)
        return shares

    @cached_property
    def _level_variances(self) -> Floats:
        return self.solution.current.model.random_effect_variances(self.solution.final)

    @property
    def _gram(self) -> Floats:
        """The lower triangle of the Gram matrix of the columns."""
        return self.solution.current.model.sums.gram

    @cached_property
    def _column_means(self) -> Floats:
        """The mean of each column over the rows."""
        means: Floats = self._gram[:, 0] / max(self._gram[0, 0], 1e-300)
        return means

    def _code_grid(self, j: int) -> Grid:
        """Return the values of a coded input, and rows that have them."""
        numbers = self.basis.random_effects.numbers_of(j)
        rows = np.full((numbers.size, self.basis.n_inputs), np.nan)
        rows[:, j] = numbers
        return (tuple(map(str, numbers.tolist())),), rows

    def _grid(self, inputs: tuple[int, ...]) -> Grid:
        """Return the values of a main effect or a pair, and a row for each combination of them."""
        axes = [self._axis(j, in_pair=len(inputs) == 2) for j in inputs]
        points = np.meshgrid(*(numbers for _, numbers in axes), indexing="ij")
        rows = np.full((points[0].size, self.basis.n_inputs), np.nan)
        for j, values in zip(inputs, points, strict=True):
            rows[:, j] = values.ravel()
        return tuple(shown for shown, _ in axes), rows

    def _axis(self, j: int, in_pair: bool) -> tuple[tuple[float | str, ...], Floats]:
        """Return the values of an input at which its terms are given, as shown and as numbers."""
        tables, kind = self.basis.tables, self.basis.tables.kinds[j]
        numbers, names = np.empty(0), None
        if kind == CATEGORICAL:
            names, numbers = self._pair_category_axis(j) if in_pair else self._category_axis(j)
        elif kind == BINARY:
            numbers = tables.scales[j, [LOW, HIGH]]
        elif kind == NUMERIC and not in_pair:
            numbers = _curve_values(self.basis, j)
        elif kind == NUMERIC:
            numbers = tables.pair_knots[tables.pair_knot_ends[j] : tables.pair_knot_ends[j + 1]]
        shown: tuple[float | str, ...] = tuple(numbers.tolist() if names is None else names)
        if tables.columns[j, MISSING] >= 0:
            return (*shown, "missing"), np.append(numbers, np.nan)
        return shown, numbers

    def _category_axis(self, j: int) -> tuple[list[str], Floats]:
        """Return the categories of an input, and a category number for each."""
        random_effects = self.basis.random_effects.numbers_of(j)
        names = level_names(self.basis, j, self.categories[j])
        names += [self.categories[j].get(number, str(number)) for number in random_effects.tolist()]
        return names, np.concatenate([self.basis.column_numbers(j), [NO_CATEGORY], random_effects])

    def _pair_category_axis(self, j: int) -> tuple[list[str], Floats]:
        """Return the categories of an input in its pairs, and a category number for each."""
        tables = self.basis.tables
        numbers = np.append(self.basis.column_numbers(j), NO_CATEGORY)
        places = tables.pair_levels[tables.pair_level_ends[j] : tables.pair_level_ends[j + 1]]
        levels = np.array([int(np.flatnonzero(places == place)[-1]) for place in range(int(tables.pair_sizes[j]))])
        names = place_names(self.basis, j, "", self.categories[j])
        return [name.partition("=")[2] or OTHERS for name in names], numbers[levels]


def _curve_values(basis: Basis, j: int) -> Floats:
    """Return the values at which the curve of a numeric input is given: its knots and its range."""
    tables = basis.tables
    knots = tables.knots[tables.knot_ends[j] : tables.knot_ends[j + 1]]
    return np.unique([*knots, tables.scales[j, LOW], tables.scales[j, HIGH]])


def _stack_columns(parts: Sequence[tuple[NDArray[np.int64], Floats]], n_rows: int) -> csr_array:
    """Return the sparse matrix whose columns have these numbers in these rows, and zeros elsewhere."""
    rows = np.concatenate([np.empty(0, np.int64), *(part for part, _ in parts)])
    columns = np.repeat(np.arange(len(parts)), [numbers.size for _, numbers in parts])
    numbers = np.concatenate([np.empty(0), *(numbers for _, numbers in parts)])
    stacked = csr_array((numbers, (rows, columns)), shape=(n_rows, len(parts)))
    stacked.eliminate_zeros()  # few inputs have a share in a leaf
    return stacked


class LeafShares(NamedTuple):
    """The inputs that trees split on, the share of each in every leaf weight, and the sum of all root values."""

    inputs: NDArray[np.int32]
    shares: Floats  # (n_leaves, n_inputs)
    roots: float  # part of the score of every row


def divide_leaf_weights(splits: TreeSplits, weights: Floats, mass: Floats) -> LeafShares:
    """Return each leaf weight divided among the inputs of the splits that lead to the leaf.

    The value of a node is the mean weight of the leaves below it, weighted by
    the mass of their rows, or their plain mean where there are none. A split gives its
    input the difference between the child and the node: a leaf weight is the
    value of the root and the sum of its shares.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.explain import divide_leaf_weights
    >>> from opauc.additive.kernels.trees import TreeSplits
    >>> children = np.array([[~0, 1], [~1, ~2]], np.int32)
    >>> splits = TreeSplits(np.array([4, 7], np.int32), np.zeros(2, np.uint8), children, np.zeros(1, np.int32))
    >>> inputs, shares, roots = divide_leaf_weights(splits, np.array([0.0, 1.0, 5.0]), np.array([2.0, 1.0, 1.0]))
    >>> inputs.tolist(), roots
    ([4, 7], 1.5)
    >>> shares
    array([[-1.5,  0. ],
           [ 1.5, -2. ],
           [ 1.5,  2. ]])
    """
    n_splits, n_leaves = splits.inputs.size, weights.size
    mass = np.maximum(mass, 0.0)  # subtracting rows may leave sums that are rounded below zero
    # Nodes are the splits, then the leaves from the last to the first: leaf k is node ~k, as in `children`.
    sums = np.zeros((n_splits + n_leaves, 4))
    sums[n_splits:] = np.stack([mass * weights, mass, weights, np.ones(n_leaves)], axis=1)[::-1]
    for split in range(n_splits - 1, -1, -1):
        sums[split] = sums[splits.children[split]].sum(axis=0)
    weighted, total, plain, count = sums.T
    values = np.where(total > 0.0, weighted / np.where(total > 0.0, total, 1.0), plain / count)
    values[n_splits:] = weights[::-1]
    inputs, positions = np.unique(splits.inputs, return_inverse=True)
    shares = np.zeros((values.size, inputs.size))
    for split, (children, position) in enumerate(zip(splits.children, positions, strict=True)):
        shares[children] = shares[split]
        shares[children, position] += values[children] - values[split]
    return LeafShares(inputs, shares[n_splits:][::-1], float(values[splits.roots].sum()))


def code_row_shares(bin_counts: BinCounts, code_counts: Floats) -> Floats:
    """Return the share of the rows that have each value of a coded input, from the number of rows of each."""
    shares: Floats = code_counts / max(float(bin_counts.first[0] + bin_counts.later[0]), 1e-300)
    return shares


def row_shares(basis: Basis, bin_counts: BinCounts, level_counts: Floats, j: int) -> Floats | None:
    """Return the share of the rows at each value of the main effect of an input; None where it is not counted.

    A value between two knots counts partly at each, as its basis functions do;
    `level_counts` has the number of rows of each random effect.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.drift import BinCounts
    >>> from opauc.additive.explain import row_shares
    >>> rows = np.array([[0.0], [1.0], [2.0], [np.nan]])
    >>> basis = Basis.of(rows, np.ones(4), np.zeros(1, bool), n_knots=8)
    >>> row_shares(basis, BinCounts.of(basis.rows(rows)), np.empty(0), 0)
    array([0.25, 0.25, 0.25, 0.25])
    """
    tables, kind = basis.tables, basis.tables.kinds[j]
    linear, first, missing = tables.columns[j].tolist()
    sums = bin_counts.first + bin_counts.later
    total = max(float(sums[0]), 1e-300)
    n_missing = sums[missing : missing + 1] if missing >= 0 else np.empty(0)
    if kind == CATEGORICAL:
        random_effects = level_counts[basis.random_effects.of_input(j)]
        counts = np.concatenate([sums[first : first + tables.n_levels[j]], random_effects])
        counts[int(tables.n_levels[j]) - 1] -= random_effects.sum()  # the pooled column counts these too
    elif kind == BINARY:
        counts = np.array([total - float(n_missing.sum()) - sums[linear], sums[linear]])
    elif kind == NUMERIC and first >= 0:
        knots, values = tables.knots[tables.knot_ends[j] : tables.knot_ends[j + 1]], _curve_values(basis, j)
        counts = np.zeros(values.size)
        counts[np.searchsorted(values, knots)] = sums[first : first + knots.size]
    elif kind == NUMERIC:
        return None
    else:
        counts = np.empty(0)
    shares: Floats = np.maximum(np.concatenate([counts, n_missing]), 0.0) / total
    return shares
