"""Vectors computed by an independent, slow, literal program."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from opauc.learners.exact import Exact
from opauc.learners.sgd import SGD


@pytest.fixture
def full(golden):
    data = golden("full_covariance")
    return data, data["X"].astype(float), (data["y"] > 0).astype(np.int8)


@pytest.mark.parametrize("i", [0, 1, 2])
def test_the_exact_minimiser_and_its_objective(full, i):
    data, rows, labels = full
    alpha = float(data[f"exact_{i}_alpha"])
    learner = Exact(alpha=alpha)
    state = learner.step(learner.start(rows.shape[1]), rows, labels)
    for w in (learner.weights(state), learner.path(state, [alpha])[0]):
        assert_allclose(w, data[f"exact_{i}_weights"], rtol=1e-9)
        assert_allclose(alpha / 2 * w @ w + state.pair_loss(w), data[f"exact_{i}_objective"], rtol=1e-9)


@pytest.mark.parametrize("i", [0, 1, 2])
def test_algorithm_1_row_by_row(full, i):
    data, rows, labels = full
    settings = float(data[f"sgd_{i}_alpha"]), float(data[f"sgd_{i}_eta0"])
    checked = 0
    for name in [name for name in data if name.startswith(f"sgd_{i}_weights_after_")]:
        after = int(name.rsplit("_", 1)[1])
        learner = SGD(*settings, "constant", average=False)
        state = learner.step(learner.start(rows.shape[1]), rows[:after], labels[:after])
        assert_allclose(learner.weights(state), data[name], rtol=1e-9)
        checked += 1
    assert checked == 4
    learner = SGD(*settings, "invsqrt", average=False)
    state = learner.step(learner.start(rows.shape[1]), rows, labels)
    assert_allclose(learner.weights(state), data[f"sgd_{i}_invsqrt_weights"], rtol=1e-9)
