"""The rows of a stream that are held out, by a hash of their numbers."""

from __future__ import annotations

import numpy as np

from opauc.metrics.exact_auc import Flags

# Shifts and factors of splitmix64, a hash that sends neighboring numbers far apart.
MIXING = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))


def held_out(first_row: int, n_rows: int, share: float, seed: int) -> Flags:
    """Return which rows are held out, as a function of their numbers and the seed alone, however the stream is cut.

    Parameters
    ----------
    first_row : int
        Number of the first row.
    n_rows : int
        Number of rows.
    share : float
        Share of rows to hold out.
    seed : int
        Seed of the split.

    Returns
    -------
    mask : ndarray of bool
        Which rows are held out.

    Examples
    --------
    >>> from opauc.metrics import held_out
    >>> held_out(0, 8, share=0.3, seed=1).nonzero()[0].tolist(), held_out(4, 4, share=0.3, seed=1).nonzero()[0].tolist()
    ([0, 5, 7], [1, 3])
    """
    numbers = np.arange(first_row, first_row + n_rows, dtype=np.uint64) + np.uint64(seed) * np.uint64(2**40)
    with np.errstate(over="ignore"):
        for shift, factor in MIXING:
            numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    chosen: Flags = numbers / 2.0**64 < share
    return chosen
