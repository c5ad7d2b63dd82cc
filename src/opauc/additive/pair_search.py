"""Which pairs of features act together: a test on the residuals of the additive fit, for all pairs at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, expit

from opauc.additive.basis.main_effects import MainEffect
from opauc.additive.basis.pair_columns import Candidates
from opauc.additive.basis.pairs import coarse_codes
from opauc.additive.initial_sample import SampleRows
from opauc.additive.kernels.cell_residuals import N_TERMS, add_code_sums, write_pair_tests
from opauc.additive.kernels.rows import CATEGORICAL
from opauc.additive.policy import BASIS_POLICY
from opauc.types import Floats, Labels

# Shares of false discoveries (Benjamini and Hochberg) among the pairs that are certain, and among all that are tried.
CERTAIN, TRIED = 0.1, 0.8
# With fewer rows of the rarer class only certain pairs are tried.
ENOUGH_ROWS = 1000


class FoundPairs(NamedTuple):
    """Pairs of features that pass, which are certain, what each gains beyond chance, and its degrees of freedom."""

    pairs: NDArray[np.int64]  # (p, 2)
    certain: NDArray[np.bool_]
    gains: Floats
    freedom: Floats


def found_pairs(codes: NDArray[np.int8], scores: Floats, labels: Labels, weight: Floats) -> FoundPairs:
    """Return the pairs whose cells hold more of the residuals than chance would put there.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_rows)
        A few codes a feature, -1 where a row has none. Features of one code are left out.
    scores, labels, weight : ndarray of shape (n_rows,)
        Of the rows in the additive fit.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.pair_search import found_pairs
    >>> codes = np.random.default_rng(0).integers(0, 2, (3, 4000)).astype(np.int8)
    >>> labels = (codes[0] ^ codes[2]).astype(np.int8)
    >>> found = found_pairs(codes, np.zeros(4000), labels, np.ones(4000))
    >>> found.pairs[found.gains.argmax()].tolist()
    [0, 2]
    """
    sizes = codes.max(axis=1, initial=-1).astype(np.int64) + 2  # code 0 is for rows that have none
    useful = np.flatnonzero(sizes > 2)
    first, second = np.triu_indices(useful.size, 1)
    pairs = np.stack([useful[first], useful[second]], axis=1)
    if not len(pairs):
        return FoundPairs(pairs, np.empty(0, np.bool_), np.empty(0), np.empty(0))
    sign = 2.0 * labels - 1.0
    doubt = expit(-sign * scores)
    residuals, curvatures = sign * doubt, doubt * (1.0 - doubt)
    floor = float(weight @ residuals**2) / max(float(weight @ curvatures), 1e-300)
    terms = np.zeros((labels.size, N_TERMS))
    terms[:, :3] = np.stack([weight * residuals, weight * curvatures, weight * residuals**2], axis=1)
    shifted, places = np.ascontiguousarray((codes + 1).T), np.cumsum(sizes) - sizes
    usual = np.array([np.bincount(column, minlength=1).argmax() for column in shifted.T])
    margins, cells = np.zeros((sizes.sum(), N_TERMS)), np.zeros((sizes.sum(), sizes.sum(), N_TERMS))
    add_code_sums(shifted, usual, places, terms, margins, cells)
    tests = np.empty((len(pairs), 2))
    write_pair_tests(pairs, sizes, usual, places, margins, cells, floor, tests)
    chi_square, freedom = tests.T
    probabilities: Floats = chdtrc(freedom, chi_square)
    certain = _discoveries(probabilities, CERTAIN)
    rare = np.bincount(labels, weight, minlength=2).min()
    passing = certain if rare < ENOUGH_ROWS else _discoveries(probabilities, TRIED)
    return FoundPairs(pairs[passing], certain[passing], (chi_square - freedom)[passing], freedom[passing])


def _discoveries(probabilities: Floats, share: float) -> NDArray[np.bool_]:
    """Return which tests pass so that about this share of them are false."""
    order = np.argsort(probabilities, kind="stable")
    below = np.flatnonzero(probabilities[order] <= share * np.arange(1, probabilities.size + 1) / probabilities.size)
    passing = np.zeros(probabilities.size, np.bool_)
    passing[order[: below[-1] + 1 if below.size else 0]] = True
    return passing


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
    >>> from opauc.additive.basis.main_effects import main_effects
    >>> from opauc.additive.pair_search import pair_candidates
    >>> from opauc.additive.initial_sample import SampleRows
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

    levels = np.full(len(effects), BASIS_POLICY.pair_levels)
    found = found_with(levels)
    more = _with_more_levels(effects, _gain_of_inputs(found, len(effects)))
    if more.any():
        finer = np.where(more, BASIS_POLICY.max_pair_levels, BASIS_POLICY.pair_levels)
        at_finer = found_with(finer)
        better = _gain_of_inputs(at_finer, len(effects)) > _gain_of_inputs(found, len(effects))
        levels = np.where(more & better, BASIS_POLICY.max_pair_levels, BASIS_POLICY.pair_levels)
        if (levels == finer).all():
            found = at_finer
        elif (levels == BASIS_POLICY.max_pair_levels).any():
            found = found_with(levels)
    best = np.argsort(-found.gains, kind="stable")[:most]
    return Candidates(found.pairs[best], found.certain[best], found.gains[best], levels)


def _with_more_levels(effects: Sequence[MainEffect], gains: Floats) -> NDArray[np.bool_]:
    """Return the inputs of more than a few levels, those that gain most as far as there is room for their codes."""
    sizes = np.array([effect.kept.size + 1 if effect.kind == CATEGORICAL else 0 for effect in effects])
    order = np.argsort(-gains, kind="stable")
    order = order[sizes[order] > BASIS_POLICY.pair_levels]
    room = MOST_CODES - (BASIS_POLICY.pair_levels + 1) * len(effects)
    more = np.zeros(len(effects), np.bool_)
    more[order[np.cumsum(np.minimum(sizes[order], BASIS_POLICY.max_pair_levels)) <= room]] = True
    return more


def _gain_of_inputs(found: FoundPairs, n_inputs: int) -> Floats:
    """Return what the certain pairs of each input gain in all, each for the square root of its degrees of freedom."""
    gains = np.where(found.certain, found.gains, 0.0) / np.sqrt(np.maximum(found.freedom, 1.0))
    return np.asarray(np.bincount(found.pairs.ravel(), np.repeat(gains, 2), minlength=n_inputs), np.float64)
