"""What every learner in the folder promises, found by looking there."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from opauc.learners import find_learners
from tests.problems import cuts, problem

LEARNERS = find_learners()
everyone = pytest.mark.parametrize("learner", [make() for make in LEARNERS.values()], ids=list(LEARNERS))


def after(learner, rows, labels, at=()):
    state = learner.start(rows.shape[1])
    for part, chunk in zip(np.split(np.arange(len(labels)), at), np.split(labels, at), strict=True):
        state = learner.step(state, rows[part], chunk)
    return state


@everyone
def test_hyper_parameters_are_frozen_and_all_have_defaults(learner):
    assert learner.__dataclass_params__.frozen
    for field in dataclasses.fields(learner):
        assert field.default is not dataclasses.MISSING


@everyone
@given(st.integers(0, 2**32 - 1), cuts(40))
def test_weights_do_not_depend_on_how_the_stream_was_cut(learner, seed, at):
    rows, labels = problem(seed, 40, 4)
    whole = learner.weights(after(learner, rows, labels))
    assert_allclose(learner.weights(after(learner, rows, labels, at)), whole, rtol=1e-9, atol=1e-12)


@everyone
@given(st.integers(0, 2**32 - 1))
def test_sparse_rows_give_the_weights_of_dense_ones(learner, seed):
    rows, labels = problem(seed, 40, 6)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.7] = 0.0
    dense = learner.weights(after(learner, rows, labels))
    thin = learner.weights(after(learner, sparse.csr_array(rows), labels))
    assert_allclose(thin, dense, rtol=1e-8, atol=1e-12)


@everyone
def test_the_state_does_not_grow_with_the_rows_and_old_states_stay_valid(learner):
    rows, labels = problem(0, 500, 4)
    early = after(learner, rows[:50], labels[:50])
    weights = learner.weights(early).copy()
    late = learner.step(early, rows[50:], labels[50:])
    assert size(late) == size(early)
    assert_allclose(learner.weights(early), weights, rtol=0)


@everyone
def test_nothing_is_learnt_from_one_class_alone(learner):
    state = after(learner, np.eye(3), np.ones(3, np.int8))
    assert not learner.weights(state).any()
    assert learner.moments(state).positive.count == 3


@everyone
def test_learning_ranks_positives_above_negatives(learner):
    rows, labels = problem(9, 2000, 4)
    rows[:, 0] += 2 * labels
    state = after(learner, rows, labels)
    assert learner.moments(state).binormal_auc(learner.weights(state)) > 0.8


def size(state):
    """Numbers held in a state, whatever it is made of."""
    if isinstance(state, np.ndarray):
        return state.size
    if isinstance(state, tuple):
        return sum(size(part) for part in state)
    if dataclasses.is_dataclass(state):
        return sum(size(getattr(state, field.name)) for field in dataclasses.fields(state))
    return 1
