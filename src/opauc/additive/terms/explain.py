"""The terms of an additive model: columns, values with standard errors, importances, contributions, and row shares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
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
from opauc.additive.editing.ledger import CODES, CROSSED, MAIN, PAIR, TREES, TermKey
from opauc.additive.kernels.rows import CATEGORICAL
from opauc.additive.state import AdditiveFit
from opauc.additive.terms.grids import columns_of, has_missing, main_grid, pair_grid
from opauc.additive.terms.term_sums import (
    TermColumns,
    TermSums,
    add_tree_contributions,
    code_row_shares,
    row_shares,
    stack_columns,
)
from opauc.additive.terms.terms import MISSING_NAME, Explanation, SavedTerms, Term, is_beyond_error, unknown_term
from opauc.core.threads import work_in_order
from opauc.types import Floats

NO_LEVELS = slice(0, 0)

# Values of an input at which a term is given, as shown to users and as numbers.
Axis: TypeAlias = tuple[tuple[float | str, ...], Floats]


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
