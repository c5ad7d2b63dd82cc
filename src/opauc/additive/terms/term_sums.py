"""The numbers of terms, computed from the sums of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.basis import Basis
from opauc.additive.drift import BinCounts
from opauc.additive.editing.fixed_terms import FixedTerms
from opauc.additive.editing.ledger import CODES, CROSSED, MAIN, PAIR, TREES, TermKey
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, NUMERIC
from opauc.additive.state import AdditiveFit
from opauc.additive.terms.grids import columns_of, knots_of, main_grid
from opauc.additive.terms.purify import MainPart, find_main_part
from opauc.additive.terms.tree_terms import TreeTerms
from opauc.types import Floats

# Rows over which the deviation of trees is taken, at most.
MAX_KEPT = 4096


class TermColumns(NamedTuple):
    """The columns that were fitted for a term, and its random effects.

    `grid_inputs` are the inputs along whose values the term can be given: `inputs`, or none for trees, which have
    neither columns nor random effects.
    """

    name: str
    inputs: tuple[int, ...]
    grid_inputs: tuple[int, ...]
    columns: NDArray[np.int64]
    levels: slice
    crossed: int | None = None  # the number of its crossed code

    @property
    def key(self) -> TermKey:
        """The kind of the term and its inputs."""
        if self.crossed is not None:
            return TermKey(CROSSED, self.inputs)
        if not self.grid_inputs:
            return TermKey(TREES, self.inputs)
        return TermKey(PAIR if len(self.inputs) > 1 else CODES if self.is_code else MAIN, self.inputs)

    @property
    def is_code(self) -> bool:
        """Whether the term has the effects of single values of a numeric input: it has no columns."""
        return bool(self.grid_inputs) and not self.columns.size and self.crossed is None

    @property
    def is_main_effect(self) -> bool:
        """Whether the term is the curve or the levels of an input."""
        return len(self.grid_inputs) == 1 and not self.is_code


@dataclass(frozen=True, eq=False)
class TermSums:
    """The numbers of terms, computed from the sums of a fit.

    What pairs and trees do by single inputs alone is moved to the main effects of these.
    """

    solution: AdditiveFit
    terms: Sequence[TermColumns]

    @cached_property
    def column_weights(self) -> csr_array:
        """The weight of each column in each term, of shape (n_columns, n_terms)."""
        parts = [[(term.columns, self._fitted_weights(number))] for number, term in enumerate(self.terms)]
        main_effects = {term.inputs[0]: number for number, term in enumerate(self.terms) if term.is_main_effect}
        for number, part in self._main_parts.items():
            fitted = self._fitted_weights(number)
            for j, columns, matrix in zip(*part, strict=True):
                parts[number].append((columns, -(matrix @ fitted)))
                parts[main_effects[j]].append((columns, matrix @ fitted))
        if self._fixed is not None:
            shares = {term.inputs[0]: number for number, term in enumerate(self.terms) if term.key.kind == TREES}
            for j, main in self._fixed.mains.items():
                columns = np.append(0, columns_of(self._basis, (j,)))
                parts[main_effects[j]] = [(columns, np.append(main.intercept, main.columns))]
                if j in shares and j in self._fixed.tree_parts:  # the curve has it, the trees do it
                    of_trees = self._fixed.tree_parts[j]
                    parts[shares[j]].append((columns, -np.append(of_trees.intercept, of_trees.columns)))
        joined = [tuple(map(np.concatenate, zip(*of_term, strict=True))) for of_term in parts]
        return stack_columns([(columns, weights) for columns, weights in joined], self._basis.n_columns)

    @cached_property
    def means(self) -> Floats:
        """What is taken off each term: its mean over the rows, nothing of a term that users have set."""
        return np.where(self._is_fixed, 0.0, self._means)

    @property
    def mean_contributions(self) -> Floats:
        """The mean contribution of each term over the rows: zero but for terms that users have set."""
        return np.where(self._is_fixed, self._means, 0.0)

    def extremes(self, grids: Sequence[Floats]) -> Floats:
        """Return the lowest and the highest contribution of each term: along its grid, or over kept rows for trees."""
        extremes, columns = np.zeros((2, len(self.terms))), self._basis.rows(self._kept_values) @ self.column_weights
        for number, term in enumerate(self.terms):
            values = self.value_along(number, grids[number])
            if not term.grid_inputs:
                values = columns[:, [number]].toarray()[:, 0] + self._of_trees[:, number] - self.means[number]
            extremes[:, number] = [values.min(initial=np.inf), values.max(initial=-np.inf)] if values.size else 0.0
        return extremes

    @cached_property
    def _is_fixed(self) -> NDArray[np.bool_]:
        """Which terms users have set or removed."""
        fixed = {} if self._fixed is None else self._fixed.values
        return np.array([term.key in fixed for term in self.terms], np.bool_)

    @property
    def _fixed(self) -> FixedTerms | None:
        return self.solution.fixed_terms

    @cached_property
    def _means(self) -> Floats:
        """The mean of each term over the rows."""
        means: Floats = self._column_means @ self.column_weights
        for number, term in enumerate(self.terms):
            means[number] += float(self._level_shares[term.levels] @ self._level_weights[term.levels])
            if term.crossed is not None:
                shares, effects = self._crossed(term.crossed)
                means[number] += float(shares @ effects)
        means += self._of_trees.mean(axis=0)
        return means

    @cached_property
    def deviations(self) -> Floats:
        """The standard deviation of each term over the rows."""
        total, weights = max(self._gram[0, 0], 1e-300), self.column_weights
        squares = 2.0 * weights.multiply(self._gram @ weights).sum(axis=0)
        squares = (squares - np.diagonal(self._gram) @ weights.power(2)) / total
        for number, term in enumerate(self.terms):
            if term.crossed is not None:
                shares, effects = self._crossed(term.crossed)
                squares[number] += float(shares @ effects**2)
            effects = self._level_weights[term.levels]
            if effects.size:  # added to the weight of the column that pools these categories
                pooled = 0.0 if term.is_code else weights[self._basis.pooled_column(term.inputs[0]), number]
                squares[number] += float(self._level_shares[term.levels] @ (effects * (effects + 2.0 * pooled)))
        # Of the trees there are the contributions to kept rows, of the columns their Gram matrix.
        of_trees, means = self._of_trees, self._means - self._of_trees.mean(axis=0)
        variances = np.maximum(squares - means**2, 0.0) + of_trees.var(axis=0)
        if self.trees is not None:
            of_columns = (self._basis.rows(self._kept_values) @ weights).toarray()
            covariances = np.mean((of_columns - of_columns.mean(axis=0)) * of_trees, axis=0)
            variances += 2.0 * covariances
        deviations: Floats = np.sqrt(np.maximum(variances, 0.0))
        return deviations

    @cached_property
    def baseline(self) -> float:
        """The mean score."""
        roots = 0.0 if self.trees is None else self.trees.roots
        baseline = float(self.solution.final.weights[0] + roots + self.means.sum())
        # Functions of one input add up to nothing but where users have set one.
        return baseline if self._fixed is None else baseline - float(self.column_weights[[0]].sum())

    @cached_property
    def trees(self) -> TreeTerms | None:
        """What the trees do by each input; None where the model has no trees."""
        model, final = self.solution.current.model, self.solution.final
        leaf_weights = final.weights[self._basis.n_additive :]
        if model.blend is None or not leaf_weights.any():
            return None
        fixed = () if self._fixed is None else self._fixed.mains
        has_main_effect = np.array(
            [(j,) in self._basis.effects and j not in fixed for j in range(self._basis.n_inputs)]
        )
        return TreeTerms.of(model.blend.ensemble, leaf_weights, model.blend.kept, has_main_effect)

    @cached_property
    def _kept_codes(self) -> NDArray[np.uint8]:
        """Codes of some of the rows that the trees were grown on; none without trees."""
        blend = self.solution.current.model.blend
        if self.trees is None or blend is None:
            return np.empty((0, self._basis.n_inputs), np.uint8)
        return blend.kept[:: max(1, len(blend.kept) // MAX_KEPT)]

    @cached_property
    def _kept_values(self) -> Floats:
        """Values with these codes."""
        blend = self.solution.current.model.blend
        n_inputs = self._basis.n_inputs
        if blend is None:
            return np.empty((0, n_inputs))
        return blend.ensemble.codes.decode(self._kept_codes, n_inputs)

    @cached_property
    def _of_trees(self) -> Floats:
        """What the trees add to each term in kept rows, of shape (n_rows, n_terms); a row of zeros without trees."""
        out = np.zeros((max(1, len(self._kept_codes)), len(self.terms)))
        if self.trees is not None:
            add_tree_contributions(self.trees, self.terms, self._kept_codes, self._basis.n_inputs, out)
        return out

    def along(self, grids: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Return the values of each term in the rows of its grid, and their standard errors, one after the other."""
        covariance, level_variances = self.solution.covariance(), self.solution.random_effect_variances()
        parts = [
            (self.value_along(number, rows), self._errors(number, rows, covariance, level_variances))
            for number, rows in enumerate(grids)
        ]
        values, errors = zip((np.empty(0), np.empty(0)), *parts, strict=True)
        return np.concatenate(values), np.concatenate(errors)

    def value_along(self, number: int, rows: Floats) -> Floats:
        """Return the values of a term in the rows of its grid."""
        if not len(rows):
            return np.empty(0)
        if (code := self.terms[number].crossed) is not None:
            _, _, effects, _ = self._basis.split_weights(self.solution.final.weights)
            of_levels: Floats = self._basis.crossed.contributions(rows, effects)[:, code] - self.means[number]
            return of_levels
        term, columns = self.terms[number], self._basis.rows(rows).toarray()
        levels = self._basis.random_effects.rows(rows)[:, term.levels]
        weights = self.column_weights[:, [number]].toarray()[:, 0]
        value: Floats = columns @ weights + levels @ self._level_weights[term.levels] - self.means[number]
        if self.trees is not None and term.is_main_effect:
            codes = self.trees.ensemble.codes.of_rows(rows)
            value += self.trees.main_shares(codes, self._basis.n_inputs)[:, term.inputs[0]]
        return value

    def _errors(self, number: int, rows: Floats, covariance: Floats, level_variances: Floats) -> Floats:
        """Return the standard errors of these values: none of a term that users have set."""
        if not len(rows) or self._is_fixed[number]:
            return np.zeros(len(rows))
        term = self.terms[number]
        if term.crossed is not None:
            crossed, sums = self._basis.crossed, self.solution.current.model.crossed
            of_levels: Floats = crossed.contributions(rows, sums.variances(crossed))[:, term.crossed]
            return np.sqrt(of_levels)
        # The error of the centered term: the intercept has the rest.
        variance = self._variances(number, self._basis.rows(rows).toarray() - self._column_means, covariance)
        levels = self._basis.random_effects.rows(rows)[:, term.levels]
        errors: Floats = np.sqrt(np.maximum(variance + levels @ level_variances[term.levels], 0.0))
        return errors

    def _variances(self, number: int, columns: Floats, covariance: Floats) -> Floats:
        """Return the variance of a main effect or a pair in rows of centered columns; trees count as known."""
        term = self.terms[number]
        derivatives = np.zeros_like(columns)
        derivatives[:, term.columns] = columns[:, term.columns]
        for other, part in self._main_parts.items():
            pair = self.terms[other]
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
    def _main_parts(self) -> dict[int, MainPart]:
        """What pairs do by single inputs alone, by the number of the term."""
        return {
            number: find_main_part(self._basis, self._gram, term.inputs, term.columns)
            for number, term in enumerate(self.terms)
            if len(term.grid_inputs) == 2
            and term.crossed is None
            and all((j,) in self._basis.effects for j in term.inputs)
        }

    def _fitted_weights(self, number: int) -> Floats:
        """Return the weights of the columns of a term as fitted: pairs include what single inputs do."""
        return self.solution.final.weights[self.terms[number].columns]

    @property
    def _basis(self) -> Basis:
        return self.solution.current.basis

    @property
    def _level_weights(self) -> Floats:
        _, effects, _, _ = self._basis.split_weights(self.solution.final.weights)
        return effects

    def _crossed(self, number: int) -> tuple[Floats, Floats]:
        """Return the share of the rows of each level of a crossed code, half of it as a row has two, and its effect."""
        part = self._basis.crossed.parts()[number]
        _, _, effects, _ = self._basis.split_weights(self.solution.final.weights)
        curvature = self.solution.current.model.crossed.curvature[part]
        return 0.5 * curvature / max(self._gram[0, 0], 1e-300), effects[part]

    @cached_property
    def _level_shares(self) -> Floats:
        """The share of the rows that has each random effect."""
        curvature = self.solution.current.model.random_effects.curvature[: self._basis.random_effects.size]
        shares: Floats = curvature / max(self._gram[0, 0], 1e-300)
        return shares

    @property
    def _gram(self) -> Floats:
        """The lower triangle of the Gram matrix of the columns."""
        return self.solution.current.model.sums.gram

    @cached_property
    def _column_means(self) -> Floats:
        """The mean of each column over the rows."""
        means: Floats = self._gram[:, 0] / max(self._gram[0, 0], 1e-300)
        return means


