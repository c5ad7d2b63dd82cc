"""The sketch of OPAUCr as a table with one line per feature, allocated only for features that occur often.

Line j of the table F is the sum over the rows x of x_j times the random signs of
x, in the block of the class of x. The first occurrences of a feature are stored
as (row number, value) instead: the signs are a function of the row number and can
be computed again. Most features of text never need a line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import borrowing, inlined, kernel
from opauc.core.kernels.random_signs import add_signs
from opauc.core.kernels.simd import prefetch, prefetch_second

# Columns of a feature record of float64.
WEIGHT = 0  # v of the feature
WEIGHT_SUM = 1  # u of the feature
LINE = 2  # -1 - the number of its line of the table, where it has one; else see FeatureTable
VALUES = 4  # + e: value of early occurrence e
# Number of early occurrences in a record: with four, a record is as long as a cache line.
N_EARLY = 4
# Column of the first early occurrence's row number where the record is viewed as int32: LINE, in units of 4 bytes.
NUMBERS = 2 * LINE
# Occurrences in rows from this number on are not stored. Below it, the two int32 at LINE, read as one float64, lie in
# [0, 3), while a line number is stored as a negative float64.
NUMBERS_END = 2**29
# Records and lines are prefetched this many entries ahead.
AHEAD, LINES_AHEAD = 24, 24


class FeatureTable(NamedTuple):
    """One record per feature, and one line of sums per feature that occurred often enough.

    A record is 8 float64, 64 bytes:

    - bytes 0 to 15: v (WEIGHT) and u (WEIGHT_SUM) of `SketchWeights`;
    - bytes 16 to 31: if the feature has a line, the float64 at LINE is
      -1 - its number. Otherwise these are four int32, one per early occurrence:
      zero where unused, else 1 + class + 2 * row number;
    - bytes 32 to 63 (VALUES): the values of the early occurrences.

    `rows` is allocated for every feature; the operating system commits memory
    only for the lines in use.
    """

    rows: np.ndarray  # (d, 2 width) lines, float64 or float32: the block of class 0, then of class 1
    records: np.ndarray  # (d, 8), or (d, 4) where early occurrences are not stored
    used: np.ndarray  # (1,) int64: number of lines in use
    key: np.ndarray  # (1,) uint64: key of the random signs
    rank: np.ndarray  # (1,) int64: number of random signs per row


@borrowing
def add_early(table, j, factor, out):
    """Add factor times the sums of feature j, which has no line, to `out` (2, width); return its early occurrences."""
    records = table.records
    numbers, n_slots = records.view(np.int32), records.shape[1] - VALUES
    for e in range(n_slots):
        number = np.int64(numbers[j, NUMBERS + e]) - 1
        if number < 0:
            return e
        add_signs(table.key[0], number >> 1, table.rank[0], factor * records[j, VALUES + e], out[number & 1])
    return n_slots


@inlined
def line_of(records, j):
    """Return the line number of feature j, negative if it has none."""
    return -1 - np.int64(records[j, LINE])


@borrowing
def allocate_line(table, j, scratch):
    """Allocate a line for feature j, filled from its early occurrences; return the line number."""
    scratch[:] = 0.0
    add_early(table, j, 1.0, scratch)
    line, width = table.used[0], scratch.shape[1]
    table.used[0] += 1
    table.records[j, LINE] = -1.0 - line
    row = table.rows[line]
    for c in range(width):
        row[c] = scratch[0, c]
        row[width + c] = scratch[1, c]
    return line


@inlined
def prefetch_line(rows, line):
    """Prefetch a line of the table."""
    for c in range(0, rows.shape[1], 64 // rows.itemsize):
        prefetch_second(rows, line, c)


@borrowing
def look_up(columns, values, table, entries):
    """Split the entries of a row by whether their features have a line; return how many do, v.x and |x|^2.

    Writes line numbers and entry numbers of features with a line into entries[0]
    and entries[1], entry numbers of the others into entries[2]. Prefetches records
    and lines.
    """
    records, rows, last = table.records, table.rows, columns.size - 1
    count, dot, square = 0, 0.0, 0.0
    for at in range(values.size):
        prefetch(records, columns[min(at + AHEAD, last)], 0)
        j, x = columns[at], values[at]
        dot += records[j, WEIGHT] * x
        square += x * x
        line = line_of(records, j)
        entries[0, count], entries[1, count], entries[2, at - count] = line, at, at
        if line >= 0:
            if count < LINES_AHEAD:
                prefetch_line(rows, line)
            count += 1
    return count, dot, square


@borrowing
def store_early(columns, values, count, k, row_number, table, inner, workspace):
    """Store entries without a line in their records, and add the earlier occurrences there to `inner`.

    A feature whose record is full gets a line. Returns the number of entries with a line, these included.
    """
    records, entries, number = table.records, workspace.entries, 1 + k + 2 * row_number
    numbers, n_slots = records.view(np.int32), records.shape[1] - VALUES if row_number < NUMBERS_END else 0
    for t in range(values.size - count):
        at = entries[2, t]
        j, x = columns[at], values[at]
        if n_slots and numbers[j, NUMBERS + n_slots - 1] == 0:
            n_early = add_early(table, j, x, inner)
            numbers[j, NUMBERS + n_early] = number
            records[j, VALUES + n_early] = x
        else:
            entries[0, count], entries[1, count] = allocate_line(table, j, workspace.out), at
            count += 1
    return count


@kernel
def table_product(table, coefficients, out):
    """Write into `out` the product of the table with `coefficients` (2, width)."""
    width = coefficients.shape[1]
    scratch = np.empty((2, width))
    for j in range(out.size):
        total, line = 0.0, line_of(table.records, j)
        if line >= 0:
            row = table.rows[line]
            for c in range(width):
                total += row[c] * coefficients[0, c] + row[width + c] * coefficients[1, c]
        else:
            scratch[:] = 0.0
            add_early(table, j, 1.0, scratch)
            for c in range(width):
                total += scratch[0, c] * coefficients[0, c] + scratch[1, c] * coefficients[1, c]
        out[j] = total


@kernel
def product_with_table(table, vector, out):
    """Write into `out` (2, width) the product of `vector`, one entry per feature, with the table."""
    width = out.shape[1]
    out[:] = 0.0
    for j in range(vector.size):
        x, line = vector[j], line_of(table.records, j)
        if line >= 0:
            row = table.rows[line]
            for c in range(width):
                out[0, c] += x * row[c]
                out[1, c] += x * row[width + c]
        else:
            add_early(table, j, x, out)


@kernel
def write_sums(table, out):
    """Write the sums of every feature into `out` (d, 2, width), all zero before."""
    width = out.shape[2]
    for j in range(out.shape[0]):
        line = line_of(table.records, j)
        if line >= 0:
            row = table.rows[line]
            for c in range(width):
                out[j, 0, c] = row[c]
                out[j, 1, c] = row[width + c]
        else:
            add_early(table, j, 1.0, out[j])


# Entries of `SketchWeights.scalars`.
FACTOR = 0  # a
FACTOR_SUM = 1  # a_sum
SHARE_SUM = 2  # sum of the weights of the iterates in their mean
ROWS = 3  # rows processed
CURVATURE = 4  # largest curvature so far
RECENT_EXCESS = 5  # running mean of the squared excess


class SketchWeights(NamedTuple):
    """The weights and the weighted sum of all iterates, in terms of the feature table F.

    With v and u in the feature records, w = a v + F p, and the weighted sum of
    the iterates is a_sum v + F p_sum + u.
    """

    coefficients: np.ndarray  # (2, width) p
    coefficient_sums: np.ndarray  # (2, width)
    products: np.ndarray  # (2, width) q = F^T w
    own_grams: np.ndarray  # (2, width, width) F_k^T F_k, lower triangles
    cross_gram: np.ndarray  # (width, width) F_1^T F_0
    sign_sums: np.ndarray  # (2, width) sums of signs; the last entry is the total weight of the rows
    scalars: np.ndarray  # (6,) see FACTOR and following


class SketchOptions(NamedTuple):
    """Options of the pass."""

    alpha: float
    relative: bool  # step sizes are in units of 1/curvature
    # Covariance: C C^T / count with C = Z - mean s^T, s the sum of signs; or Z Z^T / count - mean_share mean mean^T.
    centered: bool
    mean_share: float  # -1 stands for |s|^2 / count^2
    gaussian: bool  # Gaussian numbers instead of signs


class SketchWorkspace(NamedTuple):
    """Scratch arrays for one row.

    The caller allocates them: allocating in the kernel would add to its compile time.
    """

    signs: np.ndarray  # (width,)
    inner: np.ndarray  # (2, width) F^T x
    out: np.ndarray  # (2, width)
    change: np.ndarray  # (width,) change of a block of p
    short: np.ndarray  # (3, width) signs and blocks of p and p_sum, in the dtype of the table
    entries: np.ndarray  # (3, entries) see `look_up`

    @classmethod
    def of(cls, width, longest, dtype):
        """Return arrays for signs of length `width`, rows of up to `longest` entries and a table of type `dtype`."""
        return cls(
            signs=np.zeros(width),
            inner=np.zeros((2, width)),
            out=np.zeros((2, width)),
            change=np.zeros(width),
            short=np.zeros((3, width), dtype),
            entries=np.zeros((3, longest), np.int64),
        )
