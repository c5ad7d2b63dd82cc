"""Forgetting: a row's weight is forgetting^age, however the stream was cut, and no class vanishes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from opauc.linear.exact import Exact
from opauc.linear.moments.classes import ClassMoments

RATES = [0.3, 0.5, 0.9, 0.99, 0.998, 0.9999]
ORDERS = ["positives first", "negatives first", "interleaved", "long gaps"]


def stream(seed, n_rows, order):
    rng = np.random.default_rng(seed)
    labels = (rng.random(n_rows) < 0.3).astype(np.int8)
    labels[:2] = 0, 1
    if order != "interleaved":
        labels = np.sort(labels)
    if order == "positives first":
        labels = labels[::-1].copy()
    elif order == "long gaps":
        labels = np.concatenate([labels[half::2] for half in (0, 1)])
    return rng.normal(size=(n_rows, 2)) + labels[:, None], labels


def literal_weights(rows, labels, forgetting_factor, alpha):
    """The closed form with each class's rows weighted by their age, counted from its own newest row."""
    matrix, means = alpha * np.eye(rows.shape[1]), []
    for k in (0, 1):
        at = np.flatnonzero(labels == k)
        weight = forgetting_factor ** (at[-1] - at).astype(float)
        mean = weight @ rows[at] / weight.sum()
        means.append(mean)
        matrix += (rows[at] - mean).T @ ((rows[at] - mean) * weight[:, None]) / weight.sum()
    difference = means[1] - means[0]
    return np.linalg.solve(matrix + np.outer(difference, difference), difference)


def train(solver, rows, labels, at):
    state = solver.start(rows.shape[1])
    for part in np.split(np.arange(len(labels)), at):
        state = solver.step(state, rows[part], labels[part])
    return state


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(RATES),
    st.sampled_from(ORDERS),
    st.sampled_from([10, 3000, 20_000]),
    st.lists(st.floats(0.0, 1.0), max_size=4),
)
def test_any_cut_gives_what_one_step_gives(seed, forgetting_factor, order, n_rows, shares):
    rows, labels = stream(seed, n_rows, order)
    solver = Exact(alpha=0.1, forgetting_factor=forgetting_factor)
    at = sorted(int(share * n_rows) for share in shares)
    whole, cut = (train(solver, rows, labels, where) for where in ([], at))
    assert whole.counts.both
    assert_allclose(cut.counts, whole.counts, rtol=1e-9)
    expected = literal_weights(rows, labels, forgetting_factor, 0.1)
    for state in (whole, cut):
        assert_allclose(solver.weights(state), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("forgetting_factor", RATES)
@pytest.mark.parametrize("order", ORDERS)
def test_a_hundred_thousand_rows_in_one_step_or_in_many(forgetting_factor, order):
    rows, labels = stream(0, 100_000, order)
    solver = Exact(forgetting_factor=forgetting_factor)
    whole = solver.weights(train(solver, rows, labels, []))
    cut = solver.weights(train(solver, rows, labels, range(1000, 100_000, 1000)))
    expected = literal_weights(rows, labels, forgetting_factor, solver.alpha)
    assert_allclose(cut, whole, rtol=1e-9, atol=1e-9 * np.abs(whole).max())
    assert_allclose(whole, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_the_weight_of_a_class_that_no_longer_occurs_decays_but_stays():
    rows, labels = stream(1, 3000, "positives first")
    seen = ClassMoments.empty(2).update(rows, labels, forgetting_factor=0.5)
    assert 0.0 < seen.positive.count <= 1e-100
    assert_allclose(seen.negative.count, 2.0)


def test_row_weights_count_beside_age():
    rows, labels = stream(2, 50, "interleaved")
    weight = np.random.default_rng(0).random(50)
    expected = ClassMoments.of(rows, labels, weight * 0.9 ** np.arange(49, -1, -1.0))
    got = ClassMoments.empty(2)
    for part in (slice(0, 20), slice(20, 50)):
        got = got.update(rows[part], labels[part], weight[part], forgetting_factor=0.9)
    assert_allclose(got.counts, expected.counts, rtol=1e-10)
    assert_allclose(got.covariance_sum(), expected.covariance_sum(), rtol=1e-9)


def test_float32_rows_decay_as_float64_ones():
    rows, labels = stream(3, 20_000, "interleaved")
    single, double = (
        ClassMoments.empty(2).update(part, labels, forgetting_factor=0.99) for part in (rows.astype(np.float32), rows)
    )
    assert_allclose(single.covariance_sum(), double.covariance_sum(), atol=1e-5)
    assert_allclose(single.mean_difference(), double.mean_difference(), atol=1e-5)
