"""From main effects to a basis with what acts together: pairs of inputs, and where these do not suffice, trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.main_effects import MainEffect
from opauc.additive.basis.pair_columns import Candidates, PairRoom, add_pairs
from opauc.additive.boosting import Trial
from opauc.additive.fit import PartialFit, PenalizedFit, choose_subset, finish_fit, fit_intercept, start_fit
from opauc.additive.initial_sample import SampleRows
from opauc.additive.kernels.rows import LEFT_OUT
from opauc.additive.pair_search import ENOUGH_ROWS, pair_candidates
from opauc.additive.penalties import Penalties
from opauc.additive.policy import BASIS_POLICY, SMOOTHING_POLICY
from opauc.additive.settings import AUTO, AdditiveSettings
from opauc.additive.trees import SMALLER_SHARE, SMALLEST_SHARE, TreeSearch, gain
from opauc.types import Floats

# Steps of the fit that pairs are looked for with, and of the one that stays.
ADDITIVE_STEPS, FINAL_STEPS = 3, 5
# Inputs whose pairs are tested: the sums for that grow with the square of their number.
MOST_TESTED = 300
# Trees are tried where the rarer class has so many rows, and they are held against pairs of so many columns in all
# where that saves columns and rows are many.
ENOUGH_OF_RARER, FEWEST_ROWS, FEW_PAIRS = 200.0, 400, 0.35
SMALL_SHARE, ENOUGH_FOR_FEW = 0.7, 10_000
# Where more rows are to come, of which trees gain most, pairs stay beside them if that is better by so many standard
# errors; where none are, unless it is worse by so many.
PAIRS_STAY, PAIRS_GO = 2.5, -2.0
# Columns for leaves; fewer are not worth a tree.
FEWEST_LEAVES = 64


class BegunFit(NamedTuple):
    """A basis, its columns of the rows with their penalties, and the fit to a part of the rows."""

    basis: Basis
    rows: csr_array
    penalties: Penalties
    started: PartialFit

    def finished(self, some: SampleRows) -> PenalizedFit:
        """Return the fit to all rows."""
        return finish_fit(self.rows, some.labels, some.weight, self.penalties, self.started, SMOOTHING_POLICY)


@dataclass(frozen=True, eq=False)
class InteractionSearch:
    """Main effects and their basis, the rows to search, and the settings.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.basis.main_effects import main_effects
    >>> from opauc.additive.settings import AdditiveSettings
    >>> from opauc.additive.search import InteractionSearch
    >>> from opauc.additive.initial_sample import SampleRows
    >>> rows, ones = np.random.default_rng(0).normal(size=(900, 3)), np.ones(900)
    >>> some = SampleRows(rows, (rows[:, 0] * rows[:, 2] > 0).astype(np.int8), ones, ones / 900)
    >>> effects = main_effects(rows, some.mass, ones, np.zeros(3, bool), n_knots=8)
    >>> basis, fit = InteractionSearch(Basis.of_effects(effects), effects, some, AdditiveSettings()).fitted()
    >>> basis.tables.pairs.tolist(), fit.weights.size == basis.n_columns
    ([[0, 2]], True)
    """

    mains: Basis
    effects: Sequence[MainEffect]
    some: SampleRows
    settings: AdditiveSettings
    more_rows: bool = False  # whether there are rows beside these

    def fitted(self) -> tuple[Basis, PenalizedFit]:
        """Return the basis with all that was found, and its fit to the rows."""
        mains = self._begun(self.mains, self._beginning(), ADDITIVE_STEPS)
        additive = mains.finished(self.some)
        candidates = self._candidates(additive)
        whole = self._with_pairs(candidates, self.settings.smooth_columns)
        if not self._may_have_trees():
            return whole, self._begun(whole, additive).finished(self.some)
        part = mains.started.fit
        search = TreeSearch.of(self.mains, part.weights, self.some, self._part, self.more_rows)
        alone = search.tried(part.scores, self._room(self.mains))
        probe = gain(search.losses(part.scores), alone.losses)
        doubtful = not search.takes(probe)
        least = SMALLER_SHARE if doubtful else SMALLEST_SHARE
        if not search.takes(probe, least):
            return whole.with_trees(None, probe), self._begun(whole, additive).finished(self.some)
        pairs = whole if doubtful else self._few(candidates, whole)
        return self._held_against(pairs, search, alone, additive, whole, least)

    def _held_against(
        self, pairs: Basis, search: TreeSearch, alone: Trial, additive: PenalizedFit, whole: Basis, least: float
    ) -> tuple[Basis, PenalizedFit]:
        """Return the basis that serves rows held out best: with trees, with trees and some pairs, or with all pairs.

        Trees have to gain at least such a share.
        """
        begun = self._begun(pairs, additive)
        before = search.losses(begun.started.fit.scores)
        probe = gain(before, alone.losses)
        if search.takes(probe, least) and not len(begun.basis.tables.pairs):
            return search.fitted(self.mains, additive, alone, probe)
        beside = search.tried(begun.started.fit.scores, self._room(begun.basis))
        both = gain(before, beside.losses)
        better = gain(alone.losses, beside.losses).errors
        if search.takes(probe, least) and better < (PAIRS_STAY if self.more_rows else PAIRS_GO):
            return search.fitted(self.mains, additive, alone, probe)
        if search.takes(probe, least) or search.takes(both, least):
            return search.fitted(begun.basis, begun.finished(self.some), beside, both)
        begun = begun if begun.basis is whole else self._begun(whole, additive)
        return whole.with_trees(None, probe), begun.finished(self.some)

    def _few(self, candidates: Candidates, whole: Basis) -> Basis:
        """Return the basis with so few pairs that there is room for trees, or with all where that saves little."""
        few = self._with_pairs(candidates, int(FEW_PAIRS * self.settings.smooth_columns))
        saves = few.n_columns < SMALL_SHARE * whole.n_columns and self.some.labels.size >= ENOUGH_FOR_FEW
        return few if saves else whole

    def _room(self, basis: Basis) -> int:
        """Return how many columns leaves may have beside those of a basis."""
        return self.settings.max_columns - basis.n_columns

    def _beginning(self) -> PenalizedFit:
        return fit_intercept(self.some.labels, self.some.weight)

    def _begun(self, basis: Basis, begin: PenalizedFit, steps: int = FINAL_STEPS) -> BegunFit:
        rows, penalties, some = basis.rows(self.some.numbers), Penalties(basis.groups, basis.roughness), self.some
        started = start_fit(rows, some.labels, some.weight, penalties, begin, steps, self._part, SMOOTHING_POLICY)
        return BegunFit(basis, rows, penalties, started)

    @cached_property
    def _part(self) -> NDArray[np.int64]:
        """The rows that fits begin with: where trees are tried, others must judge them."""
        return choose_subset(self.some.labels.size, self._may_have_trees(), SMOOTHING_POLICY)

    def _may_have_trees(self) -> bool:
        """Tell whether trees are to be tried: where nothing was asked for, and there are rows to try them on."""
        enough = self.some.rarer >= ENOUGH_OF_RARER and self.some.labels.size >= FEWEST_ROWS
        return self.settings.interactions == AUTO and self._room(self.mains) >= FEWEST_LEAVES and enough

    def _with_pairs(self, candidates: Candidates, most_columns: int) -> Basis:
        """Return the basis with the candidates that there is room for."""
        rarer = self.some.rarer
        room = PairRoom(
            int(min(most_columns - self.mains.n_columns, rarer)),
            BASIS_POLICY.max_pair_knots if rarer >= ENOUGH_ROWS else BASIS_POLICY.min_pair_knots,
        )
        return add_pairs(self.mains, self.effects, self.some.numbers, self.some.mass, candidates, room)

    def _candidates(self, additive: PenalizedFit) -> Candidates:
        """Return the pairs that act together, or those asked for."""
        wanted, some = self.settings.interactions, self.some
        if isinstance(wanted, tuple) or wanted == 0 or self.mains.n_columns >= self.settings.smooth_columns:
            pairs = np.array(wanted if isinstance(wanted, tuple) else [], np.int64).reshape(-1, 2)
            levels = np.full(len(self.effects), BASIS_POLICY.pair_levels)
            return Candidates(pairs, np.ones(len(pairs), np.bool_), -np.arange(len(pairs), dtype=float), levels)
        tested = _tested(self.mains, additive.weights)
        effects = [effect if j in tested else MainEffect(LEFT_OUT) for j, effect in enumerate(self.effects)]
        return pair_candidates(effects, some, additive.scores, None if wanted == AUTO else int(wanted))


def _tested(basis: Basis, weights: Floats) -> set[int]:
    """Return the inputs whose pairs are tested: all, or of very many those with the largest weights."""
    mains = {inputs[0]: float(np.abs(weights[columns]).max()) for inputs, columns in basis.effects.items()}
    return set(sorted(mains, key=lambda j: -mains[j])[:MOST_TESTED])
