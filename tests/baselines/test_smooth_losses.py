"""Batch methods of smooth losses have the minimum that they say, held against other solvers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from opauc import OPAUC
from opauc.baselines.batch_uni_squ import BatchUniSqu
from opauc.baselines.ls_svm import LSSVM
from opauc.baselines.uni_log import UniLog
from tests import literal
from tests.problems import problem


@pytest.mark.parametrize("alpha", [0.0, 1e-4, 1.0])
def test_the_least_squares_machine_is_the_exact_solver(alpha):
    rows, labels = problem(2, 300, 7, positives=0.1)
    for kind in (np.asarray, sparse.csr_array):
        ours = LSSVM(alpha=alpha).fit(kind(rows), labels)
        exact = OPAUC(solver="exact", alpha=alpha, standardize=False).fit(rows, labels)
        assert_allclose(ours.coef_, exact.coef_, rtol=1e-10, atol=1e-10 * np.abs(exact.coef_).max())
        assert_allclose(ours.predict_proba(rows), exact.predict_proba(rows), rtol=1e-8)
        assert_allclose(ours.coef_[0], literal.minimizer(rows, labels, alpha), rtol=1e-8)


def test_ls_svm_raises_where_the_matrices_do_not_fit():
    with pytest.raises(ValueError, match=r"of 20000 features take 6\.0 GiB; LSSVM uses at most 2 GiB"):
        LSSVM().fit(sparse.eye_array(2, 20_000, format="csr"), [0, 1])


def balanced(rows, labels, weights, alpha, loss):
    """The least, over the constant b, of the class-balanced objective of single rows."""
    signs, shares = 2.0 * labels - 1.0, labels.size / (2.0 * np.bincount(labels))[labels]
    total = lambda b: np.mean(shares * loss(signs * (rows @ weights + b)))  # noqa: E731
    return alpha / 2 * weights @ weights + minimize_scalar(total, tol=1e-12).fun


LOSSES = {UniLog: lambda margin: np.logaddexp(0.0, -margin), BatchUniSqu: lambda margin: (1.0 - margin) ** 2 / 2}


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_no_other_weights_have_a_smaller_balanced_objective(kind, alpha, make):
    rows, labels = problem(6, 200, 5, positives=0.1, offset=1.0)
    weights = kind(alpha=alpha).fit(make(rows), labels).coef_[0]
    least = balanced(rows, labels, weights, alpha, LOSSES[kind])
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-2, 1.0):
        for _ in range(10):
            moved = weights + size * rng.normal(size=5)
            assert balanced(rows, labels, moved, alpha, LOSSES[kind]) >= least * (1 - 1e-7)


@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 1.0])
def test_uni_log_has_the_objective_of_balanced_logistic_regression(alpha):
    rows, labels = problem(6, 400, 5, positives=0.2)
    peer = LogisticRegression(
        C=1 / (alpha * 400), class_weight="balanced", solver="newton-cholesky", tol=1e-12, max_iter=1000
    ).fit(rows, labels)
    objectives = [
        balanced(rows, labels, weights, alpha, LOSSES[UniLog])
        for weights in (UniLog(alpha=alpha).fit(rows, labels).coef_[0], peer.coef_[0])
    ]
    assert_allclose(*objectives, rtol=1e-6)


def test_batch_uni_squ_is_the_closed_form_of_weighted_least_squares():
    rows, labels = problem(6, 400, 5, positives=0.2)
    weight = np.sqrt(400 / (2 * np.bincount(labels)))[labels]
    wide = np.column_stack([rows, np.ones(400)]) * weight[:, None]
    penalty = 0.3 * 400 * np.diag([1.0] * 5 + [0.0])
    expected = np.linalg.solve(wide.T @ wide + penalty, wide.T @ (weight * (2.0 * labels - 1)))
    assert_allclose(BatchUniSqu(alpha=0.3).fit(rows, labels).coef_[0], expected[:5], rtol=1e-8)


@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_batch_uni_squ_has_the_direction_of_ls_svm_with_twice_the_penalty(alpha):
    rows, labels = problem(6, 400, 5, positives=0.2)
    one, other = BatchUniSqu(alpha=alpha).fit(rows, labels).coef_[0], LSSVM(alpha=2 * alpha).fit(rows, labels).coef_[0]
    assert_allclose(one / np.linalg.norm(one), other / np.linalg.norm(other), rtol=1e-8)


def test_uni_log_warns_if_it_does_not_converge():
    rows, labels = problem(6, 400, 5)
    with pytest.warns(ConvergenceWarning):
        assert UniLog(max_iter=2).fit(rows, labels).n_iter_ == 2
