"""What an additive model says: the curve of each input, the surface of each pair, and a row's score as their sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from opauc.features.card.card import Card
from opauc.features.card.column_names import OTHERS, TOGETHER, level_names, place_names
from opauc.kernels.rows.card_rows import BINARY, CATEGORICAL, HIGH, LOW, MISSING, NUMERIC
from opauc.rows import Floats
from opauc.training.additive.additive_solution import AdditiveSolution

# A categorical input's number that no category has: it falls into the pooled level.
NO_CATEGORY = -1.0


class Effect(NamedTuple):
    """One part of the score: of one input (a curve or levels), of two (a surface), or of all together.

    `at` has the values of the inputs at which the effect is given, numbers or
    names of levels: one list for a curve, two for a surface. `value` is
    centred: its mean over the rows is zero. `error` is its standard error. What
    all inputs do together has no such values: `at` is empty then.
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


@dataclass(frozen=True, eq=False)
class Effects:
    """The effects of a solution, by the names of its inputs and the words of their category numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.training.additive.additive_settings import AdditiveSettings
    >>> from opauc.training.additive.additive_solution import AdditiveSolution
    >>> from opauc.training.additive.effects import Effects
    >>> rows = np.random.default_rng(0).normal(size=(400, 2))
    >>> labels = (rows[:, 0] + np.random.default_rng(1).normal(size=400) > 0).astype(np.int8)
    >>> learnt = AdditiveSolution.start(AdditiveSettings(), np.zeros(2, bool), 0).after(rows, labels)
    >>> effects = Effects(learnt, ("age", "fare"), ({}, {}))
    >>> effects.importances()["age"] > 5 * effects.importances()["fare"]
    True
    """

    solution: AdditiveSolution
    inputs: Sequence[str]
    words: Sequence[Mapping[int, str]]

    @property
    def card(self) -> Card:
        """What the columns are."""
        return self.solution.current.card

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the effects: "age", "age × fare", and that of landmarks."""
        return tuple(" × ".join(self.inputs[j] for j in inputs) or TOGETHER for inputs in self.card.effects)

    def importances(self) -> dict[str, float]:
        """Return the standard deviation of each effect over the rows, those near the boundary counting most."""
        return dict(zip(self.names, self._spreads().tolist(), strict=True))

    def all(self) -> list[Effect]:
        """Return every effect, the most important first."""
        weights, covariance = self.solution.final.weights, self._covariance
        found = []
        for name, (inputs, columns), spread, middle in zip(
            self.names, self.card.effects.items(), self._spreads().tolist(), self._middles().tolist(), strict=True
        ):
            if not inputs:
                found.append(Effect(name, tuple(self.inputs), (), np.empty(0), np.empty(0), spread))
                continue
            at, rows = self._grid(inputs)
            basis, own = np.asarray(self.card.rows(rows)[:, columns].todense()), self._levels_of(inputs)
            levels = self.card.finer.rows(rows)[:, own]
            value = basis @ weights[columns] + levels @ self._of_levels[own] - middle
            basis -= self._means[columns]  # the error of the centred effect: how high it lies is the intercept's
            variance = np.einsum("ia,ab,ib->i", basis, covariance[columns, columns], basis)
            error = np.sqrt(np.maximum(variance + levels @ self._variances[own], 0.0))
            shape = tuple(len(side) for side in at)
            names = tuple(self.inputs[j] for j in inputs)
            found.append(Effect(name, names, at, value.reshape(shape), error.reshape(shape), spread))
        return sorted(found, key=lambda effect: -effect.importance)

    def explained(self, rows: Floats) -> Explanation:
        """Return the scores of rows as sums of effects."""
        weights, middles = self.solution.final.weights, self._middles()
        parts = np.empty((rows.shape[0], len(middles)))
        for part, block in self.card.blocks(rows):
            columns, levels = block.tocsc(), self.card.finer.rows(rows[part]).tocsc()
            for number, (inputs, effect) in enumerate(self.card.effects.items()):
                own = self._levels_of(inputs)
                parts[part, number] = columns[:, effect] @ weights[effect] + levels[:, own] @ self._of_levels[own]
        return Explanation(self.names, parts - middles, float(weights[0] + middles.sum()))

    def _levels_of(self, inputs: tuple[int, ...]) -> slice:
        """Return where the finer levels of an effect stand: it has some if it is of one input."""
        return self.card.finer.of_input(inputs[0]) if len(inputs) == 1 else slice(0, 0)

    @cached_property
    def _of_levels(self) -> Floats:
        """The weights of the finer levels."""
        return self.solution.final.weights[self.card.n_columns :]

    @cached_property
    def _shares_of_levels(self) -> Floats:
        """The share of the rows that has each finer level, weighted by their curvature."""
        shares: Floats = self.solution.current.model.levels.curvature / max(self._gram[0, 0], 1e-300)
        return shares

    @cached_property
    def _variances(self) -> Floats:
        return self.solution.current.model.level_variances(self.solution.final)

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
        weights, of_levels = self.solution.final.weights, self._shares_of_levels * self._of_levels
        return np.array(
            [
                self._means[columns] @ weights[columns] + of_levels[self._levels_of(inputs)].sum()
                for inputs, columns in self.card.effects.items()
            ]
        )

    def _spreads(self) -> Floats:
        """Return the standard deviation of each effect over the rows."""
        weights, gram = self.solution.final.weights, self._gram
        total = max(gram[0, 0], 1e-300)
        squares = []
        for inputs, columns in self.card.effects.items():
            square = float(weights[columns] @ gram[columns, columns] @ weights[columns]) / total
            levels = self._levels_of(inputs)
            if self._of_levels[levels].size:  # beside the weight of the column that they share
                pooled, own = weights[self.card.pooled_column(inputs[0])], self._of_levels[levels]
                square += float(self._shares_of_levels[levels] @ (own * (own + 2.0 * pooled)))
            squares.append(square)
        spreads: Floats = np.sqrt(np.maximum(np.array(squares) - self._middles() ** 2, 0.0))
        return spreads

    def _grid(self, inputs: tuple[int, ...]) -> tuple[tuple[tuple[float | str, ...], ...], Floats]:
        """Return the values at which an effect is given, and rows that have them and nothing else."""
        sides = [self._side(j, alone=len(inputs) == 1) for j in inputs]
        points = np.meshgrid(*(numbers for _, numbers in sides), indexing="ij")
        rows = np.full((points[0].size, self.card.n_inputs), np.nan)
        for j, values in zip(inputs, points, strict=True):
            rows[:, j] = values.ravel()
        return tuple(shown for shown, _ in sides), rows

    def _side(self, j: int, alone: bool) -> tuple[tuple[float | str, ...], Floats]:
        """Return the values of an input at which its effect is given, as shown and as numbers."""
        t, kind = self.card.tables, self.card.tables.kinds[j]
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
        t, names = self.card.tables, level_names(self.card, j, self.words[j])
        numbers = np.append(self.card.column_numbers(j), NO_CATEGORY).astype(np.float64)
        if not alone:
            places = t.pair_levels[t.pair_level_ends[j] : t.pair_level_ends[j + 1]]
            firsts = np.array([int(np.flatnonzero(places == place)[-1]) for place in range(int(t.pair_sizes[j]))])
            shown = [name.partition("=")[2] or OTHERS for name in place_names(self.card, j, "", self.words[j])]
            return tuple(shown), numbers[firsts]
        finer = self.card.finer.numbers_of(j)
        names, numbers = names + [self.words[j].get(n, str(n)) for n in finer.tolist()], np.append(numbers, finer)
        if t.columns[j, MISSING] >= 0:
            return (*names, "missing"), np.append(numbers, np.nan)
        return tuple(names), numbers
