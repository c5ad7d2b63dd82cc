"""Methods that take raw columns of tables: the fit does not depend on the batches, and categories count."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from opauc import OnePassGAM
from opauc.additive.settings import AdditiveSettings
from opauc.api.methods import TABLE_METHODS, GamMethod, find_table_method
from opauc.errors import OpaucError, UnsupportedOperationError
from opauc.metrics import exact_auc

CATEGORICAL = np.array([False, True, False])
SETTINGS = AdditiveSettings(init_size=1000)


def table(n_rows, seed=0):
    """Return a number with missing values, a category of which the even ones are positive, and noise."""
    random = np.random.default_rng(seed)
    rows = np.column_stack([random.normal(size=n_rows), random.integers(0, 8, n_rows), random.normal(size=n_rows)])
    score = np.where(rows[:, 1] % 2, -1.0, 1.0) + rows[:, 0] ** 2 - 1.0
    labels = (random.random(n_rows) < 1.0 / (1.0 + np.exp(-score))).astype(np.int8)
    rows[random.random(n_rows) < 0.2, 0] = np.nan
    return rows, labels


def fit(method, *batches):
    method = method.fresh()
    for rows, labels in batches:
        method.train(rows, labels)
    method.finish()
    return method


@pytest.mark.parametrize("name", TABLE_METHODS)
def test_every_name_is_that_of_a_competitor_whose_fit_does_not_depend_on_batches(name):
    pytest.importorskip("lightgbm" if name == "lightgbm" else "opauc")
    rows, labels = table(1200)
    halves = [(rows[part], labels[part]) for part in (slice(0, 500), slice(500, 1200))]
    method = find_table_method(name, CATEGORICAL)
    assert method.name == name
    whole, cut = fit(method, (rows, labels)), fit(method, *halves)
    assert_allclose(cut.scores(rows), whole.scores(rows))
    others, truth = table(2000, seed=1)
    assert exact_auc(truth, whole.scores(others)) > 0.72
    strange = np.where(CATEGORICAL, -1.0, others)  # an unknown category
    assert np.isfinite(whole.scores(strange)).all()
    with pytest.raises((UnsupportedOperationError, OpaucError), match="takes tables, these rows are sparse"):
        fit(method, (sparse.csr_array(np.nan_to_num(rows)), labels))


def test_few_rows_are_fitted_as_the_estimator_fits_them():
    rows, labels = table(600)
    numbers = rows[:, [0, 2]]
    expected = OnePassGAM(random_state=0).fit(numbers, labels).decision_function(numbers)
    assert_allclose(fit(GamMethod(None), (numbers, labels)).scores(numbers), expected, atol=1e-9)


def test_the_initial_sample_is_drawn_from_all_rows_whatever_their_order():
    rows, labels = table(6000)
    others, truth = table(4000, seed=1)
    order = np.lexsort([rows[:, 1], labels])  # by label, and by a category within
    by_order = [
        exact_auc(truth, fit(GamMethod(CATEGORICAL, settings=SETTINGS), (rows[at], labels[at])).scores(others))
        for at in (np.arange(6000), order)
    ]
    assert abs(by_order[0] - by_order[1]) < 0.005
    method = fit(GamMethod(CATEGORICAL, settings=SETTINGS), (rows[order], labels[order]))
    assert method.fit.counts == (np.sum(labels == 0), np.sum(labels == 1))
    assert method.fit.sampled.keys.size == 1000


def test_beyond_the_memory_limit_the_basis_is_fitted_to_the_rows_in_memory():
    rows, labels = table(6000)
    method = GamMethod(CATEGORICAL, max_bytes=rows[:2500].nbytes, settings=SETTINGS)
    for at in range(0, 6000, 1000):
        method.train(rows[at : at + 1000], labels[at : at + 1000])
        assert method.collected.bytes() <= rows[:3000].nbytes
    assert method.fit is not None
    method.finish()
    assert sum(method.fit.counts) == 6000
    others, truth = table(4000, seed=1)
    whole = fit(GamMethod(CATEGORICAL, settings=SETTINGS), (rows, labels))
    assert abs(exact_auc(truth, method.scores(others)) - exact_auc(truth, whole.scores(others))) < 0.01


def test_the_model_of_compare_is_that_of_the_estimator():
    rows, labels = table(6000)
    numbers = rows[:, [0, 2]]
    expected = OnePassGAM(random_state=0, init_size=1000).fit(numbers, labels).decision_function(numbers)
    assert_allclose(
        fit(GamMethod(None, settings=SETTINGS), (numbers, labels)).scores(numbers), expected, rtol=0, atol=1e-9
    )


def test_rows_of_one_class_are_an_error():
    rows, labels = table(300)
    method = GamMethod(CATEGORICAL)
    method.train(rows, np.zeros_like(labels))
    with pytest.raises(OpaucError, match="no rows of two classes"):
        method.finish()
    with pytest.raises(OpaucError, match="no weights yet"):
        GamMethod(CATEGORICAL).scores(rows)
