"""What each cut between neighboring score intervals is worth.

Scores lie in the cells of a binary tree over all float64 numbers. A list of
intervals in the order of that tree (a cell before the cells in it) has, between
any two neighbors, a cut whose level is the depth of the smallest cell that
holds both. Removing all cuts of a cell makes one interval of all that is in it.
"""

import numpy as np
from numpy.typing import NDArray

from opauc.core.kernels.compile import kernel

# A cell counts a share of its parent's mass, a quarter of its grandparent's, and so on: what is sparse
# here but dense nearby may be dense tomorrow or in another shard, and neighbors make up for few rows.
INHERITED = 0.5
ANCESTORS = 6


@kernel
def find_parents(levels, lefts, rights, parents):
    """Write for each cut the nearest cuts of lower level on either side (-1 and the number of cuts where none is).

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
    """Write for each cut the pair mass that becomes uncertain where its cell is made one interval.

    `masses` holds one number per interval, `exact` whether it is a single score: pairs within
    such a one are ties and never uncertain.
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
