import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc import OPAUC
from opauc.baselines import OPAUCf
from opauc.core.labels import ClassLabels, PendingBatches, batches_with_classes
from opauc.core.loop import Trainer
from opauc.core.registry import SOLVERS
from opauc.core.row_blocks import widen_rows
from opauc.core.solver import MergeableSolver
from opauc.data.open_stream import stream_of_memory
from opauc.errors import IncompatibleMomentsError, UnsupportedOperationError
from opauc.linear.resolve import fixed_factory, opauc_factory
from tests.problems import problem

ROWS, LABELS = problem(0, 200, 5)


def train(factory, rows, labels, weight=None):
    trainer = Trainer(factory)
    trainer.train_rows(rows, labels, weight)
    return trainer


@pytest.mark.parametrize("name", SOLVERS)
def test_rows_of_weight_zero_are_dropped(name):
    factory = fixed_factory(SOLVERS[name]())
    kept = np.random.default_rng(2).random(200) < 0.5
    weighted = train(factory, ROWS, LABELS, kept.astype(float)).fit
    assert_array_equal(
        weighted.scorer.weights, train(factory, ROWS[kept], LABELS[kept], np.ones(kept.sum())).fit.scorer.weights
    )


@pytest.mark.parametrize("name", SOLVERS)
def test_weights_of_one_are_no_weights(name):
    factory = fixed_factory(SOLVERS[name]())
    plain, weighted = train(factory, ROWS, LABELS), train(factory, ROWS, LABELS, np.ones(200))
    same = assert_allclose if issubclass(SOLVERS[name], MergeableSolver) else assert_array_equal
    same(weighted.fit.scorer.weights, plain.fit.scorer.weights)
    assert weighted.fit.counts == plain.fit.counts


@pytest.mark.parametrize("name", SOLVERS)
def test_counts_add_up_the_weights(name):
    weight = np.random.default_rng(3).uniform(0.5, 2.0, 200)
    counts = train(fixed_factory(SOLVERS[name]()), ROWS, LABELS, weight).fit.counts
    assert_allclose(counts, [weight[k == LABELS].sum() for k in (0, 1)])


# What the parameters ask for, and what errors then call it.
NOT_MERGEABLE = [
    ({"solver": "sgd"}, "'sgd'"),
    ({"solver": "sgd", "rank": 3}, "'sgd' with rank 3"),
    ({"rank": 0}, "'sgd' with rank 0"),
    ({"solver": "progressive_selection"}, "'progressive_selection'"),
]


@pytest.mark.parametrize(("settings", "called"), NOT_MERGEABLE, ids=[called for _, called in NOT_MERGEABLE])
def test_only_a_mergeable_solver_merges_forgets_and_has_a_path_and_errors_name_the_solver(settings, called):
    one, other = (train(opauc_factory(settings), ROWS, LABELS) for _ in range(2))
    exact = train(opauc_factory({"solver": "exact"}), ROWS, LABELS)
    actions = {
        "merge": [lambda: one.fit.merge(other.fit), lambda: exact.fit.merge(one.fit)],
        "forget": [lambda: one.fit.subtract(ROWS, LABELS)],
        "path": [lambda: one.fit.path([0.1])],
    }
    for operation, ways in actions.items():
        for action in ways:
            with pytest.raises(
                UnsupportedOperationError,
                match=f"^{operation} needs solver='exact': the state of {called} depends on each row in turn",
            ):
                action()


def test_sums_of_different_kinds_do_not_merge():
    exact, sketched = (train(opauc_factory({"solver": "exact", "rank": rank}), ROWS, LABELS) for rank in (None, 3))
    with pytest.raises(IncompatibleMomentsError, match="cannot merge models of 'exact' and of 'exact' with rank 3"):
        exact.fit.merge(sketched.fit)


def test_a_fit_of_mapped_rows_does_not_merge_and_says_why():
    one = OPAUCf(n_components=2, random_state=0).fit(ROWS, LABELS)._fitted
    with pytest.raises(UnsupportedOperationError, match="merge is not possible where rows go through a FeatureSubset"):
        one.merge(one)


def test_parameters_changed_since_are_named_when_models_merge_or_forget():
    model, exact = (OPAUC(solver=solver).fit(ROWS, LABELS) for solver in ("sgd", "exact"))
    model.set_params(solver="exact")
    for action in (lambda: model.merge(exact), lambda: model.forget(ROWS, LABELS)):
        with pytest.raises(ValueError, match="solver was 'sgd' with rank None"):
            action()


def test_parameters_may_change_between_batches_but_not_the_solver():
    trainer = train(opauc_factory({"solver": "exact"}), ROWS[:100], LABELS[:100])
    trainer.factory = opauc_factory({"solver": "exact", "alpha": 0.5})
    trainer.train_rows(ROWS[100:], LABELS[100:])
    expected = train(opauc_factory({"solver": "exact", "alpha": 0.5}), ROWS, LABELS)
    assert_allclose(trainer.fit.scorer.weights, expected.fit.scorer.weights, rtol=1e-9)
    trainer.factory = opauc_factory({"solver": "sgd"})
    with pytest.raises(ValueError, match="solver was 'exact' with rank None"):
        trainer.train_rows(ROWS, LABELS)


def test_features_that_turn_up_late_were_zero_before():
    sparse_rows = sparse.csr_array(ROWS * (np.random.default_rng(0).random(ROWS.shape) < 0.4))
    narrow = sparse.csr_array(sparse_rows[:80, :3])
    late = Trainer(opauc_factory({}))
    late.train_rows(narrow, LABELS[:80])
    late.train_rows(sparse_rows[80:], LABELS[80:])
    whole = sparse.vstack([widen_rows(narrow, 5), sparse_rows[80:]], format="csr")
    assert_allclose(late.fit.scorer.weights, train(opauc_factory({}), whole, LABELS).fit.scorer.weights, rtol=1e-9)


def test_batches_wait_until_both_classes_are_known_and_come_in_order():
    labels = np.array(["b"] * 30 + ["a"] * 10)
    parts = [slice(0, 10), slice(10, 30), slice(30, 40)]
    batches = [next(iter(stream_of_memory(ROWS[part], labels=labels[part]).batches())) for part in parts]
    queue = PendingBatches()
    for batch in batches[:2]:
        queue = queue.with_batch(batch)
        assert queue.ready() is None
    assert queue.with_batch(batches[2]).ready() is batches[0]
    found = list(batches_with_classes(batches, ClassLabels()))
    assert [batch for batch, _ in found] == batches
    assert [known.classes.tolist() for _, known in found] == [["a", "b"]] * 3
