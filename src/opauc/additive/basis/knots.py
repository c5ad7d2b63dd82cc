"""Knots of piecewise linear curves, and roughness penalties of curves and surfaces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.policy import BASIS_POLICY
from opauc.types import Floats, Labels

# Quantiles of one input are read from about so many rows: more rows hardly move them.
QUANTILE_ROWS = 4096
SECOND_DIFFERENCE = 1.0, -2.0, 1.0


class OrderedValues(NamedTuple):
    """Values in ascending order, and the sample weight of each."""

    values: Floats
    weight: Floats

    @classmethod
    def subsample(cls, values: Floats, weight: Floats) -> OrderedValues:
        """Return every k-th value that is not missing, enough of them to estimate quantiles.

        Examples
        --------
        >>> import numpy as np
        >>> from opauc.additive.basis.knots import OrderedValues
        >>> OrderedValues.subsample(np.array([2.0, np.nan, 1.0]), np.array([0.1, 0.2, 0.3])).weight.tolist()
        [0.3, 0.1]
        """
        present = np.flatnonzero(~np.isnan(values))
        sampled = present[:: max(1, -(-present.size // QUANTILE_ROWS))]
        own = values[sampled]
        is_greatest = own == own.max(initial=-np.inf)
        if (is_greatest | (own == own.min(initial=np.inf))).all():  # of two values, which need no sorting
            order = np.concatenate([sampled[~is_greatest], sampled[is_greatest]])
        else:
            order = sampled[np.argsort(own)]
        return cls(values[order], weight[order])

    def quantiles(self, levels: Floats) -> Floats:
        """Return the weighted quantiles at these levels."""
        cumulative = np.cumsum(self.weight)
        last = self.values.size - 1
        quantiles: Floats = self.values[np.minimum(np.searchsorted(cumulative, levels * cumulative[-1]), last)]
        return quantiles


def balance_classes(labels: Labels, weight: Floats) -> Floats:
    """Return sample weights proportional to `weight` within each class, whose sum is one half in each class.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.knots import balance_classes
    >>> balance_classes(np.array([0, 0, 1], np.int8), np.ones(3)).tolist()
    [0.25, 0.25, 0.5]
    """
    totals = np.bincount(labels, weight, minlength=2)
    balanced: Floats = weight * (0.5 / np.where(totals > 0.0, totals, 1.0))[labels]
    return balanced


def place_knots(
    ordered: OrderedValues,
    max_knots: int,
    ends: tuple[float, float] = BASIS_POLICY.curve_ends,
    max_quantiles: int = BASIS_POLICY.max_quantile_knots,
) -> Floats:
    """Return at most `max_knots` knots: all distinct values, or the heavy values and quantiles of the others.

    A value is heavy if its weight is at least 1 / max_knots of the total.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.knots import OrderedValues, place_knots
    >>> place_knots(OrderedValues(np.array([1.0, 3.0, 3.0]), np.ones(3)), 4).tolist()
    [1.0, 3.0]
    >>> place_knots(OrderedValues(np.r_[np.zeros(50), np.arange(50.0)], np.ones(100)), 4, (0.0, 1.0)).tolist()
    [0.0, 1.0, 25.0, 49.0]
    """
    values, first = ordered.values, np.ones(ordered.values.size, np.bool_)
    first[1:] = values[1:] > values[:-1]
    distinct: Floats = values[first]
    if distinct.size <= max_knots:
        return distinct
    weights = np.add.reduceat(ordered.weight, np.flatnonzero(first))
    heavy = weights >= weights.sum() / max_knots
    n_quantiles = min(max_knots - int(heavy.sum()), max_quantiles)
    if n_quantiles <= 0 or heavy.all():
        heaviest: Floats = distinct[heavy]
        return heaviest
    spread = OrderedValues(distinct[~heavy], weights[~heavy]).quantiles(np.linspace(*ends, n_quantiles))
    knots: Floats = np.unique(np.concatenate([distinct[heavy], spread]))
    return knots


def curve_roughness(size: int, ridge: float = BASIS_POLICY.curve_ridge) -> Floats:
    """Return the penalty matrix of a curve: squared second differences of its coefficients, and a small ridge.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.knots import curve_roughness
    >>> line, bend = np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.0])
    >>> [round(float(curve @ curve_roughness(3) @ curve), 2) for curve in (line, bend)]
    [0.28, 4.02]
    """
    return _second_differences(size, np.arange(size)) + ridge * np.eye(size)


def surface_roughness(
    shape: tuple[int, int],
    smooth: tuple[bool, bool],
    cells: NDArray[np.bool_],
    ridge: float = BASIS_POLICY.surface_ridge,
) -> Floats | None:
    """Return the penalty matrix of the cells of a pair that have a column: second differences along smooth inputs.

    None stands for the identity: neither input is smooth.
    """
    if not any(smooth):
        return None
    at = np.divmod(np.flatnonzero(cells), shape[1])
    matrix = ridge * np.eye(at[0].size)
    for along, other, size, is_smooth in zip(at, at[::-1], shape, smooth, strict=True):
        if is_smooth:
            matrix += _second_differences(size, along) * (other[:, None] == other)
    return matrix


def _second_differences(size: int, at: NDArray[np.int64]) -> Floats:
    """Return the sum of squared second differences of `size` coefficients as a matrix, of those at `at` only.

    A difference takes three neighbors 1, -2, 1 times. No matrix of all coefficients is made: few may have a column.
    """
    matrix = np.zeros((at.size, at.size))
    for offset, one in enumerate(SECOND_DIFFERENCE):
        for other_offset, other in enumerate(SECOND_DIFFERENCE):
            first = at - offset
            inside = (first >= 0) & (first <= size - len(SECOND_DIFFERENCE))
            matrix += one * other * (inside[:, None] & (first[:, None] == at - other_offset))
    return matrix
