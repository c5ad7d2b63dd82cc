"""A sliding window through `forget`: the model of the last rows alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import opauc
from opauc import OPAUC
from opauc.linear.moments.classes import ClassMoments
from tests.problems import problem

CHUNK, WIDTH = 100, 500


def slid(rows, labels, chunk=CHUNK, width=WIDTH):
    """Yield the model after each chunk and the rows it should know."""
    model = OPAUC(solver="exact")
    for end in range(chunk, labels.size + 1, chunk):
        begin = max(0, end - width)
        model.partial_fit(rows[end - chunk : end], labels[end - chunk : end], classes=[0, 1])
        if end > width:
            model.forget(rows[begin - chunk : begin], labels[begin - chunk : begin])
        yield model, slice(begin, end)


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_the_window_is_a_fresh_fit_of_its_rows(offset):
    rows, labels = problem(0, 20_000, 4, offset=offset)
    rows += np.linspace(0.0, 5.0, 20_000)[:, None]  # and they drift
    for model, window in slid(rows, labels):
        fresh = OPAUC(solver="exact").fit(rows[window], labels[window])
        assert model.moments_.counts == fresh.moments_.counts
        assert_allclose(model.coef_, fresh.coef_, rtol=1e-8, atol=1e-8 * np.abs(fresh.coef_).max())
        assert_allclose(model.intercept_, fresh.intercept_, rtol=1e-8, atol=1e-8)


def test_a_feature_that_stops_varying_is_neither_refused_nor_taken_for_a_signal():
    """What rounding leaves of it is far more than the scatter of the last rows taken out, and would be scaled up."""
    rows, labels = problem(1, 6000, 12)
    rows[2000:3000, 2:] *= 1e-8
    rows[3000:, 2:] = 0.0
    model, window = list(slid(rows, labels))[-1]
    fresh = OPAUC(solver="exact").fit(rows[window], labels[window])
    assert not model.coef_[0, 2:].any()
    assert_allclose(model.coef_, fresh.coef_, rtol=1e-8)
    assert not model.moments_.mean_difference()[2:].any()


@pytest.mark.parametrize("standardize", [True, False])
def test_a_category_of_which_all_rows_are_forgotten_has_no_weight(standardize, tmp_path):
    rng = np.random.default_rng(4)
    of, labels = rng.integers(0, 5, 3000), (rng.random(3000) < 0.3).astype(int)
    rows = np.column_stack([1e4 * np.eye(5)[of], rng.normal(size=3000) + labels])
    gone = of == 2
    model = OPAUC(solver="exact", standardize=standardize).fit(rows, labels)
    for part in np.array_split(np.flatnonzero(gone), 7):
        model.forget(rows[part], labels[part])
        opauc.save(model, tmp_path / "model")  # and what rounding may have left is kept
        model = opauc.load(tmp_path / "model")
    assert model.coef_[0, 2] == 0.0
    fresh = OPAUC(solver="exact", standardize=standardize).fit(rows[~gone], labels[~gone])
    # The other categories add up to one: without a ridge to speak of, weights may shift together, and scores with them.
    found, wanted = (rows[~gone] @ one.coef_[0] for one in (model, fresh))
    assert_allclose(found - found.mean(), wanted - wanted.mean(), rtol=1e-6, atol=1e-8)


def test_an_outlier_forgotten_leaves_the_spread_of_the_others():
    rows, labels = problem(5, 500, 3)
    rows[7, 1] = 1e6
    model = OPAUC(solver="exact").fit(rows, labels).forget(rows[7:8], labels[7:8])
    kept = np.arange(500) != 7
    wanted = OPAUC(solver="exact").fit(rows[kept], labels[kept])
    assert_allclose(model.moments_.covariance_sum(), wanted.moments_.covariance_sum(), rtol=1e-3, atol=1e-3)


def test_rows_that_were_never_seen_are_still_refused():
    rows, labels = problem(2, 400, 3)
    seen = ClassMoments.of(rows, labels)
    with pytest.raises(ValueError, match="would vary by less than nothing"):
        seen.forget(100.0 * rows[:50], labels[:50])


def test_parts_of_the_window_merge_to_the_same_model():
    """The other way to slide: statistics of chunks, of which the oldest is left out; nothing is ever subtracted."""
    rows, labels = problem(3, 3000, 3)
    parts = [OPAUC(solver="exact").fit(rows[i : i + 100], labels[i : i + 100]) for i in range(0, 3000, 100)]
    model = OPAUC(solver="exact").fit(rows[2500:2600], labels[2500:2600])
    for part in parts[26:]:
        model.merge(part)
    assert_allclose(model.coef_, OPAUC(solver="exact").fit(rows[2500:], labels[2500:]).coef_, rtol=1e-9)
