"""Cross-validation from statistics is cross-validation by rows, and one pass is enough."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import roc_auc_score

from opauc.linear.exact_cv import GRID, ExactCV
from opauc.linear.moments.folds import FoldMoments, _fold_table
from tests import literal
from tests.problems import cuts, problem


def train(solver, rows, labels, weight=None):
    return solver.step(solver.start(rows.shape[1]), rows, labels, weight)


def folds_of(n_rows, n_folds):
    return np.resize(_fold_table(n_folds) // 2, n_rows)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("criterion", ["pair_loss", "auc"])
@given(seed=st.integers(0, 2**32 - 1))
def test_scores_are_those_of_cross_validation_by_rows(standardize, criterion, seed):
    rows, labels = problem(seed, 120, 4, offset=3.0)
    solver = ExactCV(alphas=(1e-3, 0.1, 5.0), cv=3, standardize=standardize, criterion=criterion)
    found = solver.selection(train(solver, rows, labels))
    wanted = literal.cross_validation_scores(rows, labels, folds_of(120, 3), found.alphas, standardize, criterion)
    assert_allclose(found.scores, wanted, rtol=1e-6, atol=1e-9)
    assert wanted.mean(1)[found.chosen] >= wanted.mean(1).max() - 1e-9


def test_one_standard_error_takes_the_largest_penalty_that_is_not_clearly_worse():
    rows, labels = problem(1, 60, 6, positives=0.5)
    plain, careful = (ExactCV(one_standard_error=rule) for rule in (False, True))
    found = careful.selection(train(careful, rows, labels))
    means = found.scores.mean(1)
    best = means.argmax()
    error = found.scores[best].std(ddof=1) / np.sqrt(5)
    assert found.alpha == found.alphas[means >= means[best] - error].max()
    assert found.alpha > plain.selection(train(plain, rows, labels)).alpha


@given(st.integers(0, 2**32 - 1), cuts(80), st.integers(2, 9))
def test_folds_do_not_depend_on_how_the_stream_was_cut(seed, at, n_folds):
    rows, labels = problem(seed, 80, 3)
    whole, cut = FoldMoments.empty(3, n_folds).update(rows, labels), FoldMoments.empty(3, n_folds)
    for part in np.split(np.arange(80), at):
        cut = cut.update(rows[part], labels[part])
    for k in range(n_folds):
        assert_array_equal(cut.fold(k).counts, whole.fold(k).counts)
        assert_allclose(cut.fold(k).positive.mean, whole.fold(k).positive.mean, atol=1e-9)


def test_numbers_go_on_beyond_the_table_of_folds():
    rows, labels = np.ones((200_000, 1)), (np.arange(200_000) % 2).astype(np.int8)
    state = FoldMoments.empty(1, 5).update(rows[:150_001], labels[:150_001]).update(rows[150_001:], labels[150_001:])
    fold = folds_of(200_000, 5)
    for k in range(5):
        assert_array_equal(state.fold(k).counts, [((fold == k) & (labels == c)).sum() for c in (0, 1)])
    assert np.bincount(fold).tolist() == [40_000] * 5


def test_a_pattern_in_the_rows_does_not_keep_step_with_the_folds():
    state = FoldMoments.empty(1, 5).update(np.ones((50_000, 1)), (np.arange(50_000) % 5 == 0).astype(np.int8))
    shares = [state.fold(k).counts.positive for k in range(5)]
    assert min(shares) > 1800


def test_rows_are_forgotten_by_their_numbers_and_shards_merge_fold_by_fold():
    rows, labels = problem(2, 300, 4)
    solver = ExactCV()
    state = train(solver, rows, labels)
    left = solver.forget(state, rows[100:150], labels[100:150], row_numbers=np.arange(100, 150))
    kept = np.r_[0:100, 150:300]
    fold = folds_of(300, 5)
    for k in range(5):
        inside = kept[fold[kept] == k]
        assert_allclose(left.fold(k).negative.mean, rows[inside][labels[inside] == 0].mean(0), rtol=1e-8)
    with pytest.raises(ValueError, match="forget needs row_numbers where rows are in folds"):
        solver.forget(state, rows[:3], labels[:3])
    one, other = train(solver, rows[:150], labels[:150]), train(solver, rows[150:], labels[150:])
    assert_allclose(solver.merge(one, other).whole().covariance_sum(), state.whole().covariance_sum(), rtol=1e-9)


def test_features_of_any_units_give_the_same_scores_when_they_are_standardized():
    rows, labels = problem(3, 400, 5)
    units = np.array([1e-6, 1.0, 1e4, 1e-3, 1e8])
    solver = ExactCV()
    plain, scaled = train(solver, rows, labels), train(solver, rows * units, labels)
    assert_allclose(solver.selection(scaled).alpha, solver.selection(plain).alpha)
    assert_allclose(solver.weights(scaled) * units, solver.weights(plain), rtol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("change", ["constant", "doubled", "all equal"])
def test_singular_covariances_are_no_obstacle(form, change):
    rows, labels = problem(4, 200, 4)
    if change == "constant":
        rows[:, 3] = 7.0
    elif change == "doubled":
        rows[:, 3] = rows[:, 0]
    else:
        rows[:] = 1.0
    solver = ExactCV()
    weights = solver.weights(train(solver, form(rows), labels))
    assert np.isfinite(weights).all()
    assert weights.any() == (change != "all equal")


def test_too_few_rows_to_score_give_the_middle_of_the_grid():
    solver = ExactCV(cv=5)
    found = solver.selection(train(solver, np.array([[0.0], [1.0]]), np.array([0, 1], np.int8)))
    assert found.scores.size == 0
    assert found.chosen == GRID.size // 2


@pytest.mark.parametrize(("criterion", "near"), [("auc", 0.01), ("pair_loss", 0.025)])
def test_the_choice_ranks_new_rows_well(criterion, near):
    """A pair loss minds that a large ridge shrinks the scores, an AUC does not: here it chooses better."""
    rng = np.random.default_rng(5)
    labels = (rng.random(20_300) < 0.3).astype(np.int8)
    rows = rng.normal(size=(20_300, 150))
    rows[:, :3] += labels[:, None]
    solver = ExactCV(criterion=criterion)
    state = train(solver, rows[:300], labels[:300])  # half as many features as rows: a ridge is needed
    new, truth = rows[300:], labels[300:]
    aucs = [roc_auc_score(truth, new @ weights) for weights in solver.path(state, solver.selection(state).alphas)]
    chosen = roc_auc_score(truth, new @ solver.weights(state))
    assert chosen > max(aucs) - near
    assert chosen > aucs[0] + 0.02
