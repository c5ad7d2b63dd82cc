"""Which pairs get columns, and how many, within the room there is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.main_effects import MainEffect
from opauc.additive.basis.pairs import MANY, PairBasis, level_of, most_places
from opauc.additive.kernels.rows import BINARY, CATEGORICAL
from opauc.types import Floats

# Knots of a numeric input in its pairs: as many as leave room for all pairs.
MOST_KNOTS, FEWEST_KNOTS = 7, 4
# They may fill this share of the room.
SHARE_FOR_KNOTS = 0.9
# Columns of all pairs that are not certain, but for those of one column: each may bring a little.
MOST_IN_DOUBT = 250
# Weight of the rows that a cell of levels must have to get a column.
LEAST_IN_CELL = 10.0


class Candidates(NamedTuple):
    """Pairs of inputs that may act together, which of them do for certain, and what each gains.

    `levels` says how many levels each input has in its pairs if it is categorical.
    """

    pairs: NDArray[np.int64]  # (p, 2)
    certain: NDArray[np.bool_]
    gains: Floats
    levels: NDArray[np.int64]


class PairRoom(NamedTuple):
    """How many columns pairs may have in all, and how many knots a numeric input may have in them."""

    columns: int
    most_knots: int = MOST_KNOTS


def with_found_pairs(
    basis: Basis,
    effects: Sequence[MainEffect],
    sample: Floats,
    mass: Floats,
    candidates: Candidates,
    room: PairRoom,
) -> Basis:
    """Return the basis with the candidates that there is room for: certain ones first, then by gain.

    A gain counts by the square root of the columns it takes.
    """
    if not len(candidates.pairs) or room.columns < 1:
        return basis
    bases = _bases(effects, sample, mass, candidates, room)
    sizes = np.array([basis.size for basis in bases])
    widths = sizes[candidates.pairs[:, 0]] * sizes[candidates.pairs[:, 1]]
    order = np.lexsort((-candidates.gains / np.sqrt(widths), ~candidates.certain))
    taken, cells, used, doubtful = [], [], 0, 0
    nearest = cache(lambda j: _nearest(effects[j], bases[j], sample[:, j]))  # inputs are in many pairs
    for q in order.tolist():
        one, two = candidates.pairs[q].tolist()
        filled = np.ones(sizes[one] * sizes[two], np.bool_)
        if CATEGORICAL in (effects[one].kind, effects[two].kind):
            filled = _cells_with_rows(nearest(one), nearest(two), bases[one].size, bases[two].size)
        n_columns = int(filled.sum())
        in_doubt = 0 if candidates.certain[q] or n_columns == 1 else n_columns
        if n_columns and used + n_columns <= room.columns and doubtful + in_doubt <= MOST_IN_DOUBT:
            taken.append(q)
            cells.append(filled)
            used, doubtful = used + n_columns, doubtful + in_doubt
    n_certain = int(candidates.certain[taken].sum())
    return basis.with_pairs(bases, candidates.pairs[taken].astype(np.int32), cells, n_certain) if taken else basis


def _bases(
    effects: Sequence[MainEffect], sample: Floats, mass: Floats, candidates: Candidates, room: PairRoom
) -> list[PairBasis]:
    """Return the basis of each input, with as many knots as leave room for all pairs."""
    pairs, levels = candidates.pairs, candidates.levels.tolist()
    used, most = set(np.unique(pairs).tolist()), np.array(list(map(most_places, effects, levels)))
    n_knots = max(room.most_knots, FEWEST_KNOTS)
    while n_knots > FEWEST_KNOTS:
        sizes = np.where(most == MANY, n_knots, most)
        if (sizes[pairs[:, 0]] * sizes[pairs[:, 1]]).sum() <= SHARE_FOR_KNOTS * room.columns:
            break
        n_knots -= 1
    return [
        PairBasis.of(effect, sample[:, j], mass, n_knots, levels[j]) if j in used else PairBasis(0)
        for j, effect in enumerate(effects)
    ]


def _cells_with_rows(down: NDArray[np.int64], across: NDArray[np.int64], height: int, width: int) -> NDArray[np.bool_]:
    """Return which cells of a pair have enough rows, by the places of the rows along both inputs."""
    there = (down >= 0) & (across >= 0)
    counts = np.bincount(down[there] * width + across[there], minlength=height * width)
    return counts >= LEAST_IN_CELL


def _nearest(effect: MainEffect, basis: PairBasis, values: Floats) -> NDArray[np.int64]:
    """Return the place in its pairs that each value is nearest to, -1 where it is at none."""
    if effect.kind == CATEGORICAL:
        levels = level_of(effect, values)
        return np.where(levels >= 0, basis.places[levels], -1)
    if effect.kind == BINARY:
        return np.where(values > effect.scale[0], 0, -1)
    middles = 0.5 * (basis.knots[1:] + basis.knots[:-1])
    return np.where(np.isnan(values), -1, np.searchsorted(middles, values))
