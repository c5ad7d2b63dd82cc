"""A setting chosen from many learned together is the one chosen from each learned alone."""

import warnings

import numpy as np
import pytest
from experiments.paper.catalogue import Catalogue
from experiments.paper.column import Context, settings_of
from experiments.paper.data_set import BENCHMARK, HIGH_DIMENSION, Shape, Task
from experiments.paper.families import unweighted_square_family
from experiments.paper.plan import Work, planned
from experiments.paper.protocol import PROFILES, RELUCTANT, RULES, Thinning, estimated_seconds, thinned
from experiments.paper.trial import ordered, part_of, selection_rows, tuned_method
from experiments.splits import Split, TunedMethod, compare_on_splits, stratified_folds
from scipy import sparse
from sklearn.linear_model import Ridge

from opauc.baselines.fsauc import FSAUCSolver
from opauc.metrics import FittedMethod, exact_auc

COLUMNS = Catalogue().columns()
TOGETHER = [
    name for name, column in COLUMNS.items() if column.family is not None and column.row_map is None and column.grid
]
# Planes stop within a share of the loss, so that weights depend on where they started.
APPROXIMATE = ["SVM-perf", "batch SVM-OR"]
MAPPED = [name for name, column in COLUMNS.items() if column.row_map is not None]


def problem(n_rows=160, n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = (rng.random(n_rows) < 0.4).astype(np.int8)
    return rng.uniform(-1, 1, size=(n_rows, n_features)) + 0.4 * labels[:, None] * rng.normal(size=n_features), labels


def grid_of(column):
    """Every third value, with steps far too large among them."""
    return settings_of({name: values[::3] for name, values in column.grid.items()})


def wide_problem(seed):
    """Sparse rows of length one, of more features than a sketch is wide."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(160) < 0.4).astype(np.int8)
    rows = np.where(rng.random((160, 80)) < 0.2 + 0.3 * labels[:, None] * rng.random(80), rng.random((160, 80)), 0.0)
    return sparse.csr_array(rows / np.linalg.norm(rows, axis=1)[:, None]), labels


def evaluate_both_ways(name, seed):
    """AUCs (settings x folds) of a column's settings learned together and each alone, and what is chosen either way."""
    column = COLUMNS[name]
    rows, labels = problem(seed=seed) if BENCHMARK in column.suites else wide_problem(seed)
    together = tuned_method(column, grid_of(column), Context(BENCHMARK, 0))
    alone = TunedMethod(name, together.candidates, together.folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        aucs = [one.evaluate(one.candidates, rows, labels, one.folds(labels)).aucs for one in (together, alone)]
        return *aucs, together.best_candidate(rows, labels), alone.best_candidate(rows, labels)


@pytest.mark.parametrize("name", [name for name in TOGETHER if name not in APPROXIMATE])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_choice_of_a_family_is_that_of_each_alone(name, seed):
    together, alone, choice, its_choice = evaluate_both_ways(name, seed)
    assert choice == its_choice
    steps = np.array([setting.get("eta0", 0.0) for setting in grid_of(COLUMNS[name])])
    # Beyond a step of one rounding grows with the weights, and those that are certain to overflow leave early.
    small = steps <= 1.0
    np.testing.assert_allclose(together[small], alone[small], atol=1e-12)
    assert np.isfinite(together[small]).all()
    assert name not in ("OPAUC", "OPAUC averaged", "OPAUCr") or np.isnan(together[~small]).any()


@pytest.mark.parametrize("name", APPROXIMATE)
@pytest.mark.parametrize("seed", [0, 1])
def test_solvers_that_stop_at_a_tolerance_choose_as_well_together_as_alone(name, seed):
    together, alone, choice, its_choice = evaluate_both_ways(name, seed)
    np.testing.assert_allclose(together.mean(axis=1), alone.mean(axis=1), atol=0.005)
    assert alone.mean(axis=1)[choice] > alone.mean(axis=1)[its_choice] - 0.005


def test_settings_that_diverge_are_known_as_such_by_the_family():
    column, (rows, labels) = COLUMNS["OPAUC"], problem()
    settings = settings_of({"eta0": (1e-3, 1024.0), "alpha": (1.0,)})
    found = list(column.family(settings, rows, labels, Context(BENCHMARK, 0)))
    assert found[0] is not None
    assert found[1] is None


@pytest.mark.parametrize("name", MAPPED)
def test_a_setting_is_chosen_on_mapped_rows(name):
    column, (rows, labels) = COLUMNS[name], problem(n_features=30)
    context = Context(HIGH_DIMENSION, 0)
    mapped = column.row_map(sparse.csr_array(rows), context)
    assert mapped.shape[0] == labels.size
    settings = settings_of({"eta0": (1e-4, 1e-2), "alpha": (1e-3,)})
    evaluate = column.evaluator(settings, context)
    splits = list(stratified_folds(labels))
    found = evaluate([], sparse.csr_array(rows), labels, splits)
    for at, split in enumerate(splits):
        weights = list(column.family(settings, mapped[split.train], labels[split.train], context))
        scores = mapped[split.held_out] @ weights[0]
        assert found.aucs[0, at] == exact_auc(labels[split.held_out], scores)


def test_a_choice_uses_the_evaluator_it_is_given():
    rows, labels = problem()
    candidates = [FittedMethod(f"feature {j}", lambda *_, j=j: lambda rows: rows[:, j]) for j in range(3)]

    def last_is_best(methods, rows, labels, splits):
        found = compare_on_splits(methods, rows, labels, splits)
        found.aucs[-1] = 2.0
        return found

    assert TunedMethod("tuned", candidates, evaluate=last_is_best).best_candidate(rows, labels) == 2


def test_rules_are_taken_in_their_order_until_the_budget_is_met():
    column, profile = COLUMNS["OPAUC"], PROFILES["paper"]
    names = [rule.name for rule in RULES]
    seen = 0
    for n_rows in (1000, 30_000, 100_000, 1_000_000, 30_000_000):
        thinning = thinned(column, Shape(n_rows, 300, 300), profile)
        assert list(thinning.rules) == names[: len(thinning.rules)]
        assert len(thinning.rules) >= seen
        seen = len(thinning.rules)
        if seen < len(names):
            limit = column.worth * RELUCTANT * profile.budget
            assert estimated_seconds(column, Shape(n_rows, 300, 300), thinning) <= limit
    assert seen == len(names)


def test_a_thinned_grid_is_part_of_the_whole():
    column = COLUMNS["OPAUC"]
    grid = Thinning(5, ridge_stride=2, step_stride=2).grid(column)
    assert grid["alpha"] == column.grid["alpha"][::2]
    assert grid["eta0"] == column.grid["eta0"][::2]
    assert len(Thinning(5).grid(column)["alpha"]) == 13


def test_a_batch_method_sees_as_many_rows_as_the_paper_gave_it_and_no_held_out_row():
    column = COLUMNS["batch LS-SVM"]
    work = Work(Catalogue().sets()["a9a"], column, Thinning(1), trial=3)
    split = ordered(Split(np.arange(9000), np.arange(9000, 9100)), work, 1)
    assert split.train.size == 8000
    assert split.train.max() < 9000
    assert np.unique(split.train).size == 8000
    again = ordered(Split(np.arange(9000), np.arange(9000, 9100)), work, 1)
    np.testing.assert_array_equal(split.train, again.train)
    assert (ordered(split, work, 2).train[:100] != split.train[:100]).any()


def test_a_rare_class_is_kept_where_rows_are_drawn():
    labels = np.zeros(10_000, np.int8)
    labels[-60:] = 1
    rows = selection_rows(labels, np.arange(10_000), 500)
    assert labels[rows].sum() == 50
    assert np.unique(rows).size == rows.size
    part = part_of(Task(np.arange(10_000.0)[:, None], labels), 500)
    assert part.labels.sum() == 50
    np.testing.assert_array_equal(labels[part.rows[:, 0].astype(int)], part.labels)


def test_least_squares_without_weights_ranks_as_ridge_regression_does():
    rows, labels = problem()
    for alpha in (0.01, 1.0):
        (weights,) = unweighted_square_family([{"alpha": alpha}], rows, labels, Context(BENCHMARK, 0))
        model = Ridge(alpha=alpha * labels.size).fit(rows, 2.0 * labels - 1.0)
        np.testing.assert_allclose(weights / np.linalg.norm(weights), model.coef_ / np.linalg.norm(model.coef_))


def test_fsauc_knows_how_many_rows_there_are():
    rows, labels = problem()
    method = COLUMNS["FSAUC"].made({"eta0": 0.1, "radius": 10.0}, Context(BENCHMARK, 0))
    method.train(rows, labels)
    method.finish()
    solver = FSAUCSolver(eta0=0.1, radius=10.0, n_rows=labels.size)
    weights = solver.weights(solver.step(solver.start(rows.shape[1]), rows, labels))
    np.testing.assert_allclose(method.scores(rows), rows @ weights)


def test_the_whole_evaluation_takes_at_most_five_hours_on_two_cores():
    work = planned(PROFILES["paper"], Catalogue())
    assert sum(one.seconds for one in work) / 2 <= 5 * 3600
