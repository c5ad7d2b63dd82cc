import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import roc_auc_score

from opauc import OPAUC
from opauc.errors import StatisticsOverflowError
from opauc.linear.kernels.progressive_selection import CANDIDATES
from opauc.linear.progressive_selection import ProgressiveSelection
from tests.problems import problem

SOLVER = ProgressiveSelection()


def run(rows, labels):
    return SOLVER.step(SOLVER.start(rows.shape[1]), rows, labels)


def texts(seed, n_rows, n_features=400, positives=0.3):
    """Bags of words of Zipfian frequency; of all but the 8 commonest, half are 4 times as likely in a positive."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n_rows) < positives).astype(np.int8)
    chance = np.tile(0.5 / np.arange(1, n_features + 1), (n_rows, 1))
    chance[np.ix_(labels == 1, np.arange(8, n_features, 2))] *= 4
    return (rng.random(chance.shape) < chance).astype(float), labels


def large_units(seed, n_rows):
    """A few words a row, and before them a number of large units that says as much as they do."""
    words, labels = texts(seed, n_rows, 40)
    amount = 20.0 * (np.random.default_rng(seed).normal(size=n_rows) + labels)
    return np.column_stack([amount, words]), labels


def unit(rows):
    """The rows at length one."""
    return rows / np.maximum(1e-30, np.linalg.norm(rows, axis=1, keepdims=True))


def test_untuned_it_ranks_texts_far_better_than_chance():
    words, labels = texts(0, 6000)
    rows = sparse.csr_array(words / np.maximum(1, np.sqrt(words.sum(1, keepdims=True))))  # of unit length
    state = run(rows[:4000], labels[:4000])
    unseen = roc_auc_score(labels[4000:], rows[4000:] @ SOLVER.weights(state))
    assert unseen > 0.8  # weights from the true odds of each word: 0.91
    # The winner's progressive AUC is of rows not yet learned, by earlier weights: an estimate, and a cautious one.
    leaderboard = SOLVER.leaderboard(state)
    assert unseen - 0.1 < leaderboard.aucs[leaderboard.winner] < unseen + 0.02


def test_where_frequent_features_are_loud_and_say_nothing_a_full_scale_wins():
    words, labels = texts(1, 4000)
    words[:, :8] *= 30.0
    leaderboard = SOLVER.leaderboard(run(sparse.csr_array(words), labels))
    assert leaderboard.candidates[leaderboard.winner].power == 1.0
    unscaled = [auc for auc, candidate in zip(leaderboard.aucs, CANDIDATES, strict=True) if candidate.power == 0.0]
    assert leaderboard.aucs[leaderboard.winner] > max(unscaled) + 0.1


def test_where_loud_features_tell_the_classes_apart_and_the_rest_is_noise_no_scale_wins():
    rng = np.random.default_rng(2)
    labels = (rng.random(3000) < 0.5).astype(np.int8)
    rows = 0.03 * rng.normal(size=(3000, 60))
    rows[:, 0] = rng.normal(size=3000) + 2 * labels - 1
    leaderboard = SOLVER.leaderboard(run(unit(rows), labels))
    assert leaderboard.candidates[leaderboard.winner].power == 0.0


def test_the_leaderboard_has_the_winner_and_the_counts():
    rows, labels = texts(2, 500)
    state = run(rows, labels)
    leaderboard = SOLVER.leaderboard(state)
    assert leaderboard.counts == tuple(np.bincount(labels))
    assert leaderboard.candidates == CANDIDATES
    assert leaderboard.winner == np.argmax(leaderboard.aucs)
    assert all(0 <= auc <= 1 for auc in leaderboard.aucs)
    assert_array_equal(SOLVER.weights(state), state.scales[leaderboard.winner] * state.weights[:, leaderboard.winner])


def test_before_both_classes_are_seen_all_are_equal_and_the_weights_zero():
    for state, seen in ((SOLVER.start(3), 0), (run(np.eye(3), np.zeros(3, np.int8)), 3)):
        leaderboard = SOLVER.leaderboard(state)
        assert set(leaderboard.aucs) == {0.5}
        assert leaderboard.winner == 0
        assert_array_equal(SOLVER.weights(state), np.zeros(3))
        summary = SOLVER.summary(state, np.zeros(3))
        assert summary.counts == (seen, 0)
        assert summary.variances == (0.0, 0.0)


def test_zero_weights_give_exact_counts_and_nothing_else():
    rows, labels = problem(3, 700, 4, positives=0.1)
    summary = SOLVER.summary(run(rows, labels), np.zeros(4))
    assert summary.counts == tuple(np.bincount(labels))
    assert summary.means == summary.variances == (0.0, 0.0)


def test_the_mean_scores_are_exact_for_any_weights_where_the_winner_sees_unit_rows():
    words, labels = texts(12, 3000)
    state, weights = run(words, labels), np.random.default_rng(4).normal(size=400)
    assert SOLVER.scores_unit_rows(state)
    scores = unit(words) @ weights
    means = SOLVER.summary(state, weights).means
    assert_allclose(means, [scores[labels == k].mean() for k in (0, 1)], rtol=1e-9)


def test_the_mean_scores_are_exact_for_any_weights_where_the_winner_uses_raw_rows():
    rows, labels = large_units(4, 3000)
    state, weights = run(rows, labels), np.random.default_rng(4).normal(size=41)
    assert not SOLVER.scores_unit_rows(state)
    scores = rows @ weights
    means = SOLVER.summary(state, weights).means
    assert_allclose(means, [scores[labels == k].mean() for k in (0, 1)], rtol=1e-9)


def test_rows_of_any_length_rank_as_unit_rows_do():
    words, labels = texts(12, 3000)
    lengths = 10.0 ** np.random.default_rng(0).uniform(-3, 3, (3000, 1))
    state = run(words * lengths, labels)
    assert SOLVER.scores_unit_rows(state)
    assert_allclose(SOLVER.weights(state), SOLVER.weights(run(words, labels)), rtol=1e-9, atol=1e-12)


def test_where_a_number_of_large_units_dominates_the_length_of_rows_raw_rows_win():
    rows, labels = large_units(13, 6000)
    model, scaled = (
        OPAUC(solver="progressive_selection").fit(part[:4000], labels[:4000]) for part in (rows, unit(rows))
    )
    assert not model.selection_.candidates[model.selection_.winner].unit_rows
    assert model.score(rows[4000:], labels[4000:]) > scaled.score(unit(rows[4000:]), labels[4000:]) + 0.02


def test_the_variances_follow_the_unit_of_the_weights():
    rows, labels = problem(5, 600, 4)
    state = run(rows, labels)
    weights = SOLVER.weights(state)
    once, thrice = SOLVER.summary(state, weights), SOLVER.summary(state, 3 * weights)
    assert min(once.variances) > 0
    assert_allclose(thrice.variances, 9 * np.array(once.variances), rtol=1e-12)


def test_the_variances_are_near_those_of_rows_not_yet_seen():
    rows, labels = texts(6, 8000)
    state = run(rows[:6000], labels[:6000])
    weights = SOLVER.weights(state)
    unseen, kind = unit(rows[6000:]) @ weights, labels[6000:]
    assert SOLVER.scores_unit_rows(state)
    expected = [unseen[kind == k].var() for k in (0, 1)]
    assert_allclose(SOLVER.summary(state, weights).variances, expected, rtol=0.4)  # of 256 scores each


@pytest.mark.parametrize("size", [1e-160, 1e-150, 1e-130, 1e130, 1e145])
def test_rows_of_extreme_size_give_finite_weights(size):
    rows, labels = problem(7, 100, 3)
    state = run(rows * size, labels)
    assert all(np.isfinite(part).all() for part in state)
    assert np.isfinite(SOLVER.weights(state)).all()
    if 1e-140 < size < 1e-120 or size > 1:
        assert roc_auc_score(labels, (rows * size) @ SOLVER.weights(state)) > 0.6


@given(st.integers(0, 2**32 - 1), st.sampled_from([-320, -150, -139, -50, 0]), st.sampled_from([0, 50, 140, 148]))
def test_rows_of_any_sizes_side_by_side_give_finite_weights(seed, low, high):
    rng = np.random.default_rng(seed)
    shape = rng.integers(2, 40), rng.integers(1, 5)
    exponents = rng.choice([low, high, (low + high) / 2], shape if rng.random() < 0.5 else (shape[0], 1))
    rows = rng.choice([-1.0, 0.0, 1.0], shape) * 10.0**exponents
    labels = (rng.random(shape[0]) < rng.choice([0.1, 0.5])).astype(np.int8)
    state = run(rows, labels)
    weights = SOLVER.weights(state)
    summary = SOLVER.summary(state, weights)
    assert all(np.isfinite(part).all() for part in state)
    assert np.isfinite(summary.means).all()
    assert not np.isnan(summary.variances).any()


@pytest.mark.parametrize(("value", "said"), [(1e160, "inf"), (np.nan, "nan"), (2e150, "4e\\+300"), (-np.inf, "inf")])
@pytest.mark.parametrize("shape", [np.asarray, sparse.csr_array])
def test_rows_too_large_raise_and_the_state_is_as_before(value, said, shape):
    rows, labels = problem(8, 50, 3)
    state = run(rows, labels)
    before = [part.copy() for part in state]
    rows[20, 1] = value
    message = f"squares of the values sum to {said}, float64 has room for 1e\\+300; scale the features down"
    with pytest.raises(StatisticsOverflowError, match=message):
        SOLVER.step(state, shape(rows), labels)
    for one, other in zip(before, state, strict=True):
        assert_array_equal(one, other)


def test_float32_rows_whose_squares_overflow_float32_are_trained_on():
    rows, labels = problem(9, 200, 3)
    large = (rows * 1e30).astype(np.float32)
    weights = SOLVER.weights(run(large, labels))
    assert_allclose(weights, SOLVER.weights(run(large.astype(float), labels)), rtol=1e-12)
    assert weights.any()


def test_rows_in_any_memory_order_give_the_same_weights():
    rows, labels = problem(10, 80, 4)
    expected = SOLVER.weights(run(rows, labels))
    assert_array_equal(SOLVER.weights(run(np.asfortranarray(rows), labels)), expected)
    wide = np.repeat(rows, 2, axis=1)[:, ::2]
    assert_array_equal(SOLVER.weights(run(wide, labels)), expected)


def test_no_rows_change_nothing():
    rows, labels = problem(11, 40, 3)
    state = run(rows, labels)
    before = [part.copy() for part in state]
    after = SOLVER.step(state, np.empty((0, 3)), np.empty(0, np.int8))
    for one, other in zip(before, after, strict=True):
        assert_array_equal(one, other)
