"""What tables bring that nobody asked for: each has an outcome, and what is silent is counted."""

import gzip
import json
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from pyarrow import parquet
from sklearn.metrics import roc_auc_score

import opauc as library
from tests.cli.commands import with_init_size
from tests.tables import piped, raw_table, write_csv

ROWS = raw_table(4000)[["age", "city", "grade", "bought"]]
NUMBERS = ROWS.assign(age=pd.to_numeric(ROWS["age"], errors="coerce"))
WORDS = ROWS.assign(age="old", city=np.arange(len(ROWS)) % 3)


@pytest.fixture
def opauc(opauc):
    return with_init_size(opauc, 1000)


@pytest.fixture(autouse=True)
def _small_cards(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def train(opauc, *words):
    return opauc("train", *words, "--label", "bought", "-o", "model")


def refused(ran):
    """Return what the command said in the one line that a mistake is worth, after what the columns are."""
    assert ran.code == 2, ran.err
    *before, said = ran.err.splitlines(keepends=True)
    assert all(line.startswith("columns: ") for line in before)
    return said


def test_quoted_ends_of_line_are_sampled_as_whole_records(opauc):
    words = np.array(["plain", "two\nlines", 'a, "quoted" word', "three\n\nlines"])
    frame = ROWS.assign(text=words[np.random.default_rng(0).integers(4, size=len(ROWS))])
    write_csv("rows.csv", frame)
    ran = train(opauc, "rows.csv")
    assert ran.code == 0, ran.err
    model = library.load("model")
    [text] = [column for column in model._columns.columns if column.name == "text"]
    assert set(text.categories) == set(words)
    assert sum(model._fitted.counts) == len(frame)


def test_an_infinite_number_is_a_bad_row_that_can_be_skipped(opauc):
    write_csv("rows.csv", ROWS.assign(age=["inf" if i == 7 else age for i, age in enumerate(ROWS["age"])]))
    assert refused(train(opauc, "rows.csv")) == (
        "opauc: rows.csv, line 9, column age: inf is not a finite number; --on-bad-row skip leaves such rows out\n"
    )
    ran = train(opauc, "rows.csv", "--on-bad-row", "skip")
    assert ran.code == 0
    assert "skipped 1 bad row" in ran.err
    assert sum(library.load("model")._fitted.counts) == len(ROWS) - 1


def assert_another_type_is_missing(opauc, *data):
    ran = opauc("train", *data, "--label", "bought", "-o", "model", "--json")
    assert ran.code == 0, ran.err
    told = [json.loads(line) for line in ran.out.splitlines()]
    assert {"event": "unreadable", "column": "age", "values": len(ROWS)} in told
    assert sum(library.load("model")._fitted.counts) == 2 * len(ROWS)


def test_a_column_that_changes_its_type_between_files_is_counted_as_missing(opauc):
    for name, frame in (("a.parquet", NUMBERS), ("b.parquet", WORDS)):
        parquet.write_table(pa.Table.from_pandas(frame), name)
    assert_another_type_is_missing(opauc, "a.parquet", "b.parquet")


def test_of_a_stream_the_first_rows_say_what_a_column_is(opauc):
    write_csv("b.csv", WORDS)
    with piped("a.csv", NUMBERS):
        assert_another_type_is_missing(opauc, "a.csv", "b.csv")


def test_new_levels_columns_in_another_order_and_missing_ones_at_prediction(opauc):
    write_csv("rows.csv", ROWS)
    assert train(opauc, "rows.csv").code == 0
    write_csv("new.csv", ROWS.assign(city="Atlantis", age="none of them", more=1)[["more", "grade", "city", "age"]])
    ran = opauc("predict", "model", "new.csv")
    assert ran.code == 0
    assert "column city: 4,000 rows have categories that were rare or absent in training (Atlantis)" in ran.err
    assert "column age: 4,000 values could not be read as the column's type; taken as missing" in ran.err
    write_csv("short.csv", ROWS[["age", "grade"]])
    assert "no column city" in refused(opauc("predict", "model", "short.csv"))
    with pytest.raises(library.InputError, match="no column city"):
        library.load("model").predict(ROWS[["age", "grade"]])


def test_labels_that_are_no_two_classes_are_told_of_with_their_line(opauc):
    frame = ROWS.copy()
    frame.loc[17, "bought"] = "maybe"
    write_csv("rows.csv", frame)
    said = refused(train(opauc, "rows.csv"))
    assert "rows.csv, line 19: label maybe besides" in said
    assert "name the positive one to take all others as negative (--positive yes)" in said
    assert train(opauc, "rows.csv", "--positive", "yes").code == 0
    frame.loc[17, "bought"] = ""
    write_csv("rows.csv", frame)
    assert "rows.csv, line 19, column bought: the label is missing" in refused(train(opauc, "rows.csv"))
    write_csv("rows.csv", ROWS.assign(bought="no"))
    assert "training needs rows of two classes, got 4000 rows, all labeled no" in refused(train(opauc, "rows.csv"))
    write_csv("rows.csv", ROWS.assign(bought=1))
    assert "got 4000 rows, all labeled 1\n" in refused(train(opauc, "rows.csv"))


def test_a_single_positive_row_gives_a_model_that_ranks_by_the_prior(opauc):
    write_csv("rows.csv", ROWS.assign(bought=["yes" if i == 2500 else "no" for i in range(len(ROWS))]))
    ran = train(opauc, "rows.csv")
    assert ran.code == 0, ran.err
    model = library.load("model")
    assert model._fitted.counts.positive == 1
    assert np.isfinite(model.decision_function(ROWS)).all()
    assert (model.predict_proba(ROWS)[:, 1] < 0.5).mean() > 0.99


@pytest.mark.filterwarnings("always")
def test_columns_of_one_name_and_rows_with_numbers_are_learnt_and_found_again_in_frames_of_pandas(opauc):
    named = ROWS.set_axis(["age", "city", "age", "bought"], axis=1)
    named.set_index(np.random.default_rng(0).permutation(len(named))).to_csv("rows.csv")
    ran = train(opauc, "rows.csv")
    assert ran.code == 0, ran.err
    assert "rows.csv: columns without a name of their own are called age.1" in ran.err
    assert "rows.csv: the first column has no name and no value twice; it is left out" in ran.err
    model = library.load("model")
    assert [column.name for column in model._columns.columns] == ["age", "city", "age.1"]
    scored = opauc("predict", "model", "rows.csv")
    assert_array_equal(model.decision_function(pd.read_csv("rows.csv")), list(map(float, scored.out.split())))


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
def test_other_encodings_and_archives_make_the_same_model(opauc, encoding):
    rows = ROWS.assign(city=ROWS.city.replace({"Bern": "Genève"}))
    assert (rows.city == "Genève").any()
    rows.to_csv("rows.csv.gz", index=False)
    assert train(opauc, "rows.csv.gz").code == 0
    scores = library.load("model").decision_function(rows)
    rows.to_csv("other.csv", index=False, encoding=encoding)
    with zipfile.ZipFile("other.zip", "w") as archive:
        archive.write("other.csv")
    for name in ("other.csv", "other.zip") if encoding == "utf-16" else ("other.zip",):
        ran = train(opauc, name)
        assert ran.code == 0, ran.err
        assert ("they are read as Windows-1252" in ran.err) == (encoding == "cp1252")
        assert_array_equal(library.load("model").decision_function(rows), scores)


@pytest.mark.parametrize("delimiter", [", ", " ", "   "])
def test_a_table_without_a_header_is_learnt_and_a_single_row_of_it_scored(opauc, delimiter):
    lines = [delimiter.join(map(str, row)) for row in ROWS.fillna("?").itertuples(index=False)]
    text = "\n".join(lines).replace("Bern", "Bernese_Alps") + "\n"
    with open("rows.data", "w") as out:
        out.write(text)
    ran = opauc("train", "rows.data", "--label", "-1", "--positive", "yes", "-o", "model")
    assert ran.code == 0, ran.err
    assert "4,000 rows (positive: yes)" in ran.err + ran.out
    scores = opauc("predict", "model", "rows.data").out.split()
    assert roc_auc_score(ROWS.bought == "yes", list(map(float, scores))) > 0.7
    with open("row.data", "w") as out:
        out.write(text.split("\n")[0] + "\n")
    assert opauc("predict", "model", "row.data").out.split() == scores[:1]


def test_columns_below_each_other_make_the_model_of_columns_with_commas(opauc):
    frame = ROWS.fillna("?")
    write_csv("rows.csv", frame)
    assert train(opauc, "rows.csv").code == 0
    scores = library.load("model").decision_function(ROWS)
    text = frame.to_string(index=False)
    for name, open_file in (("rows.txt", open), ("rows.txt.gz", gzip.open)):
        with open_file(name, "wt") as out:
            out.write(f"{text}\n")
    for more in ("rows.txt",), ("rows.txt.gz",), ("rows.txt", "--n-jobs", "2"):
        ran = train(opauc, *more)
        assert ran.code == 0, ran.err
        assert sum(library.load("model")._fitted.counts) == len(ROWS)
        assert np.corrcoef(library.load("model").decision_function(ROWS), scores)[0, 1] > 0.99


def test_a_first_line_of_words_and_numbers_that_may_be_either_asks_for_one_of_two_flags(opauc):
    with open("rows.csv", "w") as out:
        out.write("Bern,1,no\nChur,2,yes\n")
    assert refused(train(opauc, "rows.csv")).endswith("say whether it is a header (--header or --no-header)\n")


def test_nothing_to_learn_from_is_refused(opauc):
    write_csv("rows.csv", ROWS[["bought"]].assign(same=1))
    assert "every column is dropped: same (constant)" in refused(train(opauc, "rows.csv"))


def test_frames_of_text_are_typed_as_the_command_types_files(opauc):
    frame = raw_table(3000)
    model = library.OnePassGAM(init_size=1000, random_state=0).fit(frame.drop(columns="bought"), frame["bought"])
    kinds = {column.name: column.kind for column in model._columns.columns}
    assert kinds["age"] == kinds["income"] == "number"
    assert kinds["since"] == "date"
    assert kinds["city"] == "category"
    assert model.dropped_columns_ == ("id", "name", "empty", "always")
    test = raw_table(2000, seed=1)
    assert roc_auc_score(test["bought"], model.decision_function(test.drop(columns="bought"))) > 0.75
    library.save(model, "saved")
    scores = model.decision_function(test.drop(columns="bought"))
    assert_array_equal(library.load("saved").decision_function(test.drop(columns="bought")), scores)
    write_csv("test.csv", test)
    assert_array_equal([float(line) for line in opauc("predict", "saved", "test.csv").out.splitlines()], scores)


def test_parts_without_rows_are_passed_over_and_a_header_alone_has_none(opauc):
    with open("0.csv", "w") as out:
        out.write("age,city,grade,bought\n")
    write_csv("1.csv", ROWS)
    assert train(opauc, "0.csv", "1.csv").code == 0
    assert sum(library.load("model")._fitted.counts) == len(ROWS)
    assert refused(train(opauc, "0.csv")) == "opauc: 0.csv: there are no rows to train on\n"


def test_a_bad_row_that_something_else_would_mend_is_not_to_be_skipped(opauc):
    write_csv("rows.csv", ROWS)
    said = refused(opauc("train", "rows.csv", "--label", "bought", "--solver", "exact", "-o", "model"))
    assert "--categorical" in said
    assert "--on-bad-row" not in said


def test_it_is_said_which_class_is_the_positive_one(opauc):
    write_csv("rows.csv", ROWS)
    assert train(opauc, "rows.csv").err.splitlines()[-1].startswith("model: 4,000 rows (positive: yes), 3 columns, ")
    assert "(positive: no)" in train(opauc, "rows.csv", "--positive", "no").err


def test_where_no_row_was_scored_before_training_the_next_command_is_named(opauc):
    write_csv("rows.csv", ROWS[:500])
    last = opauc("train", "rows.csv", "--label", "bought", "-o", "model").err.splitlines()[-1]
    assert "progressive AUC" not in last  # so few rows are all fitted at once
    assert last.endswith("; opauc evaluate says how well it ranks other rows")
