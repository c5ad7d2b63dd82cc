"""Forgetting through the estimator: any cut gives what `fit` gives, and a class that comes no more fades and stays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from opauc import OPAUC

RATES = [0.3, 0.5, 0.9, 0.99, 0.998, 0.9999]
ORDERS = ["positives first", "negatives first", "interleaved", "long gaps", "rare"]
SOLVERS = ["exact", "sgd"]


def stream(seed, n_rows, order):
    rng = np.random.default_rng(seed)
    labels = (rng.random(n_rows) < 0.3).astype(np.int8)
    labels[:2] = 0, 1
    if order == "rare":
        labels[:] = 0
        labels[:: max(2, n_rows // 8)] = 1
    elif order != "interleaved":
        labels = np.sort(labels)
    if order == "positives first":
        labels = labels[::-1].copy()
    elif order == "long gaps":
        labels = np.concatenate([labels[half::2] for half in (0, 1)])
    return rng.normal(size=(n_rows, 2)) + labels[:, None], labels


def chunked(model, rows, labels, at):
    for part in np.split(np.arange(labels.size), at):
        if part.size:
            model.partial_fit(rows[part], labels[part], classes=[0, 1])
    return model


@pytest.mark.parametrize("solver", SOLVERS)
@given(
    seed=st.integers(0, 2**32 - 1),
    forgetting_factor=st.sampled_from(RATES),
    order=st.sampled_from(ORDERS),
    n_rows=st.sampled_from([10, 3000, 8000]),
    shares=st.lists(st.floats(0.0, 1.0), max_size=4),
)
def test_any_cut_gives_what_fit_gives_and_no_class_vanishes(solver, seed, forgetting_factor, order, n_rows, shares):
    rows, labels = stream(seed, n_rows, order)
    whole = OPAUC(solver=solver, forgetting_factor=forgetting_factor).fit(rows, labels)
    cut = chunked(
        OPAUC(solver=solver, forgetting_factor=forgetting_factor), rows, labels, sorted(int(s * n_rows) for s in shares)
    )
    assert whole._fitted.counts.both
    assert np.isfinite(whole.coef_).all()
    assert np.abs(whole.coef_).max() > 0.0
    assert_allclose(cut.coef_, whole.coef_, rtol=1e-9, atol=1e-9 * np.abs(whole.coef_).max())
    assert_allclose(cut.predict_proba(rows[:9]), whole.predict_proba(rows[:9]), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("forgetting_factor", RATES)
def test_both_solvers_keep_the_statistics_of_each_class_by_the_age_of_its_rows(solver, forgetting_factor):
    """In particular those of a class of single rows far apart, whose weight all but vanishes again and again."""
    rows, labels = stream(0, 8000, "rare")
    moments = OPAUC(solver=solver, forgetting_factor=forgetting_factor).fit(rows, labels).moments_
    for k, found in ((0, moments.negative), (1, moments.positive)):
        at = np.flatnonzero(labels == k)
        weight = forgetting_factor ** (at[-1] - at).astype(float)
        mean = weight @ rows[at] / weight.sum()
        covariance = (rows[at] - mean).T @ ((rows[at] - mean) * weight[:, None]) / weight.sum()
        assert_allclose(found.mean, mean, rtol=1e-9)
        assert_allclose(found.covariance(), covariance, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("forgetting_factor", [0.9, 0.99, 0.998])
def test_a_hundred_thousand_rows_are_processed_in_one_call_or_in_many(solver, forgetting_factor):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(100_000, 2)), (rng.random(100_000) < 0.3).astype(int)
    whole = OPAUC(solver=solver, forgetting_factor=forgetting_factor).fit(rows, labels)
    cut = chunked(OPAUC(solver=solver, forgetting_factor=forgetting_factor), rows, labels, range(1000, 100_000, 1000))
    assert_allclose(cut.coef_, whole.coef_, rtol=1e-9, atol=1e-9 * np.abs(whole.coef_).max())


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("cut", [[], [2000], range(100, 3000, 100)], ids=["fit", "one cut", "many"])
def test_a_class_that_came_only_at_the_start_still_counts(solver, cut):
    rng = np.random.default_rng(0)
    labels = np.repeat([1, 0], [100, 2900])
    rows = rng.normal(size=(3000, 2)) + labels[:, None]
    model = chunked(OPAUC(solver=solver, forgetting_factor=0.5), rows, labels, cut)
    expected = OPAUC(solver=solver, forgetting_factor=0.5).fit(rows, labels)
    assert np.abs(model.coef_).max() > 0.0
    assert_allclose(model.coef_, expected.coef_, rtol=1e-9)
