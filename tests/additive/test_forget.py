"""Rows that are forgotten leave the state that the other rows give: sums, model selection and bin counts alike."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc import OnePassGAM
from opauc.additive.policy import ADDITIVE_POLICY
from opauc.additive.selection import MAX_SCORE, N_BINS
from opauc.additive.settings import AdditiveSettings
from opauc.additive.state import AdditiveFit
from opauc.errors import IncompatibleMomentsError

N_INITIAL, N_ROWS = 300, 900
SMALL = replace(ADDITIVE_POLICY, sample=replace(ADDITIVE_POLICY.sample, rare_rows=20))
seeds = st.integers(0, 2**32 - 1)


def table(seed, n_rows=N_ROWS, n_values=None):
    """Return rows of a line that bends in the initial sample alone, so that it is close which model is selected."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n_rows, 3)) if n_values is None else random.integers(0, n_values, (n_rows, 3)) * 1.0
    bend = np.where(np.arange(n_rows) < N_INITIAL, 1.0, 0.0)
    scores = 0.7 * rows[:, 0] + bend * np.sin(3.0 * rows[:, 1]) * rows[:, 2]
    return rows, (scores + random.logistic(size=n_rows) > scores.mean()).astype(np.int8)


def begin(seed=0):
    return AdditiveFit.start(AdditiveSettings(init_size=N_INITIAL), np.zeros(3, bool), seed, SMALL)


def dense_columns(fit, rows):
    return np.concatenate([block.toarray() for _, block in fit.fixed.basis.blocks(rows)])


def literal_sums(fit, rows, labels):
    """Return the Gram matrix and the right-hand side of the rows, written out."""
    z, point = dense_columns(fit, rows), fit.fixed.model.sums.expansion_point
    scores = z @ point
    p = 1.0 / (1.0 + np.exp(-scores))
    wrong = np.where(labels == 1, scores < 0, scores > 0)
    curvature = np.where(wrong, np.tanh(np.abs(scores) / 2) / (2 * np.abs(scores)), p * (1 - p))
    return z.T @ (z * curvature[:, None]), z.T @ (curvature * scores + labels - p)


def literal_counts(fit, rows, labels):
    """Return how many rows of each class each candidate gives a score in each bin."""
    weights = fit.fixed.model.candidates.weights
    counts = np.zeros((len(weights), 2, N_BINS))
    for z, label in zip(dense_columns(fit, rows), labels.tolist(), strict=True):
        for model, of_model in enumerate(weights):
            at = int(np.clip(np.floor((z @ of_model / MAX_SCORE + 1.0) * N_BINS / 2), 0, N_BINS - 1))
            counts[model, label, at] += 1
    return counts


def assert_state_of(fit, kept, scored, rows, labels):
    """Check the state against that of the kept rows, of which some were scored."""
    model = fit.fixed.model
    gram, rhs = literal_sums(fit, rows[kept], labels[kept])
    size = np.sqrt(np.diagonal(literal_sums(fit, rows, labels)[0])) + 1e-300
    assert_allclose(model.sums.full_gram() / np.outer(size, size), gram / np.outer(size, size), atol=1e-9)
    assert_allclose(model.sums.rhs, rhs, atol=1e-8 * np.abs(rhs).max())
    assert model.counts == tuple(np.bincount(labels[kept], minlength=2))
    expected = literal_counts(fit, rows[scored], labels[scored])
    # A score on the edge of two bins may fall into either, one addition or the other.
    assert np.abs(model.candidates.counts.cumsum(axis=2) - expected.cumsum(axis=2)).max() <= 1
    assert_array_equal(model.candidates.counts.sum(axis=2), expected.sum(axis=2))
    return replace(model, candidates=replace(model.candidates, counts=expected))


@settings(max_examples=12)
@given(seed=seeds, share=st.sampled_from([0.02, 0.4, 0.9]), batches=st.integers(1, 4))
def test_any_rows_of_a_stream_are_forgotten_as_if_only_the_others_had_come_after_the_basis(seed, share, batches):
    rows, labels = table(seed)
    fit = begin().update(rows, labels)
    first = N_ROWS - int(fit.fixed.model.candidates.counts[0].sum())
    assert first >= N_INITIAL
    gone = np.random.default_rng(seed).random(N_ROWS) < share
    for part in np.array_split(np.random.default_rng(seed).permutation(np.flatnonzero(gone)), batches):
        fit = fit.subtract(rows[part], labels[part])
    is_later = np.arange(N_ROWS) >= first
    reference = assert_state_of(fit, ~gone, ~gone & is_later, rows, labels)
    assert fit.final.selection.model == reference.solve().selection.model
    later = dense_columns(fit, rows[~gone & is_later]).sum(axis=0)
    assert_allclose(fit.fixed.model.bin_counts.later, later, atol=1e-9 * N_ROWS)
    assert fit.removed == (np.count_nonzero(gone), np.count_nonzero(gone[:first]))


