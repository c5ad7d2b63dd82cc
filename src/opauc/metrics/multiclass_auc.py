"""The AUC of several classes: Hand and Till's M, and the mean of one class against the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.array_schema import ArrayRule, copy_arrays
from opauc.core.group_keys import group_numbers
from opauc.errors import IncompatibleMomentsError, Parameter, ParameterError, unknown_name
from opauc.metrics.auc import Auc
from opauc.metrics.exact_auc import Counts, auc_of_counts, exact_auc
from opauc.metrics.influence import Influence, MetricInterval, Part, check_level, excess_variance, share_interval
from opauc.metrics.intervals import INTERVAL_POLICY, AucDifference
from opauc.metrics.score_intervals import ScoreIntervals, check_size
from opauc.metrics.score_table import Indices, ScoreTable
from opauc.types import Arrays, Floats

AVERAGES = {"ovo": "Hand and Till's M", "ovr": "one class against the rest"}
AUC = Auc()
# Memory grows with the square of the number of classes.
MAX_CLASSES = 1000


class Pair(NamedTuple):
    """One AUC of the mean: that of a column of scores, of rows of its class against those of other classes.

    Attributes
    ----------
    positive : int
        A class, whose column of scores ranks the rows.
    negatives : tuple of int
        The other classes.
    """

    positive: int  # a class, whose column of scores ranks the rows
    negatives: tuple[int, ...]  # the other classes

    def rows(self, rows_of: Sequence[Indices]) -> Indices:
        """Return the numbers of the rows of these classes."""
        return np.concatenate([rows_of[self.positive], *(rows_of[negative] for negative in self.negatives)])


@dataclass(frozen=True, slots=True)
class MulticlassAuc:
    """Mean AUC over classes, or over pairs of classes; rows have a score for each class.

    Parameters
    ----------
    average : {"ovo", "ovr"}, default="ovo"
        "ovo" is Hand and Till's M, the mean over ordered pairs of classes (i, j) of the AUC of the scores of class i,
        among rows of classes i and j: it does not depend on class frequencies. "ovr" is the mean over classes of the
        AUC of the scores of a class, against all other rows.

    Raises
    ------
    ParameterError
        If `average` is unknown.

    Examples
    --------
    >>> from opauc.metrics import MulticlassAuc
    >>> scores = [[0.8, 0.1, 0.1], [0.3, 0.5, 0.2], [0.2, 0.6, 0.2], [0.4, 0.3, 0.3], [0.1, 0.2, 0.7]]
    >>> labels = [0, 0, 1, 1, 2]
    >>> MulticlassAuc()(labels, scores), round(MulticlassAuc("ovr")(labels, scores), 4)
    (0.9166666666666666, 0.8889)
    """

    average: str = "ovo"

    def __post_init__(self) -> None:
        if self.average not in AVERAGES:
            raise ParameterError(Parameter("average"), f": {unknown_name('average', self.average, AVERAGES)}")

    @property
    def name(self) -> str:
        """The name, "auc_ovo" or "auc_ovr"."""
        return f"auc_{self.average}"

    def pairs(self, n_classes: int) -> Iterator[Pair]:
        """Yield the AUCs of which this is the mean.

        Parameters
        ----------
        n_classes : int
            The number of classes.

        Yields
        ------
        pair : Pair
            A class, and the classes that its rows are ranked against.
        """
        for positive in range(n_classes):
            others = tuple(other for other in range(n_classes) if other != positive)
            yield from (
                (Pair(positive, (other,)) for other in others) if self.average == "ovo" else [Pair(positive, others)]
            )

    def __call__(self, labels: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the mean AUC of rows: labels 0 to K - 1, scores (n, K)."""
        label, score = check_class_scores(labels, scores)
        weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        rows_of, aucs = rows_by_class(label, score.shape[1]), []
        for pair in self.pairs(score.shape[1]):
            rows = pair.rows(rows_of)
            of_rows = None if weight is None else weight[rows]
            aucs.append(exact_auc(label[rows] == pair.positive, score[rows, pair.positive], of_rows))
        return float(np.mean(aucs))

    def interval(
        self, labels: ArrayLike, scores: ArrayLike, level: float = 0.95, *, groups: ArrayLike | None = None
    ) -> MetricInterval:
        """Return the mean AUC with a confidence interval; rows of one of the `groups` need not be independent.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Classes as numbers from 0 to K - 1.
        scores : array-like of shape (n_rows, K)
            A column of scores for each class.
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
        ParameterError
            If a class has no rows.
        """
        label, score = check_class_scores(labels, scores)
        return self._influence(label, score).interval(level, clusters_by_class(groups, label, score.shape[1]))

    def compare(
        self, labels: ArrayLike, first: ArrayLike, second: ArrayLike, *, groups: ArrayLike | None = None
    ) -> AucDifference:
        """Return the mean AUC of the first scorer minus that of the second, with the paired test of no difference.

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
            If a class has no rows.
        """
        label, one = check_class_scores(labels, first)
        _, two = check_class_scores(labels, second)
        clusters = clusters_by_class(groups, label, one.shape[1])
        return self._influence(label, one).compare(self._influence(label, two), clusters)

    def _influence(self, label: Counts, score: Floats) -> Influence:
        """Return the influences of the rows by class: each AUC is a mean over placements, and M a mean of AUCs."""
        n_classes = score.shape[1]
        rows_of, values, aucs = rows_by_class(label, n_classes), np.zeros(label.size), []
        for pair in self.pairs(n_classes):
            rows = pair.rows(rows_of)
            is_positive = label[rows] == pair.positive
            table, entries = ScoreTable.of_rows(is_positive, score[rows, pair.positive])
            influence = AUC.influence_of(table)
            values[rows] += np.where(is_positive, influence.of_positives[entries], influence.of_negatives[entries])
            aucs.append(AUC.of_table(table))
        value = float(np.mean(aucs))
        values /= len(aucs)
        parts = [
            Part(values[rows], np.ones(rows.size), _largest_variance(value, n_classes, rows.size), float(rows.size))
            for rows in rows_of
        ]
        n_trials = float(min(rows.size for rows in rows_of))
        return Influence(value, parts, n_trials, policy=INTERVAL_POLICY)


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
            excess += excess_variance(variance / n_classes, _largest_variance(value, n_classes, size), size, value)
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


