"""Which pairs of inputs may act together, tested with few levels of every category, and with more where these tell."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from opauc.features.card.main_effects import MainEffect
from opauc.features.card.pair_basis import FEW_LEVELS, MOST_LEVELS, coarse_codes
from opauc.features.card.pair_columns import Candidates
from opauc.kernels.rows.card_rows import CATEGORICAL
from opauc.learners.additive.pair_search import FoundPairs, found_pairs
from opauc.rows import Floats
from opauc.training.additive.sample_rows import SampleRows

# Codes of all inputs together: the sums of a test grow with their square.
MOST_CODES = 2000


def pair_candidates(
    effects: Sequence[MainEffect], some: SampleRows, scores: Floats, most: int | None = None
) -> Candidates:
    """Return the pairs that pass the test on the residuals of these scores, the best `most` of them if that is given.

    A categorical input has its most frequent levels in pairs, and one place for the others: usually few, but many if
    its pairs then gain more for the columns that they take.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.features.card.main_effects import main_effects
    >>> from opauc.training.additive.pair_candidates import pair_candidates
    >>> from opauc.training.additive.sample_rows import SampleRows
    >>> rows, ones = np.random.default_rng(0).integers(0, 10, (9000, 3)).astype(float), np.ones(9000)
    >>> some = SampleRows(rows, ((rows[:, 0] + rows[:, 1]) % 2).astype(np.int8), ones, ones / 9000)
    >>> effects = main_effects(rows, some.mass, ones, np.ones(3, bool), n_knots=8)
    >>> found = pair_candidates(effects, some, np.zeros(9000), most=1)
    >>> found.pairs.tolist(), found.levels.tolist()
    ([[0, 1]], [20, 20, 6])
    """

    @cache  # with more levels of some inputs, the codes of others are what they were
    def codes_of(j: int, n_levels: int) -> NDArray[np.int8]:
        return coarse_codes(effects[j], some.numbers[:, j], some.mass, n_levels)

    def found_with(levels: NDArray[np.int64]) -> FoundPairs:
        codes = np.stack([codes_of(j, n_levels) for j, n_levels in enumerate(levels.tolist())])
        return found_pairs(codes, scores, some.labels, some.weight)

    levels = np.full(len(effects), FEW_LEVELS)
    found = found_with(levels)
    more = _with_more_levels(effects, _gain_of_inputs(found, len(effects)))
    if more.any():
        finer = np.where(more, MOST_LEVELS, FEW_LEVELS)
        at_finer = found_with(finer)
        better = _gain_of_inputs(at_finer, len(effects)) > _gain_of_inputs(found, len(effects))
        levels = np.where(more & better, MOST_LEVELS, FEW_LEVELS)
        if (levels == finer).all():
            found = at_finer
        elif (levels == MOST_LEVELS).any():
            found = found_with(levels)
    best = np.argsort(-found.gains, kind="stable")[:most]
    return Candidates(found.pairs[best], found.certain[best], found.gains[best], levels)


def _with_more_levels(effects: Sequence[MainEffect], gains: Floats) -> NDArray[np.bool_]:
    """Return the inputs of more than a few levels, those that gain most as far as there is room for their codes."""
    sizes = np.array([effect.kept.size + 1 if effect.kind == CATEGORICAL else 0 for effect in effects])
    order = np.argsort(-gains, kind="stable")
    order = order[sizes[order] > FEW_LEVELS]
    room = MOST_CODES - (FEW_LEVELS + 1) * len(effects)
    more = np.zeros(len(effects), np.bool_)
    more[order[np.cumsum(np.minimum(sizes[order], MOST_LEVELS)) <= room]] = True
    return more


def _gain_of_inputs(found: FoundPairs, n_inputs: int) -> Floats:
    """Return what the certain pairs of each input gain in all, each for the square root of its degrees of freedom."""
    gains = np.where(found.certain, found.gains, 0.0) / np.sqrt(np.maximum(found.freedom, 1.0))
    return np.asarray(np.bincount(found.pairs.ravel(), np.repeat(gains, 2), minlength=n_inputs), np.float64)
