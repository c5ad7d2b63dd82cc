"""Which pairs of features act together: a test on the residuals of the additive fit, for all pairs at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, expit

from opauc.kernels.sums.cell_residuals import N_TERMS, add_code_sums, write_pair_tests
from opauc.rows import Floats, Labels

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
    >>> from opauc.learners.additive.pair_search import found_pairs
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
    chances: Floats = chdtrc(freedom, chi_square)
    certain = _discoveries(chances, CERTAIN)
    rare = np.bincount(labels, weight, minlength=2).min()
    passing = certain if rare < ENOUGH_ROWS else _discoveries(chances, TRIED)
    return FoundPairs(pairs[passing], certain[passing], (chi_square - freedom)[passing], freedom[passing])


def _discoveries(chances: Floats, share: float) -> NDArray[np.bool_]:
    """Return which tests pass so that about this share of them are false."""
    order = np.argsort(chances, kind="stable")
    below = np.flatnonzero(chances[order] <= share * np.arange(1, chances.size + 1) / chances.size)
    passing = np.zeros(chances.size, np.bool_)
    passing[order[: below[-1] + 1 if below.size else 0]] = True
    return passing
