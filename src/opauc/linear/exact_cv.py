"""The exact minimizer with its penalty chosen by cross-validation within one pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from scipy.special import ndtr

from opauc.core.parameters import SWITCH, Count, Numbers, Option, Threads, parameter
from opauc.linear.exact import Exact
from opauc.linear.fold_solver import FoldSolver
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.moments.folds import MAX_FOLDS, ClassFolds, FoldMoments
from opauc.types import Floats

State = TypeVar("State", contravariant=True)


class Selection(NamedTuple):
    """Cross-validation scores of the penalties, and the chosen one.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        The penalties.
    scores : ndarray of shape (n_alphas, n_scored)
        A row per penalty, a column per fold with both classes inside and outside of it; higher is better.
    chosen : int
        The position of the chosen penalty.
    criterion : str
        What the scores are: of the pair loss, or of the AUC.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.exact_cv import Selection
    >>> scores = np.array([[0.6, 0.8], [0.7, 0.8], [0.7, 0.75]])
    >>> selection = Selection.of(np.array([0.01, 0.1, 1.0]), scores)
    >>> selection.alpha, selection.alphas[selection.within_one_error()].item()
    (0.1, 1.0)
    """

    alphas: Floats
    scores: Floats
    chosen: int
    criterion: str = "pair_loss"  # of the scores; losses are negated

    @classmethod
    def of(
        cls, alphas: Floats, scores: Floats, one_standard_error: bool = False, criterion: str = "pair_loss"
    ) -> Selection:
        """Return the selection of the best penalty, or of the largest within one standard error of the best.

        Ties go to the largest penalty. Without scores, the middle penalty is chosen.
        """
        selection = cls(alphas, scores, alphas.size // 2, criterion)
        return selection._replace(chosen=selection.within_one_error() if one_standard_error else selection.best())

    @property
    def alpha(self) -> float:
        """The chosen penalty."""
        return float(self.alphas[self.chosen])

    @property
    def n_folds(self) -> int:
        """Number of folds with scores."""
        return int(self.scores.shape[1])

    def means(self) -> Floats:
        """Return the mean score of each penalty; NaN without scores."""
        if not self.n_folds:
            return np.full(self.alphas.size, np.nan)
        means: Floats = self.scores.mean(axis=1)
        return means

    def deviations(self) -> Floats:
        """Return the standard deviation of the scores of each penalty; NaN without scores."""
        if not self.n_folds:
            return np.full(self.alphas.size, np.nan)
        deviations: Floats = self.scores.std(axis=1)
        return deviations

    def errors(self) -> Floats:
        """Return the standard error of each mean; zero for a single fold."""
        if self.n_folds < 2:
            return np.zeros(self.alphas.size)
        errors: Floats = self.scores.std(axis=1, ddof=1) / np.sqrt(self.n_folds)
        return errors

    def best(self) -> int:
        """Return the index of the best penalty; ties go to the largest."""
        return self._largest(0.0)

    def within_one_error(self) -> int:
        """Return the index of the largest penalty whose mean score is within one standard error of the best."""
        return self._largest(1.0)

    def _largest(self, errors: float) -> int:
        if not self.scores.size:
            return self.chosen
        means = self.means()
        best = int(means.argmax())
        enough = np.flatnonzero(means >= means[best] - errors * self.errors()[best])
        return int(enough[self.alphas[enough].argmax()])


class PenaltySelector(ABC, Generic[State]):
    """A solver that chooses its penalty by cross-validation."""

    @abstractmethod
    def selection(self, state: State) -> Selection:
        """Return the cross-validation scores of the penalties and the chosen one."""


# Default penalties in units of the mean variance of the (standardized) features. On 15 tables the best was between
# 1e-4 and 10, or made no difference.
GRID = 10.0 ** np.linspace(-6.0, 1.0, 13)


def _negative_pair_loss(margins: Floats, variances: Floats) -> Floats:
    return -0.5 * ((1.0 - margins) ** 2 + variances)


def binormal_auc(margins: Floats, variances: Floats) -> Floats:
    """Return the AUC of normal scores from the differences of their means and the sums of their variances."""
    with np.errstate(divide="ignore", invalid="ignore"):
        probabilities: Floats = ndtr(margins / np.sqrt(variances))
    return np.where(variances > 0.0, probabilities, 0.5 + 0.5 * np.sign(margins))


# Scores of weights, from the difference of the mean scores of the classes and the sum of the score variances.
CRITERIA = {"pair_loss": _negative_pair_loss, "auc": binormal_auc}


@dataclass(frozen=True)
class ExactCV(FoldSolver[FoldMoments], PenaltySelector[FoldMoments]):
    """Minimizer of `Exact` with alpha chosen by cross-validation after one pass.

    The state is a `FoldMoments`: class statistics of each of `cv` folds. The
    statistics of a fold are enough to score weights trained on the other folds,
    so cross-validation needs no second pass over the rows. It costs one path of
    solutions per fold.

    Parameters
    ----------
    alphas : tuple of float or None, default=None
        Penalties to choose from; None for 13 penalties relative to the mean
        variance of the features.
    cv : int, default=5
        Number of folds.
    criterion : {"pair_loss", "auc"}, default="pair_loss"
        Score of a fold: the negative pair loss, or the AUC under normally
        distributed scores.
    one_standard_error : bool, default=False
        Whether to take the largest alpha within one standard error of the best.
    standardize : bool, default=True
        Whether the penalty acts on features of unit variance, as in `Exact`.
    n_jobs : int, default=1
        Number of threads that sum the statistics.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.exact_cv import ExactCV
    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(200) % 2).astype(np.int8)
    >>> rows = rng.normal(size=(200, 3)) + labels[:, None]
    >>> solver = ExactCV()
    >>> state = solver.step(solver.start(3), rows, labels)
    >>> solver.selection(state).scores.shape
    (13, 5)
    """

    name: ClassVar[str] = "exact_cv"

    keeps_covariances: ClassVar[bool] = True
    numbers_rows: ClassVar[bool] = True

    alphas: tuple[float, ...] | None = parameter(None, Numbers(low=0.0))
    cv: int = parameter(5, Count(2, MAX_FOLDS))
    criterion: str = parameter("pair_loss", Option(tuple(CRITERIA)))
    one_standard_error: bool = parameter(False, SWITCH)
    standardize: bool = parameter(True, SWITCH)
    n_jobs: int = parameter(1, Threads())

    @property
    def n_covariances(self) -> int:
        """Number of covariance matrices in the state: one per class and fold."""
        return 2 * self.cv

    @property
    def order_matters(self) -> bool:
        """Whether the order of rows matters: it decides their folds."""
        return True

    @property
    def _exact(self) -> Exact:
        """The solver that solves for the weights."""
        return Exact(standardize=self.standardize)

    def in_one_thread(self) -> ExactCV:
        """Return the solver with one thread."""
        return replace(self, n_jobs=1)

    def start(self, n_features: int) -> FoldMoments:
        """Return statistics of no rows."""
        return FoldMoments.empty(n_features, self.cv)

    def weights(self, state: FoldMoments) -> Floats:
        """Return the minimizer for the chosen alpha; zero before both classes were seen."""
        whole = state.whole()
        if not whole.counts.both:
            return np.zeros(state.n_features)
        weights: Floats = self._exact.path(whole, [self.selection(state).alpha])[0]
        return weights

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return the number of rows whose processing costs about as much as solving for the weights."""
        return 40 * n_features

    def path(self, state: FoldMoments, alphas: Sequence[float]) -> Floats:
        """Return the minimizer on all rows for each alpha, one per row."""
        return self._exact.path(state.whole(), alphas)

    def chosen_settings(self, state: FoldMoments) -> dict[str, float]:
        """Return the chosen alpha."""
        return {"alpha": self.selection(state).alpha}

    def selection(self, state: FoldMoments) -> Selection:
        """Return the cross-validation scores of the penalties and the chosen one."""
        alphas = self._alphas(state.whole())
        score, columns = CRITERIA[self.criterion], []
        for number in scored_folds(state):
            fold, weights = state.fold(number), self._exact.path(state.complement(number), alphas.tolist())
            variances = np.maximum(0.0, np.einsum("ij,ij->i", weights @ fold.covariance_sum(), weights))
            columns.append(score(weights @ fold.mean_difference(), variances))
        scores = np.array(columns).T.reshape(alphas.size, len(columns))
        return Selection.of(alphas, scores, self.one_standard_error, self.criterion)

    def _alphas(self, whole: ClassMoments) -> Floats:
        if self.alphas is not None:
            return np.array(self.alphas)
        unit = float(np.mean(np.diagonal(whole.covariance_sum()) / self._exact.scale(whole) ** 2))
        return GRID * (unit if unit > 0.0 else 1.0)


def scored_folds(state: ClassFolds) -> list[int]:
    """Return the folds that can be scored: at least two classes occur both inside and outside of them."""
    seen = state.fold_counts() > 0.0
    elsewhere = seen.sum(axis=0) - seen > 0
    return np.flatnonzero((seen & elsewhere).sum(axis=1) >= 2).tolist()
