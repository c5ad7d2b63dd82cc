"""Comparison of methods on one stream: each is evaluated and timed separately, and failures are isolated."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.errors import InputError
from opauc.metrics import (
    FittedMethod,
    NumberedRows,
    Ranking,
    ScoreBuffer,
    auc_interval,
    compare_aucs,
    compare_on_stream,
    held_out,
)
from tests.metrics.methods import CHOICE, Diverging, MeanDifference, NotNumbers, feature, numbered


def test_methods_train_on_some_rows_and_are_evaluated_on_the_held_out_ones(drawn):
    rows, labels = drawn
    results = compare_on_stream([feature(1), MeanDifference()], numbered(rows, labels), CHOICE)
    out = held_out(0, 1000, *CHOICE)
    alone = MeanDifference()
    alone.train(rows[~out], labels[~out])
    alone.finish()
    best, second = alone.scores(rows[out]), rows[out, 1]
    assert [result.name for result in results] == ["mean difference", "feature 1"]
    assert_allclose(results[0][1:4], auc_interval(labels[out], best)[:3], rtol=1e-12)
    assert_allclose(results[1][1:4], auc_interval(labels[out], second)[:3], rtol=1e-12)
    assert results[0].p_value is None
    assert_allclose(results[1].p_value, compare_aucs(labels[out], best, second).p_value, rtol=1e-9)
    assert all(result.trouble == "" and result.seconds >= 0 for result in results)


def test_the_result_does_not_depend_on_how_the_stream_was_cut(drawn):
    methods = [feature(0), feature(1), feature(2)]
    whole, parts = (compare_on_stream(methods, numbered(*drawn, size), CHOICE) for size in (1000, 7))
    assert [result[:5] for result in whole] == [result[:5] for result in parts]


def test_sparse_rows_that_gain_features_are_collected_completely():
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
        training.append((rows, labels))
        return lambda rows: rows[:, [5]].toarray()[:, 0]

    passes, training = [], []
    compare_on_stream([MeanDifference(), FittedMethod("all", collected)], second_pass_wide, CHOICE)
    out = held_out(0, 400, *CHOICE)
    assert_array_equal(training[0][0].toarray(), rows[~out].toarray())
    assert_array_equal(training[0][1], labels[~out])


def test_a_failed_method_is_reported_with_its_message_and_the_others_continue(drawn):
    failing = Diverging("diverging")
    results = compare_on_stream([failing, NotNumbers("nan"), feature(0)], numbered(*drawn), CHOICE)
    assert [result.name for result in results] == ["feature 0", "diverging", "nan"]
    assert results[1][1:5] == (None,) * 4
    assert results[1].trouble == "the weights left the range of float64"
    assert results[2].trouble == "gave scores that are not numbers"
    assert failing.log.count("learn") == 3
    assert "finish" not in failing.log
    assert results[0].auc > 0.7


def test_a_bug_in_a_method_is_raised(drawn):
    class Mistaken(MeanDifference):
        def finish(self):
            raise KeyError("weights")

    with pytest.raises(KeyError):
        compare_on_stream([Mistaken()], numbered(*drawn), CHOICE)


def test_warm_up_runs_once_before_training_and_is_not_timed(drawn, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("opauc.metrics.runner.time.perf_counter", lambda: clock[0])

    class Slow(MeanDifference):
        def warm_up(self, rows):
            super().warm_up(rows)
            clock[0] += 100.0

        def train(self, rows, labels):
            super().train(rows, labels)
            clock[0] += 1.0

        def finish(self):
            super().finish()
            clock[0] += 0.5

        def scores(self, rows):
            clock[0] += 50.0
            return super().scores(rows)

    slow = Slow()
    (result,) = compare_on_stream([slow], numbered(*drawn), CHOICE)
    assert slow.log == ["warm up", *["learn"] * 10, "finish"]
    assert result.seconds == 10.5


def test_above_exact_rows_the_streaming_auc_is_used(drawn):
    exact = compare_on_stream([feature(0), feature(1)], numbered(*drawn), CHOICE)
    streamed = compare_on_stream([feature(0), feature(1)], numbered(*drawn), CHOICE, exact_rows=50)
    assert_allclose([result.auc for result in streamed], [result.auc for result in exact], atol=1e-12)
    assert_allclose([result[2:4] for result in streamed], [result[2:4] for result in exact], atol=1e-9)
    assert [result.p_value for result in streamed] == [None, None]


def test_held_out_rows_of_one_class_raise_an_error(drawn):
    rows, labels = drawn
    with pytest.raises(InputError, match=r"two classes held out, got 0 positives and \d+ negatives"):
        compare_on_stream([feature(0)], numbered(rows, labels * ~held_out(0, 1000, *CHOICE)), CHOICE)


def test_a_score_buffer_is_exact_up_to_its_limit(drawn):
    rows, labels = drawn
    few, many = ScoreBuffer(1000), ScoreBuffer(999)
    for buffer in (few, many):
        for at in range(0, 1000, 300):
            buffer.add(labels[at : at + 300], rows[at : at + 300, 0])
    assert few.all_rows is not None
    assert many.all_rows is None
    assert few.interval() == auc_interval(labels, rows[:, 0])
    assert few.ranking().auc_bounds is None
    assert many.ranking().auc_bounds == Ranking.of_stream(many.stream).auc_bounds
    assert (few.n_rows, many.n_rows) == (1000, 1000)


def test_methods_of_tables_take_the_columns_and_all_others_the_features(drawn):
    rows, labels = drawn
    table = np.where(rows > 1.0, np.nan, rows)

    def read():
        for at in range(0, 1000, 300):
            part = slice(at, at + 300)
            yield NumberedRows(at, rows[part], labels[part], table[part])

    def noting(name):
        def fit(rows, labels):
            training[name] = rows, labels
            return lambda rows: scored.setdefault(name, []).append(rows) or np.arange(float(len(rows)))

        return FittedMethod(name, fit)

    training, scored = {}, {}
    compare_on_stream([noting("features")], read, CHOICE, of_tables=[noting("table")])
    out = held_out(0, 1000, *CHOICE)
    for name, expected in (("features", rows), ("table", table)):
        assert_array_equal(training[name][0], expected[~out])
        assert_array_equal(training[name][1], labels[~out])
        assert_array_equal(np.concatenate(scored[name]), expected[out])


def test_methods_of_tables_take_the_features_where_there_is_no_table(drawn):
    with_table, without = (
        compare_on_stream(*given, numbered(*drawn), CHOICE, of_tables=tables)
        for given, tables in (([[]], [MeanDifference()]), ([[MeanDifference()]], []))
    )
    assert with_table[0].auc == without[0].auc


def test_a_value_error_in_fit_is_reported_as_trouble(drawn):
    def fit(*_):
        raise ValueError("too few rows")

    (found,) = compare_on_stream([FittedMethod("fit", fit)], numbered(*drawn), CHOICE)
    assert found.trouble == "too few rows"
    with pytest.raises(ValueError, match="fit: finish must be called before scores"):
        FittedMethod("fit", fit).scores(drawn[0])
