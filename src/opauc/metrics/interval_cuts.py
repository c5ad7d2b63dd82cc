"""Kernel that rates the cuts between neighboring score intervals of a streaming AUC.

Scores lie in the cells of a binary tree over all float64 numbers. A list of
intervals in the order of that tree (a cell before the cells in it) has, between
any two neighbors, a cut whose level is the depth of the smallest cell that
contains both. Removing all cuts of a cell joins its intervals into one.
"""

import numpy as np
from numpy.typing import NDArray

from opauc.core.kernels.compile import kernel

# A cell inherits half of its parent's mass, a quarter of its grandparent's, and so on: a region with few rows
# next to a dense one may be dense later in the stream or in another shard.
INHERITED = 0.5
ANCESTORS = 6


@kernel
def find_parents(levels, lefts, rights, parents):
    """Write for each cut the nearest cuts of lower level on either side (-1 or the number of cuts if there is none).

    The parent is the one of the two with the higher level: its cell is the next larger one.
    """
    n_cuts = levels.size
    stack, top = np.empty(n_cuts, np.int64), 0
    for i in range(n_cuts):
        while top > 0 and levels[stack[top - 1]] >= levels[i]:
            top -= 1
        lefts[i] = stack[top - 1] if top > 0 else -1
        stack[top] = i
        top += 1
    top = 0
    for i in range(n_cuts - 1, -1, -1):
        while top > 0 and levels[stack[top - 1]] >= levels[i]:
            top -= 1
        right = stack[top - 1] if top > 0 else n_cuts
        stack[top] = i
        top += 1
        left = lefts[i]
        rights[i] = right
        parents[i] = left
        if right < n_cuts and (left < 0 or levels[right] >= levels[left]):
            parents[i] = right


@kernel
def cut_values(
    levels: NDArray[np.int64], masses: NDArray[np.float64], exact: NDArray[np.bool_], values: NDArray[np.float64]
) -> None:
    """Write for each cut the pair mass that becomes uncertain if its cell becomes one interval.

    `masses` has one number per interval; `exact` says whether the interval is a single score:
    pairs within such an interval are ties and never uncertain.
    """
    n_cuts = levels.size
    lefts, rights = np.empty(n_cuts, np.int64), np.empty(n_cuts, np.int64)
    parents = np.empty(n_cuts, np.int64)
    find_parents(levels, lefts, rights, parents)
    sums, squares = np.zeros(n_cuts + 2), np.zeros(n_cuts + 2)
    for i in range(masses.size):
        sums[i + 1] = sums[i] + masses[i]
        squares[i + 1] = squares[i] + (masses[i] * masses[i] if exact[i] else 0.0)
    for i in range(n_cuts):
        mass, at = 0.0, i
        for _ in range(ANCESTORS + 1):
            share = INHERITED ** np.float64(levels[i] - levels[at])
            mass += share * (sums[rights[at] + 1] - sums[lefts[at] + 1])
            at = parents[at]
            if at < 0:
                break
        values[i] = mass * mass - (squares[rights[i] + 1] - squares[lefts[i] + 1])
