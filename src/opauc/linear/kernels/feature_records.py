"""One row of sums per feature, made only once the feature has been met often enough.

Row j of the table F is the sum, over the rows x met, of x_j times the code of
x, in the block of the class of x. A feature's first few occurrences are kept
as (row number, value) instead, for codes can be drawn again: most
features of text never come to need a row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import borrowing, inlined, kernel
from opauc.core.kernels.random_signs import add_signs
from opauc.core.kernels.simd import prefetch, prefetch_second

# What stands where on a card.
WEIGHT, WEIGHT_SUM, PLACE, VALUES = 0, 1, 2, 4
# Early occurrences a card has room for: with four it is as long as a cache line.
PATIENCE = 4
# Where their row numbers begin on a card seen as 32-bit integers.
NUMBERS = 2 * PLACE
# Occurrences in rows from this number on are not kept: two integers, read as the float at PLACE, are then below 3.
NUMBERS_END = 2**29
# So many entries before they are needed, cards and rows of the table are asked for.
AHEAD, ROWS_AHEAD = 24, 24


class FeatureTable(NamedTuple):
    """Sums per feature; `rows` has room for every feature, of which the system commits what is used.

    A card holds v, u and, if the feature has a row, -1 - its place. Until then
    this number and the next are four integers of 32 bits, each zero or
    1 + class + 2 * row number of an early occurrence; their values follow.
    """

    rows: np.ndarray  # (d, 2 width) float64 or float32: the block of class 0, then of class 1
    cards: np.ndarray  # (d, 8), or (d, 4) where no early occurrences are kept
    used: np.ndarray  # (1,) int64: rows taken
    key: np.ndarray  # (1,) uint64: of the codes
    rank: np.ndarray  # (1,) int64: random entries of a code


@borrowing
def add_early(table, j, factor, out):
    """Add factor times the sums of feature j, which has no row yet, to `out` (2, width); return the occurrences."""
    cards = table.cards
    numbers, room = cards.view(np.int32), cards.shape[1] - VALUES
    for e in range(room):
        number = np.int64(numbers[j, NUMBERS + e]) - 1
        if number < 0:
            return e
        add_signs(table.key[0], number >> 1, table.rank[0], factor * cards[j, VALUES + e], out[number & 1])
    return room


@inlined
def place_of(cards, j):
    """Return the place of the row of feature j, or a negative number if it has none."""
    return -1 - np.int64(cards[j, PLACE])


@borrowing
def take_row(table, j, scratch):
    """Give feature j a row made of its early occurrences; return its place."""
    scratch[:] = 0.0
    add_early(table, j, 1.0, scratch)
    place, width = table.used[0], scratch.shape[1]
    table.used[0] += 1
    table.cards[j, PLACE] = -1.0 - place
    row = table.rows[place]
    for c in range(width):
        row[c] = scratch[0, c]
        row[width + c] = scratch[1, c]
    return place


@inlined
def fetch_row(rows, place):
    """Ask for all cache lines of a row of the table."""
    for c in range(0, rows.shape[1], 64 // rows.itemsize):
        prefetch_second(rows, place, c)


@borrowing
def look_up(columns, values, table, found):
    """Sort the entries of a row by whether their features have a row of the table; return how many do, v.x and |x|^2.

    Writes the places and numbers of those that do into found[0] and found[1],
    the numbers of the others into found[2], and asks for what is read next.
    """
    cards, rows, last = table.cards, table.rows, columns.size - 1
    count, dot, square = 0, 0.0, 0.0
    for at in range(values.size):
        prefetch(cards, columns[min(at + AHEAD, last)], 0)
        j, x = columns[at], values[at]
        dot += cards[j, WEIGHT] * x
        square += x * x
        place = place_of(cards, j)
        found[0, count], found[1, count], found[2, at - count] = place, at, at
        if place >= 0:
            if count < ROWS_AHEAD:
                fetch_row(rows, place)
            count += 1
    return count, dot, square


@borrowing
def enter_early(columns, values, count, k, row_number, table, inner, work):
    """Keep the entries without a row on their cards, and add what was kept there before to `inner`.

    Features met often enough get a row; return `count`, the number of entries that have one, with these.
    """
    cards, found, number = table.cards, work.found, 1 + k + 2 * row_number
    numbers, room = cards.view(np.int32), cards.shape[1] - VALUES if row_number < NUMBERS_END else 0
    for t in range(values.size - count):
        at = found[2, t]
        j, x = columns[at], values[at]
        if room and numbers[j, NUMBERS + room - 1] == 0:
            met = add_early(table, j, x, inner)
            numbers[j, NUMBERS + met] = number
            cards[j, VALUES + met] = x
        else:
            found[0, count], found[1, count] = take_row(table, j, work.out), at
            count += 1
    return count


@kernel
def table_product(table, coefficients, out):
    """Write into `out` the product of the table with `coefficients` (2, width)."""
    width = coefficients.shape[1]
    scratch = np.empty((2, width))
    for j in range(out.size):
        total, place = 0.0, place_of(table.cards, j)
        if place >= 0:
            row = table.rows[place]
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
    """Write into `out` (2, width) the product of `vector`, one entry a feature, with the table."""
    width = out.shape[1]
    out[:] = 0.0
    for j in range(vector.size):
        x, place = vector[j], place_of(table.cards, j)
        if place >= 0:
            row = table.rows[place]
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
        place = place_of(table.cards, j)
        if place >= 0:
            row = table.rows[place]
            for c in range(width):
                out[j, 0, c] = row[c]
                out[j, 1, c] = row[width + c]
        else:
            add_early(table, j, 1.0, out[j])


# What stands where in `scalars`.
FACTOR, FACTOR_SUM, SHARE_SUM, ROWS, CURVATURE, RECENT_EXCESS = 0, 1, 2, 3, 4, 5


class SketchWeights(NamedTuple):
    """The weights and their mean, in terms of a feature table F with blocks of `width` columns.

    With v and u on the cards of the table, w = a v + F p and the weighted sum
    of all iterates is a_sum v + F p_sum + u.
    """

    coefficients: np.ndarray  # (2, width) p
    coefficient_sums: np.ndarray  # (2, width)
    products: np.ndarray  # (2, width) q = F^T w
    own_grams: np.ndarray  # (2, width, width) F_k^T F_k, lower triangles
    cross_gram: np.ndarray  # (width, width) F_1^T F_0
    code_sums: np.ndarray  # (2, width) sums of codes; the last entry is the weight of the rows
    scalars: np.ndarray  # (6,) a, a_sum, sum of shares, rows seen, largest curvature, recent squared excess


class SketchOptions(NamedTuple):
    """How a step is taken."""

    alpha: float
    relative: bool  # step sizes are in units of 1/curvature
    centered: bool  # the covariance is C C^T / count, C = Z - mean s^T with s the sum of codes; else Z Z^T / count less
    mean_share: float  # so much of mean mean^T, or, if negative, |s|^2 / count^2 of it
    gaussian: bool  # codes are normal numbers, not signs


class Workspace(NamedTuple):
    """Arrays to be written over with every row.

    The caller makes them: in a kernel each kind of array takes time to compile.
    """

    code: np.ndarray  # (width,)
    inner: np.ndarray  # (2, width) F^T x
    out: np.ndarray  # (2, width)
    change: np.ndarray  # (width,) of a block of p
    short: np.ndarray  # (3, width) code and blocks of p and its sum, in the dtype of the table
    found: np.ndarray  # (3, entries) places in the table, entries of the row there, and entries without a place

    @classmethod
    def of(cls, width, longest, dtype):
        """Return arrays for codes of a width, rows of up to `longest` entries and a table of a dtype."""
        return cls(
            code=np.zeros(width),
            inner=np.zeros((2, width)),
            out=np.zeros((2, width)),
            change=np.zeros(width),
            short=np.zeros((3, width), dtype),
            found=np.zeros((3, longest), np.int64),
        )
