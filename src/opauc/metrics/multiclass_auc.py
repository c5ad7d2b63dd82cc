"""The AUC of several classes: Hand and Till's M, and the mean of one class against the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.group_keys import group_numbers
from opauc.errors import Parameter, ParameterError, unknown_name
from opauc.metrics.auc import Auc
from opauc.metrics.exact_auc import Counts, exact_auc
from opauc.metrics.influence import Influence, MetricInterval, Part
from opauc.metrics.intervals import INTERVAL_POLICY, AucDifference
from opauc.metrics.score_table import Indices, ScoreTable
from opauc.types import Floats

AVERAGES = {"ovo": "Hand and Till's M", "ovr": "one class against the rest"}
AUC = Auc()


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
            Part(values[rows], np.ones(rows.size), largest_variance(value, n_classes, rows.size), float(rows.size))
            for rows in rows_of
        ]
        n_trials = float(min(rows.size for rows in rows_of))
        return Influence(value, parts, n_trials, policy=INTERVAL_POLICY)


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


def largest_variance(value: float, n_classes: int, n_rows: int) -> float:
    """Return the largest variance that so many rows of a class can add: a row is in 2 / K of the mean of placements."""
    return (2 / n_classes) ** 2 * value * (1.0 - value) / n_rows
