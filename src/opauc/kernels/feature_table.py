"""One row of sums per feature, made only once the feature has been met often enough.

Row j of the table F is the sum, over the rows x met, of x_j times the code of
x, in the block of the class of x. A feature's first few occurrences are kept
as (row number, value) instead, for codes can be drawn again: most
features of text never come to need a row.
"""

from typing import NamedTuple

import numpy as np

from opauc.kernels.codes import add_signs
from opauc.kernels.compile_kernel import borrowing, kernel
from opauc.kernels.prefetch import prefetch

# What stands where on a card.
WEIGHT, WEIGHT_SUM, PLACE = 0, 1, 2
# Entries of a row looked up this long before they are needed: first the card, then what it leads to.
AHEAD, SOON = 16, 6


class FeatureTable(NamedTuple):
    """Sums per feature; `rows` has room for every feature, of which the system commits what is used."""

    rows: np.ndarray  # (d, 2 width) float64 or float32: the block of class 0, then of class 1
    cards: np.ndarray  # (d, 3): v, u and the place in `rows`, or -1 - the number of early occurrences
    early: np.ndarray  # (d, 2 patience): 2 * row number + class, and value, of each early occurrence
    used: np.ndarray  # (1,) int64: rows taken
    key: np.ndarray  # (1,) uint64: of the codes
    rank: np.ndarray  # (1,) int64: random entries of a code


@borrowing
def spread_early(table, j, factor, out):
    """Add factor times the sums of feature j, which has no row yet, to `out` (2, width)."""
    for e in range(-1 - np.int64(table.cards[j, PLACE])):
        number, value = np.int64(table.early[j, 2 * e]), table.early[j, 2 * e + 1]
        add_signs(table.key[0], number >> 1, table.rank[0], factor * value, out[number & 1])


@borrowing
def take_row(table, j, scratch):
    """Give feature j a row made of its early occurrences; return its place."""
    scratch[:] = 0.0
    spread_early(table, j, 1.0, scratch)
    place, width = table.used[0], scratch.shape[1]
    table.used[0] += 1
    table.cards[j, PLACE] = place
    row = table.rows[place]
    for c in range(width):
        row[c] = scratch[0, c]
        row[width + c] = scratch[1, c]
    return place


@borrowing
def find_rows(columns, values, number, table, inner, scratch, found):
    """Write the places and numbers of the entries that have a row into `found`; return how many, v.x and |x|^2.

    Entries of features met for the first few times are kept aside, and what
    was kept of them before goes into `inner`.
    """
    cards, early, last = table.cards, table.early, columns.size - 1
    room, width = early.shape[1] // 2, inner.shape[1]
    count, dot, square = 0, 0.0, 0.0
    for at in range(values.size):
        prefetch(cards, columns[min(at + AHEAD, last)], 0)
        soon = columns[min(at + SOON, last)]
        if cards[soon, PLACE] < 0.0:
            prefetch(early, soon, 0)
        j, x = columns[at], values[at]
        dot += cards[j, WEIGHT] * x
        square += x * x
        place = np.int64(cards[j, PLACE])
        if place < 0:
            met = -1 - place
            if met < room:
                spread_early(table, j, x, inner)
                early[j, 2 * met] = number
                early[j, 2 * met + 1] = x
                cards[j, PLACE] -= 1.0
                continue
            place = take_row(table, j, scratch)
        prefetch(table.rows, place, 0)
        prefetch(table.rows, place, width)
        found[0, count] = place
        found[1, count] = at
        count += 1
    return count, dot, square


@kernel
def table_product(table, coefficients, out):
    """Write into `out` the product of the table with `coefficients` (2, width)."""
    width = coefficients.shape[1]
    scratch = np.empty((2, width))
    for j in range(out.size):
        total, place = 0.0, np.int64(table.cards[j, PLACE])
        if place >= 0:
            row = table.rows[place]
            for c in range(width):
                total += row[c] * coefficients[0, c] + row[width + c] * coefficients[1, c]
        elif place < -1:
            scratch[:] = 0.0
            spread_early(table, j, 1.0, scratch)
            for c in range(width):
                total += scratch[0, c] * coefficients[0, c] + scratch[1, c] * coefficients[1, c]
        out[j] = total


@kernel
def product_with_table(table, vector, out):
    """Write into `out` (2, width) the product of `vector`, one entry a feature, with the table."""
    width = out.shape[1]
    out[:] = 0.0
    for j in range(vector.size):
        x, place = vector[j], np.int64(table.cards[j, PLACE])
        if place >= 0:
            row = table.rows[place]
            for c in range(width):
                out[0, c] += x * row[c]
                out[1, c] += x * row[width + c]
        elif place < -1:
            spread_early(table, j, x, out)


@kernel
def write_sums(table, out):
    """Write the sums of every feature into `out` (d, 2, width), all zero before."""
    width = out.shape[2]
    for j in range(out.shape[0]):
        place = np.int64(table.cards[j, PLACE])
        if place >= 0:
            row = table.rows[place]
            for c in range(width):
                out[j, 0, c] = row[c]
                out[j, 1, c] = row[width + c]
        elif place < -1:
            spread_early(table, j, 1.0, out[j])