def add_tree_contributions(
    trees: TreeTerms, terms: Sequence[TermColumns], codes: NDArray[np.uint8], n_inputs: int, out: Floats
) -> None:
    """Add what the trees do to the contributions of coded rows: to main effects, and to the shares of inputs."""
    shares, main = trees.shares(codes, n_inputs), trees.main_shares(codes, n_inputs)
    for number, term in enumerate(terms):
        if not term.grid_inputs:
            out[:, number] += shares[:, term.inputs[0]] - main[:, term.inputs[0]]
        elif term.is_main_effect:
            out[:, number] += main[:, term.inputs[0]]


def stack_columns(parts: Sequence[tuple[NDArray[np.int64], Floats]], n_rows: int) -> csr_array:
    """Return the sparse matrix whose columns have these numbers in these rows, and zeros elsewhere."""
    rows = np.concatenate([np.empty(0, np.int64), *(part for part, _ in parts)])
    columns = np.repeat(np.arange(len(parts)), [numbers.size for _, numbers in parts])
    numbers = np.concatenate([np.empty(0), *(numbers for _, numbers in parts)])
    stacked = csr_array((numbers, (rows, columns)), shape=(n_rows, len(parts)))
    stacked.eliminate_zeros()  # few inputs have a share in a leaf
    return stacked


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
    >>> from opauc.additive.terms.term_sums import row_shares
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
        knots, values = knots_of(basis, j), main_grid(basis, j)
        values = values[: values.size - n_missing.size]
        counts = np.zeros(values.size)
        counts[np.searchsorted(values, knots)] = sums[first : first + knots.size]
    elif kind == NUMERIC:
        return None
    else:
        counts = np.empty(0)
    shares: Floats = np.maximum(np.concatenate([counts, n_missing]), 0.0) / total
    return shares
