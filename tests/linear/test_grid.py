import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.errors import DivergedError, DivergenceWarning, StatisticsOverflowError
from opauc.linear.grid import PAPER_ALPHAS, PAPER_ETAS, GridSGD
from opauc.linear.kernels.grid import BEYOND
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.sgd import SGD
from tests import literal
from tests.problems import problem

ETAS, ALPHAS = (1e-4, 0.003, 0.02, 0.1), (0.0, 0.01, 0.3)
# Some of these diverge on rows of size one, at different rows.
WILD = (1e-3, 0.01, 0.05, 0.4, 2.0, 30.0, 1e3)


def run(solver, rows, labels, weight=None, at=()):
    state = solver.start(rows.shape[1])
    for part in np.split(np.arange(labels.size), at):
        state = solver.step(state, rows[part], labels[part], None if weight is None else weight[part])
    return state


def alone(eta, alpha, average, rows, labels, weight=None):
    """Weights of SGD with this pair, None where it diverges."""
    solver = SGD(alpha, eta, "constant", average)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        try:
            weights = solver.weights(solver.step(solver.start(rows.shape[1]), rows, labels, weight))
        except DivergedError:
            return None
    return weights if np.abs(rows @ weights).max() <= BEYOND else None


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("n_features", [1, 3, 30, 101])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_every_pair_moves_as_sgd_does_alone(average, n_features, form):
    rows, labels = problem(n_features, 150, n_features, positives=0.2, scale=0.7 / n_features, offset=0.1)
    weight = np.random.default_rng(0).uniform(0.3, 2.0, 150)
    solver = GridSGD(ETAS, ALPHAS, average)
    for given_weight in (None, weight):
        found = solver.candidates(run(solver, form(rows), labels, given_weight))
        assert not found.diverged.any()
        for eta, alpha, weights in zip(found.etas, found.alphas, found.weights, strict=True):
            assert_allclose(weights, alone(eta, alpha, average, rows, labels, given_weight), rtol=1e-10, atol=1e-14)


def test_iterates_are_the_literal_ones():
    rows, labels = problem(4, 90, 4, scale=0.4)
    state = run(GridSGD(ETAS, ALPHAS), rows, labels)
    last = GridSGD(ETAS, ALPHAS, average=False).candidates(state)
    mean = GridSGD(ETAS, ALPHAS, average=True).candidates(state)
    for pair, (eta, alpha) in enumerate(zip(last.etas, last.alphas, strict=True)):
        iterates = literal.descent(rows, labels, alpha, np.full(90, eta))
        assert_allclose(last.weights[pair], iterates[-1], rtol=1e-9)
        assert_allclose(mean.weights[pair], iterates[1:].mean(0), rtol=1e-9)  # the first row is of one class


def test_pairs_are_numbered_by_step_size_then_by_penalty():
    found = GridSGD(ETAS, ALPHAS).candidates(GridSGD(ETAS, ALPHAS).start(2))
    assert list(zip(found.etas, found.alphas, strict=True)) == [(eta, alpha) for eta in ETAS for alpha in ALPHAS]
    paper = GridSGD().candidates(GridSGD().start(2))
    assert paper.weights.shape == (299, 2)
    assert (len(PAPER_ETAS), len(PAPER_ALPHAS)) == (23, 13)
    assert (PAPER_ETAS[0], PAPER_ETAS[-1], PAPER_ALPHAS[0], PAPER_ALPHAS[-1]) == (2**-12, 2**10, 2**-10, 2**2)


def literal_aucs(rows, labels, weight, etas, alphas, average):
    """The progressive AUC of each pair, from iterates worked out for each alone; zero where one is beyond bounds."""
    first = np.flatnonzero(labels != labels[0])[0]  # no step before both classes are there
    shares = np.maximum(1, np.arange(labels.size) - first)[:, None]
    moments, found = list(literal.opposite_moments(rows, labels, weight)), []
    gaps = np.array([x - known[0] if known else x for x, known in zip(rows, moments, strict=True)])
    for eta, alpha in zip(etas, alphas, strict=True):
        with np.errstate(all="ignore"):
            iterates = literal.descent(rows, labels, alpha, np.full(labels.size, eta), weight, moments)
            before = np.vstack([np.zeros(rows.shape[1]), iterates[:-1]])
            judged = np.cumsum(before, axis=0) / shares if average else before
            scores, misses = np.einsum("ij,ij->i", judged, rows), np.einsum("ij,ij->i", before, gaps)
            finite = np.isfinite(iterates[-1]).all() and (np.abs(misses) <= BEYOND).all()
            found.append(scores if finite else np.full(labels.size, np.nan))
    return np.nan_to_num(literal.progressive_auc(np.stack(found, axis=1), labels, weight))


@given(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([0.03, 0.5, 0.9]), st.booleans())
def test_the_progressive_auc_and_the_choice_are_those_of_each_pair_alone(seed, average, positives, weighted):
    rows, labels = problem(seed, 260, 3, positives)
    weight = np.random.default_rng(seed).uniform(0.2, 3.0, 260) if weighted else np.ones(260)
    solver = GridSGD(WILD, ALPHAS, average)
    found = solver.selection(run(solver, rows, labels, weight if weighted else None))
    expected = literal_aucs(rows, labels, weight, found.etas, found.alphas, average)
    assert_allclose(found.aucs, expected, rtol=1e-9)
    assert found.winner == np.argmax(expected)
    assert (found.eta, found.alpha) == (found.etas[found.winner], found.alphas[found.winner])


