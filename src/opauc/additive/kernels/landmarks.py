"""Where rows of numbers lie among the landmarks of a basis."""

import numpy as np

from opauc.additive.kernels.rows import BINARY, CATEGORICAL, HIGH, LOW, NUMERIC, hat_at
from opauc.core.kernels.compile import kernel


@kernel
def write_positions(rows, basis, level_places, level_starts, middles, scales, out):
    """Write the position of every value times the scale of its input; a missing value lies in the middle.

    A number lies between its knots, counted to one, or between the ends of its
    scale; a category lies at its level's place.
    """
    for j in range(rows.shape[1]):
        kind, scale, low, high = basis.kinds[j], scales[j], basis.scales[j, LOW], basis.scales[j, HIGH]
        knots = basis.knots[basis.knot_ends[j] : basis.knot_ends[j + 1]]
        levels = basis.levels[basis.level_ends[j] : basis.level_ends[j + 1]]
        places = level_places[level_starts[j] : level_starts[j] + basis.n_levels[j]]
        for i in range(rows.shape[0]):
            value, position = rows[i, j], middles[j]
            if scale == 0.0 or np.isnan(value):
                pass
            elif kind == NUMERIC and knots.size > 1:
                hat, height = hat_at(knots, value)
                position = (hat + 1.0 - height) / (knots.size - 1)
            elif kind in (BINARY, NUMERIC):
                position = min(1.0, max(0.0, (value - low) / (high - low)))
            elif kind == CATEGORICAL:
                number, level = np.int64(value), places.size - 1
                if 0 <= number < levels.size:
                    level = levels[number]
                position = places[level]
            out[i, j] = scale * position
