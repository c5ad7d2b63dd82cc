"""Tables as people have them: one message names all that is wrong, and flags settle it."""

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from experiments.datasets import FOLDER

import opauc as library
from opauc import OPAUC
from tests.cli.commands import one_line

RAW = FOLDER / "raw"
MESSY = """id,Name,Sex,Age,Survived
1,"Braund, Mr.",male,22,0
2,"Cumings, Mrs.",female,,1
3,"Heikkinen, Miss",female,26,1
4,"Allen, Mr.",male,35,0
"""


@pytest.fixture
def messy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(MESSY)


@pytest.mark.usefixtures("messy")
def test_one_message_names_every_column_at_fault_with_the_flags_that_settle_it(opauc):
    said = one_line(opauc("train", "--solver", "auto", "t.csv", "-o", "m"))
    for part in (
        "name the label (--label)",
        "columns Name, Sex hold strings",
        "(--categorical Name,Sex)",
        "(--drop Name,Sex)",
        "values are missing in Age (--missing zero or --missing mean)",
    ):
        assert part in said
    said = one_line(opauc("train", "--solver", "auto", "t.csv", "-o", "m", "--label", "Survived"))
    assert said == (
        "t.csv, line 2, column Name: 'Braund, Mr.' is not a number, nor are values of column Sex; columns of strings "
        "must be declared categorical (--categorical Name,Sex) or left out (--drop Name,Sex); values are missing in "
        "Age (--missing zero or --missing mean)"
    )
    settled = ["--label", "Survived", "--categorical", "Sex", "--drop", "id,Name", "--missing", "mean"]
    assert opauc("train", "--solver", "auto", "t.csv", "-o", "m", *settled).code == 0
    assert library.load("m").feature_names_in_.tolist() == ["Age", "Sex=male", "Sex=female"]


@pytest.mark.usefixtures("messy")
def test_missing_values_are_not_mentioned_where_something_stands_for_them(opauc):
    assert "missing" not in one_line(
        opauc("train", "--solver", "auto", "t.csv", "-o", "m", "--label", "Survived", "--missing", "zero")
    )


def test_typed_tables_name_every_column_of_words_at_once(tmp_path, opauc):
    pd.DataFrame({"a": ["x"], "last, first": ["z"], "b": [1.0], "label": [1]}).to_parquet(tmp_path / "t.parquet")
    said = one_line(opauc("train", "--solver", "auto", tmp_path / "t.parquet", "-o", tmp_path / "m"))
    assert "columns a, last, first hold strings" in said
    assert """(--categorical 'a,"last, first"')""" in said


def test_names_with_commas_are_quoted_as_in_csv(tmp_path, opauc):
    (tmp_path / "t.csv").write_text('"a,b",c,"d ""e""",label\n1,2,u,0\n2,1,v,1\n3,5,u,0\n1,7,v,1\n')
    options = ["--features", '"a,b", c', "--categorical", '"d ""e"""']
    assert opauc("train", "--solver", "auto", tmp_path / "t.csv", "-o", tmp_path / "m", *options).code == 0
    assert library.load(tmp_path / "m").feature_names_in_.tolist() == ["a,b", "c", 'd "e"=u', 'd "e"=v']


def test_columns_are_found_by_position_beside_columns_that_are_left_out(tmp_path, opauc):
    (tmp_path / "t.csv").write_text("a,b,c,d\n1,2,0,4\n3,1,1,1\n2,2,0,1\n4,4,1,2\n")
    for options in (["--features", "0"], ["--drop", "1,-1"], ["--drop", "b,3"]):
        assert (
            opauc("train", "--solver", "auto", tmp_path / "t.csv", "-o", tmp_path / "m", "--label", "2", *options).code
            == 0
        )
        assert library.load(tmp_path / "m").feature_names_in_.tolist() == ["a"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--drop", "nothing,none"], "no columns nothing, none; there are id, Name"),
        (["--drop", "Survived"], "column Survived cannot be used and dropped"),
        (["--drop", "Sex", "--categorical", "Sex"], "column Sex cannot be used and dropped"),
        (["--decimal", ";"], "decimal must be a point or a comma"),
        (["--decimal", ",", "--delimiter", ","], "delimiter and decimal cannot both be a comma"),
    ],
)
@pytest.mark.usefixtures("messy")
def test_mistakes_about_columns_are_one_line(opauc, options, said):
    assert said in one_line(opauc("train", "--solver", "auto", "t.csv", "-o", "m", "--label", "Survived", *options))


