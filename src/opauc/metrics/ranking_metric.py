"""What every metric of a ranking of two classes offers: value, interval, paired test, and bounds from a stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.group_keys import group_numbers
from opauc.metrics.exact_auc import Counts, Flags, check_scores, check_weights
from opauc.metrics.influence import METRIC_POLICY, Influence, MetricInterval, Part, Scale
from opauc.metrics.intervals import AucDifference, IntervalPolicy
from opauc.metrics.score_table import Indices, ScoreTable
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.types import Floats


class TableInfluence(NamedTuple):
    """The influence of a row of each class at each score on a metric, as a share of its largest value.

    Attributes
    ----------
    of_negatives, of_positives : ndarray of shape (n_scores,)
        The influence of a row of the class at each score.
    n_trials : float
        The number of trials of a binomial share that would vary as much.
    largest_of_negatives, largest_of_positives : float
        The variance that the influences of the class can have at most.
    n_informative_negatives, n_informative_positives : float
        How many rows of the class decide the metric.
    skewed : bool
        Whether few rows can change the value much in one direction.
    fixed_share : float
        The share of the variance that is known without the rows.
    policy : IntervalPolicy
        How far the variance of few rows is trusted.
    """

    of_negatives: Floats  # (n,)
    of_positives: Floats  # (n,)
    n_trials: float
    largest_of_negatives: float = 0.0
    n_informative_negatives: float = 0.0
    largest_of_positives: float = 0.0
    n_informative_positives: float = 0.0
    skewed: bool = False
    fixed_share: float = 0.0
    policy: IntervalPolicy = METRIC_POLICY

    def of_table(self, value: float, table: ScoreTable, scale: Scale) -> Influence:
        """Return the influences of the entries of a table, each with its number of rows."""
        return self._of(value, scale, (self.of_negatives, table.negatives), (self.of_positives, table.positives))

    def of_rows(self, value: float, positive: Flags, entries: Indices, scale: Scale) -> Influence:
        """Return the influences of the rows: of the negatives and of the positives, in their order."""
        negatives, positives = self.of_negatives[entries[~positive]], self.of_positives[entries[positive]]
        return self._of(value, scale, (negatives, np.ones(negatives.size)), (positives, np.ones(positives.size)))

    def _of(
        self, value: float, scale: Scale, negatives: tuple[Floats, Floats], positives: tuple[Floats, Floats]
    ) -> Influence:
        parts = [
            Part(*negatives, self.largest_of_negatives, self.n_informative_negatives),
            Part(*positives, self.largest_of_positives, self.n_informative_positives),
        ]
        return Influence(value, parts, self.n_trials, scale, self.skewed, self.fixed_share, self.policy)


class RankingMetric(ABC):
    """Base class of metrics of how scores rank rows of two classes: `Auc`, `PartialAuc`, `AveragePrecision`, and so on.

    ``metric(labels, scores)`` is its value, `interval` adds confidence limits, `compare` tests two scorers of the same
    rows, and `bounds` and `stream_interval` take a `StreamingAuc` in place of labels and scores.

    Examples
    --------
    >>> from opauc.metrics import RankingMetric, ranking_metric
    >>> isinstance(ranking_metric("pauc@0.01"), RankingMetric)
    True
    """

    __slots__ = ()

    @property
    @abstractmethod
    def name(self) -> str:
        """The name by which `ranking_metric` and the command find it, such as "pauc@0.01"."""

    @property
    @abstractmethod
    def title(self) -> str:
        """The name in tables."""

    @abstractmethod
    def of_table(self, table: ScoreTable) -> float:
        """Return the value for rows of a table; raise ValueError where it is not defined.

        Parameters
        ----------
        table : ScoreTable
            The rows of each class at each distinct score.

        Returns
        -------
        value : float
            The value of the metric.

        Raises
        ------
        ValueError
            If the metric is not defined for these rows, for example without positives.
        """

    @abstractmethod
    def influence_of(self, table: ScoreTable) -> TableInfluence:
        """Return the influence of the rows of a table on the share of the largest value.

        Parameters
        ----------
        table : ScoreTable
            The rows of each class at each distinct score.

        Returns
        -------
        influence : TableInfluence
            The influence of a row of each class at each score.
        """

    @property
    def scale(self) -> Scale:
        """How the value depends on the share."""
        return Scale()

    def __call__(self, labels: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the value for rows: labels of 0 and 1 or booleans, scores that are not NaN."""
        positive, score = check_scores(labels, scores)
        weight = None if sample_weight is None else check_weights(sample_weight, positive)
        return self.of_table(ScoreTable.of_rows(positive, score, weight)[0])

    def interval(
        self, labels: ArrayLike, scores: ArrayLike, level: float = 0.95, *, groups: ArrayLike | None = None
    ) -> MetricInterval:
        """Return the value with a confidence interval; rows of one of the `groups` need not be independent.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Labels of 0 and 1, or booleans.
        scores : array-like of shape (n_rows,)
            Scores, the higher the more positive; none is NaN.
        level : float, default=0.95
            The level of the interval.
        groups : array-like of shape (n_rows,), optional
            The cluster of each row: rows of one cluster need not be independent.

        Returns
        -------
        interval : MetricInterval
            The value, its limits and its standard error.

        Raises
        ------
        ValueError
            If the metric is not defined for these rows, for example without positives.
        """
        positive, score = check_scores(labels, scores)
        return self._influence(positive, score).interval(level, clusters_of(groups, positive))

    def compare(
        self, labels: ArrayLike, first: ArrayLike, second: ArrayLike, *, groups: ArrayLike | None = None
    ) -> AucDifference:
        """Return the value of the first scorer minus that of the second, with the paired test of no difference.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Labels of 0 and 1, or booleans.
        first, second : array-like of shape (n_rows,)
            The scores of two scorers for the same rows.
        groups : array-like of shape (n_rows,), optional
            The cluster of each row: rows of one cluster need not be independent.

        Returns
        -------
        difference : AucDifference
            The difference, its standard error, and the p-value of no difference.

        Raises
        ------
        ValueError
            If the metric is not defined for these rows, for example without positives.
        """
        positive, one = check_scores(labels, first)
        _, two = check_scores(labels, second)
        clusters = clusters_of(groups, positive)
        return self._influence(positive, one).compare(self._influence(positive, two), clusters)

    def bounds(self, stream: StreamingAuc) -> tuple[float, float]:
        """Return bounds that contain the exact value for all rows of a stream; they are equal where it is exact.

        Parameters
        ----------
        stream : StreamingAuc
            The state of the rows of a stream.

        Returns
        -------
        bounds : tuple of float
            The lower and the upper bound.

        Raises
        ------
        ValueError
            If the metric is not defined for these rows, for example without positives.
        """
        low, high = (
            self.of_table(table) for table in (ScoreTable.worst_of_stream(stream), ScoreTable.best_of_stream(stream))
        )
        return min(low, high), max(low, high)

    def stream_interval(self, stream: StreamingAuc, level: float = 0.95) -> MetricInterval:
        """Return the middle of the bounds with its confidence interval, widened by the bounds.

        Parameters
        ----------
        stream : StreamingAuc
            The state of the rows of a stream.
        level : float, default=0.95
            The level of the interval.

        Returns
        -------
        interval : MetricInterval
            The value, its limits and its standard error.

        Raises
        ------
        ValueError
            If the metric is not defined for these rows, for example without positives.
        """
        low, high = self.bounds(stream)
        table, value = ScoreTable.of_stream(stream), (low + high) / 2
        interval = self.influence_of(table).of_table(value, table, self.scale).interval(level)
        lowest, highest = sorted((self.scale.value(0.0), self.scale.value(1.0)))
        return interval._replace(
            low=max(interval.low - (value - low), lowest), high=min(interval.high + (high - value), highest)
        )

    def _influence(self, positive: Flags, score: Floats) -> Influence:
        table, entries = ScoreTable.of_rows(positive, score)
        value = self.of_table(table)
        return self.influence_of(table).of_rows(value, positive, entries, self.scale)


def clusters_of(groups: ArrayLike | None, positive: Flags) -> Sequence[Counts] | None:
    """Return the groups of the negatives and of the positives as numbers from 0; None without groups."""
    if groups is None:
        return None
    numbers = group_numbers(groups, positive.size)
    return numbers[~positive], numbers[positive]


def check_positives(table: ScoreTable, name: str) -> None:
    """Raise ValueError unless there are positives."""
    if not table.n_positives:
        raise ValueError(f"{name} needs positive rows, got none among {table.n_rows:,.0f} rows")


def check_class_weights(table: ScoreTable, name: str) -> None:
    """Raise ValueError unless there are rows of both classes."""
    if not (table.n_positives and table.n_negatives):
        raise ValueError(
            f"{name} needs rows of both classes, got {table.n_positives:,.0f} positives "
            f"and {table.n_negatives:,.0f} negatives"
        )
