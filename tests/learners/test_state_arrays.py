import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from opauc.errors import IncompatibleMoments
from opauc.learners import find_learners
from opauc.learners.sgd import SGD
from opauc.learners.state_arrays import grown, restored, state_arrays
from tests.problems import problem

LEARNERS = find_learners()
everyone = pytest.mark.parametrize("learner", [make() for make in LEARNERS.values()], ids=list(LEARNERS))


def copies(state):
    return {name: array.copy() for name, array in state_arrays(state).items()}


@everyone
def test_a_state_put_away_and_taken_out_goes_on_to_the_same_bits(learner):
    rows, labels = problem(1, 300, 7)
    half = learner.step(learner.start(7), rows[:150], labels[:150])
    saved = copies(half)
    straight = learner.step(half, rows[150:], labels[150:])
    resumed = learner.step(restored(learner, 7, saved), rows[150:], labels[150:])
    for name, array in state_arrays(straight).items():
        assert_array_equal(state_arrays(resumed)[name], array, err_msg=name)
    assert_array_equal(learner.weights(resumed), learner.weights(straight))


@everyone
def test_features_that_turn_up_late_were_zero_before(learner):
    rows, labels = problem(2, 200, 12)
    rows[:120, 5:] = 0.0
    thin = sparse.csr_array(rows)
    known = learner.step(learner.start(12), thin[:120], labels[:120])
    known = learner.step(known, thin[120:], labels[120:])
    narrow = learner.step(learner.start(5), sparse.csr_array(rows[:120, :5]), labels[:120])
    late = learner.step(grown(learner, narrow, 12), thin[120:], labels[120:])
    # Sums over more features are taken in another order.
    np.testing.assert_allclose(learner.weights(late), learner.weights(known), rtol=1e-7, atol=1e-12)


@everyone
def test_arrays_that_do_not_fit_are_refused(learner):
    saved = copies(learner.start(3))
    name = max(saved, key=lambda key: saved[key].size)
    with pytest.raises(IncompatibleMoments, match="expected"):
        restored(learner, 3, {key: array for key, array in saved.items() if key != name})
    with pytest.raises(IncompatibleMoments, match="expected"):
        restored(learner, 3, saved | {name: saved[name].astype("int8")})
    with pytest.raises(IncompatibleMoments, match="expected"):
        restored(learner, 2, saved)


def test_what_is_no_array_or_number_cannot_be_saved():
    state = SGD().start(2)._replace(weights="text")
    with pytest.raises(TypeError, match="cannot save weights: str"):
        state_arrays(state)
