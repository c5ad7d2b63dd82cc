"""What a pass of a grid knows of its rows from their labels and weights alone; needs nothing but numpy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


class GridProgress(NamedTuple):
    """How far a pass has come: rows and their weight by class, steps taken, pairs of rows compared, weights kept."""

    n_rows: Numbers  # (2,)
    counts: Numbers  # (2,) weight of the rows
    steps: float
    all_pairs: float
    kept_weights: Numbers  # (2, kept) of the latest rows, row t of a class at t % kept


class GridPlan(NamedTuple):
    """The numbers of each of some rows in order, none of which depends on the features."""

    labels: NDArray[np.int8]
    moves: NDArray[np.bool_]  # whether the other class has been seen
    shares: Numbers  # of the row in the weight of its class
    factors: Numbers  # of its square in the scatter
    weights: Numbers
    damps: Numbers  # weight over the weight of the other class
    means_of: Numbers  # one over the steps before it
    places: NDArray[np.int64]  # where its scores are kept
    halves: Numbers  # (rows, kept) half the weight of its pair with each row kept of the other class


def planned(
    labels: NDArray[np.int8], weights: Numbers, before: GridProgress, pairs: int
) -> tuple[GridPlan, GridProgress]:
    """Return the numbers of rows, compared with so many of the other class on average, and how far they lead.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.engines.torch.grid_plan import GridProgress, planned
    >>> start = GridProgress(np.zeros(2), np.zeros(2), 0.0, 0.0, np.ones((2, 4)))
    >>> plan, after = planned(np.array([0, 0, 1], np.int8), np.ones(3), start, pairs=16)
    >>> plan.halves[2].tolist(), after.steps
    ([0.75, 0.75, 0.0, 0.0], 1.0)
    """
    own, rows, kept = labels.astype(np.intp), np.arange(labels.size), before.kept_weights.shape[1]
    is_class = labels[:, None] == np.arange(2)
    # One after the other, as a pass adds them up.
    n_rows, counts = (
        np.cumsum(np.vstack([start, part]), axis=0)[1:]
        for start, part in ((before.n_rows, is_class), (before.counts, is_class * weights[:, None]))
    )
    others, mine = n_rows[rows, 1 - own], n_rows[rows, own]
    with np.errstate(divide="ignore"):
        wanted = np.minimum(np.minimum(others, kept), np.ceil(pairs * others / mine))
    compared = np.where(mine <= others, wanted, 0.0)
    moves = counts[rows, 1 - own] > 0.0
    steps = before.steps + np.cumsum(moves) - moves
    share = weights / counts[rows, own]
    halves, due = _halves(own, weights, n_rows, compared, before)
    plan = GridPlan(
        labels,
        moves,
        share,
        weights * (1.0 - share),
        weights,
        np.where(moves, weights / np.where(moves, counts[rows, 1 - own], 1.0), 0.0),
        1.0 / np.maximum(1.0, steps),
        (mine - 1.0).astype(np.int64) % kept,
        halves,
    )
    weights_kept = before.kept_weights.copy()
    for k in (0, 1):
        chosen = np.flatnonzero(own == k)[-kept:]
        weights_kept[k, plan.places[chosen]] = weights[chosen]
    after = GridProgress(
        np.vstack([before.n_rows, n_rows])[-1],
        np.vstack([before.counts, counts])[-1],
        before.steps + float(moves.sum()),
        before.all_pairs + due,
        weights_kept,
    )
    return plan, after


def _halves(
    own: NDArray[np.intp], weights: Numbers, n_rows: Numbers, compared: Numbers, before: GridProgress
) -> tuple[Numbers, float]:
    """Return half the weight of the pair of each row with each kept one, and the weight of all pairs."""
    kept, rows = before.kept_weights.shape[1], np.arange(own.size)
    latest = (n_rows[rows, 1 - own] - 1.0).astype(np.int64)
    ages = (latest[:, None] - np.arange(kept)) % kept
    found = np.empty((own.size, kept))
    for k in (0, 1):
        # The weights of the rows of class k by their number: those kept from before, then these.
        start = int(before.n_rows[k])
        known = np.concatenate([before.kept_weights[k, np.arange(start - kept, start) % kept], weights[own == k]])
        chosen = own == 1 - k
        numbers = latest[chosen, None] - ages[chosen] - (start - kept)
        found[chosen] = known[np.maximum(numbers, 0)]
    found *= ages < compared[:, None]
    due = weights * n_rows.sum(axis=1)
    totals = found.sum(axis=1, keepdims=True)
    found *= np.divide(0.5 * due[:, None], totals, out=np.zeros_like(totals), where=totals > 0.0)
    return found, float(due[compared > 0.0].sum())
