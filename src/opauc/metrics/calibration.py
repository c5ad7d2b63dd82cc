"""How well predicted probabilities agree with what happened, from fixed-memory bins that merge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtri

from opauc.errors import IncompatibleMomentsError
from opauc.metrics.exact_auc import Counts, Flags, checked_scores
from opauc.types import Arrays, Floats

N_BINS = 2000
# Equal steps of the log-odds from -16 to 16: the probabilities of rare events, of one in a million
# as of one in ten, are told apart to 1.6 %, those near a half to 0.004.
EDGES = np.concatenate([[0.0], expit(np.linspace(-16, 16, N_BINS - 1)), [1.0]])
KEYS = ("counts", "positives", "probability_sums", "squared_error")


class Reliability(NamedTuple):
    """Bins of about equally many rows in rising order of probability; limits are Wilson's at 95 %."""

    predicted: Floats  # mean probability of the rows of a bin
    observed: Floats  # share of positives among them
    low: Floats
    high: Floats
    counts: Counts


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationBins:
    """Rows, positives and sum of probabilities in 2,000 fine bins, and the sum of squared errors.

    Fine bins are put together into a few of about equally many rows only on
    reading, when the probabilities that occur are known.

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
        """No rows yet."""
        return cls(np.zeros(N_BINS, np.int64), np.zeros(N_BINS, np.int64), np.zeros(N_BINS), 0.0)

    @classmethod
    def of(cls, labels: ArrayLike, probabilities: ArrayLike) -> CalibrationBins:
        """The bins of these rows: labels of 0 and 1 or booleans, probabilities of the positive class."""
        positive, chance = checked_probabilities(labels, probabilities)
        at = np.minimum(np.searchsorted(EDGES, chance, side="right") - 1, N_BINS - 1)
        return cls(
            np.bincount(at, minlength=N_BINS),
            np.bincount(at[positive], minlength=N_BINS),
            np.bincount(at, chance, minlength=N_BINS).astype(np.float64, copy=False),
            float(np.sum((chance - positive) ** 2)),
        )

    @property
    def n_rows(self) -> int:
        """Rows seen."""
        return int(self.counts.sum())

    def update(self, labels: ArrayLike, probabilities: ArrayLike) -> CalibrationBins:
        """The bins of the rows so far and these."""
        return self.merge(CalibrationBins.of(labels, probabilities))

    def merge(self, other: CalibrationBins) -> CalibrationBins:
        """The bins of both sets of rows."""
        return CalibrationBins(
            self.counts + other.counts,
            self.positives + other.positives,
            self.probability_sums + other.probability_sums,
            self.squared_error + other.squared_error,
        )

    def brier_score(self) -> float:
        """Mean squared difference of probability and label: 0 at best, NaN without rows."""
        return self.squared_error / self.n_rows if self.n_rows else float("nan")

    def reliability(self, n_bins: int = 10) -> Reliability:
        """At most `n_bins` bins of about equally many rows, put together from the fine ones.

        A fine bin is never divided: where one holds more rows than its share, there are fewer bins.
        """
        if n_bins < 1:
            raise ValueError(f"n_bins must be at least 1, got {n_bins}")
        filled = np.flatnonzero(self.counts)
        counts = self.counts[filled]
        middles = np.cumsum(counts) - counts / 2
        groups = np.floor(n_bins * middles / max(self.n_rows, 1)).astype(np.int64)
        firsts = np.flatnonzero(np.diff(groups, prepend=-1))
        if not firsts.size:
            nothing = np.empty(0)
            return Reliability(nothing, nothing, nothing, nothing, counts)
        rows = np.add.reduceat(counts, firsts)
        predicted = np.add.reduceat(self.probability_sums[filled], firsts) / rows
        observed = np.add.reduceat(self.positives[filled], firsts) / rows
        return Reliability(predicted, observed, *_wilson_limits(observed, rows), rows)

    def expected_error(self, n_bins: int = 10) -> float:
        """Expected calibration error: mean over the rows of their bin's |predicted - observed|, NaN without rows."""
        if not self.n_rows:
            return float("nan")
        found = self.reliability(n_bins)
        return float(np.dot(found.counts, np.abs(found.predicted - found.observed)) / self.n_rows)

    def to_arrays(self) -> Arrays:
        """Copies of the sums, for a file or the network."""
        return {key: np.array(getattr(self, key)) for key in KEYS}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> CalibrationBins:
        """The bins from what `to_arrays` gave, refused unless rows could have led to them."""
        try:
            counts, positives, sums, error = (np.array(arrays[key]) for key in KEYS)
            sums, error = sums.astype(np.float64), error.astype(np.float64)
        except (KeyError, TypeError, ValueError) as wrong:
            raise IncompatibleMomentsError(f"expected arrays {', '.join(KEYS)}: {wrong}") from wrong
        shapes = [part.shape for part in (counts, positives, sums, error)]
        if shapes != [(N_BINS,)] * 3 + [()]:
            raise IncompatibleMomentsError(f"expected three arrays of {N_BINS} bins and a number, got shapes {shapes}")
        if counts.dtype.kind not in "iu" or positives.dtype.kind not in "iu":
            raise IncompatibleMomentsError("counts and positives must be whole numbers")
        if (positives < 0).any() or (positives > counts).any():
            raise IncompatibleMomentsError("positives must lie between 0 and the counts of their bins")
        n_rows = counts.sum(dtype=float)
        # Rounding of sums of many equal probabilities may leave the bin by a little.
        if not (np.abs(sums - np.clip(sums, counts * EDGES[:-1], counts * EDGES[1:])) <= 1e-6 * counts).all():
            raise IncompatibleMomentsError("probability_sums must lie within their bins times the counts")
        if not (0 <= error <= n_rows * (1 + 1e-6) and n_rows < 2.0**62):
            raise IncompatibleMomentsError(f"squared_error must lie between 0 and the {n_rows:.0f} rows, got {error}")
        return cls(counts.astype(np.int64), positives.astype(np.int64), sums, float(error))


def checked_probabilities(labels: ArrayLike, probabilities: ArrayLike) -> tuple[Flags, Floats]:
    """Return which rows are positive, and their probabilities as float64; refuse what is none."""
    positive, chance = checked_scores(labels, probabilities)
    wrong = (chance < 0) | (chance > 1)
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(f"probabilities must lie between 0 and 1, got {chance[at]} at row {at}")
    return positive, chance


def _wilson_limits(shares: Floats, counts: Counts, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the limits between which the true share of positives lies with the given confidence."""
    z = float(ndtri((1 + level) / 2))
    middle = (shares + z**2 / (2 * counts)) / (1 + z**2 / counts)
    reach = z * np.sqrt(shares * (1 - shares) / counts + (z / (2 * counts)) ** 2) / (1 + z**2 / counts)
    # At shares 0 and 1 one limit is the share itself; rounding must not carry it beyond.
    return np.minimum(np.maximum(middle - reach, 0.0), shares), np.maximum(np.minimum(middle + reach, 1.0), shares)
