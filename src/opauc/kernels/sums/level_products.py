"""Sums of the rows of each level."""

import numpy as np

from opauc.kernels.compile_kernel import kernel


@kernel
def add_level_products(levels, rows, factors, sums):
    """Add to the line of each level the sparse rows that have it, each times its factor.

    `levels` and `rows` are as many sparse rows: of zeros and ones, and of what is summed.
    """
    for i in range(factors.size):
        begin, end, factor = np.int64(rows.indptr[i]), np.int64(rows.indptr[i + 1]), factors[i]
        for place in range(np.int64(levels.indptr[i]), np.int64(levels.indptr[i + 1])):
            line = sums[np.int64(levels.indices[place])]
            for at in range(begin, end):
                line[np.int64(rows.indices[at])] += factor * rows.data[at]
