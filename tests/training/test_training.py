import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from opauc.linear.choice import SameLearner
from opauc.linear.training import Training
from scipy import sparse

from opauc.baselines import OPAUCf
from opauc.core.labels import ClassLabels, LabelQueue, chunks_of_known_classes
from opauc.core.registry import SOLVERS
from opauc.core.row_blocks import widen_rows
from opauc.core.solver import MergeableSolver
from opauc.data.open_stream import stream_of_memory
from opauc.errors import IncompatibleMomentsError, UnsupportedOperationError
from opauc.linear.resolve import opauc_factory
from tests.problems import problem

LEARNERS = SOLVERS
ROWS, LABELS = problem(0, 200, 5)


def trained(recipe, rows, labels, weight=None):
    training = Training(recipe)
    training.learn(rows, labels, weight)
    return training


@pytest.mark.parametrize("name", LEARNERS)
def test_rows_of_weight_zero_are_as_if_they_had_not_come(name):
    recipe = SameLearner(LEARNERS[name]())
    kept = np.random.default_rng(2).random(200) < 0.5
    weighted = trained(recipe, ROWS, LABELS, kept.astype(float)).solution
    assert_array_equal(
        weighted.scorer.weights, trained(recipe, ROWS[kept], LABELS[kept], np.ones(kept.sum())).solution.scorer.weights
    )


@pytest.mark.parametrize("name", LEARNERS)
def test_weights_of_one_are_no_weights(name):
    recipe = SameLearner(LEARNERS[name]())
    plain, weighted = trained(recipe, ROWS, LABELS), trained(recipe, ROWS, LABELS, np.ones(200))
    same = assert_allclose if issubclass(LEARNERS[name], MergeableSolver) else assert_array_equal
    same(weighted.solution.scorer.weights, plain.solution.scorer.weights)
    assert weighted.solution.counts == plain.solution.counts


@pytest.mark.parametrize("name", LEARNERS)
def test_counts_add_up_the_weights(name):
    weight = np.random.default_rng(3).uniform(0.5, 2.0, 200)
    counts = trained(SameLearner(LEARNERS[name]()), ROWS, LABELS, weight).solution.counts
    assert_allclose(counts, [weight[k == LABELS].sum() for k in (0, 1)])


# What the parameters ask for, and what errors then call it.
NO_SUMS = [
    ({"solver": "sgd"}, "'sgd'"),
    ({"solver": "sgd", "rank": 3}, "'sgd' with rank 3"),
    ({"rank": 0}, "'sgd' with rank 0"),
    ({"solver": "progressive_selection"}, "'progressive_selection'"),
]


@pytest.mark.parametrize(("settings", "called"), NO_SUMS, ids=[called for _, called in NO_SUMS])
def test_only_a_learner_of_sums_merges_forgets_and_has_a_path_and_errors_name_what_was_used(settings, called):
    one, other = (trained(opauc_factory(settings), ROWS, LABELS) for _ in range(2))
    exact = trained(opauc_factory({"solver": "exact"}), ROWS, LABELS)
    actions = {
        "merge": [lambda: one.merge(other.solution), lambda: exact.merge(one.solution)],
        "forget": [lambda: one.forget(ROWS, LABELS)],
        "path": [lambda: one.solution.path([0.1])],
    }
    for wanted, ways in actions.items():
        for action in ways:
            with pytest.raises(
                UnsupportedOperationError, match=f"^{wanted} needs solver='exact': what {called} has learned"
            ):
                action()


def test_sums_of_different_kinds_do_not_merge():
    exact, sketched = (trained(opauc_factory({"solver": "exact", "rank": rank}), ROWS, LABELS) for rank in (None, 3))
    with pytest.raises(
        IncompatibleMomentsError, match="cannot merge what 'exact' and what 'exact' with rank 3 have learned"
    ):
        exact.merge(sketched.solution)


def test_what_learnt_through_a_map_does_not_merge_and_says_why():
    one = OPAUCf(n_components=2, random_state=0).fit(ROWS, LABELS)._fitted
    with pytest.raises(UnsupportedOperationError, match="merge is not possible where rows go through a FeatureSubset"):
        one.merged(one)


def test_settings_changed_since_are_named_when_models_merge_or_forget():
    training = trained(opauc_factory({"solver": "sgd"}), ROWS, LABELS)
    exact = trained(opauc_factory({"solver": "exact"}), ROWS, LABELS)
    training.recipe = exact.recipe
    for action in (lambda: training.merge(exact.solution), lambda: training.forget(ROWS, LABELS)):
        with pytest.raises(ValueError, match="solver was 'sgd' with rank None"):
            action()


def test_settings_may_change_between_chunks_but_not_the_kind_of_learner():
    training = trained(opauc_factory({"solver": "exact"}), ROWS[:100], LABELS[:100])
    training.recipe = opauc_factory({"solver": "exact", "alpha": 0.5})
    training.learn(ROWS[100:], LABELS[100:])
    wanted = trained(opauc_factory({"solver": "exact", "alpha": 0.5}), ROWS, LABELS)
    assert_allclose(training.solution.scorer.weights, wanted.solution.scorer.weights, rtol=1e-9)
    training.recipe = opauc_factory({"solver": "sgd"})
    with pytest.raises(ValueError, match="solver was 'exact' with rank None"):
        training.learn(ROWS, LABELS)


def test_features_that_turn_up_late_were_zero_before():
    thin = sparse.csr_array(ROWS * (np.random.default_rng(0).random(ROWS.shape) < 0.4))
    narrow = sparse.csr_array(thin[:80, :3])
    late = Training(opauc_factory({}))
    late.learn(narrow, LABELS[:80])
    late.learn(thin[80:], LABELS[80:])
    whole = sparse.vstack([widen_rows(narrow, 5), thin[80:]], format="csr")
    assert_allclose(
        late.solution.scorer.weights, trained(opauc_factory({}), whole, LABELS).solution.scorer.weights, rtol=1e-9
    )


def test_chunks_wait_until_both_classes_are_known_and_come_in_order():
    labels = np.array(["b"] * 30 + ["a"] * 10)
    parts = [slice(0, 10), slice(10, 30), slice(30, 40)]
    chunks = [next(iter(stream_of_memory(ROWS[part], labels=labels[part]).chunks())) for part in parts]
    queue = LabelQueue()
    for chunk in chunks[:2]:
        queue = queue.with_chunk(chunk)
        assert queue.ready() is None
    assert queue.with_chunk(chunks[2]).ready() is chunks[0]
    found = list(chunks_of_known_classes(chunks, ClassLabels()))
    assert [chunk for chunk, _ in found] == chunks
    assert [known.classes.tolist() for _, known in found] == [["a", "b"]] * 3