@settings(max_examples=12)
@given(seed=seeds, share=st.sampled_from([0.02, 0.4, 0.9]))
def test_of_equal_rows_those_of_the_initial_sample_are_forgotten_first(seed, share):
    rows, labels = table(seed, n_values=3)
    fit = begin().update(rows, labels)
    n_scored = int(fit.fixed.model.candidates.counts[0].sum())
    first = N_ROWS - n_scored
    gone = np.random.default_rng(seed).random(N_ROWS) < share
    fit = fit.subtract(rows[gone], labels[gone])
    keys = [(*row, label) for row, label in zip(rows.tolist(), labels.tolist(), strict=True)]
    initial, removed = Counter(keys[:first]), Counter(key for key, is_gone in zip(keys, gone, strict=True) if is_gone)
    assert fit.removed == (removed.total(), (initial & removed).total())
    assert fit.fixed.model.candidates.counts[0].sum() == n_scored - (removed - initial).total()
    rest = fit.subtract(rows[:first], labels[:first]) if not gone.any() else fit
    assert rest.fixed.model.candidates.counts.min() >= 0.0


@settings(max_examples=8)
@given(seed=seeds, share=st.sampled_from([0.05, 0.5]))
def test_rows_of_a_sampled_table_are_forgotten_as_if_only_the_others_had_come_after_the_basis(seed, share):
    """Rows of a sample that was drawn before the pass are processed with all others, but not scored."""
    rows, labels = table(seed)
    drawn = np.random.default_rng(seed).permutation(N_ROWS)[:N_INITIAL]
    start = begin().of_sample(rows[drawn], labels[drawn])
    gone = np.random.default_rng(seed).random(N_ROWS) < share
    fit = start.update(rows, labels).subtract(rows[gone], labels[gone])
    is_later = ~np.isin(np.arange(N_ROWS), drawn)
    reference = assert_state_of(fit, ~gone, ~gone & is_later, rows, labels)
    assert fit.final.selection.model == reference.solve().selection.model
    assert fit.removed == (np.count_nonzero(gone), np.count_nonzero(gone[drawn]))


@settings(max_examples=4)
@given(seed=seeds, weighted=st.booleans())
def test_rows_forgotten_before_the_basis_is_fixed_leave_the_model_of_the_others(seed, weighted):
    rows, labels = table(seed)
    weight = np.random.default_rng(seed).choice([1.0, 2.0], N_ROWS) if weighted else np.ones(N_ROWS)
    gone = np.random.default_rng(seed).random(N_ROWS) < 0.3
    model = OnePassGAM(random_state=0).fit(rows, labels, weight).forget(rows[gone], labels[gone], weight[gone])
    expected = OnePassGAM(random_state=0).fit(rows[~gone], labels[~gone], weight[~gone])
    assert_array_equal(model.decision_function(rows), expected.decision_function(rows))
    assert model.forget_report_ == (np.count_nonzero(gone), 0)


def test_rows_that_are_not_in_the_warm_up_buffer_are_refused_and_nothing_changes():
    rows, labels = table(0, 200)
    fit = begin().update(rows, labels)
    with pytest.raises(IncompatibleMomentsError, match="2 of 3 rows, the first at position 1, were not trained on"):
        fit.subtract(rows[[5, 5, 6]], np.r_[labels[[5, 5]], 1 - labels[6]])
    with pytest.raises(IncompatibleMomentsError, match="with this label and weight"):
        fit.subtract(rows[:1], labels[:1], np.array([2.0]))
    assert fit.counts == tuple(np.bincount(labels))
    assert fit.subtract(rows, labels).counts == (0, 0)


def test_forgotten_rows_of_the_initial_sample_are_counted_through_merge_and_file(tmp_path):
    import opauc

    rows, labels = table(3, 2000)
    model = OnePassGAM(init_size=1000).partial_fit(rows, labels)
    shard = model.empty_copy().partial_fit(rows[:50], labels[:50])
    model.forget(rows[:10], labels[:10]).merge(shard)
    opauc.save(model, tmp_path / "model")
    again = opauc.load(tmp_path / "model").forget(rows[5:20], labels[5:20])
    # Rows 5 to 9 came twice: in the buffer, forgotten before, and in the shard.
    assert again.forget_report_ == (25, 20)
    opauc.save(again, tmp_path / "small", scoring_only=True)
    assert opauc.load(tmp_path / "small").forget_report_ == (25, 20)


def test_rows_are_counted_once_however_the_model_is_merged():
    rows, labels = table(3, 2000)
    model = OnePassGAM(init_size=1000).partial_fit(rows, labels)
    assert model.forget_report_ == (0, 0)
    model.forget(rows[:10], labels[:10])
    shard = model.empty_copy().partial_fit(rows[:50], labels[:50])
    assert shard.forget_report_ == (0, 0)
    waiting = OnePassGAM(init_size=1000).partial_fit(rows[:90], labels[:90]).forget(rows[:3], labels[:3])
    assert model.merge(shard).forget_report_ == (10, 10)
    assert model.merge(waiting).forget_report_ == (13, 10)
    assert waiting.merge(model).forget_report_ == (16, 10)
    with pytest.raises(ValueError, match="X has 2 features"):
        model.forget(rows[:5, :2], labels[:5])
    assert model.forget_report_ == (13, 10)
    assert model.fit(rows, labels).forget_report_ == (0, 0)
