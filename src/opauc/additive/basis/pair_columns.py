"""The choice of the pairs that get columns, within a budget of columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.main_effects import MainEffect
from opauc.additive.basis.pairs import ANY_SIZE, PairBasis, level_of, max_pair_size
from opauc.additive.kernels.rows import BINARY, CATEGORICAL
from opauc.additive.policy import BASIS_POLICY, BasisPolicy
from opauc.types import Floats


class Candidates(NamedTuple):
    """Pairs of inputs that may interact, which of them certainly do, and the gain of each.

    `levels` is the number of levels in pairs of each categorical input.
    """

    pairs: NDArray[np.int64]  # (p, 2)
    certain: NDArray[np.bool_]
    gains: Floats
    levels: NDArray[np.int64]


class PairRoom(NamedTuple):
    """The maximum number of columns of all pairs, and of knots of a numeric input in its pairs."""

    columns: int
    max_knots: int = BASIS_POLICY.max_pair_knots


def add_pairs(
    basis: Basis,
    effects: Sequence[MainEffect],
    sample: Floats,
    balanced_weight: Floats,
    candidates: Candidates,
    room: PairRoom,
    policy: BasisPolicy = BASIS_POLICY,
) -> Basis:
    """Return the basis with the candidates that fit in: certain ones first, then by gain per root of columns."""
    if not len(candidates.pairs) or room.columns < 1:
        return basis
    bases = _bases(effects, sample, balanced_weight, candidates, room, policy)
    sizes = np.array([basis.size for basis in bases])
    widths = sizes[candidates.pairs[:, 0]] * sizes[candidates.pairs[:, 1]]
    order = np.lexsort((-candidates.gains / np.sqrt(widths), ~candidates.certain))
    accepted, cells, n_used, n_uncertain = [], [], 0, 0
    nearest = cache(lambda j: _nearest(effects[j], bases[j], sample[:, j]))  # inputs are in many pairs
    for q in order.tolist():
        one, two = candidates.pairs[q].tolist()
        filled = np.ones(sizes[one] * sizes[two], np.bool_)
        if CATEGORICAL in (effects[one].kind, effects[two].kind):
            counts = _count_cells(nearest(one), nearest(two), bases[one].size, bases[two].size)
            filled = counts >= policy.min_cell_rows
        n_columns = int(filled.sum())
        uncertain = 0 if candidates.certain[q] or n_columns == 1 else n_columns
        fits = n_used + n_columns <= room.columns and n_uncertain + uncertain <= policy.max_uncertain_columns
        if n_columns and fits:
            accepted.append(q)
            cells.append(filled)
            n_used, n_uncertain = n_used + n_columns, n_uncertain + uncertain
    if not accepted:
        return basis
    n_certain = int(candidates.certain[accepted].sum())
    return basis.with_pairs(bases, candidates.pairs[accepted].astype(np.int32), cells, n_certain)


def _bases(
    effects: Sequence[MainEffect],
    sample: Floats,
    balanced_weight: Floats,
    candidates: Candidates,
    room: PairRoom,
    policy: BasisPolicy,
) -> list[PairBasis]:
    """Return the pair basis of each input, with as many knots as all pairs leave columns for."""
    pairs, levels = candidates.pairs, candidates.levels.tolist()
    paired = set(np.unique(pairs).tolist())
    max_sizes = np.array([max_pair_size(*own, policy) for own in zip(effects, levels, strict=True)])
    n_knots = max(room.max_knots, policy.min_pair_knots)
    while n_knots > policy.min_pair_knots:
        sizes = np.where(max_sizes == ANY_SIZE, n_knots, max_sizes)
        if (sizes[pairs[:, 0]] * sizes[pairs[:, 1]]).sum() <= policy.pair_knots_share * room.columns:
            break
        n_knots -= 1
    return [
        PairBasis.of(effect, sample[:, j], balanced_weight, n_knots, levels[j], policy) if j in paired else PairBasis(0)
        for j, effect in enumerate(effects)
    ]


def _count_cells(rows: NDArray[np.int64], columns: NDArray[np.int64], n_rows: int, n_columns: int) -> NDArray[np.int64]:
    """Return the number of sample rows in each cell of a pair, by their positions along both inputs."""
    inside = (rows >= 0) & (columns >= 0)
    return np.bincount(rows[inside] * n_columns + columns[inside], minlength=n_rows * n_columns)


def _nearest(effect: MainEffect, basis: PairBasis, values: Floats) -> NDArray[np.int64]:
    """Return the basis function that each value is nearest to, -1 if there is none."""
    if effect.kind == CATEGORICAL:
        levels = level_of(effect, values)
        return np.where(levels >= 0, basis.positions[levels], -1)
    if effect.kind == BINARY:
        return np.where(values > effect.scale[0], 0, -1)
    middles = 0.5 * (basis.knots[1:] + basis.knots[:-1])
    return np.where(np.isnan(values), -1, np.searchsorted(middles, values))
