"""Weights of columns and of very many levels, held against a dense system that has a column a level."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array, hstack
from scipy.special import expit

from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
from opauc.additive.penalties import Penalties
from opauc.additive.random_effects import BorderedSystem, LevelSums, smoothed_with_levels
from opauc.additive.smoothing import solved
from opauc.additive.sums import LinearizedSums

GROUPS = (Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.LINEAR, 1, 3))
COLUMNS = Penalties(ColumnGroups.of(GROUPS), (None, None))
seeds = st.integers(0, 2**32 - 1)


def sums_of(rows, labels, levels, owners):
    """Sums of columns and of levels at zero, and those of one matrix of both."""
    sums = LinearizedSums.empty(4).update(rows, labels)
    of_levels = LevelSums.empty(owners.size, 4).update_all([((rows, labels, None), levels)], sums.point)
    both = LinearizedSums.empty(4 + owners.size).update(csr_array(hstack([rows, levels])), labels)
    return sums, of_levels, both


def drawn(seed, sizes=(7, 5, 3), n_rows=120, spread=1.0):
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
def test_the_weights_are_those_of_one_matrix_with_a_column_a_level(seed, sizes):
    *data, owners = drawn(seed, sizes)
    sums, levels, both = sums_of(*data, owners)
    rng = np.random.default_rng((seed, 1))
    strengths, of_inputs = np.array([0.0, rng.uniform(0.1, 9.0)]), rng.uniform(0.05, 9.0, len(sizes))
    system = BorderedSystem(sums, levels, COLUMNS, strengths, of_inputs[owners], len(sizes))
    of_levels = [Group(GroupKind.LEVELS, 4 + int(np.flatnonzero(owners == k)[0]), size) for k, size in enumerate(sizes)]
    penalties = Penalties(ColumnGroups.of([*GROUPS, *of_levels]), [None] * (2 + len(sizes)))
    expected = solved(both.gram, both.moment, penalties, np.concatenate([strengths, of_inputs]))
    assert_allclose(np.concatenate(system.solved()), expected, rtol=1e-7, atol=1e-8)


@given(seeds)
def test_what_is_left_of_the_columns_is_the_schur_complement_of_one_input_and_no_less_than_that_of_several(seed):
    for sizes in ((7,), (7, 5, 3)):
        *data, owners = drawn(seed, sizes)
        sums, levels, both = sums_of(*data, owners)
        system = BorderedSystem(sums, levels, COLUMNS, np.zeros(2), np.full(owners.size, 0.7), len(sizes))
        gram, moment = system.eliminated
        whole = both.full_gram()
        inner = np.linalg.inv(whole[4:, 4:] + 0.7 * np.eye(owners.size))
        expected = whole[:4, :4] - whole[:4, 4:] @ inner @ whole[4:, :4]
        found = np.tril(gram) + np.tril(gram, -1).T
        assert np.linalg.eigvalsh(found - expected).min() > -1e-8
        if len(sizes) == 1:
            assert_allclose(found, expected, atol=1e-8)
            assert_allclose(moment, both.moment[:4] - whole[:4, 4:] @ inner @ both.moment[4:], atol=1e-8)


@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_strengths_tell_how_far_levels_lie_apart(spread):
    *data, owners = drawn(5, (300, 200), n_rows=40_000, spread=spread)
    sums, levels, _ = sums_of(*data, owners)
    fit = smoothed_with_levels(sums, levels, owners, COLUMNS, np.array([0.0, 1.0]))
    # The penalty is the inverse of the variance; one step from zero leaves weights a little short.
    assert ((0.6 / spread**2 < fit.level_strengths) & (fit.level_strengths < 3.0 / spread**2)).all()


def test_levels_that_say_nothing_are_held_at_nothing():
    *data, owners = drawn(6, (300, 200), n_rows=6000, spread=0.0)
    sums, levels, _ = sums_of(*data, owners)
    fit = smoothed_with_levels(sums, levels, owners, COLUMNS, np.array([0.0, 1.0]))
    assert np.abs(fit.of_levels).max() < 0.1


def test_levels_without_a_row_weigh_nothing():
    rows, labels, levels, _ = drawn(1, (4,))
    wide = csr_array((levels.data, levels.indices, levels.indptr), shape=(120, 6))
    owners = np.zeros(6, np.int64)
    sums, of_levels, _ = sums_of(rows, labels, wide, owners)
    assert not smoothed_with_levels(sums, of_levels, owners, COLUMNS, np.array([0.0, 1.0])).of_levels[4:].any()
    fit = smoothed_with_levels(sums, of_levels.empty_copy(), owners, COLUMNS, np.array([0.0, 1.0]))
    assert np.isfinite(fit.weights).all()
    assert not fit.of_levels.any()
