"""Scores, labels and probabilities from weights and class statistics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from opauc.moments import ClassMoments
from opauc.moments.chunk_rows import Rows

Floats = NDArray[np.float64]

ROWS_PER_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class LinearScorer:
    """A score weights.row + intercept, and the log-odds slope * score + offset of the positive class.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.models import LinearScorer
    >>> scorer = LinearScorer(np.array([1.0, 0.0]), intercept=-2.0, slope=1.0, offset=0.0)
    >>> scorer.scores(np.array([[2.0, 5.0], [4.0, 5.0]])).tolist()
    [0.0, 2.0]
    """

    weights: Floats
    intercept: float
    slope: float
    offset: float

    @classmethod
    def of(cls, weights: Floats, moments: ClassMoments) -> LinearScorer:
        """Centre the scores between the classes and calibrate them.

        The score is zero midway between the class means. The probabilities are
        those of two normal distributions of scores with the classes' means,
        their pooled variance and the observed share of positives.
        """
        negative, positive = moments.negative, moments.positive
        total = negative.count + positive.count
        if not moments.has_both_classes:
            # Rows of one class only: the prior is all there is to go by.
            seen = float(np.sign(positive.count - negative.count))
            return cls(weights, seen, 0.0, np.inf * seen if seen else 0.0)
        intercept = -float(weights @ (negative.mean + positive.mean)) / 2
        below, above = moments.score_variances(weights)
        pooled = (negative.count * below + positive.count * above) / total
        gap = max(0.0, float(weights @ moments.mean_difference()))
        slope = gap / pooled if pooled > gap * 1e-300 else 0.0 if gap == 0.0 else 1e300
        return cls(weights, intercept, slope, float(np.log(positive.count / negative.count)))

    def scores(self, rows: Rows) -> Floats:
        """Scores of the rows in float64; positive where the positive class is nearer."""
        out = np.empty(rows.shape[0])
        for start in range(0, rows.shape[0], ROWS_PER_BLOCK):
            part = slice(start, start + ROWS_PER_BLOCK)
            out[part] = rows[part] @ self.weights
        out += self.intercept
        return out

    def probabilities(self, rows: Rows) -> Floats:
        """Probability of the positive class for each row."""
        with np.errstate(over="ignore"):
            chances: Floats = expit(self.slope * self.scores(rows) + self.offset)
        return chances
