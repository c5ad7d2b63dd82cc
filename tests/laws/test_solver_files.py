"""Arrays of the state of every solver: they restore the state, may have fewer features, and are checked."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from opauc.errors import IncompatibleMomentsError
from tests.problems import problem
from tests.solvers import every_solver

EVERY_SOLVER = every_solver()
everyone = pytest.mark.parametrize("solver", list(EVERY_SOLVER.values()), ids=list(EVERY_SOLVER))


def copies(solver, state):
    return {name: array.copy() for name, array in solver.to_arrays(state).items()}


@everyone
def test_a_restored_state_goes_on_to_the_same_bits(solver):
    rows, labels = problem(1, 300, 7)
    half = solver.step(solver.start(7), rows[:150], labels[:150])
    saved = copies(solver, half)
    straight = solver.step(half, rows[150:], labels[150:])
    resumed = solver.step(solver.from_arrays(7, saved), rows[150:], labels[150:])
    for name, array in solver.to_arrays(straight).items():
        assert_array_equal(solver.to_arrays(resumed)[name], array, err_msg=name)
    assert_array_equal(solver.weights(resumed), solver.weights(straight))


@everyone
def test_features_that_turn_up_late_were_zero_before(solver):
    rows, labels = problem(2, 200, 12)
    rows[:120, 5:] = 0.0
    csr = sparse.csr_array(rows)
    wide = solver.step(solver.start(12), csr[:120], labels[:120])
    wide = solver.step(wide, csr[120:], labels[120:])
    narrow = solver.step(solver.start(5), sparse.csr_array(rows[:120, :5]), labels[:120])
    late = solver.step(solver.widen(narrow, 12), csr[120:], labels[120:])
    # Sums over more features are taken in another order.
    np.testing.assert_allclose(solver.weights(late), solver.weights(wide), rtol=1e-7, atol=1e-12)


@everyone
def test_arrays_that_do_not_fit_are_refused(solver):
    saved = copies(solver, solver.start(3))
    name = max(saved, key=lambda key: saved[key].size)
    with pytest.raises(IncompatibleMomentsError, match="expected"):
        solver.from_arrays(3, {key: array for key, array in saved.items() if key != name})
    with pytest.raises(IncompatibleMomentsError, match="expected"):
        solver.from_arrays(3, saved | {name: saved[name].astype("int8")})
    with pytest.raises(IncompatibleMomentsError, match="expected"):
        solver.from_arrays(2, saved)


@everyone
def test_arrays_with_a_number_that_is_not_finite_are_refused(solver):
    saved = copies(solver, solver.start(3))
    name = max((key for key in saved if saved[key].dtype == float), key=lambda key: saved[key].size)
    saved[name].flat[0] = np.nan
    with pytest.raises(IncompatibleMomentsError, match="finite"):
        solver.from_arrays(3, saved)
