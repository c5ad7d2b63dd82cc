"""What every learner whose state is a statistic gets from that."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from opauc.baselines.mean_difference import MeanDifferenceSolver
from opauc.errors import IncompatibleMomentsError
from opauc.linear.exact import Exact
from opauc.linear.sketch_exact import SketchedExact
from tests.problems import problem

everyone = pytest.mark.parametrize("learner", [Exact(), SketchedExact(rank=3), MeanDifferenceSolver()])


def learned(learner, n_features=3):
    rows, labels = problem(0, 40, n_features)
    return learner.step(learner.start(n_features), rows, labels)


@everyone
def test_a_state_put_away_and_taken_out_is_the_same_to_the_bit(learner):
    state = learned(learner)
    back = learner.from_arrays(3, learner.to_arrays(state))
    assert_array_equal(learner.weights(back), learner.weights(state))
    assert learner.counts(back) == learner.counts(state)
    assert_array_equal(learner.statistics(back).mean_difference(), state.mean_difference())


@everyone
def test_features_that_turn_up_late_have_no_weight_yet(learner):
    state = learned(learner)
    for wide in (learner.widen(state, 5), learner.from_arrays(5, learner.to_arrays(learner.widen(state, 5)))):
        assert_allclose(learner.weights(wide), np.r_[learner.weights(state), 0.0, 0.0], rtol=1e-9, atol=1e-12)


@everyone
def test_arrays_that_do_not_fit_are_refused(learner):
    saved = learner.to_arrays(learned(learner))
    name = max(saved, key=lambda key: saved[key].size)
    with pytest.raises(IncompatibleMomentsError, match="expected arrays"):
        learner.from_arrays(3, {key: array for key, array in saved.items() if key != name})
    with pytest.raises(IncompatibleMomentsError, match=r"int8"):
        learner.from_arrays(3, saved | {name: saved[name].astype(np.int8)})
    with pytest.raises(IncompatibleMomentsError, match="expected statistics of 2 features, got 3"):
        learner.from_arrays(2, saved)
