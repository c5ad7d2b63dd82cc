"""`opauc train` of tables as they come: columns typed by looking, the same model wherever it serves."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import feather, parquet
from sklearn.metrics import roc_auc_score

import opauc as library
from tests.cli.commands import with_init_size
from tests.tables import piped, raw_table, write_csv

ROWS = raw_table(6000)
TEST = raw_table(3000, seed=1)


@pytest.fixture
def opauc(opauc):
    return with_init_size(opauc, 1500)


@pytest.fixture(autouse=True)
def _small_cards(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


def scores_of(opauc, model, data):
    ran = opauc("predict", model, data)
    assert ran.code == 0, ran.err
    return np.array([float(line) for line in ran.out.splitlines()])


def events(ran):
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


def auc_of(opauc, model, data):
    return events(opauc("evaluate", model, data, "--json"))[-1]["auc"]


@pytest.fixture
def trained(opauc):
    write_csv("rows.csv", ROWS)
    write_csv("test.csv", TEST)
    return opauc("train", "rows.csv", "--label", "bought", "-o", "model", "--explain-columns")


def test_a_raw_table_is_learnt_with_no_options_and_one_line_tells_what_was_made_of_it(opauc, trained):
    assert trained.code == 0, trained.err
    assert "columns: 3 numbers, 1 category, 1 boolean, 1 date" in trained.err
    left = "id (identifier), name (identifier), empty (empty), always (constant)"
    assert f"dropped: {left}" in trained.err
    shown = {line.split()[0]: line.split(maxsplit=1)[1] for line in trained.out.splitlines() if " " in line.strip()}
    assert "number" in shown["age"]
    assert "% missing" in shown["income"]
    assert shown["id"].startswith("dropped, identifier")
    assert "iso" in shown["since"]
    assert auc_of(opauc, "model", "test.csv") > 0.77


def test_a_model_without_a_name_is_called_after_its_data(opauc):
    write_csv("rows.csv", ROWS)
    named = opauc("train", "rows.csv", "--label", "bought", "-o", "model")
    assert opauc("train", "rows.csv", "--label", "bought").code == named.code == 0
    assert Path("rows.opauc").read_bytes() == Path("model").read_bytes()


def test_who_names_no_label_is_told_the_columns_and_nothing_that_an_additive_model_does_not_mind(opauc):
    write_csv("rows.csv", ROWS)
    ran = opauc("train", "rows.csv")
    assert ran.code == 2
    assert "name the label (--label), one of " in ran.err
    assert "--missing" not in ran.err


def test_python_the_command_and_a_file_of_other_types_give_the_same_scores(opauc, trained):
    assert trained.code == 0
    scores = scores_of(opauc, "model", "test.csv")
    model = library.load("model")
    read = pd.read_csv("test.csv")
    assert read["income"].dtype.kind == "f"
    for frame in (TEST, read.drop(columns=["bought", "id", "name"]), read[read.columns[::-1]]):
        assert_array_equal(model.decision_function(frame), scores)
    dated = read.assign(since=pd.to_datetime(read["since"]), paid=read["paid"].astype(bool))
    assert_array_equal(model.decision_function(dated), scores)
    parquet.write_table(pa.Table.from_pandas(dated), "test.parquet")
    assert_array_equal(scores_of(opauc, "model", "test.parquet"), scores)
    assert roc_auc_score(TEST["bought"] == "yes", scores) == pytest.approx(auc_of(opauc, "model", "test.csv"))
    library.save(model, "again")
    assert_array_equal(scores_of(opauc, "again", "test.csv"), scores)


@pytest.mark.parametrize("kind", ["tsv", "parquet", "feather", "semicolons", "comma decimals", "folder"])
def test_every_format_of_a_table_gives_the_model_of_the_csv_file(opauc, trained, kind):
    assert trained.code == 0
    frame, name = ROWS, f"rows.{kind}"
    if kind == "tsv":
        write_csv(name, frame, sep="\t")
    elif kind in ("semicolons", "comma decimals"):
        name = "rows2.csv"
        if kind == "comma decimals":
            frame = frame.assign(age=frame["age"].str.replace(".", ","), income=frame["income"].str.replace(".", ","))
        write_csv(name, frame, sep=";", encoding="utf-8-sig")
    elif kind == "folder":
        name = Path("folder")
        name.mkdir()
        for number, part in enumerate(np.array_split(np.arange(len(frame)), 5)):
            write_csv(name / f"part-{number}.csv", frame.iloc[part])
    else:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        (parquet.write_table if kind == "parquet" else feather.write_feather)(table, name)
    ran = opauc("train", name, "--label", "bought", "-o", "other")
    assert ran.code == 0, ran.err
    other = library.load("other")
    assert {column.name: column.kind for column in other._columns.columns} == {
        column.name: column.kind for column in library.load("model")._columns.columns
    }
    scores = other.decision_function(TEST)
    assert abs(roc_auc_score(TEST["bought"], scores) - auc_of(opauc, "model", "test.csv")) < 0.005


def test_what_the_user_says_of_columns_comes_first(opauc):
    write_csv("rows.csv", ROWS)
    options = ["--label", "bought", "--drop", "since,0", "--categorical", "grade,name", "--numeric", "age"]
    told = events(opauc("train", "rows.csv", *options, "-o", "model", "--json", "--explain-columns"))
    kinds = {one["name"]: (one["kind"], one["used"]) for one in told if one["event"] == "column"}
    assert "since" not in kinds
    assert "id" not in kinds
    assert kinds["grade"] == kinds["name"] == ("category", True)
    assert kinds["age"] == ("number", True)
    ran = opauc("train", "rows.csv", "--label", "bought", "--numeric", "city", "-o", "m")
    said = "opauc: rows.csv: column city is declared numeric (--numeric city) but has no numbers, for example 'Bern'\n"
    assert (ran.code, ran.err) == (2, said)
    ran = opauc("train", "rows.csv", "--label", "bought", "--categorical", "age", "--numeric", "age", "-o", "m")
    assert (ran.code, ran.err) == (2, "opauc: rows.csv: column age cannot be categorical and numeric\n")
    assert "no column ages" in opauc("train", "rows.csv", "--label", "bought", "--numeric", "ages", "-o", "m").err


def test_options_of_linear_scorers_ask_for_one_and_do_not_go_with_an_additive_model(opauc):
    write_csv("rows.csv", ROWS[["grade", "bought"]])
    assert opauc("train", "rows.csv", "--label", "bought", "--alpha", "0.1", "-o", "model").code == 0
    assert type(library.load("model")).__name__ == "OPAUC"
    assert opauc("train", "rows.csv", "--label", "bought", "--solver", "exact", "-o", "model").code == 0
    assert type(library.load("model")).__name__ == "OPAUC"
    assert opauc("train", "rows.csv", "--label", "bought", "-o", "model").code == 0
    assert type(library.load("model")).__name__ == "OnePassGAM"
    refused = opauc("train", "rows.csv", "--label", "bought", "--solver", "gam", "--rank", "5", "-o", "m")
    assert (refused.code, refused.err) == (2, "opauc: --rank is for linear solvers; an additive model takes none\n")


def test_sparse_rows_are_learnt_by_a_linear_scorer_and_dense_arrays_by_an_additive_model(opauc):
    random = np.random.default_rng(0)
    rows = random.normal(size=(3000, 3))
    labels = (rows[:, 0] ** 2 + random.normal(size=3000) > 1).astype(float)
    np.save("rows.npy", np.column_stack([rows, labels]))
    assert opauc("train", "rows.npy", "--label", "3", "-o", "model").code == 0
    model = library.load("model")
    assert type(model).__name__ == "OnePassGAM"
    assert roc_auc_score(labels, model.decision_function(rows)) > 0.75
    assert_allclose(scores_of(opauc, "model", "rows.npy"), model.decision_function(rows))
    with open("rows.svm", "w") as out:
        out.writelines(f"{int(label)} 1:{row[0]:.4f}\n" for row, label in zip(rows, labels, strict=True))
    assert opauc("train", "rows.svm", "-o", "model").code == 0
    assert type(library.load("model")).__name__ == "OPAUC"


def test_shards_that_begin_like_one_model_merge_to_that_of_all_rows_and_a_file_can_be_forgotten(opauc):
    write_csv("rows.csv", ROWS)
    assert opauc("train", "rows.csv", "--label", "bought", "-o", "basis").code == 0
    for number in range(4):
        write_csv(f"part-{number}.csv", ROWS.iloc[number::4])
        ran = opauc("train", f"part-{number}.csv", "--basis-from", "basis", "-o", f"shard-{number}")
        assert ran.code == 0, ran.err
    assert opauc("merge", *[f"shard-{number}" for number in range(4)], "-o", "merged").code == 0
    scores = library.load("basis").decision_function(TEST)
    assert_allclose(library.load("merged").decision_function(TEST), scores, atol=1e-8)
    assert opauc("forget", "merged", "part-0.csv", "part-2.csv", "-o", "less").code == 0
    assert opauc("merge", "shard-1", "shard-3", "-o", "wanted").code == 0
    less, wanted = library.load("less"), library.load("wanted")
    assert_allclose(less.decision_function(TEST), wanted.decision_function(TEST), atol=1e-8)
    assert opauc("train", "part-0.csv", "--label", "bought", "-o", "alone").code == 0
    refused = opauc("merge", "alone", "shard-1", "-o", "m")
    assert refused.code == 2
    assert "basis" in refused.err


def test_the_options_of_a_model_may_be_repeated_beside_it_but_not_changed(opauc):
    write_csv("rows.csv", ROWS)
    said = ("--label", "bought", "--drop", "income,name", "--categorical", "grade", "--seed", "3")
    assert opauc("train", "rows.csv", *said, "-o", "basis").code == 0
    for more in ((), said, ("--label", "bought"), ("--drop", "income,name", "--classes", "no,yes")):
        ran = opauc("train", "rows.csv", "--basis-from", "basis", *more, "-o", "again")
        assert ran.code == 0, ran.err
        assert library.load("again")._columns.to_json() == library.load("basis")._columns.to_json()
    for option, value, was in (
        ("--label", "paid", "with --label bought"),
        ("--drop", "age", "with --drop income,name"),
        ("--numeric", "city", "without --numeric"),
        ("--delimiter", ";", "without --delimiter"),
        ("--decimal", ",", "without --decimal"),
        ("--positive", "no", "without --positive"),
        ("--classes", "maybe,yes", "with --classes no,yes"),
        ("--seed", "4", "with --seed 3"),
    ):
        ran = opauc("train", "rows.csv", "--basis-from", "basis", option, value, "-o", "m")
        said = f"opauc: {option} is settled by --basis-from: rows are read as those of basis were, {was}\n"
        assert (ran.code, ran.err) == (2, said)
    ran = opauc("train", "rows.csv", "--basis-from", "basis", "--no-header", "--label", "paid", "-o", "m")
    assert "--label, --header are settled" in ran.err
    assert ran.err.endswith("with --label bought, without --header\n")
    write_csv("rows.csv", ROWS[["age", "paid", "bought"]], sep="^")
    assert opauc("train", "rows.csv", "--delimiter", "^", "--label", "bought", "-o", "basis").code == 0
    ran = opauc("train", "rows.csv", "--basis-from", "basis", "-o", "again")
    assert ran.code == 0, ran.err


@pytest.mark.parametrize("more", [(), ("--n-jobs", "2")])
def test_a_model_of_python_is_begun_like_with_the_label_of_the_file(opauc, more):
    columns = ["age", "income", "city", "since"]
    model = library.OnePassGAM(init_size=1500).fit(ROWS[columns], ROWS["bought"])
    library.save(model, "basis")
    write_csv("rows.csv", ROWS)
    ran = opauc("train", "rows.csv", "--basis-from", "basis", "--label", "bought", *more, "-o", "again")
    assert ran.code == 0, ran.err
    again = library.load("again")
    assert_allclose(again.decision_function(TEST[columns]), model.decision_function(TEST[columns]), atol=1e-8)
    assert again.merge(model)._fitted.counts == tuple(2 * n for n in model._fitted.counts)


@pytest.mark.parametrize("order", ["label", "income", "since"])
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "npy"])
def test_a_sorted_file_is_learnt_as_a_shuffled_one(opauc, kind, order):
    frame = raw_table(12_000)
    ordered = frame.assign(order=pd.to_numeric(frame["income"], errors="coerce") if order == "income" else
                           frame["bought" if order == "label" else order])  # fmt: skip
    ordered = ordered.sort_values("order").drop(columns="order")
    aucs = {}
    for name, rows in (("shuffled", frame), ("sorted", ordered)):
        path = f"{name}.{kind}"
        if kind in ("csv", "csv.gz"):
            write_csv(path, rows)
        elif kind == "parquet":
            parquet.write_table(pa.Table.from_pandas(rows, preserve_index=False), path, row_group_size=1000)
        else:
            np.save(path, numbers_of(rows))
        label = "bought" if kind != "npy" else "4"
        ran = opauc("train", path, "--label", label, "-o", name)
        assert ran.code == 0, ran.err
        assert "do not look like" not in ran.err
        rows = TEST if kind != "npy" else numbers_of(TEST)[:, :4]
        aucs[name] = roc_auc_score(TEST["bought"], library.load(name).decision_function(rows))
    assert aucs["sorted"] > aucs["shuffled"] - 0.004
    assert aucs["sorted"] > 0.75


def numbers_of(frame):
    """Return some columns as numbers, and the label last."""
    ages, incomes = (pd.to_numeric(frame[name], errors="coerce") for name in ("age", "income"))
    days = (pd.to_datetime(frame["since"]) - pd.Timestamp("2020-01-01")).dt.days
    return np.column_stack([ages, incomes, days, frame["paid"] == "True", frame["bought"] == "yes"]).astype(float)


def test_a_sorted_stream_is_noticed_by_name_and_still_ranks(opauc):
    frame = raw_table(12_000)
    frame = frame.assign(order=pd.to_numeric(frame["income"], errors="coerce")).sort_values("order")
    with piped("rows.csv", frame.drop(columns=["order", "id"])):
        ran = opauc("train", "rows.csv", "--label", "bought", "-o", "model")
    assert ran.code == 0, ran.err
    assert "opauc: warning: income: later rows do not look like those of the basis" in ran.err
    assert roc_auc_score(TEST["bought"], library.load("model").decision_function(TEST)) > 0.7


def test_a_stream_sorted_by_its_label_waits_for_both_classes(opauc):
    with piped("rows.csv", raw_table(6000).drop(columns="id").sort_values("bought")):
        ran = opauc("train", "rows.csv", "--label", "bought", "-o", "model")
    assert ran.code == 0, ran.err
    assert roc_auc_score(TEST["bought"], library.load("model").decision_function(TEST)) > 0.7


def test_numbers_that_are_codes_are_said_to_be_and_serve_from_a_file(opauc):
    truth, rng = np.random.default_rng(3), np.random.default_rng(4)
    numbers, habits = truth.choice(10**6, 200, replace=False), truth.normal(size=200)
    person, age = rng.integers(0, 200, 5000), rng.integers(18, 80, 5000)
    bought = rng.random(5000) < 1.0 / (1.0 + np.exp(-2.0 * habits[person]))
    table = pd.DataFrame({"person": numbers[person], "age": age + 0.5, "bought": bought.astype(int)})
    table[:4000].to_csv("rows.csv", index=False)
    table[4000:].to_csv("test.csv", index=False)
    declared = events(opauc("train", "rows.csv", "--label", "bought", "--numeric", "person", "-o", "model", "--json"))
    assert "code" not in {event["event"] for event in declared}
    said = events(opauc("train", "rows.csv", "--label", "bought", "-o", "model", "--json"))
    (code,) = (event for event in said if event["event"] == "code")
    assert code["column"] == "person"
    # 300 of the 1500 rows validate trees: of the others, some persons have less than two.
    assert 194 <= code["values"] <= 200
    assert auc_of(opauc, "model", "test.csv") > 0.8
    inspected = opauc("inspect", "model")
    assert "person (categorical)" in inspected.out
    page = opauc("report", "model", "test.csv", "-o", "page.html")
    assert page.code == 0, page.err
    assert "person (categorical)" in Path("page.html").read_text()
