"""Whether inputs act together beyond pairs: trees are tried on rows that no fit has seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.bins import ValueCodes
from opauc.additive.basis.leaf_indicators import LeafIndicators, ValidationGain
from opauc.additive.boosting import FIRST_STRENGTH, FREER, USUAL, BoostedRows, Trial, joined, tried
from opauc.additive.fit import PenalizedFit
from opauc.additive.initial_sample import SampleRows
from opauc.types import Floats

# Leaves of all trees.
MOST_LEAVES = 2560
# Where there are fewer rows in all, two ways to grow trees are tried.
MANY_ROWS = 6144
# One row in so many judges.
HELD_OUT = 4
# Trees are taken where they gain such a share of the log loss, and so many standard errors of it: fewer where no rows
# are to come, which might tell better, but not as few where so few judge that their errors are uncertain too. A smaller
# share will do if it is gained over all pairs, and beyond doubt where no rows are to come, of which trees gain most.
SMALLEST_SHARE, SMALLER_SHARE = 0.05, 0.03
FEWEST_ERRORS, FEWEST_OF_ALL, BEYOND_DOUBT = 4.0, 2.0, 6.0
FEW_JUDGES, FEWEST_OF_FEW = 500, 3.0


@dataclass(frozen=True, eq=False)
class TreeSearch:
    """The rows of a sample as trees take them, and which of them judge.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.initial_sample import SampleRows
    >>> from opauc.additive.trees import TreeSearch
    >>> numbers, ones = np.random.default_rng(0).normal(size=(8000, 3)), np.ones(8000)
    >>> some = SampleRows(numbers, (numbers.prod(axis=1) > 0).astype(np.int8), ones, ones / 8000)
    >>> basis = Basis.of(numbers, some.mass, np.zeros(3, bool), n_knots=8)
    >>> search = TreeSearch.of(basis, np.zeros(basis.n_columns), some, np.arange(2000))
    >>> trial = search.tried(np.zeros(8000), room=320)
    >>> trial.n_trees, bool(trial.losses.mean() < 0.5 * np.log(2))
    (8, True)
    """

    codes: ValueCodes
    rows: BoostedRows
    held: NDArray[np.int64]
    more_rows: bool

    @classmethod
    def of(
        cls, basis: Basis, weights: Floats, some: SampleRows, part: NDArray[np.int64], more_rows: bool = False
    ) -> TreeSearch:
        """Return the search on a sample, levels being in the order of the weights that they have on a basis.

        Rows of the part, which fits have seen, judge nothing.
        """
        codes = ValueCodes.of(basis.tables, weights, some.numbers, some.mass)
        coded = codes.of_rows(basis.tables, some.numbers)
        rows = BoostedRows.of(coded, codes.sizes(basis.tables), some.labels, some.weight)
        n_rows = some.labels.size
        held = np.setdiff1d(np.arange(HELD_OUT - 1, n_rows, HELD_OUT), part)
        return cls(codes, rows, held, more_rows)

    def tried(self, scores: Floats, room: int) -> Trial:
        """Return how many trees with leaves for so many columns serve the rows held out best, and their losses."""
        trials, few = [], scores.size < MANY_ROWS and not self.more_rows
        for growth in (USUAL, FREER) if few else (USUAL,):
            most = min(MOST_LEAVES, room) // growth.limits.n_leaves
            trials.append(tried(self.rows, scores, self.held, most, self.more_rows, growth))
        return min(trials, key=lambda trial: float(trial.losses.sum()))

    def losses(self, scores: Floats) -> Floats:
        """Return the losses of the rows held out."""
        return self.rows.losses(scores, self.held)

    def takes(self, probe: ValidationGain, least: float = SMALLEST_SHARE) -> bool:
        """Tell whether a gain is more than the least share, and no chance."""
        return probe.share > least and probe.errors > self._fewest_errors(least)

    def _fewest_errors(self, least: float) -> float:
        if self.more_rows:
            return FEWEST_ERRORS
        if least < SMALLEST_SHARE:
            return BEYOND_DOUBT
        return FEWEST_OF_FEW if self.held.size < FEW_JUDGES else FEWEST_OF_ALL

    def fitted(
        self, basis: Basis, fit: PenalizedFit, trial: Trial, probe: ValidationGain
    ) -> tuple[Basis, PenalizedFit]:
        """Return a basis with the leaves of trees, and its fit with these.

        As many as were tried are grown on all rows from the fit; those that were
        tried are taken if they fit all rows better, having met with a split that
        leads on where greed sees none.
        """
        everyone = np.arange(fit.scores.size)
        grown = tuple(self.rows.trees(fit.scores, everyone, trial.n_trees, trial.growth))
        fits = [
            (trees, sum((tree.values[tree.leaves] for tree in trees), fit.scores))
            for trees in (grown, trial.trees)
            if trees
        ]
        trees, scores = min(fits, key=lambda fit: float(self.rows.losses(fit[1], everyone).sum()))
        splits, values = joined(trees)
        weights, strengths = np.concatenate([fit.weights, values]), np.append(fit.lambdas, FIRST_STRENGTH)
        found = PenalizedFit(weights, strengths, scores)
        return basis.with_trees(LeafIndicators(self.codes, splits, trial.stay), probe), found


def gain(before: Floats, after: Floats) -> ValidationGain:
    """Return what rows gain whose losses were these before and are those after.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.trees import gain
    >>> gain(np.array([1.0, 2.0]), np.array([0.5, 1.7])).share.__round__(3)
    0.267
    """
    gains = before - after
    error = float(gains.std() * np.sqrt(gains.size))
    return ValidationGain(
        float(gains.sum()) / max(error, 1e-300), float(gains.sum()) / max(float(before.sum()), 1e-300)
    )
