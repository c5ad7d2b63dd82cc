"""Forgetting chosen inside the pass: the statistics, the selection and the choice, each against plain NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc import OPAUC
from opauc.errors import IncompatibleMomentsError, UnsupportedOperationError
from opauc.linear.drift import BLOCK, HALF_LIFE, DriftingExact
from tests import literal
from tests.problems import problem


def turning(seed, n_rows, period, n_features=3):
    """Rows whose informative direction turns round every so many rows."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n_rows) < 0.4).astype(np.int8)
    angle = 2 * np.pi * np.arange(n_rows) / period
    rows = rng.normal(size=(n_rows, n_features))
    rows[:, 0] += 1.5 * labels * np.cos(angle)
    rows[:, 1] += 1.5 * labels * np.sin(angle)
    return rows, labels


def train(solver, rows, labels, weight=None):
    return solver.step(solver.start(rows.shape[1]), rows, labels, weight)


def block_weights(n_rows, forgetting_factor):
    """What each row still weighs: it fades from block to block, and by the rows of the block begun."""
    whole = n_rows // BLOCK * BLOCK
    ages = np.where(np.arange(n_rows) < whole, (whole - BLOCK - np.arange(n_rows) // BLOCK * BLOCK) + n_rows - whole, 0)
    return float(forgetting_factor) ** ages


@given(st.integers(0, 2**32 - 1), st.integers(2, 700), st.sampled_from([1.0, 0.999, 0.98]))
def test_statistics_are_those_of_rows_that_decay_from_block_to_block(seed, n_rows, forgetting_factor):
    rows, labels = problem(seed, n_rows, 3, offset=4.0)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, n_rows)
    solver = DriftingExact(forgetting_factors=(forgetting_factor,))
    found = solver.statistics(train(solver, rows, labels, weight))
    faded = weight * block_weights(n_rows, forgetting_factor)
    for k, one in enumerate(found.groups):
        assert_allclose(one.count, faded[labels == k].sum(), rtol=1e-9)
        assert_allclose(
            one.covariance(), literal.covariance(rows[labels == k], faded[labels == k]), rtol=1e-6, atol=1e-9
        )


def test_without_forgetting_it_is_the_exact_minimizer():
    rows, labels = problem(1, 1000, 4)
    solver = DriftingExact(alpha=0.1)
    state = train(solver, rows, labels)
    assert solver.leaderboard(state).chosen == 0
    assert_allclose(solver.weights(state), literal.minimizer(rows, labels, 0.1), rtol=1e-8)


def test_each_block_is_scored_by_weights_from_before_it():
    """The sums against a plain loop: weights anew every `horizon` rows, pairs within blocks, older blocks faded."""
    rows, labels = turning(0, 6 * BLOCK + 40, 900)
    solver = DriftingExact(alpha=0.1, forgetting_factors=(1.0, 0.98), horizon=2 * BLOCK)
    state = train(solver, rows, labels)
    sums, pairs, weights, solved = np.zeros((2, 3)), 0.0, None, 0
    for end in range(BLOCK, 6 * BLOCK + 1, BLOCK):
        block = slice(end - BLOCK, end)
        if weights is not None:
            s, y = rows[block] @ weights.T, labels[block]
            above = s[y == 1][:, None] - s[y == 0][None]
            wins = ((above > 0) + 0.5 * (above == 0)).sum((0, 1))
            fading, gain = 0.5 ** (BLOCK / HALF_LIFE), wins - wins[0]
            sums = sums * [fading, fading, fading**2] + np.column_stack([wins, gain, gain**2])
            pairs = pairs * fading + above.shape[0] * above.shape[1]
        if weights is None or end - solved >= 2 * BLOCK:
            weights, solved = np.array([decayed_minimizer(rows[:end], labels[:end], f, 0.1) for f in (1.0, 0.98)]), end
    assert_allclose(state.sums, sums, rtol=1e-8)
    assert_allclose(state.pairs, pairs)
    assert solver.leaderboard(state).aucs == pytest.approx(tuple(sums[:, 0] / pairs))


def decayed_minimizer(rows, labels, forgetting_factor, alpha):
    weight = block_weights(len(labels), forgetting_factor)
    S = sum(literal.covariance(rows[labels == k], weight[labels == k]) for k in (0, 1))
    d = np.average(rows[labels == 1], 0, weight[labels == 1]) - np.average(rows[labels == 0], 0, weight[labels == 0])
    return np.linalg.solve(alpha * np.eye(d.size) + S + np.outer(d, d), d)


@pytest.mark.parametrize(("period", "wanted"), [(1e12, 1.0), (50_000, 0.999), (3_000, 0.99)])
def test_the_faster_the_stream_turns_the_faster_it_forgets(period, wanted):
    rows, labels = turning(3, 12_000, period, n_features=16)
    solver = DriftingExact(horizon=BLOCK)
    assert solver.leaderboard(train(solver, rows, labels)).forgetting_factor == wanted


@pytest.mark.parametrize("seed", range(8))
def test_a_stream_that_does_not_turn_keeps_all_its_rows(seed):
    rows, labels = problem(seed, 8000, 5)
    solver = DriftingExact(horizon=500)
    state = train(solver, rows, labels)
    assert solver.leaderboard(state).forgetting_factor == 1.0
    assert solver.counts(state) == ((labels == 0).sum(), (labels == 1).sum())


def test_the_farther_ahead_rows_are_ranked_the_slower_it_forgets():
    """Part of the signal stays and part turns fast: far ahead, only what stays is of use."""
    rows, labels = turning(4, 30_000, 1_000, n_features=8)
    rows[:, 2] += 0.7 * labels
    near, far = (DriftingExact(horizon=horizon) for horizon in (BLOCK, 4000))
    assert near.leaderboard(train(near, rows, labels)).forgetting_factor == 0.99
    assert far.leaderboard(train(far, rows, labels)).forgetting_factor >= 0.9999


def test_a_class_that_no_longer_occurs_decays_but_stays():
    rows, labels = problem(5, 40_000, 2)
    labels[300:] = 0
    solver = DriftingExact(forgetting_factors=(0.5,), horizon=10**6)
    state = train(solver, rows, labels)
    assert solver.counts(state).both
    assert np.isfinite(solver.weights(state)).all()


def test_the_estimator_says_what_was_chosen_and_ranks_the_next_rows_better():
    rows, labels = turning(6, 20_000, 5_000)
    fading, keeping = (OPAUC(forgetting_factor=f, horizon=200).fit(rows[:-200], labels[:-200]) for f in ("auto", 1.0))
    assert fading.forgetting_factor_ < 1.0 == keeping.forgetting_factor_
    assert fading.score(rows[-200:], labels[-200:]) > keeping.score(rows[-200:], labels[-200:]) + 0.1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"forgetting_factor": "auto", "solver": "sgd"},
            "forgetting_factor='auto' needs solver='exact'; here the solver is 'sgd'",
        ),
        (
            {"forgetting_factor": "auto", "rank": 5, "solver": "exact"},
            "forgetting_factor=auto needs full covariance, rank=None",
        ),
        ({"forgetting_factor": "fast"}, "'forgetting_factor' parameter of OPAUC must be"),
        ({"horizon": 0}, r"'horizon' parameter of OPAUC must be an int in the range \[1, inf\). Got 0"),
    ],
)
def test_bad_settings_raise_with_their_name(settings, message):
    rows, labels = problem(7)
    with pytest.raises(ValueError, match=message):
        OPAUC(**settings).fit(rows, labels)


