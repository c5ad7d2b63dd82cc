"""Many step sizes trained together on a univariate loss: each has the weights of training alone."""

import numpy as np
import pytest
from experiments.paper.univariate_path import univariate_path
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from opauc.baselines.uni_exp import UniExpSolver
from opauc.baselines.uni_squ import UniSquSolver
from opauc.errors import DivergedError
from tests.problems import problem

ETAS = (0.01, 1e-4, 0.1, 1e3, 1.0, 2.0, 4.0, 8.0, 1e-3)


def alone(kind, eta0, rows, labels):
    solver = kind(eta0=eta0, learning_rate="constant", average=False)
    try:
        return solver.weights(solver.step(solver.start(rows.shape[1]), rows, labels))
    except DivergedError:
        return None


@pytest.mark.filterwarnings("ignore::opauc.errors.DivergenceWarning")
@pytest.mark.parametrize("kind", [UniExpSolver, UniSquSolver])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@given(seed=st.integers(0, 50), n_rows=st.integers(2, 80))
def test_each_step_size_moves_as_it_would_alone(kind, form, seed, n_rows):
    rows, labels = problem(seed, n_rows=n_rows, n_features=7)
    rows = form(np.where(np.random.default_rng(seed).random(rows.shape) < 0.5, rows, 0.0))
    together = list(univariate_path(kind().exponential, ETAS, rows, labels))
    for eta0, weights in zip(ETAS, together, strict=True):
        expected = alone(kind, eta0, rows, labels)
        # Steps that are too large multiply rounding as they multiply weights.
        if weights is not None and expected is not None and np.abs(expected).max() < 1e3:
            assert_allclose(weights, expected, rtol=1e-9, atol=1e-9)
        elif eta0 <= 1e-3:
            assert weights is not None


@pytest.mark.filterwarnings("ignore::opauc.errors.DivergenceWarning")
def test_a_step_size_that_overflows_is_none_and_the_others_are_computed():
    rows, labels = problem(0, n_rows=600, n_features=3)
    found = list(univariate_path(False, (8.0, 0.01), rows, labels))
    assert found[0] is None
    assert alone(UniSquSolver, 8.0, rows, labels) is None
    assert_allclose(found[1], alone(UniSquSolver, 0.01, rows, labels), rtol=1e-9)


@pytest.mark.parametrize("exponential", [False, True])
@given(seed=st.integers(0, 50))
def test_without_balance_every_row_weighs_the_same(exponential, seed):
    rows, labels = problem(seed, n_rows=60, n_features=4)
    weights, seen = np.zeros(4), set()
    for row, label in zip(rows, labels.tolist(), strict=True):
        seen.add(label)
        if len(seen) == 2:
            sign, score = 2.0 * label - 1.0, row @ weights
            weights += 0.01 * (sign * np.exp(-sign * score) if exponential else sign - score) * row
    (found,) = univariate_path(exponential, (0.01,), rows, labels, balanced=False)
    assert_allclose(found, weights, rtol=1e-9, atol=1e-12)
