import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import RidgeClassifier

from opauc.linear.exact import Exact
from tests import literal
from tests.problems import problem, problems


def fitted(rows, labels, alpha=1e-4):
    solver = Exact(alpha=alpha)
    return solver, solver.step(solver.start(rows.shape[1]), rows, labels)


def weights(rows, labels, alpha):
    solver, state = fitted(rows, labels, alpha)
    return solver.weights(state)


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.sampled_from([1e-6, 1e-2, 1.0, 1e3]))
def test_weights_are_the_closed_form_and_so_is_every_point_of_the_path(seed, n_features, alpha):
    rows, labels = problem(seed, 70, n_features)
    solver, state = fitted(rows, labels, alpha)
    expected = literal.minimizer(rows, labels, alpha)
    assert_allclose(solver.weights(state), expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
    assert_allclose(solver.path(state, [alpha])[0], expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("alpha", [0.0, 0.01, 1.0])
def test_no_other_weights_have_a_smaller_objective_over_all_pairs(alpha):
    rows, labels = problem(1, 60, 4)
    w = weights(rows, labels, alpha)
    best = minimize(literal.objective, np.zeros(4), (rows, labels, alpha), method="BFGS", options={"gtol": 1e-9})
    assert literal.objective(w, rows, labels, alpha) <= best.fun + 1e-12
    assert_allclose(w, best.x, atol=1e-6)


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
def test_direction_is_that_of_class_balanced_ridge_regression(alpha):
    rows, labels = problem(2, 300, 6, positives=0.1)
    ridge = RidgeClassifier(class_weight="balanced", alpha=alpha * len(rows) / 2, tol=1e-12).fit(rows, labels)
    w, other = weights(rows, labels, alpha), np.ravel(ridge.coef_)
    assert_allclose(w / np.linalg.norm(w), other / np.linalg.norm(other), atol=1e-9)


@given(problems(), st.sampled_from([0.0, 1e-12, 1e-3]))
def test_weights_are_finite_and_no_worse_than_none_on_any_data(case, alpha):
    rows, labels = case
    solver, state = fitted(rows, labels, alpha)
    for w in (solver.weights(state), *solver.path(state, [alpha, 1.0])):
        assert np.isfinite(w).all()
    assert state.pair_loss(solver.weights(state)) <= 0.5 + 1e-9


@given(st.integers(0, 2**32 - 1), st.sampled_from([-1e6, 3.0, 1e4]))
def test_a_translation_of_the_rows_changes_nothing(seed, shift):
    rows, labels = problem(seed, 60, 4)
    assert_allclose(weights(rows + shift, labels, 0.1), weights(rows, labels, 0.1), atol=1e-7)


def test_swapping_the_classes_turns_the_weights_round():
    rows, labels = problem(3, 60, 4)
    assert_allclose(weights(rows, 1 - labels, 0.1), -weights(rows, labels, 0.1), rtol=1e-12)


def test_singular_statistics_give_the_shortest_of_all_minimizers():
    rows, labels = problem(4, 12, 5)
    doubled = np.hstack([rows, rows, np.full((12, 1), 3.0)])
    w, half = weights(doubled, labels, 0.0), weights(rows, labels, 0.0)
    assert_allclose(w, np.r_[half / 2, half / 2, 0.0], atol=1e-9)
    limit = weights(doubled, labels, 1e-9)
    assert_allclose(w, limit, atol=1e-6)


def test_more_features_than_rows_separates_them_without_a_penalty():
    rows, labels = problem(5, 10, 30)
    w = weights(rows, labels, 0.0)
    pairs = (rows[labels == 1][:, None] - rows[labels == 0][None]) @ w
    assert_allclose(pairs, 1.0, atol=1e-8)


def test_a_feature_in_tiny_units_is_not_taken_for_a_constant():
    rows, labels = problem(6, 200, 3)
    units = np.array([1.0, 1e-9, 1e9])
    assert_allclose(weights(rows * units, labels, 0.0) * units, weights(rows, labels, 0.0), rtol=1e-6)


@pytest.mark.parametrize("n_features", [1, 2, 3, 40])
def test_a_path_is_what_solving_each_alpha_gives_singular_ones_included(n_features):
    rows, labels = problem(7, 30, n_features, offset=50.0)
    solver, state = fitted(rows, labels)
    alphas = [0.0, 1e-18, 1e-8, 1e-3, 1.0, 1e6]
    path = solver.path(state, alphas)
    for w, alpha in zip(path, alphas, strict=True):
        expected = Exact(alpha=alpha).weights(state)
        assert_allclose(w, expected, rtol=1e-5, atol=1e-7 * np.abs(expected).max())
    assert solver.path(state, []).shape == (0, n_features)


@pytest.mark.parametrize("n_features", [2, 5, 54])
@pytest.mark.parametrize(
    ("smallest", "largest"),
    [(2e-4, 6e3), (1e-3, 10.0), (1e-150, 1e150), (1e150, 1e150), (1e-150, 1e-150), (1e-150, 1.0)],
)
def test_a_path_is_what_solving_each_alpha_gives_whatever_the_units(n_features, smallest, largest):
    rows, labels = problem(8, 40 * n_features, n_features)
    rows *= np.geomspace(smallest, largest, n_features)[np.random.default_rng(0).permutation(n_features)]
    solver, state = fitted(rows, labels)
    alphas = [0.0, 1e-18, *2.0 ** np.arange(-20, 9, 2)]
    for w, alpha in zip(solver.path(state, alphas), alphas, strict=True):
        expected = Exact(alpha=alpha).weights(state)
        assert_allclose(w, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_rows_are_forgotten_with_their_weights_unless_they_have_decayed():
    rows, labels = problem(9, 60, 3)
    weight = np.random.default_rng(0).random(60)
    solver = Exact()
    whole = solver.step(solver.start(3), rows, labels, weight)
    left = solver.forget(whole, rows[50:], labels[50:], weight[50:])
    expected = solver.step(solver.start(3), rows[:50], labels[:50], weight[:50])
    assert_allclose(solver.weights(left), solver.weights(expected), rtol=1e-9)
    with pytest.raises(
        ValueError, match=r"forget needs forgetting_factor=1.0, got 0.9: the weight the rows still have"
    ):
        Exact(forgetting_factor=0.9).forget(whole, rows[50:], labels[50:])


def test_weights_are_zero_until_both_classes_are_seen():
    solver, state = fitted(np.ones((3, 2)), np.ones(3, np.int8))
    assert not solver.weights(state).any()
    assert not solver.path(state, [1.0]).any()


def test_forgetting_follows_a_change_of_the_signal():
    rows, labels = problem(8, 2000, 3)
    rows[1000:, 0] -= 2 * labels[1000:]
    keep, drop = Exact(), Exact(forgetting_factor=0.99)
    after = [one.weights(one.step(one.start(3), rows, labels)) for one in (keep, drop)]
    late = literal.minimizer(rows[1500:], labels[1500:], 1e-4)
    cosine = [w @ late / np.linalg.norm(w) / np.linalg.norm(late) for w in after]
    assert cosine[1] > 0.95 > cosine[0]


def test_sparse_rows_and_threads_give_the_same_weights():
    rng = np.random.default_rng(0)
    few = sparse.random_array((5000, 30), density=0.1, random_state=rng, format="csr")
    labels = (few[:, [0]].toarray()[:, 0] + 0.2 * rng.random(5000) > 0.15).astype(np.int8)
    expected = weights(few.toarray(), labels, 1e-3)
    threaded = Exact(alpha=1e-3, n_jobs=2)
    assert_allclose(weights(few, labels, 1e-3), expected, rtol=1e-9)
    assert_allclose(threaded.weights(threaded.step(threaded.start(30), few, labels)), expected, rtol=1e-9)
