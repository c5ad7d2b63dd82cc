"""Which pairs of rows tell how well candidates rank rows that they have not learnt from yet."""

import numpy as np

from opauc.kernels.compile_kernel import inlined

# Scores kept of each class: comparing with old ones would judge weights that are no more.
KEPT_SCORES = 256
# Comparisons a row, on average: a tenth of the time of a pass over rows of 80 entries.
PAIRS = 16


@inlined
def pairs_of_newest(n_rows, k):
    """Return with how many of the latest rows of the other class the newest row, of class k, is to be compared.

    Only rows of the class rarer so far are compared; n_rows[0] and n_rows[1]
    count the rows of each class.
    """
    others = n_rows[1 - k]
    return int(min(others, KEPT_SCORES, np.ceil(PAIRS * others / n_rows[k]))) if n_rows[k] <= others else 0


@inlined
def place_of(number):
    """Return where the scores of a class's row of this number, counted from 0, are kept."""
    return number % KEPT_SCORES
