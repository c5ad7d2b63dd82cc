"""The exact minimizer with its penalty chosen by cross-validation, all within one pass."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from opauc.core.parameters import SWITCH, Count, Numbers, Option, Threads, parameter
from opauc.core.solver import GroupedSolver
from opauc.linear.exact import Exact
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.moments.folds import MOST_FOLDS, FoldMoments
from opauc.types import Floats, GroupKeys, Labels, Rows

State = TypeVar("State", contravariant=True)


class Selection(NamedTuple):
    """The penalties, what each scored on every fold held out (the higher the better), and the one chosen.

    `scores` has a row for each penalty and a column for each fold that could be
    judged, which takes rows of both classes in it and outside it.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.exact_cv import Selection
    >>> scores = np.array([[0.6, 0.8], [0.7, 0.8], [0.7, 0.75]])
    >>> found = Selection.of(np.array([0.01, 0.1, 1.0]), scores)
    >>> found.alpha, found.alphas[found.within_one_error()].item()
    (0.1, 1.0)
    """

    alphas: Floats
    scores: Floats
    chosen: int
    criterion: str = "pair_loss"  # what is judged; a pair loss is negated

    @classmethod
    def of(
        cls, alphas: Floats, scores: Floats, one_standard_error: bool = False, criterion: str = "pair_loss"
    ) -> Selection:
        """Return the choice of the best penalty, or of the largest that is within one standard error of it.

        Of equal penalties the largest is taken; the middle one where none can be judged.
        """
        found = cls(alphas, scores, alphas.size // 2, criterion)
        return found._replace(chosen=found.within_one_error() if one_standard_error else found.best())

    @property
    def alpha(self) -> float:
        """The penalty chosen."""
        return float(self.alphas[self.chosen])

    @property
    def n_folds(self) -> int:
        """How many folds could be judged."""
        return int(self.scores.shape[1])

    def means(self) -> Floats:
        """Return the mean score of each penalty; nan where no fold could be judged."""
        if not self.n_folds:
            return np.full(self.alphas.size, np.nan)
        means: Floats = self.scores.mean(axis=1)
        return means

    def deviations(self) -> Floats:
        """Return the standard deviation of the scores of each penalty; nan where no fold could be judged."""
        if not self.n_folds:
            return np.full(self.alphas.size, np.nan)
        deviations: Floats = self.scores.std(axis=1)
        return deviations

    def errors(self) -> Floats:
        """Return the standard error of each mean; zero of one fold alone."""
        if self.n_folds < 2:
            return np.zeros(self.alphas.size)
        errors: Floats = self.scores.std(axis=1, ddof=1) / np.sqrt(self.n_folds)
        return errors

    def best(self) -> int:
        """Return the number of the best penalty, of equal ones the largest."""
        return self._largest(0.0)

    def within_one_error(self) -> int:
        """Return the number of the largest penalty whose mean is within one standard error of the best."""
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
        """Return the penalties, what they scored on each fold, and the choice."""


# Penalties to choose from, in units of the mean variance of the (standardized) features. Measured on 15 tables: the
# best lay between a ten-thousandth and ten, or made no difference.
GRID = 10.0 ** np.linspace(-6.0, 1.0, 13)


def _negative_pair_loss(margins: Floats, variances: Floats) -> Floats:
    return -0.5 * ((1.0 - margins) ** 2 + variances)


def _binormal_auc(margins: Floats, variances: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        probabilities: Floats = ndtr(margins / np.sqrt(variances))
    return np.where(variances > 0.0, probabilities, 0.5 + 0.5 * np.sign(margins))


# What is judged of weights: from the difference of the mean scores of the classes and the sum of their variances.
CRITERIA = {"pair_loss": _negative_pair_loss, "auc": _binormal_auc}


@dataclass(frozen=True)
class ExactCV(GroupedSolver[FoldMoments], PenaltySelector[FoldMoments]):
    """Minimize alpha/2 |w|^2 + mean over pairs of (1 - w.(x_pos - x_neg))^2 / 2 for the alpha that suits new rows best.

    The statistics are kept for each of `cv` folds. What a fold's statistics
    say of weights learned from the others, their pair loss or the AUC that
    normal scores would have, needs no row: so alpha is cross-validated after
    the pass, at the price of one path of solutions a fold.

    With `standardize` the ridge acts on features of unit variance (the mean
    of the variances in both classes): units then play no part. Penalties are
    `alphas`, or, by default, 13 that suit the size of the features.

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
    cv: int = parameter(5, Count(2, MOST_FOLDS))
    criterion: str = parameter("pair_loss", Option(tuple(CRITERIA)))
    one_standard_error: bool = parameter(False, SWITCH)
    standardize: bool = parameter(True, SWITCH)
    n_jobs: int = parameter(1, Threads())

    @property
    def n_covariances(self) -> int:
        """How many covariance matrices the state holds: one of each class and fold."""
        return 2 * self.cv

    @property
    def order_matters(self) -> bool:
        """Whether rows in another order give other weights: they are in other folds then."""
        return True

    @property
    def _exact(self) -> Exact:
        """The solver that solves for the weights."""
        return Exact(standardize=self.standardize)

    def of_shard(self, key: int, shard: int) -> ExactCV:  # noqa: ARG002
        """Return the solver of one of several shards: one thread each."""
        return replace(self, n_jobs=1)

    def start(self, n_features: int) -> FoldMoments:
        """Return statistics of no rows."""
        return FoldMoments.empty(n_features, self.cv)

    def step(self, state: FoldMoments, rows: Rows, labels: Labels, weight: Floats | None = None) -> FoldMoments:
        """Return the statistics with the chunk in them."""
        self._check_folds(state)
        return state.update(rows, labels, weight, n_jobs=self.n_jobs)

    def step_groups(
        self, state: FoldMoments, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None
    ) -> FoldMoments:
        """Return the statistics with the chunk in them, rows of one group in one fold."""
        self._check_folds(state)
        return state.update(rows, labels, weight, groups=groups, n_jobs=self.n_jobs)

    def forget_groups(
        self, state: FoldMoments, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None
    ) -> FoldMoments:
        """Return the statistics as if these rows, learned with these groups, had never been seen."""
        return state.forget_groups(rows, labels, groups, weight)

    def forget(
        self,
        state: FoldMoments,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        row_numbers: ArrayLike | None = None,
    ) -> FoldMoments:
        """Return the statistics as if these rows, learned under these numbers (from 0), had never been seen."""
        if row_numbers is None:
            needed = "groups" if state.grouped else "row_numbers"
            raise ValueError(f"forget needs {needed} where rows were learned in folds")
        return state.forget(rows, labels, row_numbers, weight)

    def weights(self, state: FoldMoments) -> Floats:
        """Return the minimizer for the alpha chosen; zero until both classes were seen."""
        whole = state.whole()
        if not whole.counts.both:
            return np.zeros(state.n_features)
        weights: Floats = self._exact.path(whole, [self.selection(state).alpha])[0]
        return weights

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return how many rows cost about as much to take in as the weights cost to work out."""
        return 40 * n_features

    def path(self, state: FoldMoments, alphas: Sequence[float]) -> Floats:
        """Return the minimizers of all rows for many alphas, one a row."""
        return self._exact.path(state.whole(), alphas)

    def chosen_settings(self, state: FoldMoments) -> dict[str, float]:
        """Return the penalty chosen."""
        return {"alpha": self.selection(state).alpha}

    def selection(self, state: FoldMoments) -> Selection:
        """Return the penalties, what they scored on each fold, and the choice."""
        alphas = self._alphas(state.whole())
        judge, columns = CRITERIA[self.criterion], []
        for number in self.judged_folds(state):
            judged, weights = state.fold(number), self._exact.path(state.complement(number), alphas.tolist())
            variances = np.maximum(0.0, np.einsum("ij,ij->i", weights @ judged.covariance_sum(), weights))
            columns.append(judge(weights @ judged.mean_difference(), variances))
        scores = np.array(columns).T.reshape(alphas.size, len(columns))
        return Selection.of(alphas, scores, self.one_standard_error, self.criterion)

    def judged_folds(self, state: FoldMoments) -> list[int]:
        """Return the numbers of the folds with rows of both classes in them and outside them."""
        counts = np.array([state.fold(number).counts for number in range(state.n_folds)])
        seen = counts > 0.0
        elsewhere = seen.sum(axis=0) - seen > 0
        return np.flatnonzero((seen & elsewhere).all(axis=1)).tolist()

    def _check_folds(self, state: FoldMoments) -> None:
        if state.n_folds != self.cv:
            raise ValueError(f"cv was {state.n_folds} at the start, now it is {self.cv}")

    def _alphas(self, whole: ClassMoments) -> Floats:
        if self.alphas is not None:
            return np.array(self.alphas)
        unit = float(np.mean(np.diagonal(whole.covariance_sum()) / self._exact.scale(whole) ** 2))
        return GRID * (unit if unit > 0.0 else 1.0)
