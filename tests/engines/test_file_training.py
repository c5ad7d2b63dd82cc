"""Shards of files give the model of one process that reads them in order."""

import io
import sys

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import parquet

from opauc.core.labels import ClassLabels
from opauc.core.loop import Trainer
from opauc.core.model import save_model
from opauc.data import BadRows, ReadOptions
from opauc.data.encode.table_features import OneHotReading
from opauc.data.open_stream import open_stream
from opauc.engines.files import train_files
from opauc.engines.shards import ShardPolicy, plan_training
from opauc.engines.threads import ThreadScheduler
from opauc.errors import InputError, MalformedRowError, TooManyBadRowsError, UnsupportedOperationError
from opauc.linear.resolve import opauc_cv_factory, opauc_factory
from tests.problems import problem, several_problem

ALPHA = {"alpha": 1e-3}
EXACT, CROSS = opauc_factory(ALPHA), opauc_cv_factory({})


def one_process(paths, factory=EXACT, options=ReadOptions()):  # noqa: B008
    trainer = Trainer(factory)
    stream = open_stream(paths, options)
    for batch in stream.batches():
        trainer.train(batch)
    return trainer.finish(OneHotReading(options)), stream


# Cut as finely as asked for, however large the sums are.
FINE = ShardPolicy(bytes_per_sum=0)


