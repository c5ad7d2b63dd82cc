"""What learners that keep class sums and progressive scores say of the rows they saw."""

from __future__ import annotations

import numpy as np

from opauc.core.mergeable import ScoreSummary, or_one
from opauc.linear.kernels.means import SCATTER, SHARES
from opauc.types import Floats


def mean_scores(counts: Floats, sums: Floats, weights: Floats) -> Floats:
    """Return the mean score of each class from its sums, shape (n_features, 2); that of no rows is zero."""
    means: Floats = np.einsum("j,jk->k", weights, sums) / or_one(counts)
    return means


def progressive_summary(counts: Floats, sums: Floats, spreads: Floats, weights: Floats) -> ScoreSummary:
    """Return exact counts and mean scores, and estimates of the score variances.

    A variance is that of the scores which rows got just before they were
    learned from, score t weighted by t^2. It belongs to the learner's own
    weights, whatever `weights` are given.
    """
    variances = spreads[:, SCATTER] / or_one(spreads[:, SHARES])
    return score_summary(counts, mean_scores(counts, sums, weights), variances)


def score_summary(counts: Floats, means: Floats, variances: Floats) -> ScoreSummary:
    """Return what the arrays, one number a class each, say."""
    return ScoreSummary(*((float(part[0]), float(part[1])) for part in (counts, means, variances)))
