"""Shards of tables give the additive model of one process: the same scores, selection and drift."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import Table, parquet
from sklearn.metrics import roc_auc_score

from opauc import OnePassGAM
from opauc.additive.drift import find_drift
from opauc.additive.factory import AdditiveFactory
from opauc.additive.file_sample import read_initial_sample
from opauc.additive.settings import with_init_size
from opauc.core.batch import ResumePosition
from opauc.core.labels import ClassLabels
from opauc.core.loop import Trainer
from opauc.core.model import save_model
from opauc.data import BadRows, ReadOptions
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.sample import RowFiles
from opauc.engines.files import score_files, train_files
from opauc.engines.shards import plan_training
from opauc.engines.threads import ThreadScheduler
from opauc.errors import InputError, MalformedRowError, TooManyBadRowsError, UnsupportedOperationError
from opauc.types import random_key
from tests.tables import raw_table, write_csv

N_ROWS = 5000
READING = OrdinalReading(ReadOptions(label="bought"))
FACTORY = AdditiveFactory({"random_state": 0, "init_size": 500})


@pytest.fixture(scope="module")
def table():
    return raw_table(N_ROWS)


@pytest.fixture(scope="module")
def files(table, tmp_path_factory):
    """The same rows in two files of each format."""
    folder = tmp_path_factory.mktemp("tables")
    halves = {"a": table[:3000], "b": table[3000:]}
    for name, half in halves.items():
        write_csv(folder / f"{name}.csv", half)
        parquet.write_table(Table.from_pandas(half, preserve_index=False), folder / f"{name}.parquet")
    return {ending: [str(folder / f"{name}.{ending}") for name in halves] for ending in ("csv", "parquet")}


def in_order(paths, reading=READING, bad_rows=None):
    """The model of one process, batch after batch, as the command trains it."""
    opening = FACTORY.open_files([str(path) for path in paths], reading, ClassLabels())
    trainer = Trainer(opening.factory, opening.labels)
    stream = opening.reading.training_stream(paths, ResumePosition(), bad_rows)
    for batch in stream.batches():
        trainer.train(batch)
    return trainer.finish(opening.reading), stream


def in_shards(paths, size=None, reading=READING, n_jobs=2, factory=FACTORY, **more):
    plan = plan_training(factory, paths, reading, ClassLabels())
    return train_files(plan, ThreadScheduler(n_jobs), size=size, **more)


def shards_with_basis_of(model, paths):
    """The model of files that begin with the basis of another."""
    plan = plan_training(FACTORY.with_basis_of(model.fit), paths, model.reading.further(ReadOptions()), model.labels)
    return train_files(plan, ThreadScheduler(2))


def encode(model, table):
    return model.reading.columns.read(Table.from_pandas(table, preserve_index=False)).rows


def test_rows_of_the_initial_sample_are_recognized_whatever_their_categories(files, table):
    """Rare categories are pooled: which one a row had is not kept."""
    model = in_shards(files["csv"]).model
    assert (table["city"] == "Zug").any()
    city = next(column for column in model.reading.columns.columns if column.name == "city")
    assert "Zug" not in city.categories
    init_size = with_init_size(FACTORY.settings(), N_ROWS).init_size
    row_files = RowFiles.of(files["csv"], READING)
    sample = read_initial_sample(row_files, READING, ClassLabels(), init_size, random_key(0))
    assert sum(model.fit.final.selection.rows) == N_ROWS - len(sample.rows)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("size", [None, 10**9])
def test_shards_give_the_scores_and_the_selection_of_one_process(files, table, ending, size):
    whole, _ = in_order(files[ending])
    progress = []
    trained = in_shards(files[ending], size, on_progress=lambda *done: progress.append(done))
    assert progress[-1][1] >= (2 if size else 8), "shards of row groups and of text"
    rows = encode(trained.model, table)
    assert_allclose(trained.model.scorer.scores(rows), whole.scorer.scores(rows), rtol=0, atol=1e-8)
    assert trained.model.fit.counts == whole.fit.counts
    assert trained.model.fit.final.selection == whole.fit.final.selection
    mine, right = (one.fit.fixed.model.bin_counts for one in (trained.model, whole))
    assert_array_equal(mine.first, right.first)
    assert_allclose(mine.later, right.later, rtol=1e-12)
    assert [record["rows"] for record in trained.model.provenance["inputs"]] == [3000, 2000]


def test_the_same_shards_give_the_same_bytes_however_many_work_on_them(files, tmp_path):
    for n_jobs in (1, 3):
        save_model(in_shards(files["csv"], n_jobs=n_jobs).model, tmp_path / str(n_jobs))
    assert (tmp_path / "1").read_bytes() == (tmp_path / "3").read_bytes()


def test_a_shard_worked_on_twice_gives_the_same_and_counts_once(files):
    class Twice(ThreadScheduler):
        def map_reduce(self, gather, items, on_progress):
            def again(item):
                first, second = gather(item), pickle.loads(pickle.dumps(gather(item)))
                for name, array in first.model.fit.to_parts()[1].items():
                    assert_array_equal(array, second.model.fit.to_parts()[1][name])
                return second

            return super().map_reduce(again, items, on_progress)

    plan = plan_training(FACTORY, files["csv"], READING, ClassLabels())
    found = train_files(pickle.loads(pickle.dumps(plan)), Twice(2)).model.fit
    right = train_files(plan, ThreadScheduler(2)).model.fit
    assert sum(found.counts) == N_ROWS
    assert_array_equal(found.final.weights, right.final.weights)


def test_what_travels_to_a_machine_does_not_hold_the_sums(files):
    plan = plan_training(FACTORY, files["csv"], READING, ClassLabels())
    basis = plan.factory.initial.current.basis
    assert len(pickle.dumps(plan)) < 400_000
    assert basis.n_columns > 50


def test_drift_is_found_though_each_shard_sees_a_part_of_it(tmp_path):
    table = raw_table(4000)
    first = write_csv(tmp_path / "first.csv", table)
    model = in_shards([first], factory=AdditiveFactory({"random_state": 0, "init_size": 1000})).model
    assert find_drift(model.fit, model.reading.input_names) == []
    moved = table.assign(age=[age if age == "?" else f"{float(age) + 40:.1f}" for age in table["age"]])
    other = write_csv(tmp_path / "other.csv", moved)
    trained = shards_with_basis_of(model, [other])
    assert [drift.name for drift in find_drift(trained.model.fit, trained.model.reading.input_names)] == ["age"]
    both = model.fit.merge(trained.model.fit)
    assert sum(both.counts) == 8000


def test_compressed_files_train_in_shards_with_the_basis_of_a_model_and_are_refused_without_one(files, table, tmp_path):
    model = in_shards(files["csv"]).model
    compressed = [
        write_csv(tmp_path / f"{name}.csv.gz", half) for name, half in (("a", table[:3000]), ("b", table[3000:]))
    ]
    trained = shards_with_basis_of(model, compressed)
    rows = encode(model, table)
    # Rows that the basis was made of are recognized, wherever they come from.
    assert_allclose(trained.model.scorer.scores(rows), model.scorer.scores(rows), rtol=0, atol=1e-8)
    with pytest.raises(UnsupportedOperationError, match="so that shards have no basis to begin with"):
        in_shards(compressed)


def test_few_rows_fix_no_basis_for_shards(tmp_path):
    path = write_csv(tmp_path / "few.csv", raw_table(500))
    with pytest.raises(UnsupportedOperationError, match="have no basis to begin with"):
        in_shards([path])


def test_bad_rows_labels_and_values_are_those_of_one_process(table, tmp_path):
    path = tmp_path / "a.csv"
    spoilt = table.astype(object)
    spoilt.loc[[7, 500, 1700, 2500, 3000, 4100], "age"] = ["few", "some", "many", "more", "less", "none at all"]
    spoilt.loc[4300, "grade"] = "inf"
    write_csv(path, spoilt)
    with pytest.raises(MalformedRowError, match=r"a\.csv, line 4302, column grade: inf"):
        in_shards([path])
    trained = in_shards([path], bad_rows=BadRows("skip"))
    assert (trained.rows, trained.bad_rows) == (N_ROWS - 1, 1)
    assert "line 4302" in trained.first_bad[0]
    _, stream = in_order([path], bad_rows=BadRows("skip"))
    assert trained.unreadable == dict(stream.unreadable_values)
    assert trained.unreadable["age"] >= 2, "those in the sample are marks of missing values"
    with pytest.raises(TooManyBadRowsError, match="1 bad rows, at most 0 may be skipped"):
        in_shards([path], bad_rows=BadRows("skip", most=0))


def test_a_third_label_that_the_sample_missed_is_named_by_its_line_in_the_file(files, table, tmp_path):
    plan = plan_training(FACTORY, files["csv"][:1], READING, ClassLabels())
    other = table[3000:].copy()
    other.loc[4500, "bought"] = "perhaps"
    path = write_csv(tmp_path / "other.csv", other)
    with pytest.raises(MalformedRowError, match=r"other\.csv, line 1502: label perhaps besides no and yes"):
        train_files(replace(plan, paths=[*plan.paths, str(path)]), ThreadScheduler(2))


def test_columns_that_differ_between_files_are_refused_by_name(files, table, tmp_path):
    other = write_csv(tmp_path / "other.csv", table.drop(columns="city"))
    with pytest.raises(InputError, match=r"other\.csv: .*no column city"):
        in_shards([*files["csv"], str(other)])


def test_evaluating_shards_bounds_the_auc_and_counts_what_is_unknown(files, tmp_path):
    model = in_shards(files["csv"]).model
    test = raw_table(2000, seed=1)
    test["city"] = test["city"].replace("Chur", "Davos")
    path = write_csv(tmp_path / "test.csv", test)
    found = score_files(model, [path], ThreadScheduler(2))
    scores = model.scorer.scores(encode(model, test))
    low, high = found.auc.interval()
    assert low - 1e-12 <= roc_auc_score(test["bought"] == "yes", scores) <= high + 1e-12
    assert high - low < 1e-3
    assert found.unknown["city"].rows == int((test["city"] == "Davos").sum() + (test["city"] == "Zug").sum())
    assert_allclose(
        found.bins.brier_score(),
        np.mean((model.scorer.probabilities(scores) - (test["bought"] == "yes")) ** 2),
        rtol=1e-9,
    )


def test_arrays_are_tables_too(tmp_path):
    random = np.random.default_rng(0)
    rows = random.normal(size=(3000, 3))
    labels = (random.random(3000) < 1 / (1 + np.exp(-np.sin(2 * rows[:, 0]) * 2))).astype(float)
    path = tmp_path / "a.npy"
    np.save(path, np.column_stack([rows, labels]))
    reading = OrdinalReading(ReadOptions(label=3))
    trained, (whole, _) = in_shards([path], reading=reading), in_order([path], reading)
    assert_allclose(trained.model.scorer.scores(rows), whole.scorer.scores(rows), rtol=0, atol=1e-8)


def test_an_estimator_that_adopts_shards_serves_raw_rows(files, table):
    trained = in_shards(files["csv"])
    estimator = OnePassGAM()
    estimator._adopt_shards(trained.model)
    assert_allclose(
        estimator.decision_function(table[:50]), trained.model.scorer.scores(encode(trained.model, table[:50]))
    )
    assert isinstance(estimator.predict_proba(pd.DataFrame(table[:5])), np.ndarray)
