"""Random signs of rows for sketches, a function of (key, row number) alone.

The signs of a row can be generated again at any time, so rows can be subtracted
from a sketch, and a list of row numbers can stand for a column of it. A vector of
signs ends in a one, so that the last column of a sketch is the class sum.
"""

import numpy as np

from opauc.core.kernels.compile import borrowing, kernel
from opauc.core.kernels.simd import LANES, lanes_at, plus, put_lanes, signed


@borrowing
def mixed(word):
    """Return a hash of 64 bits (the finalizer of SplitMix64)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@borrowing
def random_bits(key, row_number, block):
    """Return block number `block` of 64 random bits of a row."""
    start = mixed(key + np.uint64(row_number) * np.uint64(0x9E3779B97F4A7C15))
    return mixed(start + np.uint64(block + 1) * np.uint64(0xD1B54A32D192ED03))


@kernel
def write_signs(key, row_number, rank, out):
    """Write the signs of a row into `out`: `rank` entries +-1/sqrt(rank), zeros, and a final one."""
    size = 1.0 / np.sqrt(rank) if rank else 1.0
    for start in range(0, rank, 64):
        bits = random_bits(key, row_number, start // 64)
        part = out[start : min(start + 64, rank)]
        for j in range(part.size):
            part[j] = size - 2.0 * size * np.float64((bits >> np.uint64(j)) & np.uint64(1))
    out[rank:-1] = 0.0
    out[-1] = 1.0


@borrowing
def add_signs(key, row_number, rank, factor, out):
    """Add factor times the signs of a row, as in `write_signs`, to `out`."""
    size = factor / np.sqrt(rank) if rank else factor
    for start in range(0, rank, 64):
        bits = random_bits(key, row_number, start // 64)
        part = out[start : min(start + 64, rank)]
        whole = part.size - part.size % LANES
        for j in range(0, whole, LANES):
            put_lanes(part, j, plus(lanes_at(part, j), 1.0, signed(size, bits, j)))
        for j in range(whole, part.size):
            part[j] += size - 2.0 * size * np.float64((bits >> np.uint64(j)) & np.uint64(1))
    out[-1] += factor


@kernel
def write_gaussians(key, row_number, rank, out):
    """Write the Gaussian vector of a row into `out`: `rank` normal numbers / sqrt(rank), zeros, and a final one."""
    size = 1.0 / np.sqrt(rank) if rank else 1.0
    scale = 2.0**-53
    for j in range(0, rank, 2):
        one = (np.float64(random_bits(key, row_number, j) >> np.uint64(11)) + 0.5) * scale
        two = np.float64(random_bits(key, row_number, j + 1) >> np.uint64(11)) * scale
        length = size * np.sqrt(-2.0 * np.log(one))
        out[j] = length * np.cos(2.0 * np.pi * two)
        if j + 1 < rank:
            out[j + 1] = length * np.sin(2.0 * np.pi * two)
    out[rank:-1] = 0.0
    out[-1] = 1.0


@kernel
def write_sign_rows(key, row_numbers, rank, gaussian, out):
    """Write the signs, or the Gaussian vector, of every row number into a row of `out`."""
    for i in range(row_numbers.size):
        if gaussian:
            write_gaussians(key, row_numbers[i], rank, out[i])
        else:
            write_signs(key, row_numbers[i], rank, out[i])
