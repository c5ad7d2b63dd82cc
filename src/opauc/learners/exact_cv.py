"""The exact minimiser with its penalty chosen by cross-validation, all within one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from opauc.learners.exact import Exact
from opauc.learners.learner import StatisticLearner
from opauc.learners.parameters import SWITCH, Count, Numbers, Option, Threads, parameter
from opauc.rows import Floats, Labels, Rows
from opauc.statistics.class_moments import ClassMoments
from opauc.statistics.fold_moments import MOST_FOLDS, FoldMoments

# Penalties to choose from, in units of the mean variance of the (standardised) features. Measured on 15 tables: the
# best lay between a ten-thousandth and ten, or made no difference.
GRID = 10.0 ** np.linspace(-6.0, 1.0, 13)


def _negative_pair_loss(margins: Floats, variances: Floats) -> Floats:
    return -0.5 * ((1.0 - margins) ** 2 + variances)


def _binormal_auc(margins: Floats, variances: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        chances: Floats = ndtr(margins / np.sqrt(variances))
    return np.where(variances > 0.0, chances, 0.5 + 0.5 * np.sign(margins))


# What is judged of weights: from the difference of the mean scores of the classes and the sum of their variances.
CRITERIA = {"pair_loss": _negative_pair_loss, "auc": _binormal_auc}


class Selection(NamedTuple):
    """The penalties, what each scored on every fold held out (the higher the better), and the one chosen.

    `scores` has a row for each penalty and a column for each fold that could be
    judged, which takes rows of both classes in it and outside it.
    """

    alphas: Floats
    scores: Floats
    chosen: int

    @property
    def alpha(self) -> float:
        """The penalty chosen."""
        return float(self.alphas[self.chosen])


@dataclass(frozen=True)
class ExactCV(StatisticLearner[FoldMoments]):
    """Minimise alpha/2 |w|^2 + mean over pairs of (1 - w.(x_pos - x_neg))^2 / 2 for the alpha that suits new rows best.

    The statistics are kept for each of `folds` folds. What a fold's statistics
    say of weights learnt from the others, their pair loss or the AUC that
    normal scores would have, needs no row: so alpha is cross-validated after
    the pass, at the price of one path of solutions a fold.

    With `standardize` the ridge acts on features of unit variance (the mean
    of the variances in both classes): units then play no part. Penalties are
    `alphas`, or, by default, 13 that suit the size of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.exact_cv import ExactCV
    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(200) % 2).astype(np.int8)
    >>> rows = rng.normal(size=(200, 3)) + labels[:, None]
    >>> learner = ExactCV()
    >>> state = learner.step(learner.start(3), rows, labels)
    >>> learner.selection(state).scores.shape
    (13, 5)
    """

    keeps_covariances: ClassVar[bool] = True

    alphas: tuple[float, ...] | None = parameter(None, Numbers(low=0.0))
    folds: int = parameter(5, Count(2, MOST_FOLDS))
    criterion: str = parameter("pair_loss", Option(tuple(CRITERIA)))
    one_standard_error: bool = parameter(False, SWITCH)
    standardize: bool = parameter(True, SWITCH)
    n_jobs: int = parameter(1, Threads())

    @property
    def order_matters(self) -> bool:
        """Whether rows in another order give other weights: they are in other folds then."""
        return True

    def start(self, n_features: int) -> FoldMoments:
        """Return statistics of no rows."""
        return FoldMoments.empty(n_features, self.folds)

    def step(self, state: FoldMoments, rows: Rows, labels: Labels, weight: Floats | None = None) -> FoldMoments:
        """Return the statistics with the chunk in them."""
        if state.n_folds != self.folds:
            raise ValueError(f"folds was {state.n_folds} at the start, now it is {self.folds}")
        return state.update(rows, labels, weight, n_jobs=self.n_jobs)

    def forget(
        self,
        state: FoldMoments,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        row_numbers: ArrayLike | None = None,
    ) -> FoldMoments:
        """Return the statistics as if these rows, learnt under these numbers (from 0), had never been seen."""
        if row_numbers is None:
            raise ValueError("forget needs row_numbers where rows were learnt in folds")
        return state.forget(rows, labels, row_numbers, weight)

    def weights(self, state: FoldMoments) -> Floats:
        """Return the minimiser for the alpha chosen; zero until both classes were seen."""
        whole = state.whole()
        if not whole.counts.both:
            return np.zeros(state.n_features)
        weights: Floats = self._path(whole, [self.selection(state).alpha])[0]
        return weights

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return how many rows cost about as much to take in as the weights cost to work out."""
        return 40 * n_features

    def path(self, state: FoldMoments, alphas: Sequence[float]) -> Floats:
        """Return the minimisers of all rows for many alphas, one a row."""
        return self._path(state.whole(), alphas)

    def selection(self, state: FoldMoments) -> Selection:
        """Return the penalties, what they scored on each fold, and the choice."""
        alphas = self._alphas(state.whole())
        judge, columns = CRITERIA[self.criterion], []
        for number in range(state.n_folds):
            judged, learnt = state.fold(number), state.complement(number)
            if judged.counts.both and learnt.counts.both:
                weights = self._path(learnt, alphas.tolist())
                variances = np.maximum(0.0, np.einsum("ij,ij->i", weights @ judged.covariance_sum(), weights))
                columns.append(judge(weights @ judged.mean_difference(), variances))
        scores = np.array(columns).T.reshape(alphas.size, len(columns))
        return Selection(alphas, scores, self._chosen(alphas, scores))

    def _chosen(self, alphas: Floats, scores: Floats) -> int:
        """Return the number of the best penalty, of equal ones the largest; the middle one where none can be judged."""
        if not scores.size:
            return alphas.size // 2
        means = scores.mean(axis=1)
        best = means.max()
        if self.one_standard_error and scores.shape[1] > 1:
            best -= scores[means.argmax()].std(ddof=1) / np.sqrt(scores.shape[1])
        enough = np.flatnonzero(means >= best)
        return int(enough[alphas[enough].argmax()])

    def _alphas(self, whole: ClassMoments) -> Floats:
        if self.alphas is not None:
            return np.array(self.alphas)
        scaled = whole.rescale(1.0 / self._scale(whole))
        unit = float(np.mean(np.diagonal(scaled.covariance_sum())))
        return GRID * (unit if unit > 0.0 else 1.0)

    def _path(self, moments: ClassMoments, alphas: Sequence[float]) -> Floats:
        scale = self._scale(moments)
        weights: Floats = Exact().path(moments.rescale(1.0 / scale), alphas) / scale
        return weights

    def _scale(self, moments: ClassMoments) -> Floats:
        """Return what the features are divided by: their standard deviation, one where they do not vary."""
        if not self.standardize:
            return np.ones(moments.n_features)
        deviations = np.sqrt(np.diagonal(moments.covariance_sum()) / 2.0)
        return np.where(deviations > 0.0, deviations, 1.0)
