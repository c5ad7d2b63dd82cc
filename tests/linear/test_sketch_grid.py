import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.errors import DivergedError, DivergenceWarning
from opauc.linear.kernels.grid import BEYOND
from opauc.linear.moments.sketch import ClassSketch, SignStream
from opauc.linear.sketch_grid import SketchedGridSGD
from opauc.linear.sketch_sgd import SketchedSGD
from tests import literal
from tests.problems import problem

ETAS = 0.001, 0.02, 0.1, 0.25
# With these steps a penalty shrinks the weights slowly, fast, to nothing at once, and through zero to the other side.
ALPHAS = 0.0, 0.01, 2.0, 4.0, 6.0
WILD = 0.01, 0.1, 2.0, 50.0, 1e4


def texts(seed, n_rows=300, n_features=40, per_row=5):
    """Sparse rows, most features rare, with a signal in the frequent ones."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n_rows) < 0.4).astype(np.int8)
    labels[:2] = 0, 1
    rows = rng.normal(size=(n_rows, n_features)) * (rng.random((n_rows, n_features)) < per_row / n_features)
    rows[:, 0] += labels
    return 0.5 * rows, labels


def run(solver, rows, labels, weight=None, at=()):
    state = solver.start(rows.shape[1])
    for part in np.split(np.arange(labels.size), at):
        state = solver.step(state, rows[part], labels[part], None if weight is None else weight[part])
    return state


def alone(eta, alpha, rank, rows, labels, weight=None):
    """Weights of SketchedSGD with this pair, None where it diverges."""
    solver = SketchedSGD(alpha, eta, "constant", average=False, rank=rank)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        try:
            weights = solver.weights(solver.step(solver.start(rows.shape[1]), rows, labels, weight))
        except DivergedError:
            return None
    return weights if np.abs(rows @ weights).max() <= BEYOND else None


@pytest.mark.parametrize("rank", [0, 1, 9])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_every_pair_moves_as_opaucr_does_alone(rank, form):
    rows, labels = texts(rank)
    for weight in (None, np.random.default_rng(1).uniform(0.5, 1.5, 300)):
        solver = SketchedGridSGD(ETAS, ALPHAS, rank)
        found = solver.candidates(run(solver, form(rows), labels, weight))
        assert not found.diverged.any()
        for eta, alpha, weights in zip(found.etas, found.alphas, found.weights, strict=True):
            expected = alone(eta, alpha, rank, rows, labels, weight)
            assert_allclose(weights, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


def test_features_absent_for_long_decay_by_the_penalty():
    """Their weights shrink by 0.4 a row: after a few hundred rows that is beyond all numbers, whatever v holds."""
    rows, labels = texts(3, 900)
    rows[50:400, 20:] = rows[450:, 30:] = 0.0
    solver = SketchedGridSGD((0.1,), (4.0, 6.0, 10.0), rank=4)
    found = solver.candidates(run(solver, sparse.csr_array(rows), labels))
    for alpha, weights in zip(found.alphas, found.weights, strict=True):
        assert_allclose(weights, alone(0.1, alpha, 4, rows, labels), rtol=1e-9, atol=1e-14)
    assert (np.abs(found.weights[:, :20]) > 0.0).all()


def test_iterates_are_the_literal_ones():
    rows, labels = problem(4, 60, 4, scale=0.4)
    solver = SketchedGridSGD(ETAS, ALPHAS[:3], rank=5)
    state = run(solver, rows, labels)
    codes = SignStream(5, int(state.key[0])).sign_rows(np.arange(60))[:, :5]
    found = solver.candidates(state)
    for pair, (eta, alpha) in enumerate(zip(found.etas, found.alphas, strict=True)):
        iterates = literal.sketched_descent(rows, labels, codes, alpha, np.full(60, eta))
        assert_allclose(found.weights[pair], iterates[-1], rtol=1e-8, atol=1e-12)
        scores = np.einsum("ij,ij->i", np.vstack([np.zeros(4), iterates[:-1]]), rows)
        expected = literal.progressive_auc(scores, labels, np.ones(60))
        assert_allclose(solver.selection(state).aucs[pair], expected, rtol=1e-9)


def test_pairs_that_leave_change_nothing_for_those_that_stay_and_hold_nothing():
    rows, labels = texts(5)
    with_wild, without = SketchedGridSGD(WILD, ALPHAS[:2], 3), SketchedGridSGD(WILD[:2], ALPHAS[:2], 3)
    one, other = run(with_wild, rows, labels), run(without, rows, labels)
    found, stay = with_wild.candidates(one), without.candidates(other)
    expected = [alone(eta, alpha, 3, rows, labels) is None for eta, alpha in zip(*found[:2], strict=True)]
    assert_array_equal(found.diverged, expected)
    assert 4 <= found.diverged.sum() <= 6
    assert_array_equal(found.weights[:4], stay.weights)
    assert_array_equal(with_wild.selection(one).aucs[:4], without.selection(other).aucs)
    assert not found.weights[found.diverged].any()
    assert not with_wild.selection(one).aucs[found.diverged].any()
    assert all(np.isfinite(part).all() for part in with_wild.to_arrays(one).values())


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 119), max_size=4).map(lambda at: sorted(set(at))))
def test_any_cut_of_the_rows_gives_the_same_bits_however_many_pairs_leave(seed, at):
    rows, labels = texts(seed, 120, 10)
    solver = SketchedGridSGD(WILD, ALPHAS, 2)
    whole, cut = (solver.to_arrays(run(solver, sparse.csr_array(rows), labels, at=places)) for places in ((), at))
    for name, part in whole.items():
        assert_array_equal(cut[name], part, err_msg=name)


def test_where_every_pair_diverges_a_warning_is_issued_and_the_weights_are_zero():
    rows, labels = texts(6)
    solver = SketchedGridSGD(rank=2)
    with pytest.warns(DivergenceWarning, match=r"all etas, from 0\.000244 on, are too large"):
        state = run(solver, 1e9 * rows, labels)
    assert solver.candidates(state).diverged.all()
    assert not solver.weights(state).any()


def test_statistics_are_those_of_the_rows():
    rows, labels = texts(7)
    weight = np.random.default_rng(7).gamma(0.5, size=300)
    solver = SketchedGridSGD((1e-9,), (0.0,), 6)
    state = run(solver, rows, labels, weight)
    got = solver.statistics(state)
    expected = ClassSketch.empty(40, SignStream(6, int(state.key[0]))).update(sparse.csr_array(rows), labels, weight)
    assert_allclose(got.sums, expected.sums, rtol=1e-9, atol=1e-12)
    assert_allclose(got.sign_sums, expected.sign_sums, rtol=1e-9)
    assert got.n_rows == expected.n_rows


def test_a_sketch_of_another_rank_raises():
    solver = SketchedGridSGD(ETAS, ALPHAS, 9)
    with pytest.raises(ValueError, match=r"sign_sums: expected shape \(2, 24\) of rank 20"):
        SketchedGridSGD(ETAS, ALPHAS, 20).from_arrays(3, solver.to_arrays(solver.start(3)))
