"""Shards of files give the model of one process that reads them in order."""

import io
import sys

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from opauc.engines.linear_shards import FilesToLearn, linear_shards
from pyarrow import parquet

from opauc.core.labels import ClassLabels
from opauc.core.loop import Trainer
from opauc.core.model import save_model
from opauc.data import BadRows, ReadOptions
from opauc.data.open_stream import open_stream
from opauc.engines.files import train_files
from opauc.engines.threads import ThreadScheduler
from opauc.errors import InputError, MalformedRowError, TooManyBadRowsError, UnsupportedOperationError
from opauc.linear.resolve import opauc_factory, recipe_of
from tests.problems import problem

ALPHA = {"alpha": 1e-3}
EXACT, CROSS = opauc_factory(ALPHA), recipe_of("OPAUCCV", {})


def one_process(paths, recipe=EXACT, options=ReadOptions()):  # noqa: B008
    training = Trainer(recipe)
    stream = open_stream(paths, options)
    for chunk in stream.chunks():
        training.learn(chunk)
    return training.finished(), stream


def in_shards(paths, size, recipe=EXACT, options=ReadOptions(), n_jobs=2, **more):  # noqa: B008
    learning = linear_shards(FilesToLearn(paths, recipe, ALPHA, options=options))
    return train_files(learning, ThreadScheduler(n_jobs), size=size, **more)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    """Cut as finely as asked for, however large the sums are."""
    monkeypatch.setattr("opauc.engines.linear_shards.SUMS_A_SHARD", 0)


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


@pytest.mark.parametrize("recipe", [EXACT, CROSS], ids=["exact", "cross-validated"])
@pytest.mark.parametrize("ending", OPTIONS)
@pytest.mark.parametrize("size", [900, 7_001, 10**7])
def test_shards_give_the_weights_of_one_process(files, ending, size, recipe):
    # Indicators of all categories add up to one: at the least penalties to choose from rounding would show.
    options = ReadOptions(drop=("word",)) if ending == "csv" and recipe is CROSS else OPTIONS[ending]
    whole, stream = one_process(files[ending], recipe, options)
    learned = in_shards(files[ending], size, recipe, options)
    assert learned.rows == 900
    assert_allclose(learned.model.scorer.weights, whole.scorer.weights, rtol=1e-10, atol=1e-12)
    assert_allclose(learned.model.scorer.intercept, whole.scorer.intercept, rtol=1e-10, atol=1e-10)
    names = stream.feature_names
    assert learned.model.feature_names == (None if names is None else tuple(names))
    assert [record["rows"] for record in learned.provenance()["inputs"]] == [500, 400]


@pytest.mark.parametrize("ending", OPTIONS)
@pytest.mark.parametrize(
    "parameters", [{}, {"solver": "exact", "rank": 3, "random_state": 0}], ids=["exact", "sketched"]
)
def test_the_same_shards_give_the_same_bytes(files, ending, parameters, tmp_path):
    recipe = opauc_factory({**ALPHA, **parameters})
    for n_jobs in (1, 3):
        save_model(in_shards(files[ending], 2_000, recipe, OPTIONS[ending], n_jobs).model, tmp_path / str(n_jobs))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "3").read_bytes()


def test_a_sketch_has_codes_of_its_own_for_each_shard_and_estimates_the_same_covariance(files):
    exact = in_shards(files["parquet"], 900).model.learned().state
    recipe = opauc_factory({"solver": "exact", "rank": 400, "random_state": 1})
    with pytest.warns(UserWarning, match="rank=400 is more than n_features"):
        sketch = in_shards(files["parquet"], 900, recipe).model.learned().state
    assert len(sketch.merged_keys | {sketch.stream.key}) == 15
    assert sketch.counts == exact.counts
    assert_allclose(sketch.means[1], exact.positive.mean, rtol=1e-12)
    centered = sketch.sums[:, 1, :-1] - np.outer(sketch.means[1], sketch.code_sums[1, :-1])
    covariance = exact.positive.covariance()
    assert_allclose(centered @ centered.T / exact.positive.count, covariance, atol=0.3 * covariance.max())


