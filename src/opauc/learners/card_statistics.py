"""What learners that keep row counts, class sums and progressive scores say of the rows they saw."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opauc.errors import StatisticsOverflow
from opauc.kernels.descent.means_descent import sum_of_squares
from opauc.kernels.descent.score_spread import SCATTER, SHARES
from opauc.learners.class_means import LARGEST_SQUARES, CountsAndMeans
from opauc.statistics.chunk_rows import Rows, read_only
from opauc.statistics.score_summary import ScoreSummary

Floats = NDArray[np.float64]


def checked_squares(rows: Rows) -> float:
    """Return the sum of the squares of all values, refused where it leaves no room for products with it."""
    values = rows.ravel(order="K") if isinstance(rows, np.ndarray) else rows.data
    with np.errstate(over="ignore"):
        squares = float(sum_of_squares(read_only(values)))
    if not squares <= LARGEST_SQUARES:
        raise StatisticsOverflow("the squares of the rows overflow float64; scale the features down")
    return squares


def counts_and_means(counts: Floats, sums: Floats) -> CountsAndMeans:
    """Return the moments of classes with these row counts, shape (2,), and sums, shape (n_features, 2)."""
    return CountsAndMeans(counts.copy(), sums.T / np.maximum(counts, 1.0)[:, None])


def mean_scores(counts: Floats, sums: Floats, weights: Floats) -> Floats:
    """Return the mean score of each class; that of no rows is zero."""
    means: Floats = np.einsum("j,jk->k", weights, sums) / np.maximum(counts, 1.0)
    return means


def progressive_summary(counts: Floats, sums: Floats, spreads: Floats, weights: Floats) -> ScoreSummary:
    """Return exact counts and mean scores, and estimates of the score variances.

    A variance is that of the scores which rows got just before they were
    learnt from, score t weighted by t^2. It belongs to the learner's own
    weights, whatever `weights` are given.
    """
    variances = spreads[:, SCATTER] / np.where(spreads[:, SHARES] > 0.0, spreads[:, SHARES], 1.0)
    parts = (counts, mean_scores(counts, sums, weights), variances)
    return ScoreSummary(*((float(part[0]), float(part[1])) for part in parts))
