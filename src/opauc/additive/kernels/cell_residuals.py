"""What residuals say of two features together beyond what each says alone.

Every feature has a few codes, of which the usual one is left out: what its
cells hold is the rest of the margins. So rows of zeros, but for a few, cost few sums.
"""

import numpy as np

from opauc.core.kernels.compile import kernel
from opauc.core.kernels.simd import FEW, few_at, plus, put_lanes

SWEEPS = 3
TINY = 1e-300
# Sums of squares below this are what rounding leaves of nothing.
NOTHING = 1e-9
# The terms of a row; one more of them is always zero, so that all fit a register.
RESIDUAL, CURVATURE, SQUARE = range(3)
N_TERMS = FEW


@kernel
def add_code_sums(codes, usual, places, terms, margins, cells):
    """Add the terms of every row to the margin of each of its codes, and to the cells of any two unusual ones.

    codes[i, j] is the code of feature j in row i, places[j] + code its place in
    `margins` and `cells`, of which the lower triangle is filled.
    """
    n_rows, n_features = codes.shape
    all_terms, all_margins = terms.reshape(terms.size), margins.reshape(margins.size)
    lines = cells.reshape(len(cells), len(cells) * N_TERMS)
    met = np.empty(n_features, np.int64)
    for i in range(n_rows):
        own, n_met = few_at(all_terms, N_TERMS * i), 0
        for j in range(n_features):
            place = N_TERMS * (places[j] + codes[i, j])
            put_lanes(all_margins, place, plus(few_at(all_margins, place), 1.0, own))
            if codes[i, j] != usual[j]:
                met[n_met] = place
                n_met += 1
        for a in range(n_met):
            line = lines[met[a] // N_TERMS]
            for b in range(a):
                put_lanes(line, met[b], plus(few_at(line, met[b]), 1.0, own))


@kernel
def fill_table(one, two, usual, places, margins, cells, table):
    """Write into `table` the sums of all cells of two features, `one` before `two`; code 0, missing, is left empty."""
    down, across = table.shape[0], table.shape[1]
    for term in range(3):
        for a in range(down):
            for b in range(across):
                table[a, b, term] = 0.0
                if a != usual[one] and b != usual[two]:
                    table[a, b, term] = cells[places[two] + b, places[one] + a, term]
        for a in range(down):
            if a != usual[one]:
                rest = table[a, :, term].sum()
                table[a, usual[two], term] = margins[places[one] + a, term] - rest
        for b in range(across):
            rest = table[:, b, term].sum()
            table[usual[one], b, term] = margins[places[two] + b, term] - rest
        for a in range(down):
            table[a, 0, term] = 0.0
        for b in range(across):
            table[0, b, term] = 0.0


@kernel
def write_pair_tests(pairs, sizes, usual, places, margins, cells, floor, out):
    """Write for each pair of features chi-square and its degrees of freedom, rows and columns of cells swept out."""
    for q in range(len(pairs)):
        one, two = pairs[q, 0], pairs[q, 1]
        down, across = sizes[one], sizes[two]
        table = np.empty((down, across, 3))
        fill_table(one, two, usual, places, margins, cells, table)
        for _ in range(SWEEPS):
            for a in range(down):
                share = table[a, :, RESIDUAL].sum() / max(table[a, :, CURVATURE].sum(), TINY)
                for b in range(across):
                    table[a, b, RESIDUAL] -= share * table[a, b, CURVATURE]
            for b in range(across):
                share = table[:, b, RESIDUAL].sum() / max(table[:, b, CURVATURE].sum(), TINY)
                for a in range(down):
                    table[a, b, RESIDUAL] -= share * table[a, b, CURVATURE]
        found, filled = 0.0, 0
        rows_met, columns_met = 0, 0
        for a in range(down):
            rows_met += table[a, :, SQUARE].sum() > NOTHING
        for b in range(across):
            columns_met += table[:, b, SQUARE].sum() > NOTHING
        for a in range(down):
            for b in range(across):
                if table[a, b, SQUARE] > NOTHING:
                    filled += 1
                    found += table[a, b, RESIDUAL] ** 2 / (table[a, b, SQUARE] + floor)
        out[q, 0], out[q, 1] = found, max(1, min((rows_met - 1) * (columns_met - 1), filled - 1))
