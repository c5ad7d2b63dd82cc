"""Methods are compared on the same rows, each judged, timed and refused on its own."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import ttest_rel

from opauc.errors import DivergedError, InputError
from opauc.evaluation import (
    FittedMethod,
    HeldOut,
    KeptScores,
    NumberedRows,
    Ranking,
    Split,
    TunedMethod,
    auc_interval,
    compare_aucs,
    compare_on_splits,
    compare_on_stream,
    exact_auc,
    held_out,
    paired_t_test,
    stratified_folds,
)


@dataclass
class MeanDifference:
    """A learner of one line that notes what is asked of it."""

    name: str = "mean difference"
    sums: np.ndarray = field(default_factory=lambda: np.zeros((2, 0)))
    counts: np.ndarray = field(default_factory=lambda: np.zeros(2))
    log: list = field(default_factory=list)

    def fresh(self):
        return type(self)(self.name, log=self.log)

    def warm_up(self, _):
        self.log.append("warm up")

    def learn(self, rows, labels):
        self.log.append("learn")
        dense = rows.toarray() if sparse.issparse(rows) else rows
        self.sums = np.pad(self.sums, ((0, 0), (0, dense.shape[1] - self.sums.shape[1])))
        for k in (0, 1):
            self.sums[k] += dense[labels == k].sum(axis=0)
            self.counts[k] += (labels == k).sum()

    def finish(self):
        self.log.append("finish")
        self.weights = self.sums[1] / self.counts[1] - self.sums[0] / self.counts[0]

    def scores(self, rows):
        return np.asarray(rows @ self.weights)


class Diverging(MeanDifference):
    """Refuses the third chunk."""

    def learn(self, rows, labels):
        super().learn(rows, labels)
        if self.log.count("learn") == 3:
            raise DivergedError("the weights left the range of float64")


class NotNumbers(MeanDifference):
    def scores(self, rows):
        return np.full(rows.shape[0], np.nan)


def feature(j):
    return FittedMethod(f"feature {j}", lambda *_: lambda rows: rows[:, j])


def numbered(rows, labels, size=100):
    return lambda: (
        NumberedRows(at, rows[at : at + size], labels[at : at + size]) for at in range(0, labels.size, size)
    )


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    labels = (rng.random(1000) < 0.3).astype(np.int8)
    rows = rng.normal(size=(1000, 3))
    rows[:, 0] += labels
    rows[:, 1] += labels / 2
    return rows, labels


CHOICE = HeldOut(0.4, 3)


def test_methods_learn_what_is_not_held_out_and_are_judged_by_what_is(drawn):
    rows, labels = drawn
    found = compare_on_stream([feature(1), MeanDifference()], numbered(rows, labels), CHOICE)
    out = held_out(0, 1000, *CHOICE)
    alone = MeanDifference()
    alone.learn(rows[~out], labels[~out])
    alone.finish()
    best, second = alone.scores(rows[out]), rows[out, 1]
    assert [one.name for one in found] == ["mean difference", "feature 1"]
    assert_allclose(found[0][1:4], auc_interval(labels[out], best)[:3], rtol=1e-12)
    assert_allclose(found[1][1:4], auc_interval(labels[out], second)[:3], rtol=1e-12)
    assert found[0].p_value is None
    assert_allclose(found[1].p_value, compare_aucs(labels[out], best, second).p_value, rtol=1e-9)
    assert all(one.trouble == "" and one.seconds >= 0 for one in found)


def test_the_result_does_not_depend_on_how_the_stream_was_cut(drawn):
    methods = [feature(0), feature(1), feature(2)]
    whole, parts = (compare_on_stream(methods, numbered(*drawn, size), CHOICE) for size in (1000, 7))
    assert [one[:5] for one in whole] == [one[:5] for one in parts]


def test_sparse_rows_that_become_wider_are_learnt_whole():
    rng = np.random.default_rng(1)
    labels = (rng.random(400) < 0.5).astype(np.int8)
    dense = rng.normal(size=(400, 6)) * (rng.random((400, 6)) < 0.5)
    dense[:200, 4:] = 0.0
    rows = sparse.csr_array(dense)

    def read():
        yield NumberedRows(0, rows[:200, :4], labels[:200])
        yield NumberedRows(200, rows[200:], labels[200:])

    def second_pass_wide():
        passes.append(1)
        return read() if len(passes) == 1 else iter([NumberedRows(0, rows, labels)])

    def collected(rows, labels):
        learnt.append((rows, labels))
        return lambda rows: rows[:, [5]].toarray()[:, 0]

    passes, learnt = [], []
    compare_on_stream([MeanDifference(), FittedMethod("all", collected)], second_pass_wide, CHOICE)
    out = held_out(0, 400, *CHOICE)
    assert_array_equal(learnt[0][0].toarray(), rows[~out].toarray())
    assert_array_equal(learnt[0][1], labels[~out])


def test_a_method_that_refuses_is_left_out_with_its_reason_and_the_others_go_on(drawn):
    failing = Diverging("diverging")
    found = compare_on_stream([failing, NotNumbers("nan"), feature(0)], numbered(*drawn), CHOICE)
    assert [one.name for one in found] == ["feature 0", "diverging", "nan"]
    assert found[1][1:5] == (None,) * 4
    assert found[1].trouble == "the weights left the range of float64"
    assert found[2].trouble == "gave scores that are not numbers"
    assert failing.log.count("learn") == 3
    assert "finish" not in failing.log
    assert found[0].auc > 0.7


def test_mistakes_in_the_code_of_a_method_are_not_taken_for_refusals(drawn):
    class Mistaken(MeanDifference):
        def finish(self):
            raise KeyError("weights")

    with pytest.raises(KeyError):
        compare_on_stream([Mistaken()], numbered(*drawn), CHOICE)


def test_warming_up_comes_once_before_learning_and_is_not_timed(drawn, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("opauc.evaluation.runner.time.perf_counter", lambda: clock[0])

    class Slow(MeanDifference):
        def warm_up(self, rows):
            super().warm_up(rows)
            clock[0] += 100.0

        def learn(self, rows, labels):
            super().learn(rows, labels)
            clock[0] += 1.0

        def finish(self):
            super().finish()
            clock[0] += 0.5

        def scores(self, rows):
            clock[0] += 50.0
            return super().scores(rows)

    slow = Slow()
    (found,) = compare_on_stream([slow], numbered(*drawn), CHOICE)
    assert slow.log == ["warm up", *["learn"] * 10, "finish"]
    assert found.seconds == 10.5


def test_beyond_the_rows_kept_the_streaming_auc_stands_in(drawn):
    exact = compare_on_stream([feature(0), feature(1)], numbered(*drawn), CHOICE)
    streamed = compare_on_stream([feature(0), feature(1)], numbered(*drawn), CHOICE, exact_rows=50)
    assert_allclose([one.auc for one in streamed], [one.auc for one in exact], atol=1e-12)
    assert_allclose([one[2:4] for one in streamed], [one[2:4] for one in exact], atol=1e-9)
    assert [one.p_value for one in streamed] == [None, None]


def test_rows_of_one_class_held_out_are_refused(drawn):
    rows, labels = drawn
    with pytest.raises(InputError, match=r"two classes held out, got 0 positives and \d+ negatives"):
        compare_on_stream([feature(0)], numbered(rows, labels * ~held_out(0, 1000, *CHOICE)), CHOICE)


def test_kept_scores_are_exact_up_to_their_limit_and_rank_as_all_rows_do(drawn):
    rows, labels = drawn
    few, many = KeptScores(1000), KeptScores(999)
    for kept in (few, many):
        for at in range(0, 1000, 300):
            kept.add(labels[at : at + 300], rows[at : at + 300, 0])
    assert few.whole is not None
    assert many.whole is None
    assert few.interval() == auc_interval(labels, rows[:, 0])
    assert few.ranking().certain is None
    assert many.ranking().certain == Ranking.of_stream(many.stream).certain
    assert (few.n_rows, many.n_rows) == (1000, 1000)


def test_every_method_meets_every_split_afresh(drawn):
    rows, labels = drawn
    folds = list(stratified_folds(labels, 4, seed=1))
    method = MeanDifference()
    found = compare_on_splits([method, feature(2)], rows, labels, folds)
    for at, (learnt, held) in enumerate(folds):
        alone = MeanDifference()
        alone.learn(rows[learnt], labels[learnt])
        alone.finish()
        assert found.aucs[0, at] == exact_auc(labels[held], alone.scores(rows[held]))
    assert method.sums.size == 0
    assert found.seconds.shape == (2, 4)
    test = found.test("mean difference", "feature 2")
    assert test.outcome() == "win"
    assert found.test("feature 2", "mean difference").outcome() == "loss"
    assert found.test("feature 2", "feature 2") == (0.0, 0.0, 1.0)


def test_a_split_on_which_a_method_fails_is_nan_with_the_reason_and_left_out_of_the_test(drawn):
    rows, labels = drawn
    folds = list(stratified_folds(labels, 4))
    found = compare_on_splits([Diverging("diverging"), feature(0)], rows, labels, folds)
    assert np.isnan(found.of("diverging")).tolist() == [False, False, True, False]
    assert found.troubles[0] == ("", "", "the weights left the range of float64", "")
    kept = [0, 1, 3]
    expected = paired_t_test(found.aucs[0, kept], found.aucs[1, kept])
    assert found.test("diverging", "feature 0") == expected


@pytest.mark.parametrize("seed", range(5))
def test_the_paired_test_is_students(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, 25))
    found, expected = paired_t_test(first, second), ttest_rel(first, second)
    assert_allclose(found[1:], (expected.statistic, expected.pvalue), rtol=1e-9)


def test_a_constant_difference_is_certain_and_one_split_is_no_test():
    half = np.array([0.5, 0.75])
    assert paired_t_test(half + 0.25, half) == (0.25, np.inf, 0.0)
    assert paired_t_test(half, half + 0.25).outcome() == "loss"
    with pytest.raises(ValueError, match="at least two splits, got 1"):
        paired_t_test(half[:1], half[:1])


def test_settings_are_chosen_within_the_rows_learnt(drawn):
    rows, labels = drawn
    asked = []

    def splits(labels):
        asked.append(labels.size)
        return stratified_folds(labels, 3, seed=5)

    tuned = TunedMethod("tuned", [feature(2), NotNumbers("nan"), feature(0), feature(1)], splits)
    folds = list(stratified_folds(labels, 5))
    found = compare_on_splits([tuned, feature(0)], rows, labels, folds)
    assert_array_equal(found.aucs[0], found.aucs[1])
    assert asked == [800] * 5
    assert tuned.chosen is None


def test_where_no_setting_works_there_is_a_reason(drawn):
    class Refusing(MeanDifference):
        def learn(self, *_):
            raise DivergedError("steps too large")

    found = compare_on_stream([TunedMethod("tuned", [Refusing()])], numbered(*drawn), CHOICE)
    assert found[0].trouble == "no setting works: steps too large"


def test_a_function_that_refuses_by_a_value_error_is_a_method_that_refuses(drawn):
    def fit(*_):
        raise ValueError("too few rows")

    (found,) = compare_on_stream([FittedMethod("fit", fit)], numbered(*drawn), CHOICE)
    assert found.trouble == "too few rows"
    with pytest.raises(ValueError, match="fit: finish must be called before scores"):
        FittedMethod("fit", fit).scores(drawn[0])


def test_seconds_are_those_of_the_clock_given(drawn):
    rows, labels = drawn
    ticks = iter(range(1000))
    split = Split(*np.split(np.arange(labels.size), [labels.size // 2]))
    found = compare_on_splits([MeanDifference()], rows, labels, [split], clock=lambda: float(next(ticks)))
    # Learning and finishing are asked the time before and after; warming up and scoring before alone.
    assert found.seconds[0, 0] == 2.0
