"""Random codes of rows, each a function of (key, row number) alone.

A code can be drawn again whenever it is needed, so rows can be taken out of a
sketch and short lists of row numbers can stand for rows of it. Codes end in a
one, which turns the last column of a sketch into the class sum.
"""

import numpy as np

from opauc.core.kernels.compile import borrowing, kernel
from opauc.core.kernels.simd import LANES, lanes_at, plus, put_lanes, signed


@borrowing
def mixed(word):
    """Return the 64 bits of `word` thoroughly mixed."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@borrowing
def code_word(key, row_number, block):
    """Return the 64 random bits number `block` of a row."""
    start = mixed(key + np.uint64(row_number) * np.uint64(0x9E3779B97F4A7C15))
    return mixed(start + np.uint64(block + 1) * np.uint64(0xD1B54A32D192ED03))


@kernel
def write_signs(key, row_number, rank, out):
    """Write the code of a row into `out`: `rank` signs over sqrt(rank), zeros, and a one at the end."""
    size = 1.0 / np.sqrt(rank) if rank else 1.0
    for start in range(0, rank, 64):
        bits = code_word(key, row_number, start // 64)
        part = out[start : min(start + 64, rank)]
        for j in range(part.size):
            part[j] = size - 2.0 * size * np.float64((bits >> np.uint64(j)) & np.uint64(1))
    out[rank:-1] = 0.0
    out[-1] = 1.0


@borrowing
def add_signs(key, row_number, rank, factor, out):
    """Add factor times the code of a row, as `write_signs` has it, to `out`."""
    size = factor / np.sqrt(rank) if rank else factor
    for start in range(0, rank, 64):
        bits = code_word(key, row_number, start // 64)
        part = out[start : min(start + 64, rank)]
        whole = part.size - part.size % LANES
        for j in range(0, whole, LANES):
            put_lanes(part, j, plus(lanes_at(part, j), 1.0, signed(size, bits, j)))
        for j in range(whole, part.size):
            part[j] += size - 2.0 * size * np.float64((bits >> np.uint64(j)) & np.uint64(1))
    out[-1] += factor


@kernel
def write_gaussians(key, row_number, rank, out):
    """Write the code of a row into `out`: `rank` normal numbers over sqrt(rank), zeros, and a one at the end."""
    size = 1.0 / np.sqrt(rank) if rank else 1.0
    scale = 2.0**-53
    for j in range(0, rank, 2):
        one = (np.float64(code_word(key, row_number, j) >> np.uint64(11)) + 0.5) * scale
        two = np.float64(code_word(key, row_number, j + 1) >> np.uint64(11)) * scale
        length = size * np.sqrt(-2.0 * np.log(one))
        out[j] = length * np.cos(2.0 * np.pi * two)
        if j + 1 < rank:
            out[j + 1] = length * np.sin(2.0 * np.pi * two)
    out[rank:-1] = 0.0
    out[-1] = 1.0


@kernel
def write_codes(key, row_numbers, rank, gaussian, out):
    """Write the code of every row number into a row of `out`."""
    for i in range(row_numbers.size):
        if gaussian:
            write_gaussians(key, row_numbers[i], rank, out[i])
        else:
            write_signs(key, row_numbers[i], rank, out[i])
