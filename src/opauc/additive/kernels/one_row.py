"""The score of one row from packed tables: unpacking seven arrays costs less than passing forty to a kernel.

`floats`, `longs`, `ints` and `octets` have all arrays of a type one after the other, `places` where each begins and
ends; see `PackedTables`.
"""

from __future__ import annotations

import numpy as np

from opauc.additive.basis.bins import CodeTables
from opauc.additive.basis.score_tables import CrossedTables, EffectTables, ScoreWeights, TableParts
from opauc.additive.basis.tables import BasisTables
from opauc.additive.kernels.scores import Workspace, write_scores
from opauc.additive.kernels.trees import TreeSplits
from opauc.core.kernels.compile import inlined, ordered

# Bytes of the workspace before the codes of the row: room for the two 16-bit numbers that one row does not need.
OCTETS_BEFORE = 4


@inlined
def part(pool, places, number):
    """Return an array by its number, as a flat view."""
    return pool[places[number, 0] : places[number, 1]]


@ordered
def write_row_score(rows, floats, longs, ints, octets, places, work_floats, work_ints, work_octets, out):
    """Write the score of one row, of shape (1, n_inputs), as `write_scores` does."""
    basis = BasisTables(
        part(octets, places, 0).view(np.int8),
        part(floats, places, 1).reshape(-1, 4),
        part(ints, places, 2).reshape(-1, 3),
        part(floats, places, 3),
        part(longs, places, 4),
        part(ints, places, 5),
        part(longs, places, 6),
        part(ints, places, 7),
        part(floats, places, 8),
        part(longs, places, 9),
        part(ints, places, 10),
        part(longs, places, 11),
        part(ints, places, 12),
        part(ints, places, 13).reshape(-1, 2),
        part(longs, places, 14),
        part(ints, places, 15),
    )
    effects = EffectTables(part(longs, places, 16), part(longs, places, 17), part(floats, places, 18))
    crossed = CrossedTables(
        part(longs, places, 19),
        part(longs, places, 20),
        part(floats, places, 21),
        part(longs, places, 22),
        part(longs, places, 23),
        part(longs, places, 24).view(np.uint64),
        part(longs, places, 25).view(np.uint64),
        part(longs, places, 26).view(np.uint64),
    )
    codes = CodeTables(
        part(floats, places, 27),
        part(longs, places, 28),
        part(octets, places, 29),
        part(longs, places, 30),
        part(octets, places, 31),
        part(longs, places, 32),
    )
    splits = TreeSplits(
        part(ints, places, 33), part(octets, places, 34), part(ints, places, 35).reshape(-1, 2), part(ints, places, 36)
    )
    weights = ScoreWeights(
        part(floats, places, 37), part(floats, places, 38), part(floats, places, 39), part(floats, places, 40)
    )
    lines = rows.shape[1] + 1
    work = Workspace(
        work_ints[:lines].reshape(lines, 1),
        work_floats[: 2 * lines].reshape(2, lines, 1),
        work_octets[OCTETS_BEFORE:].reshape(-1, 1),
        work_ints[lines : lines + 1],
        work_floats[2 * lines :],
        work_octets[:OCTETS_BEFORE].view(np.uint16).reshape(2, 1),
        work_ints[lines + 1 :].reshape(-1, 4),
    )
    write_scores(rows, TableParts(basis, effects, crossed, codes, splits), weights, work, out)
