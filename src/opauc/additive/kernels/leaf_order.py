"""The order that a monotone effect asks of the leaves of a tree, and leaf values that follow it."""

from __future__ import annotations

from opauc.core.kernels.compile import kernel


@kernel
def add_leaf_order(low, high, column, precedes):
    """Mark in `precedes[a, b]` the leaves a that a row can be moved from to leaf b by raising one coded column alone.

    `low` and `high` are the codes that each leaf takes of each column, missing values left out of the raised one.
    """
    n_leaves, n_coded = low.shape
    for a in range(n_leaves):
        for b in range(n_leaves):
            meets = low[a, column] <= high[a, column] < low[b, column] <= high[b, column]
            for c in range(n_coded):
                if not meets:
                    break
                meets = c == column or (low[a, c] <= high[b, c] and low[b, c] <= high[a, c])
            if meets:
                precedes[a, b] = True


@kernel
def write_pooled_values(precedes, order, weights, blocks, sums, masses, values):
    """Write values into `values` that rise from each leaf to those it precedes, by pooling leaves that violate it.

    A leaf that comes next in `order`, in which no leaf comes before one that precedes it, absorbs the block of the
    largest mean that precedes it, as long as that is larger than its own: generalized pool adjacent violators.
    """
    n_leaves = values.size
    for leaf in range(n_leaves):
        blocks[leaf] = -1
    for at in range(n_leaves):
        own = order[at]
        blocks[own], sums[own], masses[own] = own, weights[own] * values[own], weights[own]
        largest = 0
        while largest >= 0:
            largest, mean = -1, sums[own] / masses[own]
            for b in range(n_leaves):
                if blocks[b] != own:
                    continue
                for a in range(n_leaves):
                    if precedes[a, b] and blocks[a] >= 0 and blocks[a] != own:
                        other = blocks[a]
                        if sums[other] / masses[other] > mean:
                            largest, mean = other, sums[other] / masses[other]
            if largest >= 0:
                sums[own] += sums[largest]
                masses[own] += masses[largest]
                for b in range(n_leaves):
                    if blocks[b] == largest:
                        blocks[b] = own
    for leaf in range(n_leaves):
        values[leaf] = sums[blocks[leaf]] / masses[blocks[leaf]]
