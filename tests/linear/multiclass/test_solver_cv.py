"""One penalty for several classes by cross-validation within the pass: against fits of folds of the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from opauc.linear.exact_cv import ExactCV
from opauc.linear.moments.folds import MulticlassFoldMoments
from opauc.linear.multiclass.solver import MulticlassExact
from opauc.linear.multiclass.solver_cv import MulticlassExactCV
from tests.literal import several_objective
from tests.problems import several_problem

ALPHAS = (0.01, 1.0, 30.0)


def folds_of(labels, cv, n_classes):
    """Return the fold of each row."""
    return MulticlassFoldMoments.empty(1, cv, n_classes).next_folds(labels.size) // n_classes


def trained(solver, rows, labels):
    return solver.step(solver.start(rows.shape[1]), rows, labels)


@pytest.mark.parametrize("n_classes", [3, 26])
def test_scores_are_the_held_out_pair_losses_of_weights_of_the_other_folds(n_classes):
    rows, labels = several_problem(1, 40 * n_classes, 4, n_classes)
    solver = MulticlassExactCV(n_classes, alphas=ALPHAS, standardize=False)
    selection = solver.selection(trained(solver, rows, labels))
    fold = folds_of(labels, 5, n_classes)
    assert np.bincount(fold).min() == 8 * n_classes
    for number in range(5):
        inside = fold == number
        for row, alpha in enumerate(ALPHAS):
            exact = MulticlassExact(n_classes, alpha=alpha)
            weights = exact.weights(trained(exact, rows[~inside], labels[~inside]))
            classes = np.unique(labels[inside])
            losses = [several_objective(weights[k], k, rows[inside], labels[inside], 0.0) for k in classes]
            assert_allclose(selection.scores[row, number], -np.mean(losses), rtol=1e-7)
    assert selection.alpha == ALPHAS[int(selection.scores.mean(axis=1).argmax())]


def test_the_criterion_auc_is_that_of_normal_scores():
    rows, labels = several_problem(2, 200, 3, 3)
    solver = MulticlassExactCV(3, alphas=ALPHAS, criterion="auc", standardize=False, cv=2)
    selection = solver.selection(trained(solver, rows, labels))
    fold = folds_of(labels, 2, 3)
    exact = MulticlassExact(3, alpha=ALPHAS[1])
    weights = exact.weights(trained(exact, rows[fold == 1], labels[fold == 1]))
    aucs, inside = [], (rows[fold == 0], labels[fold == 0])
    for k in range(3):
        scores = [inside[0][inside[1] == c] @ weights[k] for c in range(3)]
        aucs += [
            norm.cdf((scores[k].mean() - scores[c].mean()) / np.sqrt(scores[k].var() + scores[c].var()))
            for c in range(3)
            if c != k
        ]
    assert_allclose(selection.scores[1, 0], np.mean(aucs), rtol=1e-9)


def test_two_classes_choose_as_the_solver_of_two():
    rows, labels = several_problem(3, 300, 6, 2)
    several, two = MulticlassExactCV(2), ExactCV()
    one, other = several.selection(trained(several, rows, labels)), two.selection(trained(two, rows, labels))
    assert_allclose(one.alphas, other.alphas, rtol=1e-9)
    assert_allclose(one.scores, other.scores, rtol=1e-6)
    assert one.chosen == other.chosen


def test_weights_are_those_of_all_rows_for_the_chosen_penalty():
    rows, labels = several_problem(4, 300, 6, 4)
    solver = MulticlassExactCV(4)
    state = trained(solver, rows, labels)
    alpha = solver.selection(state).alpha
    exact = MulticlassExact(4, alpha=alpha, standardize=True)
    assert_allclose(solver.weights(state), exact.weights(trained(exact, rows, labels)), rtol=1e-7)
    assert solver.chosen_settings(state) == {"alpha": alpha}
    assert solver.solve(state).selection.alpha == alpha


def test_rows_of_a_group_are_in_one_fold_and_are_forgotten_by_it():
    rows, labels = several_problem(5, 120, 3, 3)
    groups = np.repeat(np.arange(40, dtype=np.uint64), 3)
    solver = MulticlassExactCV(3, cv=4)
    state = solver.step_groups(solver.start(3), rows, labels, groups)
    left = solver.forget_groups(state, rows[90:], labels[90:], groups[90:])
    expected = solver.step_groups(solver.start(3), rows[:90], labels[:90], groups[:90])
    for k in range(4):
        assert state.fold(k).total().count == (groups % 4 == k).sum()
        assert_allclose(left.fold(k).counts, expected.fold(k).counts, atol=1e-9)
    assert_allclose(solver.weights(left), solver.weights(expected), rtol=1e-6)
    with pytest.raises(ValueError, match="forget needs groups where rows are in folds"):
        solver.forget(state, rows, labels)


def test_rows_are_forgotten_by_their_numbers():
    rows, labels = several_problem(6, 120, 3, 3)
    solver = MulticlassExactCV(3)
    left = solver.forget(trained(solver, rows, labels), rows[100:], labels[100:], row_numbers=np.arange(100, 120))
    assert_allclose(solver.weights(left), solver.weights(trained(solver, rows[:100], labels[:100])), rtol=1e-6)


def test_without_folds_to_score_the_middle_penalty_is_taken():
    rows, labels = several_problem(7, 9, 2, 3)
    solver = MulticlassExactCV(3, cv=60)
    selection = solver.selection(trained(solver, rows, labels))
    assert selection.scores.shape == (13, 0)
    assert selection.chosen == 6


def test_the_number_of_folds_does_not_change():
    with pytest.raises(ValueError, match="cv was 5 at the start, now it is 4"):
        MulticlassExactCV(3, cv=4).step(MulticlassExactCV(3).start(1), np.ones((1, 1)), np.zeros(1, np.int8))
