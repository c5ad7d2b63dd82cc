"""Metrics of a ranking of several classes: of each class against all others, and their mean.

The limits of the mean come from those of the classes and the correlations of their estimates (Zou and Donner 2008): the
interval of each class allows for few rows and for values at the end of the scale, where variances vanish.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.group_keys import group_numbers
from opauc.metrics.exact_auc import Counts
from opauc.metrics.influence import ROUNDING, Influence, MetricInterval, Part
from opauc.metrics.intervals import AucDifference
from opauc.metrics.multiclass_auc import check_all_classes, check_class_scores, clusters_by_class, rows_by_class
from opauc.metrics.ranking_metric import RankingMetric
from opauc.metrics.score_table import ScoreTable
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.metrics.streaming_multiclass_auc import StreamingMulticlassAuc
from opauc.types import Floats


class ClassIntervals(NamedTuple):
    """A metric of each class against all others, with intervals, and the mean over the classes.

    Attributes
    ----------
    mean : MetricInterval
        The mean over the classes, which all count the same.
    by_class : tuple of MetricInterval
        The metric of each class against all others.

    Examples
    --------
    >>> from opauc.metrics import AveragePrecision, ClassMean
    >>> scores = [[0.8, 0.1, 0.1], [0.3, 0.5, 0.2], [0.2, 0.6, 0.2], [0.4, 0.3, 0.3], [0.1, 0.2, 0.7]]
    >>> found = ClassMean(AveragePrecision()).intervals([0, 0, 1, 1, 2], scores)
    >>> [round(one.value, 4) for one in found.by_class], round(found.mean.value, 4)
    ([0.8333, 0.8333, 1.0], 0.8889)
    """

    mean: MetricInterval
    by_class: tuple[MetricInterval, ...]


@dataclass(frozen=True, slots=True)
class ClassMean:
    """The mean over classes of a metric of a ranking: rows of a class against all others, by its column of scores.

    Parameters
    ----------
    metric : RankingMetric
        The metric, such as `PartialAuc(0.1)`.

    Examples
    --------
    >>> from opauc.metrics import ClassMean, PrecisionAt
    >>> scores = [[0.8, 0.1, 0.1], [0.3, 0.5, 0.2], [0.2, 0.6, 0.2], [0.4, 0.3, 0.3], [0.1, 0.2, 0.7]]
    >>> ClassMean(PrecisionAt(1))([0, 0, 1, 1, 2], scores)
    1.0
    """

    metric: RankingMetric

    @property
    def name(self) -> str:
        """The name, such as "ap_ovr"."""
        return f"{self.metric.name}_ovr"

    def __call__(self, labels: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean for rows: labels 0 to K - 1, scores (n, K)."""
        label, score = check_class_scores(labels, scores)
        values = (self.metric(label == one, score[:, one], sample_weight) for one in range(score.shape[1]))
        return float(np.mean(list(values)))

    def intervals(
        self, labels: ArrayLike, scores: ArrayLike, level: float = 0.95, *, groups: ArrayLike | None = None
    ) -> ClassIntervals:
        """Return the metric of each class and the mean, with confidence intervals.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Classes as numbers from 0 to K - 1.
        scores : array-like of shape (n_rows, K)
            A column of scores for each class.
        level : float, default=0.95
            The level of the intervals.
        groups : array-like of shape (n_rows,), optional
            The cluster of each row: rows of one cluster need not be independent.

        Returns
        -------
        intervals : ClassIntervals
            The mean, and the values of the classes.

        Raises
        ------
        ParameterError
            If a class has no rows, or the metric is not defined for the rows of one.
        """
        label, score = check_class_scores(labels, scores)
        by_class = tuple(
            self.metric.interval(label == positive, score[:, positive], level, groups=groups)
            for positive in range(score.shape[1])
        )
        covariance = _covariance(
            self._row_influences(label, score), label, None if groups is None else group_numbers(groups, label.size)
        )
        return ClassIntervals(_mean_of(by_class, covariance), by_class)

    def compare(
        self, labels: ArrayLike, first: ArrayLike, second: ArrayLike, *, groups: ArrayLike | None = None
    ) -> AucDifference:
        """Return the mean of the first scorer minus that of the second, with the paired test of no difference.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Classes as numbers from 0 to K - 1.
        first, second : array-like of shape (n_rows, K)
            The scores of two scorers for the same rows.
        groups : array-like of shape (n_rows,), optional
            The cluster of each row: rows of one cluster need not be independent.

        Returns
        -------
        difference : AucDifference
            The difference, its standard error, and the p-value of no difference.

        Raises
        ------
        ParameterError
            If a class has no rows, or the metric is not defined for the rows of one.
        """
        label, one = check_class_scores(labels, first)
        _, two = check_class_scores(labels, second)
        clusters = clusters_by_class(groups, label, one.shape[1])
        return self._influence(label, one).compare(self._influence(label, two), clusters)

    def bounds(self, stream: StreamingMulticlassAuc) -> tuple[float, float]:
        """Return bounds that contain the exact mean for all rows of a stream.

        Parameters
        ----------
        stream : StreamingMulticlassAuc
            The state of the rows of a stream.

        Returns
        -------
        bounds : tuple of float
            The lower and the upper bound.

        Raises
        ------
        ParameterError
            If a class has no rows.
        """
        check_all_classes(stream.counts)
        lows, highs = zip(*(self.metric.bounds(one) for one in streams_of_classes(stream)), strict=True)
        return float(np.mean(lows)), float(np.mean(highs))

    def stream_intervals(self, stream: StreamingMulticlassAuc, level: float = 0.95) -> ClassIntervals:
        """Return the middles of the bounds with confidence intervals, widened by the bounds.

        Which scores belong to one row is not kept, so the limits of the mean are the means of the limits: it is wider
        than that of the rows.

        Parameters
        ----------
        stream : StreamingMulticlassAuc
            The state of the rows of a stream.
        level : float, default=0.95
            The level of the intervals.

        Returns
        -------
        intervals : ClassIntervals
            The mean, and the values of the classes.

        Raises
        ------
        ParameterError
            If a class has no rows, or the metric is not defined for the rows of one.
        """
        check_all_classes(stream.counts)
        by_class = tuple(self.metric.stream_interval(one, level) for one in streams_of_classes(stream))
        return ClassIntervals(MetricInterval(*np.mean(by_class, axis=0).tolist()), by_class)

    def _row_influences(self, label: Counts, score: Floats) -> Floats:
        """Return the influence of each row on the metric of each class, (n, K)."""
        values = np.empty(score.shape)
        for positive in range(score.shape[1]):
            table, entries = ScoreTable.of_rows(label == positive, score[:, positive])
            influence = self.metric.influence_of(table)
            of_rows = np.where(label == positive, influence.of_positives[entries], influence.of_negatives[entries])
            values[:, positive] = self.metric.scale.factor * of_rows
        return values

    def _influence(self, label: Counts, score: Floats) -> Influence:
        """Return the influences of the rows on the mean, by class."""
        values = self._row_influences(label, score).mean(axis=1)
        parts = [Part(values[rows], np.ones(rows.size)) for rows in rows_by_class(label, score.shape[1])]
        tables = [ScoreTable.of_rows(label == one, score[:, one])[0] for one in range(score.shape[1])]
        n_trials = min(self.metric.influence_of(table).n_trials for table in tables)
        return Influence(float(np.mean([self.metric.of_table(table) for table in tables])), parts, n_trials)


