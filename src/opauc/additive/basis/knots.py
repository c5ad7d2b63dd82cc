"""Where the knots of piecewise linear curves stand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.types import Floats, Labels

# The first and the last knot of a curve, and of a feature in a pair, as quantiles.
CURVE_ENDS, PAIR_ENDS = (0.003, 0.997), (0.02, 0.98)
MOST_SPREAD = 16
# Rows that tell where a few quantiles are.
ENOUGH_ROWS = 4096


class OrderedValues(NamedTuple):
    """Values in rising order, and the mass of each."""

    values: Floats
    mass: Floats

    @classmethod
    def some_of(cls, values: Floats, mass: Floats) -> OrderedValues:
        """Return every so many-th of those that are not missing, enough for a few quantiles.

        Examples
        --------
        >>> import numpy as np
        >>> from opauc.additive.basis.knots import OrderedValues
        >>> OrderedValues.some_of(np.array([2.0, np.nan, 1.0]), np.array([0.1, 0.2, 0.3])).mass.tolist()
        [0.3, 0.1]
        """
        there = np.flatnonzero(~np.isnan(values))
        some = there[:: max(1, -(-there.size // ENOUGH_ROWS))]
        order = some[np.argsort(values[some])]
        return cls(values[order], mass[order])

    def quantiles(self, shares: Floats) -> Floats:
        """Return the values at which these shares of the mass are reached."""
        reached = np.cumsum(self.mass)
        found: Floats = self.values[np.minimum(np.searchsorted(reached, shares * reached[-1]), self.values.size - 1)]
        return found


def balanced_mass(labels: Labels, weight: Floats) -> Floats:
    """Return the mass of each row by its weight, so that each class has one half in all.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.knots import balanced_mass
    >>> balanced_mass(np.array([0, 0, 1], np.int8), np.ones(3)).tolist()
    [0.25, 0.25, 0.5]
    """
    totals = np.bincount(labels, weight, minlength=2)
    mass: Floats = weight * (0.5 / np.where(totals > 0.0, totals, 1.0))[labels]
    return mass


def knots_of(
    ordered: OrderedValues, most: int, ends: tuple[float, float] = CURVE_ENDS, most_spread: int = MOST_SPREAD
) -> Floats:
    """Return at most so many knots: all distinct values, or the heavy ones and quantiles of the rest.

    A value is heavy if it has its share of the mass, one in `most`, or more. At most `most_spread` quantiles are
    taken: where values do not repeat, more knots than that bring nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.knots import OrderedValues, knots_of
    >>> knots_of(OrderedValues(np.array([1.0, 3.0, 3.0]), np.ones(3)), 4).tolist()
    [1.0, 3.0]
    >>> knots_of(OrderedValues(np.r_[np.zeros(50), np.arange(50.0)], np.ones(100)), 4, (0.0, 1.0)).tolist()
    [0.0, 1.0, 25.0, 49.0]
    """
    values, first = ordered.values, np.ones(ordered.values.size, np.bool_)
    first[1:] = values[1:] > values[:-1]
    distinct: Floats = values[first]
    if distinct.size <= most:
        return distinct
    masses = np.add.reduceat(ordered.mass, np.flatnonzero(first))
    heavy = masses >= masses.sum() / most
    left = min(most - int(heavy.sum()), most_spread)
    if left <= 0 or heavy.all():
        heaviest: Floats = distinct[heavy]
        return heaviest
    spread = OrderedValues(distinct[~heavy], masses[~heavy]).quantiles(np.linspace(*ends, left))
    knots: Floats = np.unique(np.concatenate([distinct[heavy], spread]))
    return knots


# Beside the differences: curves and surfaces are drawn to zero too, by little.
CURVE_RIDGE, SURFACE_RIDGE = 0.02, 0.1


def curve_roughness(size: int) -> Floats:
    """Return the matrix of squared second differences between neighboring hats, and a small ridge.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.knots import curve_roughness
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
