"""What OPAUCr carries from row to row besides its feature table, and what it needs for one row."""

from typing import NamedTuple

import numpy as np

# What stands where in `scalars`.
FACTOR, FACTOR_SUM, SHARE_SUM, ROWS, CURVATURE, RECENT_EXCESS = 0, 1, 2, 3, 4, 5


class SketchWeights(NamedTuple):
    """The weights and their mean, in terms of a feature table F with blocks of `width` columns.

    With v and u on the cards of the table, w = a v + F p and the weighted sum
    of all iterates is a_sum v + F p_sum + u.
    """

    coefficients: np.ndarray  # (2, width) p
    coefficient_sums: np.ndarray  # (2, width)
    products: np.ndarray  # (2, width) q = F^T w
    own_grams: np.ndarray  # (2, width, width) F_k^T F_k, lower triangles
    cross_gram: np.ndarray  # (width, width) F_1^T F_0
    code_sums: np.ndarray  # (2, width) sums of codes; the last entry is the weight of the rows
    scalars: np.ndarray  # (6,) a, a_sum, sum of shares, rows seen, largest curvature, recent squared excess


class SketchOptions(NamedTuple):
    """How a step is taken."""

    alpha: float
    relative: bool  # step sizes are in units of 1/curvature
    centred: bool  # the covariance is C C^T / count, C = Z - mean s^T with s the sum of codes; else Z Z^T / count less
    mean_share: float  # so much of mean mean^T, or, if negative, |s|^2 / count^2 of it
    gaussian: bool  # codes are normal numbers, not signs


class Workspace(NamedTuple):
    """Arrays to be written over with every row.

    The caller makes them: in a kernel each kind of array takes time to compile.
    """

    code: np.ndarray  # (width,)
    inner: np.ndarray  # (2, width) F^T x
    out: np.ndarray  # (2, width)
    change: np.ndarray  # (width,) of a block of p
    short: np.ndarray  # (3, width) code and blocks of p and its sum, in the dtype of the table
    found: np.ndarray  # (3, entries) places in the table, entries of the row there, and entries without a place

    @classmethod
    def of(cls, width, longest, dtype):
        """Return arrays for codes of a width, rows of up to `longest` entries and a table of a dtype."""
        return cls(
            code=np.zeros(width),
            inner=np.zeros((2, width)),
            out=np.zeros((2, width)),
            change=np.zeros(width),
            short=np.zeros((3, width), dtype),
            found=np.zeros((3, longest), np.int64),
        )
