"""`opauc compare` sets every method beside the others on the same rows, raw tables among them."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from opauc import OnePassGAM
from opauc.api.methods import FEATURE_METHODS, TABLE_METHODS, MethodNames
from opauc.core.registry import SOLVERS
from opauc.metrics import held_out
from tests.tables import raw_table, rows_and_labels, write_csv, write_rows

FEW = "gam,exact,logistic_regression"


def compared(ran):
    """Return what was said of each method, by name."""
    assert ran.code == 0, ran.err
    told = [json.loads(line) for line in ran.out.splitlines()]
    return {line["method"]: line for line in told if line["event"] == "compared"}


def test_slow_methods_are_left_out_unless_they_are_named():
    slow = {name for name, kind in SOLVERS.items() if kind.is_slow}
    assert slow == {"descent_grid", "sketched_grid"}
    usual = MethodNames.of(None)
    assert set(usual.of_features) - set(FEATURE_METHODS) == set(SOLVERS) - slow
    assert set(usual.of_tables) <= set(TABLE_METHODS)
    assert "gam" in usual.of_tables
    assert MethodNames.of(["descent_grid", "exact", "gam", "exact"]) == (["descent_grid", "exact"], ["gam"])


def test_every_method_is_ranked_on_the_same_rows(tmp_path, opauc):
    rows, labels = rows_and_labels(6, 600, 4)
    data = write_rows(tmp_path, "csv", rows, labels)
    told = compared(opauc("compare", data, "--methods", "exact,sgd,class_means,logistic_regression", "--json"))
    assert set(told) == {"exact", "sgd", "class_means", "logistic_regression"}
    assert all(line["low"] <= line["auc"] <= line["high"] for line in told.values())
    table = opauc("compare", data, "--methods", "exact,sgd").out
    assert "95 % interval" in table
    again = compared(opauc("compare", data, "--methods", "exact", "--json", "--seed", "0"))
    assert again["exact"]["auc"] == told["exact"]["auc"]


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
def test_raw_tables_are_learnt_by_every_method_each_with_what_it_takes(tmp_path, opauc, form):
    frame = raw_table(2500)
    data = tmp_path / f"rows.{form}"
    if form == "parquet":
        frame.to_parquet(data)
    else:
        text = frame.to_csv(index=False).encode()
        data.write_bytes(gzip.compress(text) if form.endswith("gz") else text)
    ran = opauc("compare", data, "--label", "bought", "--methods", FEW, "--json")
    told = compared(ran)
    assert set(told) == set(FEW.split(","))
    assert all(line["trouble"] == "" for line in told.values())
    assert told["gam"]["auc"] > max(told["exact"]["auc"], told["logistic_regression"]["auc"])
    lines = ran.out.splitlines()
    [columns] = [json.loads(line) for line in lines if '"event": "columns"' in line]
    assert set(columns["dropped"]) == {"id", "name", "empty", "always"}
    [given] = [json.loads(line) for line in lines if '"event": "rows"' in line]
    assert given["of_tables"] == ["gam"]
    # Age, income, paid, grade, three parts of a date; two marks of missing numbers; four cities.
    assert given["features"] == given["columns"] - 1 + 2 + 4


def test_the_additive_model_is_the_estimator_fitted_to_the_rows_that_are_learned(tmp_path, opauc):
    frame = raw_table(3000).drop(columns=["id", "name", "empty", "always"])
    data = write_csv(tmp_path / "rows.csv", frame)
    found = compared(opauc("compare", data, "--label", "bought", "--methods", "gam", "--json"))["gam"]["auc"]
    out = held_out(0, 3000, 0.2, 0)
    rows, labels = frame.drop(columns="bought"), frame["bought"]
    model = OnePassGAM(random_state=0).fit(rows[~out], labels[~out])
    assert found == pytest.approx(roc_auc_score(labels[out], model.decision_function(rows[out])), abs=1e-9)


def test_one_line_says_what_the_methods_are_given(tmp_path, opauc):
    data = write_csv(tmp_path / "rows.csv", raw_table(1500)[["age", "city", "bought"]])
    said = opauc("compare", data, "--label", "bought", "--methods", "gam,exact").err.splitlines()
    assert said == [
        "columns: 1 number, 1 category",
        "gam: 2 columns unscaled; the others: 6 features (numbers scaled, missing values marked, one for each "
        "category)",
    ]
    said = opauc("compare", data, "--label", "bought", "--methods", "exact", "--explain-columns")
    assert said.err.splitlines()[1].startswith("6 features (numbers scaled")
    assert "category: 4 categories" in said.out


def test_methods_do_not_depend_on_which_others_are_compared(tmp_path, opauc):
    data = write_csv(tmp_path / "rows.csv", raw_table(1500))
    alone, among = (
        compared(opauc("compare", data, "--label", "bought", "--methods", names, "--json")) for names in ("exact", FEW)
    )
    assert alone["exact"]["auc"] == among["exact"]["auc"]


def test_users_may_say_what_columns_are(tmp_path, opauc):
    frame = raw_table(1500)[["age", "grade", "bought"]]
    data = write_csv(tmp_path / "rows.csv", frame)
    asked = ["compare", data, "--label", "bought", "--methods", "exact"]
    said = opauc(*asked, "--categorical", "grade", "--drop", "age").err
    assert said.startswith("columns: 1 category\n3 features")
    said = opauc(*asked, "--numeric", "age").err
    assert said.startswith("columns: 2 numbers\n3 features")


@pytest.mark.parametrize("form", ["svm", "sparse.npz"])
def test_sparse_rows_are_for_the_learners_and_the_others_say_so(tmp_path, opauc, form):
    rows, labels = rows_and_labels(6, 600, 4)
    told = compared(opauc("compare", write_rows(tmp_path, form, rows, labels), "--methods", FEW, "--json"))
    assert told["gam"]["trouble"] == "takes tables, these rows are sparse"
    assert told["exact"]["auc"] > 0.6


@pytest.mark.parametrize("form", ["npz", "csv"])
def test_arrays_and_rows_read_as_linear_scorers_read_them_are_for_all(tmp_path, opauc, form):
    rows, labels = rows_and_labels(6, 600, 4)
    more = ["--missing", "zero"] if form == "csv" else []
    told = compared(opauc("compare", write_rows(tmp_path, form, rows, labels), "--methods", FEW, "--json", *more))
    assert all(line["auc"] > 0.6 for line in told.values())


def test_gaps_and_words_that_linear_scorers_refuse_are_refused_where_they_are_asked_for(tmp_path, opauc):
    data = write_csv(tmp_path / "rows.csv", raw_table(500)[["age", "city", "bought"]])
    ran = opauc("compare", data, "--label", "bought", "--missing", "mean", "--methods", "exact")
    assert ran.code == 2
    assert "city" in ran.err


def test_bad_rows_labels_and_files_are_one_line(tmp_path, opauc):
    frame = raw_table(500)[["age", "city", "bought"]]
    data = write_csv(tmp_path / "rows.csv", frame.assign(age=["inf" if at == 7 else 1.5 * at for at in range(500)]))
    asked = ["compare", data, "--label", "bought", "--methods", "gam,exact"]
    ran = opauc(*asked)
    assert ran.code == 2
    said = f"opauc: {data}, line 9, column age: inf is not a finite number; --on-bad-row skip leaves such rows out"
    assert ran.err.splitlines()[-1] == said
    assert opauc(*asked, "--on-bad-row", "skip").code == 0
    ran = opauc("compare", data, "--label", "nothing")
    assert ran.code == 2
    assert "no column" in ran.err
    assert len(ran.err.splitlines()) == 1
    data = write_csv(tmp_path / "same.csv", pd.DataFrame({"x": np.arange(300) % 7, "bought": "no"}))
    ran = opauc("compare", data, "--label", "bought")
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == "opauc: rows of two classes are needed, got 300 rows, all labeled no"
