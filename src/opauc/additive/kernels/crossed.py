"""The residual-product test of combinations of values."""

from __future__ import annotations

import numpy as np

from opauc.core.kernels.compile import kernel

# Places of the sums of a level.
RESIDUAL, SQUARE = range(2)
HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@kernel
def residual_products(first, second, third, sizes, residuals, shift, sums):
    """Return the sum over pairs of rows of one level of the product of their residuals, and its variance.

    A level is a combination of the codes of three inputs, which have `sizes`
    codes. Where there are more combinations than rows of `sums`, a level is the
    first bits of a hash of the combination, those beyond `shift`. `sums`, of
    shape (n, 2), is overwritten.
    """
    n_levels = sizes[0] * sizes[1] * sizes[2]
    is_hashed = n_levels > sums.shape[0]
    used = sums.shape[0] if is_hashed else n_levels
    for level in range(used):
        sums[level, RESIDUAL] = 0.0
        sums[level, SQUARE] = 0.0
    fourth_powers = 0.0
    for i in range(residuals.size):
        level = (np.int64(first[i]) * sizes[1] + second[i]) * sizes[2] + third[i]
        if is_hashed:
            level = np.int64((np.uint64(level) * HASH_FACTOR) >> shift)
        square = residuals[i] * residuals[i]
        sums[level, RESIDUAL] += residuals[i]
        sums[level, SQUARE] += square
        fourth_powers += square * square
    products, variance = 0.0, 0.0
    for level in range(used):
        products += sums[level, RESIDUAL] * sums[level, RESIDUAL] - sums[level, SQUARE]
        variance += sums[level, SQUARE] * sums[level, SQUARE]
    return products, 2.0 * (variance - fourth_powers)