def test_the_choice_on_rows_held_out_is_that_of_training_each_pair_alone():
    rows, labels = problem(8, 1500, 6, positives=0.3)
    held, kind = rows[1000:], labels[1000:]
    solver = GridSGD(WILD, ALPHAS, average=False)
    found = solver.candidates(run(solver, rows[:1000], labels[:1000]))
    expected = [alone(eta, alpha, False, rows[:1000], labels[:1000]) for eta, alpha in zip(*found[:2], strict=True)]
    assert_array_equal(found.diverged, [weights is None for weights in expected])
    assert 3 < found.diverged.sum() < found.diverged.size

    def auc(weights):
        scores = held @ weights
        return (scores[kind == 1][:, None] > scores[kind == 0]).mean()

    alike = [0.0 if weights is None else auc(weights) for weights in expected]
    together = np.where(found.diverged, 0.0, [auc(weights) for weights in found.weights])
    assert np.argmax(together) == np.argmax(alike)
    assert_allclose(together, alike, atol=1e-4)


def test_pairs_that_leave_change_nothing_for_those_that_stay():
    rows, labels = problem(3, 400, 5)
    with_wild, without = GridSGD(WILD, ALPHAS), GridSGD(WILD[:2], ALPHAS)
    one, other = run(with_wild, rows, labels), run(without, rows, labels)
    assert one.race.active[0] < 21
    assert other.race.active[0] == 6
    assert_array_equal(with_wild.candidates(one).weights[:6], without.candidates(other).weights)
    assert_array_equal(with_wild.selection(one).aucs[:6], without.selection(other).aucs)


def test_what_has_left_holds_nothing_and_counts_as_the_worst():
    rows, labels = problem(3, 400, 5)
    solver = GridSGD(WILD, ALPHAS)
    state = run(solver, rows, labels)
    found = solver.candidates(state)
    assert found.diverged.any()
    assert not found.weights[found.diverged].any()
    assert not solver.selection(state).aucs[found.diverged].any()
    assert all(np.isfinite(part).all() for part in solver.to_arrays(state).values())
    assert_array_equal(np.sort(state.race.order), np.arange(21))


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 119), max_size=4).map(lambda at: sorted(set(at))))
def test_any_cut_of_the_rows_gives_the_same_bits_however_many_pairs_leave(seed, at):
    rows, labels = problem(seed, 120, 4, scale=3.0)
    solver = GridSGD(WILD, ALPHAS)
    whole, cut = (solver.to_arrays(run(solver, rows, labels, at=places)) for places in ((), at))
    for name, part in whole.items():
        assert_array_equal(cut[name], part, err_msg=name)


@pytest.mark.parametrize("size", [1e30, 1e95])
def test_where_every_pair_diverges_the_weights_are_zero_and_the_state_finite(size):
    rows, labels = problem(5, 50, 3, scale=size)
    solver = GridSGD()
    with pytest.warns(DivergenceWarning, match=r"all etas, from 0\.000244 on, are too large"):
        state = run(solver, rows, labels)
    state = solver.step(state, rows, labels)  # said once
    assert solver.candidates(state).diverged.all()
    assert not solver.weights(state).any()
    assert all(np.isfinite(part).all() for part in solver.to_arrays(state).values())
    with pytest.raises(StatisticsOverflowError, match="scale the features down"):
        solver.step(state, rows / size * 1e120, labels)


def test_statistics_are_those_of_the_rows():
    rows, labels = problem(4, 101, 7, offset=4.0)
    weight = np.random.default_rng(4).gamma(0.5, size=101)
    solver = GridSGD((1e-9,), (0.0,))
    got = solver.statistics(run(solver, rows, labels, weight))
    expected = ClassMoments.of(rows, labels, weight)
    for one, other in ((got.negative, expected.negative), (got.positive, expected.positive)):
        assert_allclose(one.count, other.count, rtol=1e-10)
        assert_allclose(one.mean, other.mean, rtol=1e-10)
        assert_allclose(one.scatter, other.scatter, rtol=1e-8, atol=1e-10)


def test_the_settings_chosen_are_those_of_the_winner():
    rows, labels = problem(6, 200, 2)
    solver = GridSGD(ETAS, ALPHAS)
    state = run(solver, rows, labels)
    chosen = solver.chosen_settings(state)
    alone = SGD(chosen["alpha"], chosen["eta0"], "constant")
    assert_allclose(solver.weights(state), alone.weights(alone.step(alone.start(2), rows, labels)), rtol=1e-10)


def test_a_grid_of_another_size_raises_in_mid_stream():
    rows, labels = problem(6, 30, 2)
    state = run(GridSGD(ETAS, ALPHAS), rows, labels)
    with pytest.raises(ValueError, match="made 12 pairs at the start, now they make 4"):
        GridSGD(ETAS, (0.1,)).step(state, rows, labels)
