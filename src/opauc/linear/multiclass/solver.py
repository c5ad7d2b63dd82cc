"""What solvers of several classes offer, and the exact minimizer of the pair loss of each class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.labels import MAX_CLASSES
from opauc.core.mergeable import LabeledSums
from opauc.core.parameters import NON_NEGATIVE, SHARE, SWITCH, Count, Threads, parameter
from opauc.core.solver import MergeableSolver
from opauc.linear.exact import Exact, check_can_forget
from opauc.linear.exact_cv import Selection
from opauc.linear.moments.multiclass import MulticlassMoments, PairSums
from opauc.linear.multiclass.calibration import ScoreMoments, calibrate
from opauc.linear.multiclass.scorer import MulticlassScorer
from opauc.linear.ridge import solve_ridge
from opauc.types import Floats, Labels, Rows

Sums = TypeVar("Sums", bound=LabeledSums)


class MulticlassSolution(NamedTuple):
    """The scorer of several classes, and the choice of its penalty if there was one."""

    scorer: MulticlassScorer
    selection: Selection | None = None


class MulticlassSolver(MergeableSolver[Sums]):
    """A solver of several classes: weights and a calibrated scorer for each class."""

    keeps_covariances: ClassVar[bool] = True

    @abstractmethod
    def solve(self, state: Sums) -> MulticlassSolution:
        """Return the scorer of rows, and the choice of the penalty where it is chosen."""

    def scorer(self, state: Sums) -> MulticlassScorer:
        """Return the scorer of rows."""
        return self.solve(state).scorer


@dataclass(frozen=True)
class MulticlassExact(MulticlassSolver[MulticlassMoments]):
    """Exact minimizer of the mean pair loss of each class against each other one.

    The weights of class k minimize alpha/2 |w|^2 plus the mean over the other
    classes l of the mean over pairs of (1 - w.(x_k - x_l))^2 / 2. With S the
    covariances of the classes and d_kl the differences of their means,

        w_k = (alpha I + mean over l of (S_k + S_l + d_kl d_kl^T))^-1 mean over l of d_kl.

    All classes weigh the same however rare they are. Two classes have the
    weights of `Exact` with either sign. The state is a `MulticlassMoments`.

    Parameters
    ----------
    n_classes : int, default=3
        Number of classes.
    alpha, forgetting_factor, n_jobs, standardize : float, float, int, bool
        As of `Exact`; the scale of a feature is from the mean of its variances in all classes.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.multiclass.solver import MulticlassExact
    >>> solver = MulticlassExact(alpha=0.5)
    >>> state = solver.step(solver.start(1), np.array([[0.0], [1.0], [3.0]]), np.array([0, 1, 2], np.int8))
    >>> solver.weights(state).round(4).tolist()
    [[-0.3636], [-0.1667], [0.3571]]
    """

    name: ClassVar[str] = "multiclass_exact"

    n_classes: int = parameter(3, Count(2, MAX_CLASSES))
    alpha: float = parameter(1e-4, NON_NEGATIVE)
    forgetting_factor: float = parameter(1.0, SHARE)
    n_jobs: int = parameter(1, Threads())
    standardize: bool = parameter(False, SWITCH)

    @property
    def n_covariances(self) -> int:
        """Number of covariance matrices in the state: one per class."""
        return self.n_classes

    @property
    def order_matters(self) -> bool:
        """Whether the order of rows matters: only with a forgetting factor."""
        return self.forgetting_factor != 1.0

    @property
    def shards_merge(self) -> bool:
        """Whether statistics of shards merge to those of all rows: not with a forgetting factor."""
        return self.forgetting_factor == 1.0

    def in_one_thread(self) -> MulticlassExact:
        """Return the solver with one thread."""
        return replace(self, n_jobs=1)

    def start(self, n_features: int) -> MulticlassMoments:
        """Return statistics of no rows."""
        return MulticlassMoments.empty(n_features, self.n_classes)

    def step(
        self, state: MulticlassMoments, rows: Rows, labels: Labels, weight: Floats | None = None
    ) -> MulticlassMoments:
        """Return the statistics of the earlier rows and these."""
        return state.update(rows, labels, weight, forgetting_factor=self.forgetting_factor, n_jobs=self.n_jobs)

    def forget(
        self,
        state: MulticlassMoments,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        row_numbers: ArrayLike | None = None,  # noqa: ARG002
    ) -> MulticlassMoments:
        """Return the statistics without these rows."""
        check_can_forget(self.forgetting_factor)
        return state.forget(rows, labels, weight, self.n_jobs)

    def weights(self, state: MulticlassMoments) -> Floats:
        """Return the minimizers, one row per class; zero for classes without rows."""
        weights: Floats = self.path(state, [self.alpha])[0]
        return weights

    def path(self, state: MulticlassMoments, alphas: Sequence[float]) -> Floats:
        """Return the minimizers for each alpha, of shape (n_alphas, n_classes, n_features)."""
        out = np.zeros((len(alphas), self.n_classes, state.n_features))
        seen = state.seen()
        if len(seen) < 2 or not len(alphas):
            return out
        scale = self.scale(state)
        for pairs in state.pair_sums(scale):
            out[:, pairs.label] = minimizers(pairs, alphas) / scale
        return out

    def scale(self, state: MulticlassMoments) -> Floats:
        """Return the scale of each feature for the penalty, from the classes that have rows."""
        groups = state.without_rounding()
        return Exact(standardize=self.standardize).scale_of_groups([groups[k] for k in state.seen()])

    def solve(self, state: MulticlassMoments) -> MulticlassSolution:
        """Return the calibrated scorer."""
        weights, seen = self.weights(state), state.seen()
        scores = ScoreMoments.of(state, weights[seen]) if len(seen) > 1 else None
        return MulticlassSolution(calibrated(weights, state.counts, scores))

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return the number of rows whose processing costs ten times as much as solving for the weights."""
        return 2 * self.n_classes * n_features


def minimizers(pairs: PairSums, alphas: Sequence[float]) -> Floats:
    """Return the minimizer of the pair loss of one class for each alpha, one per row, of scaled features."""
    return solve_ridge(pairs.matrix, pairs.difference, alphas)


def calibrated(weights: Floats, counts: Sequence[float], scores: ScoreMoments | None) -> MulticlassScorer:
    """Return the scorer of weights, given the rows of each class and the moments of the scores of those that have some.

    Rows of fewer than two classes have no such moments: the only class is then certain, and without rows all
    are alike.
    """
    rows = np.array(counts) if any(counts) else np.ones(len(counts))
    intercepts = np.where(rows > 0.0, 0.0, -np.inf)
    weights = weights.copy()
    if scores is not None:
        found = calibrate(scores)
        intercepts[rows > 0.0] = found.intercepts
        weights[rows > 0.0] *= found.factors[:, None]
    weights.flags.writeable = False
    return MulticlassScorer(weights, intercepts, rows / rows.sum())
