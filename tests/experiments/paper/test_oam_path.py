"""Many penalties trained together by OAM: each has the weights of training alone."""

import numpy as np
import pytest
from experiments.paper.oam_path import oam_path
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from opauc.baselines import oam
from opauc.baselines.oam import OAMSolver
from tests.problems import problem

CS = (30.0, 1e-5, 1e-3, 0.05, 1.0, 2.0, 4.0, 8.0, 16.0)


def alone(solver, C, rows, labels):
    one = OAMSolver(solver.update, solver.buffer_size, C, solver.random_state)
    return one.weights(one.step(one.start(rows.shape[1]), rows, labels))


@pytest.mark.parametrize("update", ["sequential", "gradient"])
@pytest.mark.parametrize("columns_kept", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@given(size=st.sampled_from([1, 3, 8, 11]), seed=st.integers(0, 50), n_rows=st.integers(2, 80))
def test_each_penalty_moves_as_it_would_alone(update, columns_kept, form, size, seed, n_rows):
    rows, labels = problem(seed, n_rows=n_rows, n_features=7)
    rows = form(np.where(np.random.default_rng(seed).random(rows.shape) < 0.5, rows, 0.0))
    solver = OAMSolver(update, buffer_size=size, random_state=seed)
    with pytest.MonkeyPatch.context() as patched:
        if not columns_kept:
            patched.setattr(oam, "MAX_COLUMN_BYTES", 0)
        together = list(oam_path(solver, CS, rows, labels))
        for C, weights in zip(CS, together, strict=True):
            expected = alone(solver, C, rows, labels)
            assert_allclose(weights, expected, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(expected).max(initial=0.0)))


def test_a_penalty_that_would_overflow_is_none_and_the_others_are_computed():
    rows, labels = problem(0, n_rows=40, n_features=3)
    found = list(oam_path(OAMSolver(), (1e300, 0.1), rows, labels))
    assert found[0] is None
    assert_allclose(found[1], alone(OAMSolver(), 0.1, rows, labels), rtol=1e-9)
    assert list(oam_path(OAMSolver(), (1e300,), rows, labels)) == [None]