def test_what_depends_on_the_order_cannot_be_merged_or_forgotten():
    rows, labels = problem(8, 300, 3)
    model = OPAUC(forgetting_factor="auto").fit(rows, labels)
    for call in (lambda: model.merge(model), lambda: model.forget(rows[:2], labels[:2]), lambda: model.path([1.0])):
        with pytest.raises(UnsupportedOperationError, match="needs a given forgetting_factor"):
            call()


def test_a_state_that_cannot_be_raises():
    solver = DriftingExact()
    arrays = {name: array.copy() for name, array in solver.to_arrays(solver.start(2)).items()}
    for name, value in (("filled", BLOCK), ("labels", 2), ("counts", -1.0)):
        wrong = arrays | {name: np.full_like(arrays[name], value)}
        with pytest.raises(IncompatibleMomentsError, match="expected"):
            solver.from_arrays(2, wrong)


def test_chunks_of_any_size_give_the_same_bits():
    rows, labels = turning(9, 1500, 700)
    solver = DriftingExact(horizon=BLOCK)
    state = solver.start(3)
    for part in np.split(np.arange(1500), [1, 127, 128, 129, 700]):
        state = solver.step(state, rows[part], labels[part])
    for one, other in zip(state, train(solver, rows, labels), strict=True):
        assert_array_equal(one, other)
