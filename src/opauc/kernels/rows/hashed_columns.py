"""Feature keys of 64 bits shared out among few columns, each with a sign."""

import numpy as np

from opauc.kernels.compile_kernel import kernel
from opauc.kernels.sums.codes import mixed


@kernel
def write_columns(keys, seed, bits, columns, signs):
    """Write the column below 2**bits and the sign, 1 or -1, of each key.

    Keys and seed are unsigned words. The column is the first bits of a word
    mixed from both, the sign its last one.
    """
    start, drop = mixed(seed + np.uint64(0x9E3779B97F4A7C15)), np.uint64(64 - bits)
    for i in range(keys.size):
        word = mixed(start ^ mixed(keys[i] + np.uint64(0xD1B54A32D192ED03)))
        columns[i] = np.int32(word >> drop)
        signs[i] = 1 - 2 * np.int8(word & np.uint64(1))
