"""Many settings of SOLAM learned together: each is as if it were alone."""

import numpy as np
import pytest
from experiments.paper import solam_path as module
from experiments.paper.solam_path import solam_path
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from opauc.baselines.solam import SOLAMSolver
from tests.problems import problem

# Large steps within a small ball: every row is projected, and the weights are rescaled again and again.
SETTINGS = [SOLAMSolver(eta0, radius) for eta0 in (1e-3, 0.5, 30.0, 1000.0) for radius in (0.1, 1.0, 10.0)]


def alone(solver, rows, labels):
    return solver.weights(solver.step(solver.start(rows.shape[1]), rows, labels))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("most_features", [10_000, 3])
@given(seed=st.integers(0, 50), n_rows=st.integers(2, 80))
def test_each_setting_moves_as_it_would_alone(form, most_features, seed, n_rows):
    rows, labels = problem(seed, n_rows=n_rows, n_features=7)
    rows = form(np.where(np.random.default_rng(seed).random(rows.shape) < 0.5, rows, 0.0))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "MAX_SHARED_FEATURES", most_features)
        for solver, weights in zip(SETTINGS, solam_path(SETTINGS, rows, labels), strict=True):
            # The mean of iterates is a difference of sums that grow with the steps.
            rounding = 1e-10 * max(1.0, solver.eta0) * solver.radius
            assert_allclose(weights, alone(solver, rows, labels), rtol=1e-9, atol=rounding)


def test_a_setting_that_would_overflow_is_none_and_the_others_are_computed():
    rows, labels = problem(0, n_rows=40, n_features=3)
    found = list(solam_path([SOLAMSolver(eta0=1e200), SOLAMSolver()], rows, labels))
    assert found[0] is None
    assert_allclose(found[1], alone(SOLAMSolver(), rows, labels), rtol=1e-9)
