"""Average precision: the mean over the positives of the precision at their scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma

from opauc.metrics.ranking_metric import RankingMetric, TableInfluence, check_positives
from opauc.metrics.score_table import ScoreTable
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.types import Floats


@dataclass(frozen=True, slots=True)
class AveragePrecision(RankingMetric):
    """Average precision, as scikit-learn has it: the mean over the positives of the precision at their scores.

    The precision at a score is that of predicting all rows of at least this score to be positive.

    Examples
    --------
    >>> from opauc.metrics import AveragePrecision
    >>> round(AveragePrecision()([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    """

    @property
    def name(self) -> str:
        """The name "ap"."""
        return "ap"

    @property
    def title(self) -> str:
        """The name in tables."""
        return "average precision"

    def of_table(self, table: ScoreTable) -> float:
        """Return the average precision.

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
            If there are no positives.
        """
        check_positives(table, self.name)
        return float(np.dot(table.positives, _precision(table)[0]) / table.n_positives)

    def influence_of(self, table: ScoreTable) -> TableInfluence:
        """Return the influence of the rows: of a positive also through its own precision, of all through those below.

        A row counts among the rows above all positives of lower scores: there a positive raises the precision, a
        negative lowers it.

        Parameters
        ----------
        table : ScoreTable
            The rows of each class at each distinct score.

        Returns
        -------
        influence : TableInfluence
            The influence of a row of each class at each score.
        """
        precision, true, false = _precision(table)
        value, n_positives = float(np.dot(table.positives, precision) / table.n_positives), table.n_positives
        above = table.positives / (true + false) ** 2 / n_positives
        below_true, below_false = (np.cumsum((above * counts)[::-1])[::-1] for counts in (true, false))
        return TableInfluence(
            -below_true,
            (precision - value) / n_positives + below_false,
            n_trials=n_positives,
            largest_of_positives=value * (1.0 - value) / n_positives,
            n_informative_positives=n_positives,
            # A single positive at the top adds 1 / n_positives, whatever the precision of the others.
            skewed=True,
        )

    def bounds(self, stream: StreamingAuc) -> tuple[float, float]:
        """Return bounds that contain the exact average precision of all rows of a stream.

        Ties of positives raise the precision at their score, so the extremes are not those of one arrangement of the
        rows. At best a positive has all positives of its interval and no negative of it above; at worst the negatives
        of its interval are all above, and the positives follow one by one.

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
            If there are no positives.
        """
        negatives, positives = stream.class_counts.T.astype(np.float64)
        n_positives = float(positives.sum())
        check_positives(ScoreTable.of_stream(stream), self.name)
        best = _count_from(stream.highs, positives, stream.lows)
        best_precision = best / (best + _count_from(stream.lows, negatives, stream.highs))
        exact = stream.lows == stream.highs
        worst_false = _count_from(stream.highs, negatives, stream.lows)
        worst_true = _count_from(stream.lows, positives, stream.lows)
        order = np.argsort(-stream.lows, kind="stable")
        before = np.empty(positives.size)
        before[order] = np.cumsum(positives[order]) - positives[order]
        one_by_one = _sum_of_precisions(before, positives, worst_false)
        together = positives * np.divide(worst_true, worst_true + worst_false, out=np.zeros(positives.size),
                                         where=worst_true > 0)  # fmt: skip
        worst = float(np.sum(np.where(exact, together, one_by_one)))
        filled = positives > 0
        if exact.all():
            # One sum for both, so that they are equal to the last bit.
            value = self.of_table(ScoreTable.of_stream(stream))
            return value, value
        return worst / n_positives, float(np.dot(positives[filled], best_precision[filled])) / n_positives


def _precision(table: ScoreTable) -> tuple[Floats, Floats, Floats]:
    """Return the precision at each score, and the true and the false positives there."""
    false, true = (corner[1:] for corner in table.corners())
    return true / (true + false), true, false


def _count_from(scores: Floats, counts: Floats, thresholds: Floats) -> Floats:
    """Return the number of rows with scores of at least each threshold."""
    order = np.argsort(scores, kind="stable")
    running = np.append(0.0, np.cumsum(counts[order]))
    found: Floats = running[-1] - running[np.searchsorted(scores[order], thresholds, "left")]
    return found


def _sum_of_precisions(before: Floats, n_rows: Floats, false: Floats) -> Floats:
    """Return the sum over i from 1 to n of (before + i) / (before + i + false)."""
    harmonic = digamma(before + n_rows + false + 1.0) - digamma(before + false + 1.0)
    sums: Floats = np.maximum(n_rows - false * harmonic, 0.0)
    return sums
