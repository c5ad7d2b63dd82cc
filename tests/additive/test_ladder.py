"""The guard's ladder and the bin_counts of columns: sums, and what is told from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
from opauc.additive.drift import BinCounts
from opauc.additive.penalties import Penalties
from opauc.additive.selection import WITHOUT_LEAVES, CandidateModels, rung_weights
from opauc.additive.sums import LinearizedSums
from opauc.errors import IncompatibleMomentsError

seeds = st.integers(0, 2**32 - 1)


def scored(seed, n_rows=500):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n_rows).astype(np.int8)
    rows = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, 3)) + 0.8 * labels[:, None]])
    return csr_array(rows), labels, rng.normal(size=(4, 4)), rng.integers(1, 4, n_rows).astype(float)


@given(seeds)
def test_aucs_of_the_rungs_are_the_exact_ones_to_the_width_of_a_bin(seed):
    rows, labels, rungs, weight = scored(seed)
    found = CandidateModels.of(rungs).update(rows, labels, weight).selection()
    for name, rung in zip(WITHOUT_LEAVES, rungs, strict=True):
        assert_allclose(found.aucs[name], roc_auc_score(labels, rows @ rung, sample_weight=weight), atol=2e-3)


@given(seeds)
def test_the_ladder_merges_and_forgets(seed):
    rows, labels, rungs, _ = scored(seed)
    start = CandidateModels.of(rungs)
    one, two = start.update(rows[:200], labels[:200]), start.update(rows[200:], labels[200:])
    whole = start.update(rows, labels)
    assert_array_equal(one.merge(two).counts, whole.counts)
    assert_array_equal(whole.subtract(two).counts, one.counts)
    assert_array_equal(CandidateModels.from_arrays(whole.to_arrays()).counts, whole.counts)


def test_the_full_model_stays_unless_another_is_better_by_more_than_chance():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 20_000).astype(np.int8)
    signal = labels + rng.normal(size=20_000)
    rows = csr_array(np.column_stack([np.ones(20_000), signal, signal + 0.02 * rng.normal(size=20_000)]))
    alike = np.array([[0, 1.0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])
    assert CandidateModels.of(alike).update(rows, labels).selection().rung == "full"
    worse = np.array([[0, 1.0, 0], [0, 0, 0], [0, -1, 1], [0, 0, -1.0]])
    assert CandidateModels.of(worse).update(rows, labels).selection().rung == "linear"
    assert CandidateModels.of(worse).selection().rung == "full"


@given(seeds)
def test_a_rung_is_the_solution_of_its_columns_alone(seed):
    rows, labels, _, _ = scored(seed)
    groups = ColumnGroups.of(
        [Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.LINEAR, 1, 1), Group(GroupKind.PAIR, 2, 2)]
    )
    sums = LinearizedSums.empty(4).update(rows, labels)
    strengths = np.array([0.0, 5.0, 2.0])
    found = rung_weights(sums, Penalties(groups, (None, None, None)), strengths, np.array([0, 1]))
    gram = sums.full_gram()[:2, :2] + np.diag([0.0, 1.0])  # a straight line is held back by no more than one
    assert_allclose(found, np.r_[np.linalg.solve(gram, sums.moment[:2]), 0, 0], rtol=1e-9, atol=1e-12)


def test_what_does_not_belong_together_or_cannot_be_is_refused():
    rows, labels, rungs, _ = scored(1)
    with pytest.raises(IncompatibleMomentsError, match="different rungs"):
        CandidateModels.of(rungs).merge(CandidateModels.of(rungs + 1))
    with pytest.raises(IncompatibleMomentsError, match="expected four or five rungs"):
        CandidateModels.from_arrays({"rungs": rungs, "counts": np.full((4, 2, 7), 1.0)})
    with pytest.raises(IncompatibleMomentsError, match="different bases"):
        BinCounts.of(rows).merge(BinCounts.of(rows[:10]))
    with pytest.raises(IncompatibleMomentsError, match="two vectors"):
        BinCounts.from_arrays({"first": np.zeros(3), "later": np.zeros(2)})
    assert labels.any()


GROUPS = ColumnGroups.of(
    [Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.LEVELS, 1, 4), Group(GroupKind.BINARY, 5, 1)]
)


def occupied(rng, n_rows, shares, binary):
    levels = np.eye(4)[rng.choice(4, n_rows, p=shares)]
    return csr_array(np.column_stack([np.ones(n_rows), levels, rng.random(n_rows) < binary]))


@pytest.mark.parametrize("n_rows", [600, 20_000])
def test_rows_drawn_alike_are_not_taken_for_shifted_and_others_are(n_rows):
    rng = np.random.default_rng(0)
    even = [0.25] * 4
    for _ in range(20):
        seen = BinCounts.of(occupied(rng, n_rows, even, 0.3))
        assert seen.update(occupied(rng, n_rows, even, 0.3)).shifts(GROUPS) == []
    levels = seen.update(occupied(rng, n_rows, [0.7, 0.1, 0.1, 0.1], 0.3)).shifts(GROUPS)
    assert [shift.group for shift in levels] == [1]
    binary = seen.update(occupied(rng, n_rows, even, 0.8)).shifts(GROUPS)
    assert [shift.group for shift in binary] == [2]


def test_occupancies_merge_and_forget():
    rng = np.random.default_rng(1)
    seen, more = BinCounts.of(occupied(rng, 50, [0.25] * 4, 0.5)), occupied(rng, 80, [0.4, 0.3, 0.2, 0.1], 0.5)
    whole = seen.update(more)
    parts = seen.update(more[:30]).merge(seen.update(more[30:]))
    assert_allclose(parts.later, whole.later)
    assert_allclose(whole.subtract(seen.update(more[30:])).later, seen.update(more[:30]).later)
    assert_array_equal(BinCounts.from_arrays(whole.to_arrays()).later, whole.later)
