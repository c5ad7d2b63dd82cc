"""The sum of the squares of rows, which must leave room for products with it."""

from __future__ import annotations

import numpy as np

from opauc.core.row_blocks import read_only
from opauc.errors import StatisticsOverflowError
from opauc.linear.kernels.means import sum_of_squares
from opauc.types import Rows

# Rows whose squares add up to no more than this cannot make sums of squares overflow, however many they are.
LARGEST_SQUARES = 1e200


def checked_squares(rows: Rows) -> float:
    """Return the sum of the squares of all values, refused where it leaves no room for products with it."""
    values = rows.ravel(order="K") if isinstance(rows, np.ndarray) else rows.data
    with np.errstate(over="ignore"):
        squares = float(sum_of_squares(read_only(values)))
    refuse_large(squares)
    return squares


def refuse_large(squares: float) -> None:
    """Raise where a sum of squares is too large, or no number."""
    if not squares <= LARGEST_SQUARES:
        raise StatisticsOverflowError("the squares of the rows overflow float64; scale the features down")
