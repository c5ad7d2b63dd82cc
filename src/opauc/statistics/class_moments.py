"""Statistics of the two classes, and what they say about a linear scorer without the data."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.special import ndtr

from opauc.rows import ClassCounts, Floats, Labels, Rows
from opauc.statistics.exact_moments import ExactMoments
from opauc.statistics.feature_spread import FeatureSpread
from opauc.statistics.group_moments import GroupMoments
from opauc.statistics.score_summary import ScoreSummary
from opauc.statistics.statistic import Statistic


class ClassMoments(GroupMoments, Statistic):
    """Exact statistics of the negative (label 0) and the positive (label 1) class: two groups of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.statistics import ClassMoments
    >>> rows = np.array([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0], [5.0, 2.0]])
    >>> labels = np.array([0, 0, 1, 1], np.int8)
    >>> seen = ClassMoments.empty(2).update(rows[:3], labels[:3]).update(rows[3:], labels[3:])
    >>> seen.mean_difference().tolist()
    [3.5, 0.0]
    >>> seen.forget(rows[3:], labels[3:]).positive.count
    1.0
    """

    __slots__ = ()

    def __init__(self, negative: ExactMoments, positive: ExactMoments) -> None:
        super().__init__(negative, positive)

    @classmethod
    def of(cls, rows: Rows, labels: Labels, weight: Floats | None = None, n_jobs: int = 1) -> Self:
        """Statistics of labelled rows, gathered by `n_jobs` threads."""
        return cls.empty(rows.shape[1]).update(rows, labels, weight, n_jobs=n_jobs)

    @property
    def negative(self) -> ExactMoments:
        """Statistics of the negative rows."""
        return self.groups[0]

    @property
    def positive(self) -> ExactMoments:
        """Statistics of the positive rows."""
        return self.groups[1]

    @property
    def counts(self) -> ClassCounts:
        """Rows of each class, each counted with its weight."""
        return ClassCounts(self.negative.count, self.positive.count)

    def mean_difference(self) -> Floats:
        """Mean of the positive rows less mean of the negative rows."""
        return self.positive.mean - self.negative.mean

    def covariance_sum(self) -> Floats:
        """Sum of the covariance matrices of the two classes."""
        total = self.negative.scatter * (1.0 / (self.negative.count or 1.0))
        total += self.positive.scatter * (1.0 / (self.positive.count or 1.0))
        return total

    def pair_loss(self, weights: Floats) -> float:
        """Mean over all pairs of rows seen of (1 - weights.(positive - negative))^2 / 2."""
        margin = 1.0 - self.mean_difference() @ weights
        return 0.5 * float(margin * margin + sum(self.score_variances(weights)))

    def score_variances(self, weights: Floats) -> tuple[float, float]:
        """Variance of the scores of the negative and of the positive rows."""
        negative, positive = (
            max(0.0, float(weights @ (one.scatter @ weights)) / one.count) if one.count else 0.0 for one in self.groups
        )
        return negative, positive

    def summary(self, weights: Floats) -> ScoreSummary:
        """Counts, means and variances of the scores that `weights` give to the rows seen."""
        means = float(weights @ self.negative.mean), float(weights @ self.positive.mean)
        return ScoreSummary(self.counts, means, self.score_variances(weights))

    def feature_spread(self) -> FeatureSpread:
        """Standard deviation of each feature within the classes, pooled over both."""
        scatter: Floats = np.diagonal(self.negative.scatter) + np.diagonal(self.positive.scatter)
        return FeatureSpread.pooled(scatter, sum(self.counts))

    def binormal_auc(self, weights: Floats) -> float:
        """AUC of the scores if they were normally distributed in each class."""
        margin, deviation = self.mean_difference() @ weights, np.sqrt(sum(self.score_variances(weights)))
        if deviation == 0.0:
            return 0.5 * (1.0 + float(np.sign(margin)))
        return float(ndtr(margin / deviation))

    @classmethod
    def _names(cls, n_groups: int) -> tuple[str, ...]:  # noqa: ARG003
        return "negative", "positive"
