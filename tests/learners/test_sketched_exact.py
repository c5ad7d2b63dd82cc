import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from opauc.learners.exact import Exact
from opauc.learners.sketched_exact import SketchedExact
from tests.problems import problem


def dense_minimiser(state, alpha):
    """The closed form with the sketched covariances written out."""
    matrix = alpha * np.eye(state.n_features)
    for k in (0, 1):
        part = state.sums[:, k, :-1] - np.outer(state.means[k], state.code_sums[k, :-1])
        matrix += part @ part.T / state.counts[k]
    difference = state.mean_difference()
    return np.linalg.solve(matrix + np.outer(difference, difference), difference)


@pytest.mark.parametrize("n_features", [1, 3, 40])
@pytest.mark.parametrize("rank", [0, 1, 6, 30])
def test_weights_and_path_are_the_closed_form(rank, n_features):
    rows, labels = problem(rank, 80, n_features)
    learner = SketchedExact(alpha=0.1, rank=rank)
    state = learner.step(learner.start(n_features), sparse.csr_array(rows), labels)
    alphas = [1e-6, 0.1, 10.0]
    for w, alpha in zip(learner.path(state, alphas), alphas, strict=True):
        assert_allclose(w, dense_minimiser(state, alpha), rtol=1e-5, atol=1e-8)
    assert_allclose(learner.weights(state), learner.path(state, [0.1])[0])


@pytest.mark.parametrize(("n_features", "rank"), [(3, 20), (30, 4)])
def test_without_a_ridge_it_is_the_limit_of_small_ones(n_features, rank):
    rows, labels = problem(1, 80, n_features)
    learner = SketchedExact(rank=rank)
    state = learner.step(learner.start(n_features), rows, labels)
    none, tiny = learner.path(state, [0.0, 1e-10])
    assert_allclose(none, tiny, rtol=1e-5, atol=1e-7 * np.abs(none).max())


def test_a_large_rank_approaches_the_exact_minimiser():
    rows, labels = problem(2, 2000, 5)
    exact, sketched = Exact(alpha=0.1), SketchedExact(alpha=0.1, rank=1500)
    w = exact.weights(exact.step(exact.start(5), rows, labels))
    v = sketched.weights(sketched.step(sketched.start(5), rows, labels))
    assert w @ v / np.linalg.norm(w) / np.linalg.norm(v) > 0.995


def test_weights_are_zero_until_both_classes_are_seen():
    learner = SketchedExact(rank=3)
    state = learner.step(learner.start(2), np.ones((3, 2)), np.ones(3, np.int8))
    assert not learner.weights(state).any()