def streams_of_classes(stream: StreamingMulticlassAuc) -> list[StreamingAuc]:
    """Return the state of the scores of each class, against all others.

    Parameters
    ----------
    stream : StreamingMulticlassAuc
        The state of the scores of all classes.

    Returns
    -------
    streams : list of StreamingAuc
        One for each class.
    """
    streams = []
    for positive, column in enumerate(stream.columns):
        positives = column.class_counts[:, positive]
        counts = np.stack([column.class_counts.sum(axis=1) - positives, positives], axis=1)
        streams.append(StreamingAuc(column.size, column.lows, column.highs, counts))
    return streams


def _covariance(influences: Floats, label: Counts, clusters: Counts | None) -> Floats:
    """Return the covariances of the metrics of the classes over samples of rows of each class, or of clusters."""
    n_classes = influences.shape[1]
    if clusters is not None:
        sums = np.zeros((int(clusters.max(initial=0)) + 1, n_classes))
        np.add.at(sums, clusters, influences)
        deviations = sums - sums.mean(axis=0)
        n_clusters = max(sums.shape[0], 2)
        return np.asarray(deviations.T @ deviations * n_clusters / (n_clusters - 1))
    covariance = np.zeros((n_classes, n_classes))
    for rows in rows_by_class(label, n_classes):
        mean = influences[rows].mean(axis=0)
        deviations = influences[rows] - mean
        covariance += deviations.T @ deviations * rows.size / max(rows.size - 1, 1)
        covariance += rows.size * np.outer(mean, mean)
    return covariance


def _mean_of(by_class: Sequence[MetricInterval], covariance: Floats) -> MetricInterval:
    """Return the mean with limits from those of the classes; a class without variance is independent of the others."""
    n_classes, errors = len(by_class), np.sqrt(np.diag(covariance))
    scale = np.where(errors > ROUNDING, errors, np.inf)
    correlations = np.clip(covariance / np.outer(scale, scale), -1.0, 1.0)
    np.fill_diagonal(correlations, 1.0)
    values, lows, highs, _ = np.array(by_class).T
    value = float(values.mean())
    below, above = (np.sqrt(max(gap @ correlations @ gap, 0.0)) / n_classes for gap in (values - lows, highs - values))
    error = float(np.sqrt(max(covariance.sum(), 0.0))) / n_classes
    return MetricInterval(value, value - float(below), value + float(above), error)
