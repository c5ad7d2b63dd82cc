"""The exact minimizer for several classes with its penalty chosen by cross-validation within one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from opauc.core.labels import MAX_CLASSES
from opauc.core.parameters import SWITCH, Count, Numbers, Option, Threads, parameter
from opauc.linear.exact_cv import (
    CRITERIA,
    GRID,
    PenaltySelector,
    Selection,
    binormal_auc,
    scored_folds,
)
from opauc.linear.fold_solver import FoldSolver
from opauc.linear.moments.folds import MAX_FOLDS, MulticlassFoldMoments
from opauc.linear.moments.multiclass import MulticlassMoments
from opauc.linear.multiclass.calibration import ScoreMoments
from opauc.linear.multiclass.solver import MulticlassExact, MulticlassSolution, MulticlassSolver, calibrated
from opauc.types import Floats


@dataclass(frozen=True)
class MulticlassExactCV(
    MulticlassSolver[MulticlassFoldMoments],
    FoldSolver[MulticlassFoldMoments],
    PenaltySelector[MulticlassFoldMoments],
):
    """Minimizers of `MulticlassExact` with one alpha for all classes, chosen by cross-validation after one pass.

    Weights trained on all folds but one are scored on that one, from its
    statistics alone, by the mean over the classes. The same scores calibrate the
    probabilities: those of rows that the weights were not trained on.

    Parameters
    ----------
    n_classes : int, default=3
        Number of classes.
    alphas, cv, criterion, one_standard_error, standardize, n_jobs : tuple, int, str, bool, bool, int
        As of `ExactCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.multiclass.solver_cv import MulticlassExactCV
    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(300) % 3).astype(np.int8)
    >>> rows = rng.normal(size=(300, 3)) + np.eye(3)[labels]
    >>> solver = MulticlassExactCV()
    >>> state = solver.step(solver.start(3), rows, labels)
    >>> solver.selection(state).scores.shape, solver.weights(state).shape
    ((13, 5), (3, 3))
    """

    name: ClassVar[str] = "multiclass_exact_cv"

    numbers_rows: ClassVar[bool] = True

    n_classes: int = parameter(3, Count(2, MAX_CLASSES))
    alphas: tuple[float, ...] | None = parameter(None, Numbers(low=0.0))
    cv: int = parameter(5, Count(2, MAX_FOLDS))
    criterion: str = parameter("pair_loss", Option(tuple(CRITERIA)))
    one_standard_error: bool = parameter(False, SWITCH)
    standardize: bool = parameter(True, SWITCH)
    n_jobs: int = parameter(1, Threads())

    @property
    def n_covariances(self) -> int:
        """Number of covariance matrices in the state: one per class and fold."""
        return self.n_classes * self.cv

    @property
    def order_matters(self) -> bool:
        """Whether the order of rows matters: it decides their folds."""
        return True

    def in_one_thread(self) -> MulticlassExactCV:
        """Return the solver with one thread."""
        return replace(self, n_jobs=1)

    def start(self, n_features: int) -> MulticlassFoldMoments:
        """Return statistics of no rows."""
        return MulticlassFoldMoments.empty(n_features, self.cv, self.n_classes)

    def weights(self, state: MulticlassFoldMoments) -> Floats:
        """Return the minimizers for the chosen alpha, one row per class; zero for classes without rows."""
        weights: Floats = self._exact.path(state.whole(), [self.selection(state).alpha])[0]
        return weights

    def path(self, state: MulticlassFoldMoments, alphas: Sequence[float]) -> Floats:
        """Return the minimizers on all rows for each alpha, of shape (n_alphas, n_classes, n_features)."""
        return self._exact.path(state.whole(), alphas)

    def solve(self, state: MulticlassFoldMoments) -> MulticlassSolution:
        """Return the chosen penalty and the scorer, calibrated by the rows held out where every fold has all classes.

        The path of each fold serves both: it is computed once.
        """
        whole, alphas = state.whole(), self._alphas(state)
        scored = scored_folds(state)
        paths = {k: self._exact.path(state.complement(k), alphas.tolist()) for k in scored}
        columns = [self._fold_scores(state.fold(k), path) for k, path in paths.items()]
        scores = np.array(columns).T.reshape(alphas.size, len(columns))
        selection = Selection.of(alphas, scores, self.one_standard_error, self.criterion)
        weights, seen = self._exact.path(whole, [selection.alpha])[0], whole.seen()
        if len(seen) < 2:
            moments = None
        elif len(scored) == state.n_folds and (state.fold_counts()[:, seen] > 0.0).all():
            parts = [ScoreMoments.of(state.fold(k), path[selection.chosen, seen]) for k, path in paths.items()]
            moments = ScoreMoments.pooled(parts)
        else:
            moments = ScoreMoments.of(whole, weights[seen])
        return MulticlassSolution(calibrated(weights, whole.counts, moments), selection)

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return the number of rows whose processing costs about as much as solving for the weights."""
        return 20 * self.n_classes * n_features

    def chosen_settings(self, state: MulticlassFoldMoments) -> dict[str, float]:
        """Return the chosen alpha."""
        return {"alpha": self.selection(state).alpha}

    def selection(self, state: MulticlassFoldMoments) -> Selection:
        """Return the cross-validation scores of the penalties and the chosen one."""
        return self._selected(self.solve(state))

    def _selected(self, solution: MulticlassSolution) -> Selection:
        """Return the choice of a solution, which this solver always makes."""
        assert solution.selection is not None, "set by solve"
        return solution.selection

    @property
    def _exact(self) -> MulticlassExact:
        """The solver that solves for the weights."""
        return MulticlassExact(self.n_classes, standardize=self.standardize)

    def _alphas(self, state: MulticlassFoldMoments) -> Floats:
        """Return the penalties: those given, or those of `ExactCV`, relative to the variances of two classes."""
        if self.alphas is not None:
            return np.array(self.alphas)
        whole = state.whole()
        groups = [one for one in whole.without_rounding() if one.count > 0.0]
        if not groups:
            return GRID
        variances = np.mean([np.diagonal(one.scatter) / one.count for one in groups], axis=0)
        unit = 2.0 * float(np.mean(variances / self._exact.scale(whole) ** 2))
        return GRID * (unit if unit > 0.0 else 1.0)

    def _fold_scores(self, fold: MulticlassMoments, path: Floats) -> Floats:
        """Return the mean score over the classes of the minimizers for each alpha."""
        if self.criterion == "auc":
            return _binormal_aucs(fold, path)
        every = fold.pair_sums(np.ones(fold.n_features))
        losses: Floats = np.mean([pairs.loss(path[:, pairs.label]) for pairs in every], axis=0)
        return -losses


def _binormal_aucs(fold: MulticlassMoments, path: Floats) -> Floats:
    """Return the mean over ordered pairs of classes of the AUC that scores would have if they were normal."""
    groups, seen, aucs = fold.without_rounding(), fold.seen(), []
    for k in seen:
        weights = path[:, k]
        means = {c: weights @ groups[c].mean for c in seen}
        variances = {
            c: np.maximum(0.0, np.einsum("ij,ij->i", weights @ groups[c].scatter, weights)) / groups[c].count
            for c in seen
        }
        aucs += [binormal_auc(means[k] - means[c], variances[k] + variances[c]) for c in seen if c != k]
    mean: Floats = np.mean(aucs, axis=0)
    return mean
