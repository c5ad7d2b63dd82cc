"""Scores and probabilities from weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opauc.core.mergeable import ScoreSummary
from opauc.types import Arrays, Floats, Labels, Rows

ROWS_PER_BLOCK = 8192
# A row with a smaller sum of squares counts as zero: its inverse length might overflow.
UNDERFLOW_FLOOR = 1e-280


@dataclass(frozen=True, eq=False)
class LinearScorer:
    """A score weights.row + intercept, and the log-odds slope * score + offset of the positive class.

    With `unit_rows` the row is scaled to length one first; the score of a zero row
    is the intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.scorer import LinearScorer
    >>> scorer = LinearScorer(np.array([1.0, 0.0]), intercept=-2.0, slope=1.0, offset=0.0)
    >>> scorer.scores(np.array([[2.0, 5.0], [4.0, 5.0]])).tolist()
    [0.0, 2.0]
    """

    weights: Floats
    intercept: float
    slope: float
    offset: float
    unit_rows: bool = False

    @classmethod
    def of(cls, weights: Floats, summary: ScoreSummary, unit_rows: bool = False) -> LinearScorer:
        """Center the scores between the classes and calibrate them.

        The score is zero midway between the class means. The probabilities are
        those of two normal distributions of scores with the classes' means,
        their pooled variance and the observed share of positives.
        """
        (n0, n1), (mean0, mean1), (variance0, variance1) = summary
        if n0 == 0 or n1 == 0:
            # With rows of one class only, predict that class.
            side = float(np.sign(n1 - n0))
            return cls(weights, side, 0.0, np.inf * side if side else 0.0, unit_rows)
        pooled = (n0 * variance0 + n1 * variance1) / (n0 + n1)
        gap = max(0.0, mean1 - mean0)
        slope = gap / pooled if pooled > gap * 1e-300 else 0.0 if gap == 0.0 else 1e300
        return cls(weights, -(mean0 + mean1) / 2, slope, float(np.log(n1 / n0)), unit_rows)

    @classmethod
    def of_scores(cls, weights: Floats, scores: Floats, labels: Labels, unit_rows: bool = False) -> LinearScorer:
        """Center and calibrate by the scores of labeled rows."""
        negative, positive = (scores[labels == k] for k in (0, 1))
        return cls.of(
            weights,
            ScoreSummary(
                (float(negative.size), float(positive.size)),
                (float(negative.mean()), float(positive.mean())),
                (float(negative.var()), float(positive.var())),
            ),
            unit_rows,
        )

    @classmethod
    def of_arrays(cls, weights: Floats, numbers: NDArray[np.float64]) -> LinearScorer:
        """Return the scorer from its weights and `numbers`; raise where they are invalid."""
        sizes = ((3,), (4,))
        if (
            weights.dtype != np.float64
            or weights.ndim != 1
            or numbers.dtype != np.float64
            or numbers.shape not in sizes
        ):
            raise ValueError(
                f"expected weights and three or four numbers, got {weights.dtype} of shape {weights.shape} "
                f"and {numbers.dtype} of shape {numbers.shape}"
            )
        intercept, slope, offset, *unit_rows = numbers.tolist()
        if unit_rows not in ([], [1.0]):
            raise ValueError(f"the fourth number of a scorer, of unit rows, must be 1, got {unit_rows[0]}")
        # With rows of one class only, the slope is zero and the offset infinite.
        certain = slope == 0.0 and np.isinf(offset)
        if not (np.isfinite(weights).all() and np.isfinite([intercept, slope]).all() and slope >= 0.0):
            raise ValueError("the weights, the intercept and the slope of a scorer must be finite numbers")
        if not (np.isfinite(offset) or certain):
            raise ValueError(f"the offset of a scorer must be a finite number, got {offset}")
        weights.flags.writeable = False
        return cls(weights, intercept, slope, offset, bool(unit_rows))

    @property
    def n_inputs(self) -> int:
        """Length of a row."""
        return self.weights.size

    def to_arrays(self) -> Arrays:
        """Return the arrays of the scorer by name."""
        return {"weights": self.weights, "numbers": self.numbers()}

    def numbers(self) -> Floats:
        """Return intercept, slope, offset and, where rows are scaled to length one, a one: for a file."""
        return np.array([self.intercept, self.slope, self.offset, *([1.0] if self.unit_rows else [])])

    def scores(self, rows: Rows) -> Floats:
        """Return the scores of the rows in float64; positive where the positive class is nearer."""
        out = np.empty(rows.shape[0])
        for start in range(0, rows.shape[0], ROWS_PER_BLOCK):
            part = slice(start, start + ROWS_PER_BLOCK)
            out[part] = rows[part] @ self.weights
            if self.unit_rows:
                out[part] *= _inverse_lengths(rows[part])
        out += self.intercept
        return out

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of the positive class for rows of these scores."""
        from scipy.special import expit  # imported here: scoring alone does not need it

        with np.errstate(over="ignore"):
            probabilities: Floats = expit(self.slope * scores + self.offset)
        return probabilities


def _inverse_lengths(rows: Rows) -> Floats:
    """Return one over the length of each row, zero for rows below the underflow floor."""
    if isinstance(rows, np.ndarray):
        squares = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    else:
        numbers = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        squares = np.bincount(numbers, rows.data.astype(np.float64) ** 2, minlength=rows.shape[0])
    inverse: Floats = np.where(squares > UNDERFLOW_FLOOR, squares, np.inf) ** -0.5
    return inverse