def test_numbers_with_decimal_commas_are_read_and_the_model_remembers(tmp_path, opauc):
    rows = np.random.default_rng(0).normal(size=(60, 2))
    frame = pd.DataFrame(rows, columns=["a", "b"]).assign(label=(rows[:, 0] > 0.2).astype(int))
    frame.to_csv(tmp_path / "point.csv", index=False)
    frame.to_csv(tmp_path / "comma.csv", index=False, sep=";", decimal=",")
    assert opauc("train", "--solver", "auto", tmp_path / "point.csv", "-o", tmp_path / "p").code == 0
    assert opauc("train", "--solver", "auto", tmp_path / "comma.csv", "-o", tmp_path / "c", "--decimal", ",").code == 0
    assert (library.load(tmp_path / "c").coef_ == library.load(tmp_path / "p").coef_).all()
    assert opauc("predict", tmp_path / "c", tmp_path / "comma.csv").out == (
        opauc("predict", tmp_path / "p", tmp_path / "point.csv").out
    )


def test_truth_values_in_text_are_those_of_typed_tables(tmp_path, opauc):
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"flag": random.random(80) > 0.4, "a": random.normal(size=80)})
    frame["Label"] = frame.flag ^ (random.random(80) > 0.8)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for name in ("csv", "parquet"):
        assert opauc("train", "--solver", "auto", tmp_path / f"t.{name}", "-o", tmp_path / name).code == 0
    text, typed = library.load(tmp_path / "csv"), library.load(tmp_path / "parquet")
    assert text.classes_.tolist() == typed.classes_.tolist() == [False, True]
    np.testing.assert_allclose(text.coef_, typed.coef_, rtol=1e-12)
    for model, data in (("csv", "parquet"), ("parquet", "csv")):
        assert opauc("evaluate", tmp_path / model, tmp_path / f"t.{data}", "--json").code == 0
    ran = opauc("train", "--solver", "auto", tmp_path / "t.csv", "-o", tmp_path / "p", "--positive", "True")
    assert ran.code == 0, ran.err
    np.testing.assert_allclose(library.load(tmp_path / "p").coef_, typed.coef_, rtol=1e-12)


@pytest.mark.filterwarnings("always")
def test_the_index_that_pandas_writes_is_left_out_and_said(tmp_path, opauc):
    random = np.random.default_rng(2)
    frame = pd.DataFrame({"a": random.normal(size=30), "label": [0, 1] * 15})
    frame.to_csv(tmp_path / "t.csv")
    ran = opauc("train", "--solver", "auto", tmp_path / "t.csv", "-o", tmp_path / "m")
    assert ran.code == 0
    assert "t.csv: the first column has no name and no value twice; it is left out" in ran.err
    assert library.load(tmp_path / "m").feature_names_in_.tolist() == ["a"]
    assert opauc("predict", tmp_path / "m", tmp_path / "t.csv").code == 0
    frame.set_index(np.arange(30) % 7).to_csv(tmp_path / "u.csv")
    ran = opauc("train", "--solver", "auto", tmp_path / "u.csv", "-o", tmp_path / "n")
    assert "u.csv: columns without a name of their own are called Unnamed: 0" in ran.err
    assert library.load(tmp_path / "n").feature_names_in_.tolist() == ["Unnamed: 0", "a"]
    ran = opauc("train", "--solver", "auto", tmp_path / "u.csv", "-o", tmp_path / "n", "--drop", "0")
    assert (ran.code, "warning" in ran.err) == (0, False)


