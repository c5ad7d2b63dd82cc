"""What an additive model says: curves, surfaces, each input's share in trees, and a row's score as their sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.column_names import AS_CODE, OTHERS, WITH_OTHERS, level_names, place_names
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, HIGH, LOW, MISSING, NUMERIC
from opauc.additive.shares import LeafShares, leaf_shares
from opauc.additive.state import AdditiveSolution
from opauc.types import Floats

# A categorical input's number that no category has: it falls into the pooled level.
NO_CATEGORY = -1.0


class Effect(NamedTuple):
    """One part of the score: of one input (a curve or levels), of two (a surface), or of one among others in trees.

    `at` has the values of the inputs at which the effect is given, numbers or
    names of levels: one list for a curve, two for a surface. `value` is
    centered: its mean over the rows is zero. `error` is its standard error. What
    an input does with others, or all together, has no such values: `at` is
    empty then.
    """

    name: str
    inputs: tuple[str, ...]
    at: tuple[tuple[float | str, ...], ...]
    value: Floats
    error: Floats
    importance: float


class Explanation(NamedTuple):
    """Scores as sums: `baseline`, and one contribution a row and effect."""

    names: tuple[str, ...]
    contributions: Floats  # (n_rows, n_effects)
    baseline: float

    def scores(self) -> Floats:
        """Return the score of each row."""
        scores: Floats = self.baseline + self.contributions.sum(axis=1)
        return scores


class Term(NamedTuple):
    """What an effect is made of: columns with their weights in it, and finer levels.

    `along` are the inputs along whose values it can be given: `inputs`, or none.
    """

    name: str
    inputs: tuple[int, ...]
    along: tuple[int, ...]
    columns: slice
    weights: Floats
    levels: slice

    @property
    def is_code(self) -> bool:
        """Whether it is of values told apart beside a curve: it has no columns."""
        return bool(self.columns.start == self.columns.stop)


@dataclass(frozen=True, eq=False)
class Terms:
    """The effects of a solution, by the names of its inputs and the words of their category numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.settings import AdditiveSettings
    >>> from opauc.additive.state import AdditiveSolution
    >>> from opauc.additive.explain import Terms
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> labels = (rows[:, 0] + np.random.default_rng(1).normal(size=400) > 0).astype(np.int8)
    >>> learned = AdditiveSolution.start(AdditiveSettings(), np.zeros(2, bool), 0).after(rows, labels)
    >>> effects = Terms(learned, ("age", "fare"), ({}, {}))
    >>> effects.importances()["age"] > 5 * effects.importances()["fare"]
    True
    """

    solution: AdditiveSolution
    inputs: Sequence[str]
    words: Sequence[Mapping[int, str]]

    @property
    def basis(self) -> Basis:
        """What the columns are."""
        return self.solution.current.basis

    @cached_property
    def terms(self) -> list[Term]:
        """What the score is a sum of: effects of one input, of pairs, and each input's share in trees."""
        weights, nothing, coded = self.solution.final.weights, slice(0, 0), self.basis.coded_inputs()
        effects = self.basis.random_effects
        found = [
            Term(
                " × ".join(self.inputs[j] for j in inputs), inputs, inputs, columns, weights[columns],
                effects.of_input(inputs[0]) if len(inputs) == 1 and inputs[0] not in coded else nothing,
            )
            for inputs, columns in self.basis.effects.items()
            if inputs
        ]  # fmt: skip
        for j in coded:
            levels = effects.of_input(j)
            found.append(Term(self.inputs[j] + AS_CODE, (j,), (j,), nothing, np.empty(0), levels))
        if self._leaf_shares is not None:
            columns, (own, shares, _) = self.basis.effects[()], self._leaf_shares
            for j, share in zip(own.tolist(), shares.T, strict=True):
                found.append(Term(self.inputs[j] + WITH_OTHERS, (j,), (), columns, share, nothing))
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the effects: "age", "age × fare", "shop, as a code", "age, with others"."""
        return tuple(term.name for term in self.terms)

    def importances(self) -> dict[str, float]:
        """Return the standard deviation of each effect over the rows, those near the boundary counting most."""
        return dict(zip(self.names, self._spreads().tolist(), strict=True))

    def all(self) -> list[Effect]:
        """Return every effect, the most important first."""
        found = []
        for term, spread, middle in zip(self.terms, self._spreads().tolist(), self._middles().tolist(), strict=True):
            names, columns, own = tuple(self.inputs[j] for j in term.inputs), term.columns, term.levels
            if not term.along:
                found.append(Effect(term.name, names, (), np.empty(0), np.empty(0), spread))
                continue
            at, rows = self._codes(term.inputs[0]) if term.is_code else self._grid(term.along)
            basis = np.asarray(self.basis.rows(rows)[:, columns].todense())
            levels = self.basis.random_effects.rows(rows)[:, own]
            value = basis @ term.weights + levels @ self._of_levels[own] - middle
            basis -= self._means[columns]  # the error of the centered effect: how high it lies is the intercept's
            variance = np.einsum("ia,ab,ib->i", basis, self._covariance[columns, columns], basis)
            error = np.sqrt(np.maximum(variance + levels @ self._variances[own], 0.0))
            shape = tuple(len(side) for side in at)
            found.append(Effect(term.name, names, at, value.reshape(shape), error.reshape(shape), spread))
        return sorted(found, key=lambda effect: -effect.importance)

    def explained(self, rows: Floats) -> Explanation:
        """Return the scores of rows as sums of effects."""
        middles, of_columns, of_levels = self._middles(), self._by_column, self._by_level
        parts = np.empty((rows.shape[0], middles.size))
        for part, block in self.basis.blocks(rows):
            parts[part] = (block @ of_columns + self.basis.random_effects.rows(rows[part]) @ of_levels).toarray()
        constant = self.solution.final.weights[0] + (0.0 if self._leaf_shares is None else self._leaf_shares.roots)
        return Explanation(self.names, parts - middles, float(constant + middles.sum()))

    @cached_property
    def _leaf_shares(self) -> LeafShares | None:
        """The weights of leaves, divided among the inputs; None where there are no trees."""
        if self.basis.trees is None:
            return None
        columns = self.basis.effects[()]
        return leaf_shares(self.basis.trees.splits, self.solution.final.weights[columns], self._means[columns])

    @cached_property
    def _by_column(self) -> csr_array:
        """The weight that each column has in each term."""
        return _placed([(term.columns, term.weights) for term in self.terms], self.basis.n_columns)

    @cached_property
    def _by_level(self) -> csr_array:
        """The weight that each finer level has in each term."""
        return _placed(
            [(term.levels, self._of_levels[term.levels]) for term in self.terms], self.basis.random_effects.size
        )

    @cached_property
    def _of_levels(self) -> Floats:
        """The weights of the finer levels."""
        return self.solution.final.weights[self.basis.n_columns :]

    @cached_property
    def _shares_of_levels(self) -> Floats:
        """The share of the rows that has each finer level, weighted by their curvature."""
        shares: Floats = self.solution.current.model.random_effects.curvature / max(self._gram[0, 0], 1e-300)
        return shares

    @cached_property
    def _variances(self) -> Floats:
        return self.solution.current.model.random_effect_variances(self.solution.final)

    @cached_property
    def _covariance(self) -> Floats:
        return self.solution.current.model.covariance(self.solution.final)

    @cached_property
    def _gram(self) -> Floats:
        return self.solution.current.model.sums.full_gram()

    @cached_property
    def _means(self) -> Floats:
        """The mean of each column over the rows, weighted by their curvature."""
        means: Floats = self._gram[0] / max(self._gram[0, 0], 1e-300)
        return means

    def _middles(self) -> Floats:
        """Return the mean of each effect over the rows."""
        middles: Floats = self._means @ self._by_column + self._shares_of_levels @ self._by_level
        return middles

    def _spreads(self) -> Floats:
        """Return the standard deviation of each effect over the rows."""
        total = max(self._gram[0, 0], 1e-300)
        squares = self._by_column.multiply(self._gram @ self._by_column).sum(axis=0) / total
        for number, term in enumerate(self.terms):
            own = self._of_levels[term.levels]
            if own.size:  # beside the weight of the column that they share
                shared = 0.0 if term.is_code else self.solution.final.weights[self.basis.pooled_column(term.inputs[0])]
                squares[number] += float(self._shares_of_levels[term.levels] @ (own * (own + 2.0 * shared)))
        spreads: Floats = np.sqrt(np.maximum(squares - self._middles() ** 2, 0.0))
        return spreads

    def _codes(self, j: int) -> tuple[tuple[tuple[str, ...], ...], Floats]:
        """Return the values of an input that are told apart, as they are shown, and rows that have them."""
        numbers = self.basis.random_effects.numbers_of(j)
        rows = np.full((numbers.size, self.basis.n_inputs), np.nan)
        rows[:, j] = numbers
        return (tuple(map(str, numbers.tolist())),), rows

    def _grid(self, inputs: tuple[int, ...]) -> tuple[tuple[tuple[float | str, ...], ...], Floats]:
        """Return the values at which an effect is given, and rows that have them and nothing else."""
        sides = [self._side(j, alone=len(inputs) == 1) for j in inputs]
        points = np.meshgrid(*(numbers for _, numbers in sides), indexing="ij")
        rows = np.full((points[0].size, self.basis.n_inputs), np.nan)
        for j, values in zip(inputs, points, strict=True):
            rows[:, j] = values.ravel()
        return tuple(shown for shown, _ in sides), rows

    def _side(self, j: int, alone: bool) -> tuple[tuple[float | str, ...], Floats]:
        """Return the values of an input at which its effect is given, as shown and as numbers."""
        t, kind = self.basis.tables, self.basis.tables.kinds[j]
        if kind == CATEGORICAL:
            return self._levels(j, alone)
        if kind == BINARY:
            numbers = t.scales[j, [LOW, HIGH]]
        elif kind == NUMERIC and alone:
            knots = t.knots[t.knot_ends[j] : t.knot_ends[j + 1]]
            numbers = np.unique([*knots, t.scales[j, LOW], t.scales[j, HIGH]])
        else:
            numbers = t.pair_knots[t.pair_knot_ends[j] : t.pair_knot_ends[j + 1]]
        shown: tuple[float | str, ...] = tuple(numbers.tolist())
        if alone and t.columns[j, MISSING] >= 0:
            return (*shown, "missing"), np.append(numbers if kind else [], np.nan)
        return shown, np.asarray(numbers)

    def _levels(self, j: int, alone: bool) -> tuple[tuple[float | str, ...], Floats]:
        """Return the levels of a categorical input by name, and a category number of each."""
        t, names = self.basis.tables, level_names(self.basis, j, self.words[j])
        numbers = np.append(self.basis.column_numbers(j), NO_CATEGORY).astype(np.float64)
        if not alone:
            places = t.pair_levels[t.pair_level_ends[j] : t.pair_level_ends[j + 1]]
            firsts = np.array([int(np.flatnonzero(places == place)[-1]) for place in range(int(t.pair_sizes[j]))])
            shown = [name.partition("=")[2] or OTHERS for name in place_names(self.basis, j, "", self.words[j])]
            return tuple(shown), numbers[firsts]
        finer = self.basis.random_effects.numbers_of(j)
        names, numbers = names + [self.words[j].get(n, str(n)) for n in finer.tolist()], np.append(numbers, finer)
        if t.columns[j, MISSING] >= 0:
            return (*names, "missing"), np.append(numbers, np.nan)
        return tuple(names), numbers


def _placed(parts: Sequence[tuple[slice, Floats]], n_rows: int) -> csr_array:
    """Return the matrix whose columns have these numbers in these rows, and zeros elsewhere."""
    rows = np.concatenate([np.empty(0, np.int64), *(np.arange(n_rows)[part] for part, _ in parts)])
    columns = np.repeat(np.arange(len(parts)), [numbers.size for _, numbers in parts])
    numbers = np.concatenate([np.empty(0), *(numbers for _, numbers in parts)])
    placed = csr_array((numbers, (rows, columns)), shape=(n_rows, len(parts)))
    placed.eliminate_zeros()  # a leaf has shares of few inputs
    return placed
