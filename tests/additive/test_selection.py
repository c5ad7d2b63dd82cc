"""Candidate models: score counts that merge, their AUC, and the selection."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
from opauc.additive.penalties import Penalties
from opauc.additive.selection import MODELS_WITHOUT_TREES, CandidateModels, candidate_weights
from opauc.additive.sums import LinearizedSums
from opauc.errors import IncompatibleMomentsError

seeds = st.integers(0, 2**32 - 1)


def scored(seed, n_rows=500):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n_rows).astype(np.int8)
    rows = np.column_stack([np.ones(n_rows), rng.normal(size=(n_rows, 3)) + 0.8 * labels[:, None]])
    return csr_array(rows), labels, rng.normal(size=(4, 4)), rng.integers(1, 4, n_rows).astype(float)


@given(seeds)
def test_aucs_of_the_candidates_are_the_exact_ones_to_the_width_of_a_bin(seed):
    rows, labels, weights, sample_weight = scored(seed)
    selection = CandidateModels.of(weights).update(rows, labels, sample_weight).select()
    for name, candidate in zip(MODELS_WITHOUT_TREES, weights, strict=True):
        assert_allclose(
            selection.aucs[name], roc_auc_score(labels, rows @ candidate, sample_weight=sample_weight), atol=2e-3
        )


@given(seeds)
def test_candidates_merge_and_subtract(seed):
    rows, labels, weights, _ = scored(seed)
    start = CandidateModels.of(weights)
    one, two = start.update(rows[:200], labels[:200]), start.update(rows[200:], labels[200:])
    whole = start.update(rows, labels)
    assert_array_equal(one.merge(two).counts, whole.counts)
    assert_array_equal(whole.subtract(two).counts, one.counts)
    assert_array_equal(CandidateModels.from_arrays(whole.to_arrays()).counts, whole.counts)


def test_the_full_model_is_selected_unless_another_is_significantly_better():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 20_000).astype(np.int8)
    signal = labels + rng.normal(size=20_000)
    rows = csr_array(np.column_stack([np.ones(20_000), signal, signal + 0.02 * rng.normal(size=20_000)]))
    alike = np.array([[0, 1.0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])
    assert CandidateModels.of(alike).update(rows, labels).select().model == "full"
    worse = np.array([[0, 1.0, 0], [0, 0, 0], [0, -1, 1], [0, 0, -1.0]])
    assert CandidateModels.of(worse).update(rows, labels).select().model == "linear"
    assert CandidateModels.of(worse).select().model == "full"


@given(seeds)
def test_a_candidate_is_the_fit_of_its_columns_alone(seed):
    rows, labels, _, _ = scored(seed)
    groups = ColumnGroups.of(
        [Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.LINEAR, 1, 1), Group(GroupKind.PAIR, 2, 2)]
    )
    sums = LinearizedSums.empty(4).update(rows, labels)
    lambdas = np.array([0.0, 5.0, 2.0])
    model = candidate_weights(sums, Penalties(groups, (None, None, None)), lambdas, np.array([0, 1]))
    gram = sums.full_gram()[:2, :2] + np.diag([0.0, 1.0])  # the smoothing parameter of a line is at most one
    assert_allclose(model, np.r_[np.linalg.solve(gram, sums.rhs[:2]), 0, 0], rtol=1e-9, atol=1e-12)


def test_different_candidates_and_invalid_arrays_raise():
    _, _, weights, _ = scored(1)
    with pytest.raises(IncompatibleMomentsError, match="different candidate models"):
        CandidateModels.of(weights).merge(CandidateModels.of(weights + 1))
    with pytest.raises(IncompatibleMomentsError, match=r"counts: expected float64 numbers of shape"):
        CandidateModels.from_arrays({"weights": weights, "counts": np.full((4, 2, 7), 1.0)})
    with pytest.raises(IncompatibleMomentsError, match="expected four or five candidate models, got 3"):
        CandidateModels.from_arrays({"weights": weights[:3], "counts": CandidateModels.of(weights).counts[:3]})