@pytest.mark.usefixtures("messy")
def test_a_missing_value_in_new_rows_is_refused_by_how_the_model_was_trained(opauc):
    clean = MESSY.replace("female,,1", "female,38,1")
    Path("clean.csv").write_text(clean)
    options = ["--label", "Survived", "--drop", "id,Name"]
    assert opauc("train", "--solver", "auto", "clean.csv", "-o", "m", *options, "--categorical", "Sex").code == 0
    said = one_line(opauc("predict", "m", "t.csv"))
    assert said == (
        "t.csv, line 3, column Age: the value is missing, and the model was trained to refuse missing values; to score "
        "such rows, train it with missing values taken as zero or as the mean (opauc train --missing)"
    )
    Path("new.csv").write_text(clean.replace("male,35", ",35"))
    assert "line 5, column Sex: the category is missing, and the model" in one_line(opauc("predict", "m", "new.csv"))


@pytest.mark.parametrize("verb", ["evaluate", "report"])
@pytest.mark.parametrize(("rows", "said"), [("", "there are no rows"), ("1,0\n2,0\n", "2 rows, all labeled 0")])
def test_rows_that_have_no_auc_are_one_line(tmp_path, monkeypatch, opauc, verb, rows, said):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("a,label\n1,0\n2,1\n3,1\n")
    Path("new.csv").write_text("a,label\n" + rows)
    assert opauc("train", "--solver", "auto", "t.csv", "-o", "m").code == 0
    line = one_line(opauc(verb, "m", "new.csv", *(["-o", "page.html"] if verb == "report" else [])))
    assert line.startswith("new.csv: ")
    assert said in line
    assert not Path("page.html").exists()


@pytest.mark.usefixtures("messy")
def test_unknown_categories_are_counted_and_said(opauc):
    clean = MESSY.replace("female,,1", "female,38,1")
    Path("clean.csv").write_text(clean)
    assert opauc(
        "train",
        "--solver",
        "auto",
        "clean.csv",
        "-o",
        "m",
        "--label",
        "Survived",
        "--drop",
        "id,Name",
        "--categorical",
        "Sex",
    )
    Path("new.csv").write_text(clean.replace("female", "other"))
    said = "column Sex: 2 rows have categories not met in training (other); they count as none"
    assert said in opauc("predict", "m", "new.csv").err
    assert said in opauc("evaluate", "m", "new.csv").err
    told = [json.loads(line) for line in opauc("predict", "m", "new.csv", "--json").out.splitlines()]
    assert told[-1] == {"event": "unknown_categories", "column": "Sex", "rows": 2, "examples": ["other"]}
    assert "categories" not in opauc("predict", "m", "clean.csv").err


