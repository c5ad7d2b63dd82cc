"""How rough curves and surfaces are, as quadratic forms of their weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opauc.rows import Floats

# Beside the differences: curves and surfaces are drawn to zero too, by little.
CURVE_RIDGE, SURFACE_RIDGE = 0.02, 0.1


def curve_roughness(size: int) -> Floats:
    """Return the matrix of squared second differences between neighbouring hats, and a small ridge.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.features.card.roughness import curve_roughness
    >>> line, bend = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.0])
    >>> [round(float(curve @ curve_roughness(3) @ curve), 2) for curve in (line, bend)]
    [0.28, 4.02]
    """
    return _bends(size) + CURVE_RIDGE * np.eye(size)


def surface_roughness(shape: tuple[int, int], smooth: tuple[bool, bool], cells: NDArray[np.bool_]) -> Floats | None:
    """Return the matrix for the cells of a pair that have a column: second differences along the smooth sides.

    None where neither side is smooth: the identity serves then.
    """
    if not any(smooth):
        return None
    down, across = shape
    matrix = SURFACE_RIDGE * np.eye(down * across)
    if smooth[0]:
        matrix += np.kron(_bends(down), np.eye(across))
    if smooth[1]:
        matrix += np.kron(np.eye(down), _bends(across))
    at = np.flatnonzero(cells)
    return matrix[np.ix_(at, at)]


def _bends(size: int) -> Floats:
    """Return the sum of squared second differences as a matrix; of two hats none is known."""
    differences = np.diff(np.eye(size), 2, axis=0) if size > 2 else np.zeros((1, size))
    matrix: Floats = differences.T @ differences
    return matrix