def test_rows_that_cannot_be_read_are_named_by_their_line_in_the_file(tmp_path):
    path = tmp_path / "a.csv"
    lines = [f"{number},{number % 2}" for number in range(200)]
    lines[150] = "oops,1"
    path.write_text("\n".join(["a,label", *lines]) + "\n")
    with pytest.raises(MalformedRowError, match=r"a\.csv, line 152, column a: 'oops' is not a number"):
        in_shards([path], 100)
    learned = in_shards([path], 100, bad_rows=BadRows("skip"))
    assert (learned.rows, learned.bad_rows) == (199, 1)
    assert "line 152" in learned.first_bad[0]
    with pytest.raises(TooManyBadRowsError, match="1 bad rows, at most 0 may be skipped"):
        in_shards([path], 100, bad_rows=BadRows("skip", most=0))


def test_a_third_label_is_named_by_its_line_in_the_file(tmp_path):
    path = tmp_path / "a.libsvm"
    path.write_text("".join(f"{number % 2} 1:{number}\n" for number in range(200)) + "7 1:1\n")
    with pytest.raises(MalformedRowError, match=r"a\.libsvm, line 201: label 7 besides 0 and 1"):
        in_shards([path], 100)


def test_shards_and_files_of_one_class_or_without_rows_are_right(tmp_path):
    rows, labels = problem(3, 120, 3)
    order = np.argsort(labels, kind="stable")  # all negative rows come first
    for name, part in (("a", order[:40]), ("b", order[:0]), ("c", order[40:])):
        table = pa.table({"u": rows[part, 0], "v": rows[part, 1], "w": rows[part, 2], "label": labels[part]})
        parquet.write_table(table, tmp_path / f"{name}.parquet", row_group_size=10)
    learned = in_shards([tmp_path], 1)
    assert_allclose(learned.model.scorer.weights, one_process([tmp_path])[0].scorer.weights, rtol=1e-10)


def test_one_class_only_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,label\n" + "1,0\n" * 50)
    with pytest.raises(InputError, match="rows of two classes are needed, got 50 rows"):
        in_shards([path], 40)
    files = FilesToLearn([path], EXACT, {}, labels=ClassLabels.announced([0.0, 1.0]))
    with pytest.raises(InputError, match="needs rows of two classes, got 50 rows, all labeled 0"):
        train_files(linear_shards(files), ThreadScheduler(2), size=40)


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
    found = in_shards([tmp_path], size, CROSS, options).model.learned()
    right = one_process([tmp_path], CROSS, options)[0].learned()
    assert found.state.grouped
    for mine, theirs in zip(found.state.moments.groups, right.state.moments.groups, strict=True):
        assert mine.count == theirs.count
    assert_allclose(found.scorer.weights, right.scorer.weights, rtol=1e-10)
    assert found.chosen_settings == pytest.approx(right.chosen_settings)


def test_groups_are_refused_where_there_are_no_columns_or_no_folds(files):
    with pytest.raises(InputError, match="only tables have columns, of which groups could be one"):
        in_shards(files["libsvm"], 900, CROSS, ReadOptions(groups="who"))
    with pytest.raises(UnsupportedOperationError, match="groups are for folds, of which 'exact' has none"):
        in_shards(files["csv"], 900, EXACT, ReadOptions(groups="word"))


@pytest.mark.parametrize(
    ("parameters", "options", "message"),
    [
        ({"solver": "sgd"}, {}, "'sgd' learns rows one after the other"),
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
        def reduced(self, gather, items, told):
            def again(item):
                calls.append(item)
                first, second = gather(item), gather(item)
                assert_array_equal(first.model.scorer.weights, second.model.scorer.weights)
                return second

            return super().reduced(again, items, told)

    wanted = linear_shards(FilesToLearn(files["parquet"], EXACT, ALPHA))
    learned = train_files(wanted, Twice(2), size=900)
    plain = train_files(wanted, ThreadScheduler(2), size=900)
    assert len(calls) > 2
    assert learned.model.learned().counts == plain.model.learned().counts
    assert_array_equal(learned.model.scorer.weights, plain.model.scorer.weights)


def test_what_is_told_is_how_many_shards_are_done(files):
    told = []
    in_shards(files["npy"], 5_000, options=OPTIONS["npy"], told=lambda *done: told.append(done))
    assert [done for _, done in told] == list(range(1, told[0][0] + 1))


def test_many_shards_of_a_wide_file_are_no_smaller_than_their_sums(files, monkeypatch):
    monkeypatch.setattr("opauc.engines.linear_shards.SUMS_A_SHARD", 1e6)
    seen = []
    in_shards(files["parquet"], 1, told=lambda *done: seen.append(done))
    assert seen == [(2, 1), (2, 2)]
