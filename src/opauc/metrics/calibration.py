"""Calibration of predicted probabilities from mergeable bins in fixed memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from opauc.core.array_schema import ArrayRule, copy_arrays
from opauc.errors import IncompatibleMomentsError
from opauc.metrics.exact_auc import Counts, Flags, check_scores
from opauc.metrics.intervals import wilson_limits
from opauc.types import Arrays, Floats

N_BINS = 2000
# Equal steps of the log-odds from -16 to 16: small probabilities are resolved to 1.6 % of their value,
# those near 0.5 to 0.004.
EDGES = np.concatenate([[0.0], expit(np.linspace(-16, 16, N_BINS - 1)), [1.0]])
SCHEMA = {
    "counts": ArrayRule("int64", f"{N_BINS}"),
    "positives": ArrayRule("int64", f"{N_BINS}", low=0),
    "probability_sums": ArrayRule("float64", f"{N_BINS}"),
    "squared_error": ArrayRule("float64", low=0),
}


class Reliability(NamedTuple):
    """Calibration curve: bins of about equal row counts, by increasing probability, with 95 % Wilson limits.

    Attributes
    ----------
    predicted : ndarray
        Mean predicted probability of each bin.
    observed : ndarray
        Share of positive rows in each bin.
    low, high : ndarray
        Wilson's 95 % limits of the share.
    counts : ndarray
        Number of rows in each bin.

    Examples
    --------
    >>> from opauc.metrics import CalibrationBins
    >>> curve = CalibrationBins.of([0, 0, 1, 1], [0.2, 0.2, 0.6, 0.6]).reliability(n_bins=2)
    >>> curve.predicted.round(2).tolist(), curve.observed.tolist(), curve.counts.tolist()
    ([0.2, 0.6], [0.0, 1.0], [2, 2])
    """

    predicted: Floats  # mean predicted probability of each bin
    observed: Floats  # share of positives in each bin
    low: Floats
    high: Floats
    counts: Counts


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationBins:
    """Row count, positive count and sum of probabilities in 2,000 fine bins, and the sum of squared errors.

    `reliability` combines the fine bins into a few with about equal row counts.

    Examples
    --------
    >>> from opauc.metrics import CalibrationBins
    >>> morning = CalibrationBins.of([0, 0, 1, 0], [0.1, 0.2, 0.2, 0.3])
    >>> whole_day = morning.merge(CalibrationBins.of([1, 1], [0.7, 0.9]))
    >>> round(whole_day.brier_score(), 4)
    0.1467
    >>> whole_day.reliability(n_bins=2).observed.round(2).tolist()
    [0.33, 0.67]
    """

    counts: Counts  # (2000,)
    positives: Counts  # (2000,)
    probability_sums: Floats  # (2000,)
    squared_error: float

    @classmethod
    def empty(cls) -> CalibrationBins:
        """Return the bins of no rows.

        Returns
        -------
        bins : CalibrationBins
            Bins without rows.
        """
        return cls(np.zeros(N_BINS, np.int64), np.zeros(N_BINS, np.int64), np.zeros(N_BINS), 0.0)

    @classmethod
    def of(cls, labels: ArrayLike, probabilities: ArrayLike) -> CalibrationBins:
        """Return the bins of rows: labels of 0 and 1 or booleans, probabilities of the positive class.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Labels of 0 and 1, or booleans.
        probabilities : array-like of shape (n_rows,)
            Predicted probabilities of the positive class.

        Returns
        -------
        bins : CalibrationBins
            The bins of these rows.
        """
        positive, probability = check_probabilities(labels, probabilities)
        at = np.minimum(np.searchsorted(EDGES, probability, side="right") - 1, N_BINS - 1)
        return cls(
            np.bincount(at, minlength=N_BINS),
            np.bincount(at[positive], minlength=N_BINS),
            np.bincount(at, probability, minlength=N_BINS).astype(np.float64, copy=False),
            float(np.sum((probability - positive) ** 2)),
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    def update(self, labels: ArrayLike, probabilities: ArrayLike) -> CalibrationBins:
        """Return the bins of the rows so far and these.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Labels of 0 and 1, or booleans.
        probabilities : array-like of shape (n_rows,)
            Predicted probabilities of the positive class.

        Returns
        -------
        bins : CalibrationBins
            New bins; these stay as they are.
        """
        return self.merge(CalibrationBins.of(labels, probabilities))

    def merge(self, other: CalibrationBins) -> CalibrationBins:
        """Return the bins of both sets of rows.

        Parameters
        ----------
        other : CalibrationBins
            The bins of other rows.

        Returns
        -------
        bins : CalibrationBins
            The sum of both.
        """
        return CalibrationBins(
            self.counts + other.counts,
            self.positives + other.positives,
            self.probability_sums + other.probability_sums,
            self.squared_error + other.squared_error,
        )

    def subtract(self, other: CalibrationBins) -> CalibrationBins:
        """Return the bins of the rows that are not in `other`.

        Parameters
        ----------
        other : CalibrationBins
            The bins of some of the rows.

        Returns
        -------
        bins : CalibrationBins
            The difference.
        """
        if (other.positives > self.positives).any() or (
            other.counts - other.positives > self.counts - self.positives
        ).any():
            raise IncompatibleMomentsError("cannot subtract rows that were never added")
        counts = self.counts - other.counts
        sums = np.where(counts > 0, self.probability_sums - other.probability_sums, 0.0)
        error = max(self.squared_error - other.squared_error, 0.0) if counts.any() else 0.0
        return CalibrationBins(counts, self.positives - other.positives, sums, error)

    def empty_copy(self) -> CalibrationBins:
        """Return the bins of no rows.

        Returns
        -------
        bins : CalibrationBins
            Bins without rows.
        """
        return self.empty()

    def brier_score(self) -> float:
        """Return the mean squared difference of probability and label; NaN without rows.

        Returns
        -------
        score : float
            The Brier score.
        """
        return self.squared_error / self.n_rows if self.n_rows else float("nan")

    def reliability(self, n_bins: int = 10) -> Reliability:
        """Return the calibration curve in at most `n_bins` bins of about equal row counts.

        Fine bins are never split, so there are fewer bins where one fine bin has more rows than its share.

        Parameters
        ----------
        n_bins : int, default=10
            Largest number of bins.

        Returns
        -------
        curve : Reliability
            The calibration curve.
        """
        if n_bins < 1:
            raise ValueError(f"n_bins must be at least 1, got {n_bins}")
        filled = np.flatnonzero(self.counts)
        counts = self.counts[filled]
        middles = np.cumsum(counts) - counts / 2
        groups = np.floor(n_bins * middles / max(self.n_rows, 1)).astype(np.int64)
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        if not starts.size:
            empty = np.empty(0)
            return Reliability(empty, empty, empty, empty, counts)
        rows = np.add.reduceat(counts, starts)
        predicted = np.add.reduceat(self.probability_sums[filled], starts) / rows
        observed = np.add.reduceat(self.positives[filled], starts) / rows
        return Reliability(predicted, observed, *wilson_limits(observed, rows), rows)

    def expected_error(self, n_bins: int = 10) -> float:
        """Return the expected calibration error: the mean over rows of |predicted - observed| in their bin.

        Parameters
        ----------
        n_bins : int, default=10
            Largest number of bins.

        Returns
        -------
        error : float
            The expected calibration error, between 0 and 1.
        """
        if not self.n_rows:
            return float("nan")
        curve = self.reliability(n_bins)
        return float(np.dot(curve.counts, np.abs(curve.predicted - curve.observed)) / self.n_rows)

    def to_arrays(self) -> Arrays:
        """Return copies of the sums, for a file or the network.

        Returns
        -------
        arrays : dict of str to ndarray
            The sums by their names.
        """
        return {key: np.array(getattr(self, key)) for key in SCHEMA}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> CalibrationBins:
        """Return the bins that `to_arrays` wrote; raise IncompatibleMomentsError if no rows can give these arrays.

        Parameters
        ----------
        arrays : mapping of str to array-like
            What `to_arrays` returned.

        Returns
        -------
        bins : CalibrationBins
            The bins that were written.
        """
        counts, positives, sums, error = copy_arrays(SCHEMA, arrays).values()
        if (positives > counts).any():
            raise IncompatibleMomentsError("positives must lie between 0 and the counts of their bins")
        n_rows = counts.sum(dtype=float)
        # Rounding may move a sum of many equal probabilities slightly out of its bin.
        if not (np.abs(sums - np.clip(sums, counts * EDGES[:-1], counts * EDGES[1:])) <= 1e-6 * counts).all():
            raise IncompatibleMomentsError("probability_sums must lie within their bins times the counts")
        if not (error <= n_rows * (1 + 1e-6) and n_rows < 2.0**62):
            raise IncompatibleMomentsError(f"squared_error must lie between 0 and the {n_rows:.0f} rows, got {error}")
        return cls(counts, positives, sums, float(error))


def check_probabilities(labels: ArrayLike, probabilities: ArrayLike) -> tuple[Flags, Floats]:
    """Return which rows are positive, and their probabilities as float64; raise ValueError outside [0, 1]."""
    positive, probability = check_scores(labels, probabilities)
    invalid = (probability < 0) | (probability > 1)
    if invalid.any():
        at = int(invalid.argmax())
        raise ValueError(f"probabilities must lie between 0 and 1, got {probability[at]} at row {at}")
    return positive, probability
