"""Vectors computed by an independent, slow, literal program."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from opauc.linear.exact import Exact
from opauc.linear.moments.sketch import ClassSketch, SignStream
from opauc.linear.sgd import SGD
from opauc.linear.sketch_exact import SketchedExact
from opauc.linear.sketch_sgd import CENTERINGS, SketchedSGD


@pytest.fixture
def full(golden):
    data = golden("full_covariance")
    return data, data["X"].astype(float), (data["y"] > 0).astype(np.int8)


@pytest.mark.parametrize("i", [0, 1, 2])
def test_the_exact_minimizer_and_its_objective(full, i):
    data, rows, labels = full
    alpha = float(data[f"exact_{i}_alpha"])
    solver = Exact(alpha=alpha)
    state = solver.step(solver.start(rows.shape[1]), rows, labels)
    for w in (solver.weights(state), solver.path(state, [alpha])[0]):
        assert_allclose(w, data[f"exact_{i}_weights"], rtol=1e-9)
        assert_allclose(alpha / 2 * w @ w + state.pair_loss(w), data[f"exact_{i}_objective"], rtol=1e-9)


@pytest.mark.parametrize("i", [0, 1, 2])
def test_algorithm_1_row_by_row(full, i):
    data, rows, labels = full
    settings = float(data[f"sgd_{i}_alpha"]), float(data[f"sgd_{i}_eta0"])
    checked = 0
    for name in [name for name in data if name.startswith(f"sgd_{i}_weights_after_")]:
        after = int(name.rsplit("_", 1)[1])
        solver = SGD(*settings, "constant", average=False)
        state = solver.step(solver.start(rows.shape[1]), rows[:after], labels[:after])
        assert_allclose(solver.weights(state), data[name], rtol=1e-9)
        checked += 1
    assert checked == 4
    solver = SGD(*settings, "invsqrt", average=False)
    state = solver.step(solver.start(rows.shape[1]), rows, labels)
    assert_allclose(solver.weights(state), data[f"sgd_{i}_invsqrt_weights"], rtol=1e-9)


@pytest.fixture
def sketched(golden):
    data = golden("sketched")
    rank = data["codes"].shape[1]
    codes = np.zeros((len(data["y"]), SignStream(rank, 0).width))
    codes[:, :rank], codes[:, -1] = data["codes"], 1.0
    return data, (data["y"] > 0).astype(np.int8), codes


@pytest.mark.parametrize("centering", CENTERINGS)
def test_opaucr_with_every_centering(sketched, centering):
    data, labels, codes = sketched
    settings = {"alpha": float(data["alpha"]), "eta0": float(data["eta0"]), "rank": data["codes"].shape[1]}
    solver = SketchedSGD(**settings, learning_rate="constant", average=False, centering=centering)
    state = solver.step(solver.start(data["X"].shape[1]), data["X"], labels, sign_rows=codes)
    assert_allclose(solver.weights(state), data[f"weights_{centering}"], rtol=1e-9)


def test_the_closed_form_of_the_centered_sketch(sketched):
    data, labels, codes = sketched
    sums = np.stack([data["X"][labels == k].T @ codes[labels == k] for k in (0, 1)], axis=1)
    sign_sums = np.stack([codes[labels == k].sum(axis=0) for k in (0, 1)])
    state = ClassSketch(sums, sign_sums, SignStream(data["codes"].shape[1], 0))
    solver = SketchedExact(alpha=float(data["alpha"]))
    assert_allclose(solver.weights(state), data["closed_form_weights"], rtol=1e-9)
