"""The terms of an additive model: columns, values with standard errors, importances, contributions, and row shares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.column_names import (
    CATEGORICAL_SUFFIX,
    CODES_SUFFIX,
    OTHERS,
    TREES_SUFFIX,
    level_names,
    place_names,
)
from opauc.additive.basis.crossed_codes import Member
from opauc.additive.drift import BinCounts
from opauc.additive.editing.fixed_terms import FixedTerms
from opauc.additive.editing.ledger import CODES, CROSSED, MAIN, PAIR, TREES, TermKey
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, NUMERIC
from opauc.additive.state import AdditiveFit
from opauc.additive.terms.grids import columns_of, has_missing, knots_of, main_grid, pair_grid
from opauc.additive.terms.purify import MainPart, find_main_part
from opauc.additive.terms.terms import MISSING_NAME, Explanation, SavedTerms, Term, is_beyond_error, unknown_term
from opauc.additive.terms.tree_terms import TreeTerms
from opauc.core.threads import work_in_order
from opauc.types import Floats

NO_LEVELS = slice(0, 0)
# Rows over which the deviation of trees is taken, at most.
MAX_KEPT = 4096

# Values of an input at which a term is given, as shown to users and as numbers.
Axis: TypeAlias = tuple[tuple[float | str, ...], Floats]


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
class Terms:
    """The terms of a fitted state, given the names of its inputs and the categories by number.

    Sums over rows are weighted by their curvature, p (1 - p): rows near the decision boundary count most. What a pair
    or the trees do by one input alone belongs to the main effect of that input (`purify`).

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.terms.explain import Terms
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
        """Names of the terms: "age", "age × fare", "shop (categorical)", "shop × day × hour", "age (trees)"."""
        return tuple(term.name for term in self.term_columns)

    def importances(self) -> dict[str, float]:
        """Return the standard deviation of each term over the rows."""
        return dict(zip(self.names, self.numbers.deviations.tolist(), strict=True))

    def input_importances(self) -> Floats:
        """Return the importance of each input: the sum over its terms, that of a pair shared evenly by its two."""
        importances = np.zeros(len(self.inputs))
        for term, deviation in zip(self.term_columns, self.numbers.deviations.tolist(), strict=True):
            importances[list(term.inputs)] += deviation / len(term.inputs)
        return importances

    def list_terms(self) -> list[Term]:
        """Return all terms, the most important first."""
        return list(self._terms)

    def explain(self, rows: Floats) -> Explanation:
        """Return the scores of rows as sums of terms."""
        column_weights, means, level_weights = self.numbers.column_weights, self.numbers.means, self._level_weights
        contributions, basis = np.empty((rows.shape[0], means.size)), self.basis

        def contribute(part: slice) -> None:
            block, levels = basis.rows(rows[part]), basis.random_effects.rows(rows[part])
            contributions[part] = (block @ column_weights + levels @ level_weights).toarray()
            contributions[part] += self._crossed_contributions(rows[part])
            if self.numbers.trees is not None:
                codes = self.numbers.trees.ensemble.codes.of_rows(rows[part])
                add_tree_contributions(self.numbers.trees, self.term_columns, codes, rows.shape[1], contributions[part])

        work_in_order(contribute, basis.row_blocks(rows.shape[0]), lambda _: None)
        return Explanation(self.names, contributions - means, self.numbers.baseline)

    def _crossed_contributions(self, rows: Floats) -> Floats:
        """Return the effects of crossed codes on rows, by term."""
        contributions = np.zeros((len(rows), len(self.term_columns)))
        if self.basis.crossed.size:
            _, _, effects, _ = self.basis.split_weights(self.solution.final.weights)
            terms = [number for number, term in enumerate(self.term_columns) if term.crossed is not None]
            contributions[:, terms] = self.basis.crossed.contributions(rows, effects)
        return contributions

    @cached_property
    def numbers(self) -> TermSums | SavedTerms:
        """What the sums of the fit say about the terms."""
        saved = self.solution.saved_terms
        return TermSums(self.solution, self.term_columns) if saved is None else saved

    @cached_property
    def term_columns(self) -> list[TermColumns]:
        """The columns of each term: main effects, pairs, coded inputs, crossed codes, then shares in trees."""
        coded, none, terms = self.basis.coded_inputs(), np.empty(0, np.int64), []
        for inputs in filter(None, self.basis.effects):
            has_levels = len(inputs) == 1 and inputs[0] not in coded
            levels = self.basis.random_effects.of_input(inputs[0]) if has_levels else NO_LEVELS
            key = TermKey(MAIN if len(inputs) == 1 else PAIR, inputs)
            terms.append(TermColumns(self.name_of(key), inputs, inputs, columns_of(self.basis, inputs), levels))
        for j in coded:
            levels = self.basis.random_effects.of_input(j)
            terms.append(TermColumns(self.name_of(TermKey(CODES, (j,))), (j,), (j,), none, levels))
        for number, code in enumerate(self.basis.crossed.codes):
            name = self.name_of(TermKey(CROSSED, code.inputs))
            terms.append(TermColumns(name, code.inputs, code.inputs, none, NO_LEVELS, number))
        if self.basis.trees is not None and self._leaf_weights.any():
            terms += [
                TermColumns(self.name_of(TermKey(TREES, (j,))), (j,), (), none, NO_LEVELS)
                for j in self.basis.trees.inputs.tolist()
            ]
        return terms

    @property
    def _leaf_weights(self) -> Floats:
        return self.solution.final.weights[self.basis.n_additive :]

    @property
    def grid_rows(self) -> list[Floats]:
        """Rows that have the values at which each term is given, and no others: none for trees."""
        parts = []
        for term, axes in zip(self.term_columns, self._grids, strict=True):
            if term.crossed is not None:
                rows = np.full((len(self.basis.crossed.codes[term.crossed].examples), self.basis.n_inputs), np.nan)
                rows[:, list(term.inputs)] = self.basis.crossed.codes[term.crossed].examples
                parts.append(rows)
                continue
            points = np.meshgrid(*(numbers for _, numbers in axes), indexing="ij")
            rows = np.full((points[0].size if points else 0, self.basis.n_inputs), np.nan)
            for j, values in zip(term.grid_inputs, points, strict=True):
                rows[:, j] = values.ravel()
            parts.append(rows)
        return parts

    def values_of(self, number: int) -> Floats:
        """Return the values of a term along its grid, one after the other."""
        assert isinstance(self.numbers, TermSums), "asked for where there are sums"
        return self.numbers.value_along(number, self.grid_rows[number])

    def number_of(self, name: str) -> int:
        """Return the position of a term among all; raise UnknownNameError with the nearest names."""
        if name not in self.names:
            raise unknown_term(name, self.names)
        return self.names.index(name)

    def term(self, name: str) -> Term:
        """Return a term by its name."""
        self.number_of(name)
        return next(term for term in self._terms if term.name == name)

    def shares_along(self, name: str) -> Floats | None:
        """Return the share of the rows at each value of a term of one input; None where it is not counted."""
        term, model = self.term_columns[self.number_of(name)], self.solution.current.model
        if term.is_code:
            return code_row_shares(model.bin_counts, model.random_effects.counts[term.levels])
        if len(term.grid_inputs) != 1:
            return None
        return row_shares(self.basis, model.bin_counts, model.random_effects.counts, term.grid_inputs[0])

    @property
    def n_points(self) -> int:
        """The number of values of all terms."""
        return sum(math.prod(numbers.size for _, numbers in axes) for axes in self._grids if axes)

    @cached_property
    def _grids(self) -> list[list[Axis]]:
        return [self.axes_of(term.key) for term in self.term_columns]

    def axes_of(self, key: TermKey) -> list[Axis]:
        """Return the axes along which a term is given: none for trees."""
        kind, inputs = key
        if kind == CROSSED:
            return [self._crossed_axis([code.inputs for code in self.basis.crossed.codes].index(inputs))]
        if kind == CODES:
            return [self._code_axis(inputs[0])]
        return [self._axis(j, in_pair=kind == PAIR) for j in inputs if kind != TREES]

    def name_of(self, key: TermKey) -> str:
        """Return the name of a term."""
        kind, inputs = key
        name = " × ".join(self.inputs[j] for j in inputs)
        suffixes = {CODES: CATEGORICAL_SUFFIX, TREES: TREES_SUFFIX, CROSSED: CODES_SUFFIX if len(inputs) == 2 else ""}
        return name + suffixes.get(kind, "")  # a pair may have the name of two crossed inputs

    @cached_property
    def _terms(self) -> tuple[Term, ...]:
        terms, start, (values, errors) = [], 0, self.numbers.along(self.grid_rows)
        certain = self.basis.certain_pairs()
        for number, (term, axes) in enumerate(zip(self.term_columns, self._grids, strict=True)):
            at = tuple(shown for shown, _ in axes)
            shape = tuple(map(len, at)) or (0,)
            part = slice(start, start := start + math.prod(shape))
            value, error = values[part].reshape(shape), errors[part].reshape(shape)
            for numbers in (value, error):
                numbers.setflags(write=False)  # terms are kept
            inputs = tuple(self.inputs[j] for j in term.inputs)
            weak = term.key.kind == PAIR and not (term.inputs in certain and is_beyond_error(value, error))
            terms.append(Term(term.name, inputs, at, value, error, float(self.numbers.deviations[number]), weak))
        return tuple(sorted(terms, key=lambda term: -term.importance))

    @cached_property
    def _level_weights(self) -> csr_array:
        """The weight of each random effect in each term."""
        _, weights, _, _ = self.basis.split_weights(self.solution.final.weights)
        every_level = np.arange(self.basis.random_effects.size)
        parts = [(every_level[term.levels], weights[term.levels]) for term in self.term_columns]
        return stack_columns(parts, self.basis.random_effects.size)

    def _code_axis(self, j: int) -> Axis:
        """Return the values of a coded input."""
        numbers = self.basis.random_effects.numbers_of(j)
        return tuple(map(str, numbers.tolist())), numbers.astype(np.float64)

    def _crossed_axis(self, number: int) -> Axis:
        """Return names of the most frequent levels of a crossed code; the numbers count them."""
        code = self.basis.crossed.codes[number]
        names = []
        for example in code.examples.tolist():
            parts = zip(code.members, example, strict=True)
            names.append(" × ".join(self._shown_value(member, value) for member, value in parts))
        return tuple(names), np.arange(float(len(names)))

    def _shown_value(self, member: Member, value: float) -> str:
        """Return a value of a member of a crossed code as text."""
        if math.isnan(value):
            return MISSING_NAME
        if self.basis.tables.kinds[member.input] == CATEGORICAL:
            return self.categories[member.input].get(int(value), OTHERS if value < 0 else str(int(value)))
        if not member.edges.size:
            return f"{value:.15g}"
        return f"< {member.edges[0]:g}" if value < member.edges[0] else f"≥ {value:g}"

    def _axis(self, j: int, in_pair: bool) -> Axis:
        """Return the values of an input at which its terms are given, as shown and as numbers."""
        numbers = pair_grid(self.basis, j) if in_pair else main_grid(self.basis, j)
        shown: tuple[float | str, ...] = tuple(numbers[~np.isnan(numbers)].tolist())
        if self.basis.tables.kinds[j] == CATEGORICAL:
            shown = tuple(self._pair_category_names(j) if in_pair else self._category_names(j))
        return ((*shown, MISSING_NAME) if has_missing(self.basis, j) else shown), numbers

    def _category_names(self, j: int) -> list[str]:
        """Return the categories of an input: those with a column, all others as one, those with random effects."""
        random_effects = self.basis.random_effects.numbers_of(j)
        names = level_names(self.basis, j, self.categories[j])
        return names + [self.categories[j].get(number, str(number)) for number in random_effects.tolist()]

    def _pair_category_names(self, j: int) -> list[str]:
        """Return the categories of an input in its pairs."""
        names = place_names(self.basis, j, "", self.categories[j])
        return [name.partition("=")[2] or OTHERS for name in names]


def terms_of_classes(
    fit: AdditiveFit, inputs: Sequence[str], categories: Sequence[Mapping[int, str]] | None
) -> list[Terms]:
    """Return the terms of each class against the rest, of two classes those of the only score."""
    return [Terms(one, inputs, categories or [{}] * len(inputs)) for one in fit.class_fits]


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
    >>> from opauc.additive.terms.explain import row_shares
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
