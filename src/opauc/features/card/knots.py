"""Where the knots of piecewise linear curves stand."""

from __future__ import annotations

import numpy as np

from opauc.rows import Floats, Labels

# The first and the last knot of a curve, and of a feature in a pair, as quantiles.
CURVE_ENDS, PAIR_ENDS = (0.003, 0.997), (0.02, 0.98)
MOST_SPREAD = 16


def balanced_mass(labels: Labels, weight: Floats) -> Floats:
    """Return the mass of each row by its weight, so that each class has one half in all.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.features.card.knots import balanced_mass
    >>> balanced_mass(np.array([0, 0, 1], np.int8), np.ones(3)).tolist()
    [0.25, 0.25, 0.5]
    """
    totals = np.bincount(labels, weight, minlength=2)
    mass: Floats = weight * (0.5 / np.where(totals > 0.0, totals, 1.0))[labels]
    return mass


def quantiles(values: Floats, mass: Floats, shares: Floats) -> Floats:
    """Return the values at which sorted `values` reach these shares of the mass."""
    reached = np.cumsum(mass)
    found: Floats = values[np.minimum(np.searchsorted(reached, shares * reached[-1]), values.size - 1)]
    return found


def knots_of(
    values: Floats, mass: Floats, most: int, ends: tuple[float, float] = CURVE_ENDS, most_spread: int = MOST_SPREAD
) -> Floats:
    """Return at most so many knots: all distinct values, or the heavy ones and quantiles of the rest.

    A value is heavy if it has its share of the mass, one in `most`, or more. At most `most_spread` quantiles are
    taken: where values do not repeat, more knots than that bring nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.features.card.knots import knots_of
    >>> knots_of(np.array([3.0, 1.0, 3.0]), np.ones(3), 4).tolist()
    [1.0, 3.0]
    >>> knots_of(np.r_[np.zeros(50), np.arange(50.0)], np.ones(100), 4, (0.0, 1.0)).tolist()
    [0.0, 1.0, 25.0, 49.0]
    """
    order = np.argsort(values)
    ordered, first = values[order], np.ones(values.size, np.bool_)
    first[1:] = ordered[1:] > ordered[:-1]
    distinct: Floats = ordered[first]
    if distinct.size <= most:
        return distinct
    masses = np.add.reduceat(mass[order], np.flatnonzero(first))
    heavy = masses >= masses.sum() / most
    left = min(most - int(heavy.sum()), most_spread)
    if left <= 0 or heavy.all():
        heaviest: Floats = distinct[heavy]
        return heaviest
    spread = quantiles(distinct[~heavy], masses[~heavy], np.linspace(*ends, left))
    knots: Floats = np.unique(np.concatenate([distinct[heavy], spread]))
    return knots
