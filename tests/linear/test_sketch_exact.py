import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.linear.exact import Exact
from opauc.linear.sketch_exact import SketchedExact
from tests.problems import problem


def dense_minimizer(state, alpha):
    """The closed form with the sketched covariances written out."""
    matrix = alpha * np.eye(state.n_features)
    for k in (0, 1):
        part = state.sums[:, k, :-1] - np.outer(state.means[k], state.sign_sums[k, :-1])
        matrix += part @ part.T / state.counts[k]
    difference = state.mean_difference()
    return np.linalg.solve(matrix + np.outer(difference, difference), difference)


@pytest.mark.parametrize("n_features", [1, 3, 40])
@pytest.mark.parametrize("rank", [0, 1, 6, 30])
def test_weights_and_path_are_the_closed_form(rank, n_features):
    rows, labels = problem(rank, 80, n_features)
    solver = SketchedExact(alpha=0.1, rank=rank)
    state = solver.step(solver.start(n_features), sparse.csr_array(rows), labels)
    alphas = [1e-6, 0.1, 10.0]
    for w, alpha in zip(solver.path(state, alphas), alphas, strict=True):
        assert_allclose(w, dense_minimizer(state, alpha), rtol=1e-5, atol=1e-8)
    assert_allclose(solver.weights(state), solver.path(state, [0.1])[0])


@pytest.mark.parametrize(("n_features", "rank"), [(3, 20), (30, 4)])
def test_without_a_ridge_it_is_the_limit_of_small_ones(n_features, rank):
    rows, labels = problem(1, 80, n_features)
    solver = SketchedExact(rank=rank)
    state = solver.step(solver.start(n_features), rows, labels)
    none, tiny = solver.path(state, [0.0, 1e-10])
    assert_allclose(none, tiny, rtol=1e-5, atol=1e-7 * np.abs(none).max())


def test_a_large_rank_approaches_the_exact_minimizer():
    rows, labels = problem(2, 2000, 5)
    exact, sketched = Exact(alpha=0.1), SketchedExact(alpha=0.1, rank=1500)
    w = exact.weights(exact.step(exact.start(5), rows, labels))
    v = sketched.weights(sketched.step(sketched.start(5), rows, labels))
    assert w @ v / np.linalg.norm(w) / np.linalg.norm(v) > 0.995


def test_weights_are_zero_until_both_classes_are_seen():
    solver = SketchedExact(rank=3)
    state = solver.step(solver.start(2), np.ones((3, 2)), np.ones(3, np.int8))
    assert not solver.weights(state).any()


def test_statistics_and_merged_states_are_not_written_into_by_later_steps():
    rows, labels = problem(3, 60, 4)
    solver = SketchedExact(rank=3)
    state = solver.step(solver.start(4), rows[:30], labels[:30])
    taken, shared = solver.statistics(state), solver.merge(solver.start(4), state)
    kept = taken.sums.copy()
    solver.step(state, rows[30:], labels[30:])
    for sketch in (taken, shared):
        assert_array_equal(sketch.sums, kept)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2.0, 10)], ids=["plain", "weighed"])
def test_undo_puts_a_state_back_to_the_bit(make, weight):
    rows, labels = problem(4, 60, 2000)
    rows[:, 20:1980] = 0.0
    solver = SketchedExact(rank=5)
    state = solver.step(solver.start(2000), make(rows[:50]), labels[:50])
    kept = state.to_arrays()
    undo = solver.rollback(state, make(rows[50:]))
    after = solver.step(state, make(rows[50:]), labels[50:], weight)
    assert (after.sums != kept["sums"]).any()
    undo.roll_back()
    for name, array in state.to_arrays().items():
        assert_array_equal(array, kept[name], err_msg=name)


def test_a_step_and_its_undo_take_memory_for_the_rows_and_not_for_the_features():
    solver = SketchedExact(rank=50)
    rng = np.random.default_rng(0)
    peaks = []
    for n_features in (20_000, 1_400_000):
        state = solver.start(n_features)
        entries = (rng.normal(size=400), (np.repeat(np.arange(20), 20), rng.permutation(n_features)[:400]))
        rows = sparse.csr_array(entries, shape=(20, n_features))
        labels = (np.arange(20) % 2).astype(np.int8)
        state = solver.step(state, rows, labels)
        tracemalloc.start()
        undo = solver.rollback(state, rows)
        solver.step(state, rows, labels)
        undo.roll_back()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0] < 2**21


def test_rows_are_forgotten_by_their_numbers():
    rows, labels = problem(5, 60, 4)
    solver = SketchedExact(rank=3)
    whole = solver.step(solver.start(4), rows, labels)
    expected = whole.forget(rows[:5], labels[:5], np.arange(5))
    assert_array_equal(solver.forget(whole, rows[:5], labels[:5], None, np.arange(5)).sums, expected.sums)
    with pytest.raises(ValueError, match="forget needs row_numbers where the model keeps a sketch, rank > 0"):
        solver.forget(whole, rows[:5], labels[:5])
