"""Levels of groups beside columns: against a dense solution with a column per group."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.sparse import csr_array

from opauc.additive.basis.group_levels import GroupLevels, group_column
from opauc.additive.policy import GROUP_POLICY
from opauc.additive.random_effects import RandomEffectSums
from opauc.additive.row_groups.effects import estimate_levels, shrink_levels, without_levels
from opauc.additive.row_groups.tally import GroupTally
from opauc.additive.sums import LabeledRows, LinearizedSums
from opauc.core.group_keys import group_keys
from opauc.errors import IncompatibleMomentsError

seeds = st.integers(0, 2**32 - 1)
N_GROUPS, N_COLUMNS = 6, 4


def sample(seed, n_rows=90):
    """Rows with an intercept, labels, weights, offsets, and the group of each; some rows have no level."""
    rng = np.random.default_rng(seed)
    rows = np.c_[np.ones(n_rows), rng.normal(size=(n_rows, N_COLUMNS - 1))]
    places = rng.integers(-1, N_GROUPS, n_rows)
    labels = (rng.random(n_rows) < 0.5).astype(np.int8)
    return rows, labels, rng.uniform(0.5, 2.0, n_rows), rng.normal(size=n_rows), places


@given(seeds)
def test_columns_without_levels_are_those_of_a_column_per_group(seed):
    rows, labels, weight, offset, places = sample(seed)
    point = np.random.default_rng(seed).normal(size=N_COLUMNS)
    levels = GroupLevels(np.arange(float(N_GROUPS)), np.zeros(N_GROUPS))
    batch = LabeledRows(csr_array(rows), labels, weight, offset)
    sums = LinearizedSums.at(point).update_all([batch])
    effects = RandomEffectSums.empty(N_GROUPS, N_COLUMNS).update_all([(batch, levels.indicators(places))], point)
    own = without_levels(sums, effects, penalty=0.3)

    indicators = np.where(places[:, None] == np.arange(N_GROUPS), 1.0, 0.0)
    design, scores = np.c_[rows, indicators], rows @ point + offset
    margin = np.where(labels == 1, scores, -scores)
    error = 1.0 / (1.0 + np.exp(margin))
    curvature = weight * np.where(margin >= 0, error * (1 - error), (error - 0.5) / np.abs(margin))
    target = curvature * scores + weight * np.where(labels == 1, error, -error)
    gram = design.T @ (curvature[:, None] * design) + np.diag(np.r_[np.zeros(N_COLUMNS), np.full(N_GROUPS, 0.3)])
    expected = np.linalg.solve(gram, design.T @ target)[:N_COLUMNS]
    lower = np.tril(own.gram)
    assert_allclose(np.linalg.solve(lower + np.tril(lower, -1).T, own.rhs), expected, rtol=1e-7, atol=1e-8)


def test_levels_are_the_penalized_likelihood_at_their_variance():
    rng, places = np.random.default_rng(0), np.repeat(np.arange(30), 40)
    true = rng.normal(size=30)
    labels = (rng.random(places.size) < 1 / (1 + np.exp(-0.4 - true[places]))).astype(np.int8)
    scores, ones = np.zeros(places.size), np.ones(places.size)
    found = estimate_levels(places, 30, scores, labels, ones)

    def loss(weights, penalty):
        margin = np.where(labels == 1, 1.0, -1.0) * (weights[0] + weights[1:][places])
        return np.logaddexp(0.0, -margin).sum() + 0.5 * penalty * weights[1:] @ weights[1:]

    # The penalty that shrinks as these levels are shrunken: its likeliest value is near that of the true variance, 1.
    literal = minimize(loss, np.zeros(31), args=(1.0,)).x
    assert_allclose(found.levels, literal[1:], atol=0.2)
    assert found.mean == pytest.approx(literal[0], abs=0.05)
    assert np.corrcoef(found.levels, true)[0, 1] > 0.9


def test_levels_without_differences_are_zero():
    rng = np.random.default_rng(1)
    places, labels = rng.integers(0, 40, 8000), (rng.random(8000) < 0.3).astype(np.int8)
    found = estimate_levels(places, 40, np.zeros(8000), labels, np.ones(8000))
    assert np.abs(found.levels).max() < 0.15
    assert found.mean == pytest.approx(np.log(labels.mean() / (1 - labels.mean())), abs=0.05)


def test_a_level_without_rows_is_zero_and_counts_for_nothing():
    found, alone = (shrink_levels(np.array(own), np.array(own) * 2.0, 1.0) for own in ([4.0, 6.0, 0.0], [4.0, 6.0]))
    assert found.levels[2] == 0.0
    assert found.mean == alone.mean == pytest.approx(2.0)


def test_the_most_frequent_groups_have_levels():
    numbers = np.repeat([5.0, 9.0, 2.0, 7.0], [1, 4, 3, 2])
    assert GroupLevels.of(numbers, 1).numbers.tolist() == [2.0, 7.0, 9.0]  # of one row there is no pair
    few = replace(GROUP_POLICY, max_products=20)
    assert GroupLevels.of(numbers, 10, few).numbers.tolist() == [2.0, 9.0]
    empty = GroupLevels.of(np.array([1.0, 2.0]), 1)
    assert empty.size == 0
    assert empty.places(np.array([1.0])).tolist() == [-1]
    assert empty.offsets_at(np.array([-1])).tolist() == [0.0]


def test_groups_are_told_apart_in_float64():
    numbers = group_column(group_keys(np.arange(100_000), 100_000))
    assert np.unique(numbers).size == 100_000
    assert (numbers == np.floor(numbers)).all()


@pytest.mark.parametrize(
    "arrays",
    [
        {"numbers": np.array([2.0, 1.0]), "offsets": np.zeros(2)},
        {"numbers": np.array([1.0, 2.0]), "offsets": np.zeros(1)},
        {"numbers": np.array([1.0]), "offsets": np.array([np.nan])},
        {"numbers": np.array([1.0])},
    ],
)
def test_arrays_that_are_no_levels_raise(arrays):
    with pytest.raises(ValueError, match="expected"):
        GroupLevels.from_arrays(arrays)


@given(seeds)
def test_the_tally_counts_rows_by_group_and_class(seed):
    _, labels, weight, _, places = sample(seed)
    empty = GroupTally.empty(N_GROUPS)
    one, other = (empty.update(places[at], labels[at], weight[at]) for at in (slice(0, 50), slice(50, None)))
    both = one.merge(other)
    for k in range(2):
        for group in range(-1, N_GROUPS):
            here = (labels == k) & (places == group)
            assert both.counts[k, group] == pytest.approx(weight[here].sum())
    assert_allclose(both.subtract(other).counts, one.counts, atol=1e-9)
    assert not both.subtract(both).counts.any()
    assert GroupTally.from_arrays(both.to_arrays()).summary == both.summary
    with pytest.raises(IncompatibleMomentsError, match="different groups"):
        both.merge(GroupTally.empty(2))
