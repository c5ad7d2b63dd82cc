"""Labels and scores of rows of several classes: what their evaluation is computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from opauc.errors import Parameter, ParameterError
from opauc.metrics.auc import Auc
from opauc.metrics.class_mean import ClassIntervals, ClassMean
from opauc.metrics.exact_auc import auc_of_counts, exact_auc
from opauc.metrics.influence import MetricInterval
from opauc.metrics.intervals import AucDifference
from opauc.metrics.multiclass_auc import MulticlassAuc
from opauc.metrics.ranking_metric import RankingMetric
from opauc.metrics.streaming_multiclass_auc import StreamingMulticlassAuc
from opauc.types import Floats, Labels

# Scores, of all classes together, up to which those of all rows are kept.
MAX_EXACT_SCORES = 10**7
# Smallest probability whose logarithm counts.
LEAST_PROBABILITY = float(np.finfo(float).tiny)

OVER_PAIRS = MulticlassAuc("ovo")


class ClassScores:
    """Labels and scores of rows of several classes: all of them up to a number, beyond that intervals of scores.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics import AveragePrecision, MulticlassAuc
    >>> from opauc.metrics.class_scores import ClassScores
    >>> scores = ClassScores(3)
    >>> probabilities = np.array([[0.8, 0.1, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7]])
    >>> scores.add(np.array([0, 1, 2], np.int8), np.log(probabilities), probabilities)
    >>> scores.interval(MulticlassAuc()).value, scores.hits.tolist()
    (1.0, [1, 1, 1])
    >>> [one.value for one in scores.class_intervals(AveragePrecision()).by_class]
    [1.0, 1.0, 1.0]
    """

    def __init__(self, n_classes: int, exact_scores: int = MAX_EXACT_SCORES) -> None:
        self.stream: StreamingMulticlassAuc = StreamingMulticlassAuc.empty(n_classes)
        self.counts: NDArray[np.int64] = np.zeros(n_classes, np.int64)
        self.hits: NDArray[np.int64] = np.zeros(n_classes, np.int64)
        self.log_loss_sum: float = 0.0
        self._exact_rows = exact_scores // n_classes
        self._batches: list[tuple[Labels, Floats]] = []

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def most_exact_rows(self) -> int:
        """Number of rows up to which all scores are kept."""
        return self._exact_rows

    def add(self, labels: Labels, scores: Floats, probabilities: Floats | None = None) -> None:
        """Add rows with the numbers of their classes; without probabilities there is no log loss."""
        self.counts += np.bincount(labels, minlength=self.counts.size)
        self.hits += np.bincount(labels[scores.argmax(axis=1) == labels], minlength=self.counts.size)
        if probabilities is None:
            self.log_loss_sum = np.nan
        else:
            shares = probabilities[np.arange(labels.size), labels]
            self.log_loss_sum -= float(np.log(np.maximum(shares, LEAST_PROBABILITY)).sum())
        self._batches.append((labels, scores))
        if self.n_rows > self._exact_rows:
            for batch in self._batches:
                self.stream = self.stream.update(*batch)
            self._batches.clear()

    @property
    def all_rows(self) -> tuple[Labels, Floats] | None:
        """Labels and scores of all rows; None if there are too many to keep."""
        if not self._batches or self.n_rows > self._exact_rows:
            return None
        labels, scores = zip(*self._batches, strict=True)
        return np.concatenate(labels), np.concatenate(scores)

    def interval(self, metric: MulticlassAuc = OVER_PAIRS) -> MetricInterval:
        """Return a mean AUC, by default that over pairs of classes, with its 95 % interval."""
        rows = self.all_rows
        return self.stream.interval(metric) if rows is None else metric.interval(*rows)

    def class_intervals(self, metric: RankingMetric) -> ClassIntervals:
        """Return a metric of each class against all others, and the mean, with 95 % intervals."""
        mean = ClassMean(metric)
        try:
            found = mean.stream_intervals(self.stream) if (rows := self.all_rows) is None else mean.intervals(*rows)
        except ParameterError as error:
            raise ParameterError(Parameter("metrics"), f": {metric.name}: {error}") from error
        # One figure for one thing: the mean of AUCs has the interval that evaluations show in any case.
        return found._replace(mean=self.interval(MulticlassAuc("ovr"))) if metric == Auc() else found

    def metrics(self, metrics: Sequence[RankingMetric]) -> dict[str, MetricInterval]:
        """Return the means over the classes of metrics, by name, with 95 % intervals."""
        return {metric.name: self.class_intervals(metric).mean for metric in metrics}

    def pair_aucs(self) -> Floats:
        """Return in row i and column j the AUC of the scores of class i among rows of i and j, (K, K)."""
        n_classes = self.counts.size
        aucs, rows = np.full((n_classes, n_classes), np.nan), self.all_rows
        for pair in OVER_PAIRS.pairs(n_classes):
            [other] = pair.negatives
            if rows is None:
                column = self.stream.columns[pair.positive]
                counts = column.class_counts[:, pair.positive], column.class_counts[:, other]
                low = auc_of_counts(column.lows, column.highs, *counts)
                auc = (low + auc_of_counts(column.highs, column.lows, *counts)) / 2
            else:
                either = np.isin(rows[0], (pair.positive, other))
                auc = exact_auc(rows[0][either] == pair.positive, rows[1][either, pair.positive])
            aucs[pair.positive, other] = auc
        return aucs

    def bounds(self) -> tuple[float, float]:
        """Return certain bounds of the mean AUC over pairs of classes."""
        if (rows := self.all_rows) is not None:
            return (OVER_PAIRS(*rows),) * 2
        return self.stream.bounds(OVER_PAIRS)

    def compare(self, other: ClassScores, metric: RankingMetric | None = None) -> AucDifference | None:
        """Return the difference to the scores of another method for the same rows; None with too many rows.

        Without a metric it is that of the mean AUC over pairs of classes, with one that of its mean over the classes.
        """
        if (mine := self.all_rows) is None or (theirs := other.all_rows) is None:
            return None
        mean = OVER_PAIRS if metric is None else ClassMean(metric)
        return mean.compare(mine[0], mine[1], theirs[1])

    def of_present_classes(self) -> ClassScores:
        """Return the scores of the classes that have rows, of which there are at least two."""
        present = self.counts > 0
        if present.all():
            return self
        found = ClassScores(int(present.sum()))
        found._exact_rows, found.log_loss_sum = self._exact_rows, self.log_loss_sum
        found.counts, found.hits = self.counts[present], self.hits[present]
        if (rows := self.all_rows) is not None:
            numbers = (np.cumsum(present) - 1).astype(rows[0].dtype)
            found._batches = [(numbers[rows[0]], rows[1][:, present])]
            return found
        columns = [self.stream.columns[number] for number in np.flatnonzero(present)]
        found.stream = StreamingMulticlassAuc(
            tuple(replace(column, class_counts=column.class_counts[:, present]) for column in columns)
        )
        return found
