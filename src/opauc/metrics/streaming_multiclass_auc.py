"""The AUC of several classes from a stream of rows, with bounds that contain it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.array_schema import ArrayRule, copy_arrays
from opauc.errors import IncompatibleMomentsError, Parameter, ParameterError
from opauc.metrics.exact_auc import Counts, auc_of_counts
from opauc.metrics.influence import MetricInterval, Part, check_level, excess_variance, share_interval
from opauc.metrics.multiclass_auc import (
    AUC,
    MulticlassAuc,
    Pair,
    check_all_classes,
    check_class_scores,
    largest_variance,
)
from opauc.metrics.score_intervals import ScoreIntervals, check_size
from opauc.metrics.score_table import ScoreTable
from opauc.types import Arrays

# Memory grows with the square of the number of classes.
MAX_CLASSES = 1000


@dataclass(frozen=True, slots=True, eq=False)
class StreamingMulticlassAuc:
    """Score intervals for each class's column of scores, with the row counts of all classes.

    Bounds and the estimate are those of `MulticlassAuc` for all rows; they are exact while there are at most three
    times `size` distinct scores in each column. Memory is at most 24 K (K + 2) `size` bytes for K classes.

    Examples
    --------
    >>> from opauc.metrics import MulticlassAuc, StreamingMulticlassAuc
    >>> scores = [[0.8, 0.1, 0.1], [0.3, 0.5, 0.2], [0.2, 0.6, 0.2], [0.4, 0.3, 0.3], [0.1, 0.2, 0.7]]
    >>> one = StreamingMulticlassAuc.of([0, 0], scores[:2])
    >>> both = one.merge(StreamingMulticlassAuc.of([1, 1, 2], scores[2:]))
    >>> [round(bound, 4) for bound in both.bounds(MulticlassAuc("ovr"))]
    [0.8889, 0.8889]
    """

    columns: tuple[ScoreIntervals, ...]

    @classmethod
    def empty(cls, n_classes: int, size: int = 512) -> StreamingMulticlassAuc:
        """Return the state of no rows; joining neighbors leaves `size` intervals of each column.

        Parameters
        ----------
        n_classes : int
            The number of classes, from 2 to 1,000.
        size : int, default=512
            Number of intervals of scores of each column: the more, the closer the bounds.

        Returns
        -------
        state : StreamingMulticlassAuc
            The state of no rows.

        Raises
        ------
        ParameterError
            If `n_classes` is out of range.
        """
        if not 2 <= n_classes <= MAX_CLASSES:
            limit = "at least 2" if n_classes < 2 else f"at most {MAX_CLASSES:,}"
            raise ParameterError(Parameter("n_classes"), f" must be {limit}, got {n_classes}")
        nothing = np.empty((0, n_classes), np.int64)
        column = ScoreIntervals(check_size(size), np.empty(0), np.empty(0), nothing)
        return cls((column,) * n_classes)

    @classmethod
    def of(cls, labels: ArrayLike, scores: ArrayLike, size: int = 512) -> StreamingMulticlassAuc:
        """Return the state of rows: labels 0 to K - 1, scores (n, K).

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Classes as numbers from 0 to K - 1.
        scores : array-like of shape (n_rows, K)
            A column of scores for each class.
        size : int, default=512
            Number of intervals of scores of each column.

        Returns
        -------
        state : StreamingMulticlassAuc
            The state of these rows.
        """
        return cls.empty(np.shape(scores)[-1], size).update(labels, scores)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.columns)

    @property
    def counts(self) -> Counts:
        """Row counts of the classes."""
        return self.columns[0].counts

    def update(self, labels: ArrayLike, scores: ArrayLike) -> StreamingMulticlassAuc:
        """Return the state of the rows so far and these.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Classes as numbers from 0 to K - 1.
        scores : array-like of shape (n_rows, K)
            A column of scores for each class.

        Returns
        -------
        state : StreamingMulticlassAuc
            A new state; this one stays as it is.
        """
        label, score = check_class_scores(labels, scores, all_classes=False, n_classes=self.n_classes)
        rows = (label[:, None] == np.arange(self.n_classes)).astype(np.int64)
        return StreamingMulticlassAuc(
            tuple(column.add(scores_of, rows) for column, scores_of in zip(self.columns, score.T, strict=True))
        )

    def merge(self, other: StreamingMulticlassAuc) -> StreamingMulticlassAuc:
        """Return the state of both sets of rows, with the smaller of the two sizes.

        Parameters
        ----------
        other : StreamingMulticlassAuc
            The state of other rows.

        Returns
        -------
        state : StreamingMulticlassAuc
            A new state; this one stays as it is.

        Raises
        ------
        IncompatibleMomentsError
            If the numbers of classes differ.
        """
        if other.n_classes != self.n_classes:
            raise IncompatibleMomentsError(f"scores of {self.n_classes} classes cannot merge with {other.n_classes}")
        return StreamingMulticlassAuc(
            tuple(mine.merge(theirs) for mine, theirs in zip(self.columns, other.columns, strict=True))
        )

    def empty_copy(self) -> StreamingMulticlassAuc:
        """Return the state of no rows with the same size and number of classes.

        Returns
        -------
        state : StreamingMulticlassAuc
            The state of no rows.
        """
        return self.empty(self.n_classes, self.columns[0].size)

    def bounds(self, metric: MulticlassAuc) -> tuple[float, float]:
        """Return bounds that contain the exact mean AUC of all rows; (0, 1) while a class has no rows.

        Parameters
        ----------
        metric : MulticlassAuc
            Which mean of AUCs.

        Returns
        -------
        bounds : tuple of float
            The lower and the upper bound.
        """
        if not self.counts.all():
            return 0.0, 1.0
        lows, highs = [], []
        for pair in metric.pairs(self.n_classes):
            column = self.columns[pair.positive]
            negative, positive = _counts_of(column, pair)
            lows.append(auc_of_counts(column.lows, column.highs, positive, negative))
            highs.append(auc_of_counts(column.highs, column.lows, positive, negative))
        return float(np.mean(lows)), float(np.mean(highs))

    def interval(self, metric: MulticlassAuc, level: float = 0.95) -> MetricInterval:
        """Return the middle of the bounds with its confidence interval, widened by the bounds.

        Which scores belong to one row is not kept, so the standard errors of the columns are added: the interval is
        wider than `MulticlassAuc.interval`, at most K times for the parts of K columns.

        Parameters
        ----------
        metric : MulticlassAuc
            Which mean of AUCs.
        level : float, default=0.95
            The level of the interval.

        Returns
        -------
        interval : MetricInterval
            The value, its limits and its standard error.

        Raises
        ------
        ParameterError
            If a class has no rows.
        """
        check_level(level)
        check_all_classes(self.counts)
        low, high = self.bounds(metric)
        value, n_classes = (low + high) / 2, self.n_classes
        pairs, error = list(metric.pairs(n_classes)), 0.0
        for number, column in enumerate(self.columns):
            error += _column_error(column, [pair for pair in pairs if pair.positive == number]) / len(pairs)
        variance, excess = error**2, 0.0
        for size in self.counts.tolist():
            excess += excess_variance(variance / n_classes, largest_variance(value, n_classes, size), size, value)
        _, lower, upper, error = share_interval(value, variance, excess, float(self.counts.min()), level)
        return MetricInterval(value, max(lower - (value - low), 0.0), min(upper + (high - value), 1.0), error)

    def to_arrays(self) -> Arrays:
        """Return copies of the intervals of all columns and their counts, one after another.

        Returns
        -------
        arrays : dict of str to ndarray
            Copies: changing them does not change the state.
        """
        return {
            "size": np.array(self.columns[0].size),
            "ends": np.cumsum([0, *(column.n_intervals for column in self.columns)]),
            "lows": np.concatenate([column.lows for column in self.columns]),
            "highs": np.concatenate([column.highs for column in self.columns]),
            "class_counts": np.concatenate([column.class_counts for column in self.columns]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> StreamingMulticlassAuc:
        """Return the state that `to_arrays` wrote; raise IncompatibleMomentsError if no rows can give these arrays.

        Parameters
        ----------
        arrays : mapping of str to array-like
            What `to_arrays` wrote.

        Returns
        -------
        state : StreamingMulticlassAuc
            The state that was written.

        Raises
        ------
        IncompatibleMomentsError
            If no rows can give these arrays.
        """
        size, ends, lows, highs, counts = copy_arrays(MULTICLASS_SCHEMA, arrays).values()
        n_classes = ends.size - 1
        if not 2 <= n_classes <= MAX_CLASSES:
            raise IncompatibleMomentsError(f"ends: expected 3 to {MAX_CLASSES + 1:,} numbers, got {ends.size}")
        columns = []
        for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            part = {"size": size, "lows": lows[first:last], "highs": highs[first:last]}
            part["class_counts"] = counts[first:last]
            columns.append(ScoreIntervals.from_arrays(part, n_classes))
        if any((column.counts != columns[0].counts).any() for column in columns):
            raise IncompatibleMomentsError("class_counts must add up to the same rows in each column")
        return cls(tuple(columns))


MULTICLASS_SCHEMA = {
    "size": ArrayRule("int64", low=1),
    "ends": ArrayRule("int64", "classes+1", ends="intervals"),
    "lows": ArrayRule("float64", "intervals", infinite=True),
    "highs": ArrayRule("float64", "intervals", infinite=True),
    "class_counts": ArrayRule("int64", "intervals classes", low=0),
}


def _counts_of(column: ScoreIntervals, pair: Pair) -> tuple[Counts, Counts]:
    """Return the counts of the negatives and of the positives of an AUC in each interval."""
    return column.class_counts[:, pair.negatives].sum(axis=1), column.class_counts[:, pair.positive]


def _column_error(column: ScoreIntervals, pairs: Sequence[Pair]) -> float:
    """Return the standard error of the sum of the AUCs of one column; scores of one interval are ties."""
    n_intervals, n_classes = column.class_counts.shape
    order = np.argsort(-column.lows, kind="stable")
    values = np.zeros((n_intervals, n_classes))
    for pair in pairs:
        negative, positive = (counts[order].astype(np.float64) for counts in _counts_of(column, pair))
        influence = AUC.influence_of(ScoreTable(negative, positive))
        values[:, pair.positive] += influence.of_positives
        for other in pair.negatives:
            values[:, other] += influence.of_negatives
    counts = column.class_counts[order].astype(np.float64)
    return float(np.sqrt(sum(Part(values[:, k], counts[:, k]).variance() for k in range(n_classes))))
