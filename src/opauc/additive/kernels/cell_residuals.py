"""Chi-square tests of interactions: residuals in the cells of two features, with row and column effects removed.

Every feature has a few codes. Sums of the most frequent code are not kept: they
are the margins less the other cells. So nearly constant features cost few sums.
"""

import numpy as np

from opauc.core.kernels.compile import kernel
from opauc.core.kernels.simd import FEW, few_at, plus, put_lanes

# Alternating removals of row and column effects.
SWEEPS = 3
TINY = 1e-300
# Smaller sums of squares are rounding errors of an empty cell.
EMPTY = 1e-9
# The terms of a row, padded with zeros to fill a SIMD register.
RESIDUAL, CURVATURE, SQUARE = range(3)
N_TERMS = FEW


@kernel
def add_code_sums(codes, frequent, starts, terms, margins, cells):
    """Add the terms of every row to the margin of each of its codes, and to the cells of any two infrequent ones.

    codes[i, j] is the code of feature j in row i, starts[j] + code its index in
    `margins` and `cells`, of which the lower triangle is filled.
    """
    n_rows, n_features = codes.shape
    all_terms, all_margins = terms.reshape(terms.size), margins.reshape(margins.size)
    lines = cells.reshape(len(cells), len(cells) * N_TERMS)
    infrequent = np.empty(n_features, np.int64)
    for i in range(n_rows):
        row_terms, n_infrequent = few_at(all_terms, N_TERMS * i), 0
        for j in range(n_features):
            at = N_TERMS * (starts[j] + codes[i, j])
            put_lanes(all_margins, at, plus(few_at(all_margins, at), 1.0, row_terms))
            if codes[i, j] != frequent[j]:
                infrequent[n_infrequent] = at
                n_infrequent += 1
        for a in range(n_infrequent):
            line = lines[infrequent[a] // N_TERMS]
            for b in range(a):
                put_lanes(line, infrequent[b], plus(few_at(line, infrequent[b]), 1.0, row_terms))


@kernel
def fill_table(one, two, frequent, starts, margins, cells, table):
    """Write into `table` the sums of all cells of two features, `one` before `two`; code 0, missing, stays empty."""
    n_rows, n_columns = table.shape[0], table.shape[1]
    for term in range(3):
        for a in range(n_rows):
            for b in range(n_columns):
                table[a, b, term] = 0.0
                if a != frequent[one] and b != frequent[two]:
                    table[a, b, term] = cells[starts[two] + b, starts[one] + a, term]
        for a in range(n_rows):
            if a != frequent[one]:
                rest = table[a, :, term].sum()
                table[a, frequent[two], term] = margins[starts[one] + a, term] - rest
        for b in range(n_columns):
            rest = table[:, b, term].sum()
            table[frequent[one], b, term] = margins[starts[two] + b, term] - rest
        for a in range(n_rows):
            table[a, 0, term] = 0.0
        for b in range(n_columns):
            table[0, b, term] = 0.0


@kernel
def write_pair_tests(pairs, sizes, frequent, starts, margins, cells, floor, out):
    """Write for each pair of features the chi-square statistic and its degrees of freedom.

    Row and column effects are removed from the table of residuals first.
    """
    for q in range(len(pairs)):
        one, two = pairs[q, 0], pairs[q, 1]
        n_rows, n_columns = sizes[one], sizes[two]
        table = np.empty((n_rows, n_columns, 3))
        fill_table(one, two, frequent, starts, margins, cells, table)
        for _ in range(SWEEPS):
            for a in range(n_rows):
                share = table[a, :, RESIDUAL].sum() / max(table[a, :, CURVATURE].sum(), TINY)
                for b in range(n_columns):
                    table[a, b, RESIDUAL] -= share * table[a, b, CURVATURE]
            for b in range(n_columns):
                share = table[:, b, RESIDUAL].sum() / max(table[:, b, CURVATURE].sum(), TINY)
                for a in range(n_rows):
                    table[a, b, RESIDUAL] -= share * table[a, b, CURVATURE]
        chi_square, n_filled = 0.0, 0
        n_filled_rows, n_filled_columns = 0, 0
        for a in range(n_rows):
            n_filled_rows += table[a, :, SQUARE].sum() > EMPTY
        for b in range(n_columns):
            n_filled_columns += table[:, b, SQUARE].sum() > EMPTY
        for a in range(n_rows):
            for b in range(n_columns):
                if table[a, b, SQUARE] > EMPTY:
                    n_filled += 1
                    chi_square += table[a, b, RESIDUAL] ** 2 / (table[a, b, SQUARE] + floor)
        out[q, 0], out[q, 1] = chi_square, max(1, min((n_filled_rows - 1) * (n_filled_columns - 1), n_filled - 1))
