"""What every solver whose state is a statistic gets from that."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from opauc.baselines.mean_difference import MeanDifferenceSolver
from opauc.errors import IncompatibleMomentsError
from opauc.linear.exact import Exact
from opauc.linear.sketch_exact import SketchedExact
from tests.problems import problem

everyone = pytest.mark.parametrize("solver", [Exact(), SketchedExact(rank=3), MeanDifferenceSolver()])


def train(solver, n_features=3):
    rows, labels = problem(0, 40, n_features)
    return solver.step(solver.start(n_features), rows, labels)


@everyone
def test_a_state_saved_and_restored_is_the_same_to_the_bit(solver):
    state = train(solver)
    back = solver.from_arrays(3, solver.to_arrays(state))
    assert_array_equal(solver.weights(back), solver.weights(state))
    assert solver.counts(back) == solver.counts(state)
    assert_array_equal(solver.statistics(back).mean_difference(), state.mean_difference())


@everyone
def test_features_that_occur_late_have_no_weight_yet(solver):
    state = train(solver)
    for wide in (solver.widen(state, 5), solver.from_arrays(5, solver.to_arrays(solver.widen(state, 5)))):
        assert_allclose(solver.weights(wide), np.r_[solver.weights(state), 0.0, 0.0], rtol=1e-9, atol=1e-12)


@everyone
def test_arrays_that_do_not_fit_raise(solver):
    saved = solver.to_arrays(train(solver))
    name = max(saved, key=lambda key: saved[key].size)
    with pytest.raises(IncompatibleMomentsError, match="expected arrays"):
        solver.from_arrays(3, {key: array for key, array in saved.items() if key != name})
    with pytest.raises(IncompatibleMomentsError, match=r"int8"):
        solver.from_arrays(3, saved | {name: saved[name].astype(np.int8)})
    with pytest.raises(IncompatibleMomentsError, match="expected statistics of 2 features, got 3"):
        solver.from_arrays(2, saved)
