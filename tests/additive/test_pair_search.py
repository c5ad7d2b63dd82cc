"""Tests of pairs of features, held against cells counted one by one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

from opauc.additive.kernels.cell_residuals import N_TERMS, add_code_sums, write_pair_tests
from opauc.additive.pair_search import _discoveries, found_pairs


def literal_test(one, two, residuals, curvatures, floor):
    """Chi-square of a pair: residuals of the cells less row and column parts, three sweeps."""
    shape = one.max() + 1, two.max() + 1
    total, weight, square = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for a, b, residual, curvature in zip(one, two, residuals, curvatures, strict=True):
        if a >= 0 and b >= 0:
            total[a, b] += residual
            weight[a, b] += curvature
            square[a, b] += residual**2
    for _ in range(3):
        total -= weight * (total.sum(1) / np.maximum(weight.sum(1), 1e-300))[:, None]
        total -= weight * (total.sum(0) / np.maximum(weight.sum(0), 1e-300))
    full = square > 0
    freedom = (np.count_nonzero(full.any(1)) - 1) * (np.count_nonzero(full.any(0)) - 1)
    return (total[full] ** 2 / (square[full] + floor)).sum(), max(1, min(freedom, full.sum() - 1))


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_sums_without_the_usual_codes_are_those_of_all_cells(seed, missing):
    rng = np.random.default_rng(seed)
    codes = np.minimum(rng.geometric(0.6, (4, 200)) - 1, rng.integers(1, 5, (4, 1))).astype(np.int8)
    if missing:
        codes[rng.random(codes.shape) < 0.2] = -1
    doubt = expit(rng.normal(size=200))
    residuals, curvatures = np.where(rng.random(200) < 0.5, doubt, -doubt), doubt * (1 - doubt)
    sizes = codes.max(axis=1).astype(np.int64) + 2
    pairs = np.array([[a, b] for a in range(4) for b in range(a + 1, 4)])
    shifted, places = np.ascontiguousarray((codes + 1).T), np.cumsum(sizes) - sizes
    usual = np.array([np.bincount(column).argmax() for column in shifted.T])
    margins, cells = np.zeros((sizes.sum(), N_TERMS)), np.zeros((sizes.sum(), sizes.sum(), N_TERMS))
    terms = np.stack([residuals, curvatures, residuals**2, np.zeros(200)], 1)
    add_code_sums(shifted, usual, places, terms, margins, cells)
    out = np.empty((len(pairs), 2))
    write_pair_tests(pairs, sizes, usual, places, margins, cells, 0.7, out)
    for (a, b), found in zip(pairs, out, strict=True):
        if min(codes[a].max(), codes[b].max()) > 0:
            assert_allclose(found, literal_test(codes[a], codes[b], residuals, curvatures, 0.7), rtol=1e-7, atol=1e-9)


def test_of_pairs_of_noise_about_as_few_are_certain_as_said_and_true_ones_are_found():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (20, 6000)).astype(np.int8)
    labels = (rng.random(6000) < expit(1.2 * ((codes[3] > 1) ^ (codes[7] > 1)) - 0.6)).astype(np.int8)
    found = found_pairs(codes, np.zeros(6000), labels, np.ones(6000))
    assert [3, 7] in found.pairs[found.certain].tolist()
    assert np.count_nonzero(found.certain) <= 4
    noise = found_pairs(codes, np.zeros(6000), rng.integers(0, 2, 6000).astype(np.int8), np.ones(6000))
    assert np.count_nonzero(noise.certain) <= 3


def test_discoveries_are_those_of_benjamini_and_hochberg():
    probabilities = np.array([0.9, 0.001, 0.02, 0.03, 0.5])
    assert _discoveries(probabilities, 0.1).tolist() == [False, True, True, True, False]
    assert not _discoveries(np.array([0.9, 0.8]), 0.1).any()
