"""The passes of both grids on a few rows, compiled or not: what the tests of the solvers say of many."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.core.row_blocks import NO_WEIGHTS, kernel_rows
from opauc.linear.grid import GridSGD
from opauc.linear.kernels.grid import csr_pass, dense_pass
from opauc.linear.kernels.panel_product import PANEL
from opauc.linear.kernels.sketch_grid import sketch_grid_pass
from opauc.linear.moments.sketch import SignStream
from opauc.linear.sketch_grid import SketchedGridSGD
from tests import literal
from tests.problems import problem

# More pairs than a panel has columns; the last step size diverges.
ETAS = np.repeat([0.001, 0.02, 1e9], PANEL // 2)
ALPHAS = np.tile(np.linspace(0.0, 0.3, PANEL // 2), 3)
PAIRS = {"etas": (0.001, 0.02, 1e9), "alphas": tuple(np.linspace(0.0, 0.3, PANEL // 2).tolist())}
few = pytest.mark.parametrize("pair", [0, PANEL // 2 - 1, PANEL - 1])


def csr(rows):
    return kernel_rows(sparse.csr_array(rows))


def train(run, rows, labels):
    state = GridSGD(**PAIRS).start(rows.shape[1])
    run(kernel_rows(rows) if run is dense_pass else csr(rows), labels, NO_WEIGHTS, ETAS, ALPHAS, False, state)
    return state


@few
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_columns_are_literal_iterates(pair, dtype):
    rows, labels = problem(1, 30, 5, scale=0.3)
    rows = rows.astype(dtype)
    state = train(dense_pass, rows, labels)
    assert state.race.active[0] == PANEL
    column = int(np.flatnonzero(state.race.order == pair)[0])
    expected = literal.descent(rows.astype(float), labels, ALPHAS[pair], np.full(30, ETAS[pair]))
    assert_allclose(state.weights[column // PANEL, :, column % PANEL], expected[-1], rtol=1e-9)
    assert_allclose(state.weight_sums[column // PANEL, :, column % PANEL], expected.sum(0), rtol=1e-9)


def test_sparse_rows_give_the_bits_of_dense_ones():
    rows, labels = problem(2, 30, 5, scale=0.3)
    rows[np.random.default_rng(2).random(rows.shape) < 0.5] = 0.0
    solver = GridSGD(**PAIRS)
    one, other = (solver.to_arrays(train(run, rows, labels)) for run in (dense_pass, csr_pass))
    for name, part in one.items():
        assert_array_equal(other[name], part, err_msg=name)


@few
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")  # codes are products modulo 2^64
def test_the_columns_of_a_sketched_grid_are_literal_iterates(pair):
    rows, labels = problem(3, 30, 5, scale=0.3)
    solver = SketchedGridSGD(**PAIRS, rank=3)
    state = solver.start(5)
    sketch_grid_pass(csr(rows), labels, NO_WEIGHTS, ETAS, ALPHAS, 3, state)
    assert state.race.active[0] == PANEL
    codes = SignStream(3, int(state.key[0])).sign_rows(np.arange(30))[:, :3]
    expected = literal.sketched_descent(rows, labels, codes, ALPHAS[pair], np.full(30, ETAS[pair]))
    assert_allclose(solver.candidates(state).weights[pair], expected[-1], rtol=1e-8)
