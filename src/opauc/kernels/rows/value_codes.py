"""Rows of numbers as codes: how many cuts of an input a value lies above."""

import numpy as np

from opauc.kernels.compile_kernel import kernel
from opauc.kernels.rows.card_rows import CATEGORICAL

# The code of a missing value.
NO_VALUE = 0


@kernel
def write_value_codes(rows, card, cuts, cut_ends, level_codes, level_starts, out):
    """Write the code of every value: zero where missing, else one and the cuts below it, or that of its level."""
    for i in range(rows.shape[0]):
        row, codes = rows[i], out[i]
        for j in range(row.size):
            value = row[j]
            if np.isnan(value):
                codes[j] = NO_VALUE
            elif card.kinds[j] == CATEGORICAL:
                number, level = np.int64(value), card.n_levels[j] - 1
                if 0 <= number < card.level_ends[j + 1] - card.level_ends[j]:
                    level = card.levels[card.level_ends[j] + number]
                codes[j] = level_codes[level_starts[j] + level]
            else:
                # Halving without branches: where a value lies cannot be foretold.
                first, left = cut_ends[j], cut_ends[j + 1] - cut_ends[j]
                while left > 1:
                    half = left >> 1
                    first += half if cuts[first + half - 1] < value else 0
                    left -= half
                above = 1 if left == 1 and cuts[first] < value else 0
                codes[j] = first + above - cut_ends[j] + 1
