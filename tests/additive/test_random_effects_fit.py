"""Weights of columns and random effects against a dense system with a column per category."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array, hstack
from scipy.special import expit

from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
from opauc.additive.penalties import Penalties
from opauc.additive.random_effects import BorderedSystem, RandomEffectSums, smooth_with_random_effects
from opauc.additive.smoothing import solve
from opauc.additive.sums import LabeledRows, LinearizedSums

GROUPS = (Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.LINEAR, 1, 3))
COLUMNS = Penalties(ColumnGroups.of(GROUPS), (None, None))
seeds = st.integers(0, 2**32 - 1)


def sums_of(rows, labels, levels, group_index):
    """Sums of columns and of random effects at zero, and those of one matrix of both."""
    sums = LinearizedSums.empty(4).update(rows, labels)
    effects = RandomEffectSums.empty(group_index.size, 4).update_all(
        [(LabeledRows(rows, labels), levels)], sums.expansion_point
    )
    both = LinearizedSums.empty(4 + group_index.size).update(csr_array(hstack([rows, levels])), labels)
    return sums, effects, both


def sample(seed, sizes=(7, 5, 3), n_rows=120, spread=1.0):
    """Rows with a category of each input, of which some are missing; each category has an effect."""
    rng = np.random.default_rng(seed)
    rows = np.c_[np.ones(n_rows), rng.normal(size=(n_rows, 3))]
    score, blocks = rows @ [0.3, 1.0, -1.0, 0.0], []
    for size in sizes:
        numbers, has = rng.integers(0, size, n_rows), rng.random(n_rows) < 0.9
        block = np.eye(size)[numbers] * has[:, None]
        score, blocks = score + block @ (spread * rng.normal(size=size)), [*blocks, csr_array(block)]
    labels = (rng.random(n_rows) < expit(score)).astype(np.int8)
    labels[:2] = 0, 1
    return csr_array(rows), labels, csr_array(hstack(blocks)), np.repeat(np.arange(len(sizes)), sizes)


@given(seeds, st.sampled_from([(7,), (4, 6), (7, 5, 3)]))
def test_the_weights_are_those_of_one_matrix_with_a_column_per_category(seed, sizes):
    *data, group_index = sample(seed, sizes)
    sums, levels, both = sums_of(*data, group_index)
    rng = np.random.default_rng((seed, 1))
    lambdas, effect_lambdas = np.array([0.0, rng.uniform(0.1, 9.0)]), rng.uniform(0.05, 9.0, len(sizes))
    system = BorderedSystem(sums, levels, COLUMNS, lambdas, effect_lambdas[group_index], len(sizes))
    groups = [
        Group(GroupKind.CATEGORICAL, 4 + int(np.flatnonzero(group_index == k)[0]), size) for k, size in enumerate(sizes)
    ]
    penalties = Penalties(ColumnGroups.of([*GROUPS, *groups]), [None] * (2 + len(sizes)))
    expected = solve(both.gram, both.rhs, penalties, np.concatenate([lambdas, effect_lambdas]))
    assert_allclose(np.concatenate(system.solve()), expected, rtol=1e-7, atol=1e-8)


@given(seeds)
def test_elimination_gives_the_schur_complement_of_one_input_and_an_upper_bound_for_several(seed):
    for sizes in ((7,), (7, 5, 3)):
        *data, group_index = sample(seed, sizes)
        sums, levels, both = sums_of(*data, group_index)
        system = BorderedSystem(sums, levels, COLUMNS, np.zeros(2), np.full(group_index.size, 0.7), len(sizes))
        gram, rhs = system.eliminated
        whole = both.full_gram()
        inner = np.linalg.inv(whole[4:, 4:] + 0.7 * np.eye(group_index.size))
        expected = whole[:4, :4] - whole[:4, 4:] @ inner @ whole[4:, :4]
        found = np.tril(gram) + np.tril(gram, -1).T
        assert np.linalg.eigvalsh(found - expected).min() > -1e-8
        if len(sizes) == 1:
            assert_allclose(found, expected, atol=1e-8)
            assert_allclose(rhs, both.rhs[:4] - whole[:4, 4:] @ inner @ both.rhs[4:], atol=1e-8)


@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_lambdas_are_the_inverse_variance_of_the_effects(spread):
    *data, group_index = sample(5, (300, 200), n_rows=40_000, spread=spread)
    sums, levels, _ = sums_of(*data, group_index)
    fit = smooth_with_random_effects(sums, levels, group_index, COLUMNS, np.array([0.0, 1.0]))
    # Lambda is the inverse of the variance; one Newton step from zero leaves the weights slightly too small.
    assert ((0.6 / spread**2 < fit.effect_lambdas) & (fit.effect_lambdas < 3.0 / spread**2)).all()


def test_categories_without_effect_are_shrunk_to_zero():
    *data, group_index = sample(6, (300, 200), n_rows=6000, spread=0.0)
    sums, levels, _ = sums_of(*data, group_index)
    fit = smooth_with_random_effects(sums, levels, group_index, COLUMNS, np.array([0.0, 1.0]))
    assert np.abs(fit.effects).max() < 0.1


def test_categories_without_rows_have_no_effect():
    rows, labels, levels, _ = sample(1, (4,))
    wide = csr_array((levels.data, levels.indices, levels.indptr), shape=(120, 6))
    group_index = np.zeros(6, np.int64)
    sums, effects, _ = sums_of(rows, labels, wide, group_index)
    assert not smooth_with_random_effects(sums, effects, group_index, COLUMNS, np.array([0.0, 1.0])).effects[4:].any()
    fit = smooth_with_random_effects(sums, effects.empty_copy(), group_index, COLUMNS, np.array([0.0, 1.0]))
    assert np.isfinite(fit.weights).all()
    assert not fit.effects.any()