def in_shards(paths, size, factory=EXACT, options=ReadOptions(), n_jobs=2, policy=FINE, **more):  # noqa: B008
    plan = plan_training(factory, paths, OneHotReading(options), ClassLabels(), policy)
    return train_files(plan, ThreadScheduler(n_jobs), size=size, **more)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two files of each format with the same 900 rows."""
    folder, written = tmp_path_factory.mktemp("shards"), {}
    rows, labels = problem(1, 900, 4, offset=100.0)
    for number, part in enumerate((slice(0, 500), slice(500, 900))):
        x, y = rows[part], labels[part]
        words = np.array(["red", 'gr"een', "blue, dark"])[(np.abs(x[:, 0]).astype(int) + number) % 3]
        table = pa.table({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "d": x[:, 3], "label": y})
        parquet.write_table(table, folder / f"{number}.parquet", row_group_size=64)
        np.save(folder / f"{number}.npy", np.column_stack([x, y]))
        with open(folder / f"{number}.csv", "w") as file:
            file.write("a,b,c,d,word,label\n")
            for row, word, label in zip(x.tolist(), words, y, strict=True):
                quoted = word.replace('"', '""')
                file.write(f'{",".join(map(repr, row))},"{quoted}",{label}\n')
        with open(folder / f"{number}.libsvm", "w") as file:
            for row, label in zip(x.tolist(), y, strict=True):
                width = 4 if number else 3  # features turn up on the way
                file.write(f"{label} {' '.join(f'{j + 1}:{v!r}' for j, v in enumerate(row[:width]))}\n")
    for ending in ("parquet", "npy", "csv", "libsvm"):
        written[ending] = [str(folder / f"{number}.{ending}") for number in (0, 1)]
    return written


OPTIONS = {
    "parquet": ReadOptions(),
    "npy": ReadOptions(label=4),
    "csv": ReadOptions(categorical=("word",)),
    "libsvm": ReadOptions(),
}


@pytest.mark.parametrize("factory", [EXACT, CROSS], ids=["exact", "cross-validated"])
@pytest.mark.parametrize("ending", OPTIONS)
@pytest.mark.parametrize("size", [900, 7_001, 10**7])
def test_shards_give_the_weights_of_one_process(files, ending, size, factory):
    # Indicators of all categories add up to one: at the least penalties to choose from rounding would show.
    options = ReadOptions(drop=("word",)) if ending == "csv" and factory is CROSS else OPTIONS[ending]
    whole, stream = one_process(files[ending], factory, options)
    trained = in_shards(files[ending], size, factory, options)
    assert trained.rows == 900
    assert_allclose(trained.model.scorer.weights, whole.scorer.weights, rtol=1e-10, atol=1e-12)
    assert_allclose(trained.model.scorer.intercept, whole.scorer.intercept, rtol=1e-10, atol=1e-10)
    names = stream.feature_names
    assert trained.model.feature_names == (None if names is None else tuple(names))
    assert [record["rows"] for record in trained.provenance()["inputs"]] == [500, 400]


@pytest.mark.parametrize("ending", OPTIONS)
@pytest.mark.parametrize(
    "parameters", [{}, {"solver": "exact", "rank": 3, "random_state": 0}], ids=["exact", "sketched"]
)
def test_the_same_shards_give_the_same_bytes(files, ending, parameters, tmp_path):
    factory = opauc_factory({**ALPHA, **parameters})
    for n_jobs in (1, 3):
        save_model(in_shards(files[ending], 2_000, factory, OPTIONS[ending], n_jobs).model, tmp_path / str(n_jobs))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "3").read_bytes()


def test_a_sketch_has_codes_of_its_own_for_each_shard_and_estimates_the_same_covariance(files):
    exact = in_shards(files["parquet"], 900).model.fit.state
    factory = opauc_factory({"solver": "exact", "rank": 400, "random_state": 1})
    with pytest.warns(UserWarning, match="rank=400 is more than n_features"):
        sketch = in_shards(files["parquet"], 900, factory).model.fit.state
    assert len(sketch.merged_keys | {sketch.stream.key}) == 15
    assert sketch.counts == exact.counts
    assert_allclose(sketch.means[1], exact.positive.mean, rtol=1e-12)
    centered = sketch.sums[:, 1, :-1] - np.outer(sketch.means[1], sketch.sign_sums[1, :-1])
    covariance = exact.positive.covariance()
    assert_allclose(centered @ centered.T / exact.positive.count, covariance, atol=0.3 * covariance.max())


def test_rows_that_cannot_be_read_are_named_by_their_line_in_the_file(tmp_path):
    path = tmp_path / "a.csv"
    lines = [f"{number},{number % 2}" for number in range(200)]
    lines[150] = "oops,1"
    path.write_text("\n".join(["a,label", *lines]) + "\n")
    with pytest.raises(MalformedRowError, match=r"a\.csv, line 152, column a: 'oops' is not a number"):
        in_shards([path], 100)
    trained = in_shards([path], 100, bad_rows=BadRows("skip"))
    assert (trained.rows, trained.bad_rows) == (199, 1)
    assert "line 152" in trained.first_bad[0]
    with pytest.raises(TooManyBadRowsError, match="1 bad rows, at most 0 may be skipped"):
        in_shards([path], 100, bad_rows=BadRows("skip", most=0))


def test_a_third_label_is_named_by_its_line_in_the_file(tmp_path):
    path = tmp_path / "a.libsvm"
    path.write_text("".join(f"{number % 2} 1:{number}\n" for number in range(200)) + "7 1:1\n")
    with pytest.raises(MalformedRowError, match=r"a\.libsvm, line 201: label 7 besides 0 and 1"):
        in_shards([path], 100)


@pytest.mark.parametrize("factory", [EXACT, CROSS])
def test_shards_of_several_classes_give_the_model_of_one_process(tmp_path, factory):
    rows, labels = several_problem(1, 400, 3, 4)
    path = tmp_path / "a.csv"
    lines = [",".join(map(str, [*row, "wxyz"[label]])) for row, label in zip(rows.tolist(), labels, strict=True)]
    path.write_text("\n".join(["a,b,c,label", *lines]) + "\n")
    classes = ClassLabels(several=True)
    plan = plan_training(factory, [path], OneHotReading(ReadOptions()), classes, FINE)
    trained = train_files(plan, ThreadScheduler(2), size=1000)
    trainer = Trainer(factory, classes)
    for batch in open_stream([path], ReadOptions()).batches():
        trainer.train(batch)
    whole = trainer.finish(OneHotReading(ReadOptions()))
    assert trained.shards > 5
    assert trained.model.classes.tolist() == ["w", "x", "y", "z"]
    assert_allclose(trained.model.fit.counts, whole.fit.counts)
    assert_allclose(trained.model.scorer.weights, whole.scorer.weights, rtol=1e-6)


def test_shards_and_files_of_one_class_or_without_rows_are_right(tmp_path):
    rows, labels = problem(3, 120, 3)
    order = np.argsort(labels, kind="stable")  # all negative rows come first
    for name, part in (("a", order[:40]), ("b", order[:0]), ("c", order[40:])):
        table = pa.table({"u": rows[part, 0], "v": rows[part, 1], "w": rows[part, 2], "label": labels[part]})
        parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=10)
    trained = in_shards([tmp_path], 1)
    assert_allclose(trained.model.scorer.weights, one_process([tmp_path])[0].scorer.weights, rtol=1e-10)


def test_one_class_only_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,label\n" + "1,0\n" * 50)
    with pytest.raises(InputError, match="rows of two classes are needed, got 50 rows"):
        in_shards([path], 40)
    plan = plan_training(EXACT, [path], OneHotReading(ReadOptions()), ClassLabels.announced([0.0, 1.0]), FINE)
    with pytest.raises(InputError, match="needs rows of two classes, got 50 rows, all labeled 0"):
        train_files(plan, ThreadScheduler(2), size=40)


def test_columns_that_differ_between_files_are_refused_by_name(files, tmp_path):
    other = tmp_path / "other.parquet"
    parquet.write_table(pa.table({"a": [1.0], "b": [1.0], "c": [1.0], "e": [1.0], "label": [1]}), other)
    with pytest.raises(InputError, match=r"other\.parquet: .*no column d"):
        in_shards([*files["parquet"], str(other)], 900)


@pytest.mark.parametrize("size", [1, 3_000])
def test_groups_stay_together_however_files_are_cut(tmp_path, size):
    rows, labels = problem(2, 600, 3)
    people = np.random.default_rng(0).integers(0, 40, 600).astype(str)
    for name, part in (("a", slice(0, 350)), ("b", slice(350, 600))):
        columns = {"u": rows[part, 0], "v": rows[part, 1], "w": rows[part, 2]}
        table = pa.table({**columns, "who": people[part], "label": labels[part]})
        parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=50)
    options = ReadOptions(groups="who")
    found = in_shards([tmp_path], size, CROSS, options).model.fit
    right = one_process([tmp_path], CROSS, options)[0].fit
    assert found.state.grouped
    for mine, theirs in zip(found.state.moments.groups, right.state.moments.groups, strict=True):
        assert mine.count == theirs.count
    assert_allclose(found.scorer.weights, right.scorer.weights, rtol=1e-10)
    assert found.chosen_settings == pytest.approx(right.chosen_settings)


def test_groups_are_refused_where_there_are_no_columns_or_no_folds(files):
    with pytest.raises(InputError, match="only tables have columns of groups"):
        in_shards(files["libsvm"], 900, CROSS, ReadOptions(groups="who"))
    with pytest.raises(UnsupportedOperationError, match="groups are for folds, of which 'exact' has none"):
        in_shards(files["csv"], 900, EXACT, ReadOptions(groups="word"))


@pytest.mark.parametrize(
    ("parameters", "options", "message"),
    [
        ({"solver": "sgd"}, {}, "'sgd' processes rows one after the other"),
        ({"forgetting_factor": 0.9}, {}, "forgetting_factor must be 1.0"),
        ({}, {"missing": "mean"}, "must be read in order"),
    ],
)
def test_what_depends_on_the_order_is_refused(files, parameters, options, message):
    with pytest.raises(UnsupportedOperationError, match=message):
        in_shards(files["parquet"], 900, opauc_factory(parameters), ReadOptions(**options))


def test_a_stream_is_refused_before_anything_is_read_of_it(monkeypatch):
    stream = io.BytesIO(b"a,label\n1,0\n2,1\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    with pytest.raises(UnsupportedOperationError, match="standard input: shards are read from files"):
        in_shards(["-"], 900, options=ReadOptions(format="csv"))
    assert stream.tell() == 0


def test_a_shard_worked_on_twice_gives_the_same_and_counts_once(files):
    calls = []

    class Twice(ThreadScheduler):
        def map_reduce(self, gather, items, on_progress):
            def again(item):
                calls.append(item)
                first, second = gather(item), gather(item)
                assert_array_equal(first.model.scorer.weights, second.model.scorer.weights)
                return second

            return super().map_reduce(again, items, on_progress)

    plan = plan_training(EXACT, files["parquet"], OneHotReading(ReadOptions()), ClassLabels(), FINE)
    trained = train_files(plan, Twice(2), size=900)
    plain = train_files(plan, ThreadScheduler(2), size=900)
    assert len(calls) > 2
    assert trained.model.fit.counts == plain.model.fit.counts
    assert_array_equal(trained.model.scorer.weights, plain.model.scorer.weights)


def test_progress_is_how_many_shards_are_done(files):
    progress = []
    in_shards(files["npy"], 5_000, options=OPTIONS["npy"], on_progress=lambda *done: progress.append(done))
    assert [done for _, done in progress] == list(range(1, progress[0][0] + 1))


def test_many_shards_of_a_wide_file_are_no_smaller_than_their_sums(files):
    seen, coarse = [], ShardPolicy(bytes_per_sum=1e6)
    in_shards(files["parquet"], 1, policy=coarse, on_progress=lambda *done: seen.append(done))
    assert seen == [(2, 1), (2, 2)]
