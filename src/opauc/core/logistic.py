"""The logistic loss of scores, linearized: the curvature and the residual of each row."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from opauc.types import Floats, Labels

# Below this margin the secant equals a quarter to the last bit; dividing by the margin would be dividing by zero.
MIN_MARGIN = 1e-6


def linearize(scores: Floats, labels: Labels) -> tuple[Floats, Floats]:
    """Return the curvature of each row's logistic loss at its score, and the residual, which is y - p.

    The residual is the negative gradient. The curvature of a row on the right
    side of zero is the second derivative. On the wrong side it is the slope of
    the secant of the gradient from the score to zero, which is never small: with
    the second derivative, which vanishes there while the gradient stays near one,
    a single row could move the solution arbitrarily far. Both are 1/4 at zero.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.core.logistic import linearize
    >>> curvature, residual = linearize(np.array([0.0, 9.0, -9.0]), np.ones(3, np.int8))
    >>> curvature.round(4).tolist(), residual.round(4).tolist()
    ([0.25, 0.0001, 0.0555], [0.5, 0.0001, 0.9999])
    """
    sign = 2.0 * labels - 1.0
    margin = sign * scores
    error_probability = expit(-margin)  # 1 - p of the row's own class
    size = np.maximum(np.abs(margin), MIN_MARGIN)
    second_derivative = error_probability * (1.0 - error_probability)
    curvature = np.where(margin >= 0.0, second_derivative, np.tanh(0.5 * size) / (2.0 * size))
    return curvature, sign * error_probability