def test_a_column_of_very_many_categories_is_said_in_training(tmp_path, opauc):
    lines = ["name,kind,label", *(f"n{i},k{i % 7},{i % 2}" for i in range(400))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    ran = opauc("train", "--solver", "auto", tmp_path / "t.csv", "-o", tmp_path / "m", "--categorical", "name,kind")
    assert "column name: 400 categories so far, a feature each; --hash-bits spreads them over fewer" in ran.err
    assert "--drop name leaves the column out" in ran.err
    assert "column kind" not in ran.err


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_columns_are_carried_through_predictions(tmp_path, opauc, form):
    random = np.random.default_rng(4)
    frame = pd.DataFrame({"id": [f"{i:03}" for i in range(50)], "a": random.normal(size=50), "name": ['x, "y"'] * 50})
    frame["label"] = [0, 1] * 25
    path = tmp_path / f"t.{form}"
    frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
    assert opauc("train", "--solver", "auto", path, "-o", tmp_path / "m", "--drop", "id,name").code == 0
    plain = opauc("predict", tmp_path / "m", path).out.split()
    kept = list(csv.reader(io.StringIO(opauc("predict", tmp_path / "m", path, "--keep", "id,name,a,label").out)))
    assert kept[0] == ["id", "name", "a", "label", "score"]
    assert [row[-1] for row in kept[1:]] == plain
    assert [row[:2] for row in kept[1:]] == frame[["id", "name"]].values.tolist()
    assert [float(row[2]) for row in kept[1:]] == frame.a.tolist()
    told = json.loads(opauc("predict", tmp_path / "m", path, "--keep", "id", "--json").out.splitlines()[7])
    assert told["kept"] == {"id": "007"}
    assert "no column x; there are id, a, name, label" in one_line(
        opauc("predict", tmp_path / "m", path, "--keep", "x")
    )


def test_kept_columns_stay_beside_their_rows_where_bad_ones_are_skipped(tmp_path, opauc):
    (tmp_path / "t.csv").write_text('id,a,label\nr1,1,0\nr2,2,1\n"r\n3",x,0\nr4,4,1\nr5,5\nr6,,0\n\nr7,7,1\n')
    (tmp_path / "clean.csv").write_text("a,label\n1,0\n2,1\n3,0\n9,1\n")
    assert opauc("train", "--solver", "auto", tmp_path / "clean.csv", "-o", tmp_path / "m").code == 0
    ran = opauc("predict", tmp_path / "m", tmp_path / "t.csv", "--keep", "id,a", "--on-bad-row", "skip")
    assert [line.rsplit(",", 1)[0] for line in ran.out.splitlines()] == ["id,a", "r1,1", "r2,2", "r4,4", "r7,7"]


def test_only_tables_have_columns_to_pass_through(tmp_path, opauc):
    (tmp_path / "t.svm").write_text("+1 1:1\n-1 1:0\n" * 5)
    assert opauc("train", "--solver", "auto", tmp_path / "t.svm", "-o", tmp_path / "m").code == 0
    said = one_line(opauc("predict", tmp_path / "m", tmp_path / "t.svm", "--keep", "id"))
    assert said.endswith("only tables have columns that can be passed through")


@pytest.mark.skipif(not RAW.exists(), reason="the raw tables are not here")
@pytest.mark.parametrize(
    ("name", "label", "drop"),
    [
        ("adult", "income", "fnlwgt"),
        ("titanic", "Survived", "PassengerId,Name,Ticket"),
        ("hotel_bookings", "is_canceled", "reservation_status,reservation_status_date"),
    ],
)
def test_public_tables_train_after_one_message_to_what_pandas_and_arrays_give(tmp_path, opauc, name, label, drop):
    path, model_file = RAW / f"{name}.csv.gz", tmp_path / "m"
    said = one_line(opauc("train", "--solver", "auto", path, "-o", model_file, "--label", label, "--drop", drop))
    words = re.search(r"\(--categorical ([^)]*)\)", said)[1].strip("'").split(",")
    options = ["--label", label, "--categorical", ",".join(words), "--missing", "zero", "--drop", drop]
    ran = opauc("train", "--solver", "auto", path, "-o", model_file, *options)
    assert ran.code == 0, ran.err
    frame = pd.read_csv(path, keep_default_na=False, dtype=str)
    numbers = frame.drop(columns=[label, *words, *drop.split(",")]).apply(pd.to_numeric, errors="coerce").fillna(0.0)
    features = pd.get_dummies(frame[words].replace("", None), prefix_sep="=", dtype=float).join(numbers)
    model = library.load(model_file)
    assert set(model.feature_names_in_) == set(features)
    wanted = OPAUC().fit(features[list(model.feature_names_in_)].to_numpy(), frame[label])
    scores = wanted.decision_function(features[list(model.feature_names_in_)].to_numpy())
    raw = frame.drop(columns=numbers.columns).join(numbers)
    np.testing.assert_allclose(model.decision_function(raw), scores, rtol=1e-6, atol=1e-6)
    said = np.array(opauc("predict", model_file, path).out.split(), float)
    np.testing.assert_allclose(said, model.decision_function(raw), rtol=1e-12)