def check_class_scores(
    labels: ArrayLike, scores: ArrayLike, n_classes: int | None = None, all_classes: bool = True
) -> tuple[Counts, Floats]:
    """Return labels and scores of several classes; raise ValueError where they cannot be ranked.

    `all_classes` says that every class needs a row.
    """
    label, score = np.asarray(labels), np.asarray(scores)
    if score.ndim != 2 or score.shape[1] < 2 or label.shape != score.shape[:1]:
        raise ValueError(
            "scores must have a row for each label and a column for each of two or more classes, "
            f"got shapes {label.shape} and {score.shape}"
        )
    if n_classes is not None and score.shape[1] != n_classes:
        raise ValueError(f"scores must have {n_classes} columns, got {score.shape[1]}")
    if score.dtype.kind not in "fiub":
        raise ValueError(f"scores must be real numbers, got dtype {score.dtype}")
    score = score.astype(np.float64)
    missing = np.isnan(score).any(axis=1)
    if missing.any():
        raise ValueError(f"scores must not be NaN, got NaN at row {int(missing.argmax())}")
    known = np.isin(label, np.arange(score.shape[1]))
    if not known.all():
        at = int(np.argmin(known))
        raise ValueError(f"labels must be 0 to {score.shape[1] - 1}, got {label[at].item()!r} at row {at}")
    label = label.astype(np.int64)
    if all_classes:
        check_all_classes(np.bincount(label, minlength=score.shape[1]))
    return label, score


def check_all_classes(counts: Counts) -> None:
    """Raise unless every class has rows."""
    if not counts.all():
        raise ParameterError(Parameter("labels"), f": class {int(counts.argmin())} has no rows")


def rows_by_class(label: Counts, n_classes: int) -> list[Indices]:
    """Return the numbers of the rows of each class."""
    order = np.argsort(label, kind="stable")
    return np.split(order, np.cumsum(np.bincount(label, minlength=n_classes))[:-1])


def clusters_by_class(groups: ArrayLike | None, label: Counts, n_classes: int) -> list[Counts] | None:
    """Return the group of each row as a number from 0, by class; None without groups."""
    if groups is None:
        return None
    numbers = group_numbers(groups, label.size)
    return [numbers[rows] for rows in rows_by_class(label, n_classes)]


def _largest_variance(value: float, n_classes: int, n_rows: int) -> float:
    """Return the largest variance that so many rows of a class can add: a row is in 2 / K of the mean of placements."""
    return (2 / n_classes) ** 2 * value * (1.0 - value) / n_rows


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
