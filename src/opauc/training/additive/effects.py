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
            basis = np.asarray(self.card.rows(rows)[:, columns].todense())
            value = basis @ weights[columns] - middle
            basis -= self._means[columns]  # the error of the centred effect: how high it lies is the intercept's
            error = np.sqrt(np.maximum(np.einsum("ia,ab,ib->i", basis, covariance[columns, columns], basis), 0.0))
            shape = tuple(len(side) for side in at)
            names = tuple(self.inputs[j] for j in inputs)
            found.append(Effect(name, names, at, value.reshape(shape), error.reshape(shape), spread))
        return sorted(found, key=lambda effect: -effect.importance)

    def explained(self, rows: Floats) -> Explanation:
        """Return the scores of rows as sums of effects."""
        weights, middles = self.solution.final.weights, self._middles()
        parts = np.empty((rows.shape[0], len(middles)))
        for part, block in self.card.blocks(rows):
            columns = block.tocsc()
            for number, effect in enumerate(self.card.effects.values()):
                parts[part, number] = columns[:, effect] @ weights[effect]
        return Explanation(self.names, parts - middles, float(weights[0] + middles.sum()))

    @cached_property
    def _covariance(self) -> Floats:
        return self.solution.current.model.covariance(self.solution.final.strengths)

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
        weights = self.solution.final.weights
        return np.array([self._means[columns] @ weights[columns] for columns in self.card.effects.values()])

    def _spreads(self) -> Floats:
        weights, gram = self.solution.final.weights, self._gram
        total = max(gram[0, 0], 1e-300)
        squares = np.array(
            [weights[part] @ gram[part, part] @ weights[part] / total for part in self.card.effects.values()]
        )
        spreads: Floats = np.sqrt(np.maximum(squares - self._middles() ** 2, 0.0))
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
        kept, names = self.card.kept_numbers()[j], level_names(self.card, j, self.words[j])
        assert kept is not None, "a categorical input has levels"
        t = self.card.tables
        numbers = np.append(kept[np.argsort(t.levels[t.level_ends[j] + kept])], NO_CATEGORY).astype(np.float64)
        if not alone:
            places = t.pair_levels[t.pair_level_ends[j] : t.pair_level_ends[j + 1]]
            firsts = np.array([int(np.flatnonzero(places == place)[-1]) for place in range(int(t.pair_sizes[j]))])
            shown = [name.partition("=")[2] or OTHERS for name in place_names(self.card, j, "", self.words[j])]
            return tuple(shown), numbers[firsts]
        if t.columns[j, MISSING] >= 0:
            return (*names, "missing"), np.append(numbers, np.nan)
        return tuple(names), numbers
