"""The command on tables of more than two classes: training, evaluation, predictions; refusals by name."""

import csv
import io
import json
import re

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

import opauc as library
from opauc.metrics import MulticlassAuc
from tests.problems import several_problem

NAMES = np.array(["ant", "bee", "cat", "dog"])
ROWS, LABELS = several_problem(1, 1200, 4, 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files of rows of four classes, their halves and mistakes, and models of the first and of both."""
    folder = tmp_path_factory.mktemp("classes")
    table = pd.DataFrame(ROWS, columns=list("abcd")).assign(kind=NAMES[LABELS])
    parts = {"one": table[:600], "two": table[600:], "both": table}
    parts["new"] = table[:20].assign(kind=np.where(np.arange(20) == 4, "elk", table.kind[:20]))
    parts["numbers"] = table.assign(kind=LABELS)
    parts["many"] = table.assign(kind=np.arange(1200) % 101)
    parts["cased"] = table.assign(kind=np.where(np.arange(1200) == 1, "Ant", table.kind))
    parts["lacking"] = table[table.kind != "cat"]
    parts["rare"] = table.assign(kind=np.where(np.arange(1200) == 7, "elk", table.kind))
    parts["sorted"] = table.sort_values("kind")
    for name, part in parts.items():
        part.to_csv(folder / f"{name}.csv", index=False)
    library.train(folder / "one.csv", label="kind", solver="exact", output=folder / "one.opauc")
    library.train(folder / "two.csv", label="kind", solver="exact", output=folder / "two.opauc")
    library.train(folder / "both.csv", label="kind", solver="exact", output=folder / "both.opauc")
    return folder


@pytest.fixture(autouse=True)
def _there(folder, monkeypatch):
    monkeypatch.chdir(folder)


def test_training_finds_the_classes_and_names_them(opauc, tmp_path):
    ran = opauc("train", "one.csv", "--label", "kind", "--solver", "exact", "-o", tmp_path / "model")
    assert ran.code == 0
    assert "600 rows (4 classes: ant, bee, cat, dog), 4 features, exact" in ran.err + ran.out
    model, fitted = library.load(tmp_path / "model"), library.OPAUC().fit(ROWS[:600], NAMES[LABELS[:600]])
    assert_allclose(model.coef_, fitted.coef_, rtol=1e-9)
    assert model.classes_.tolist() == NAMES.tolist()


def test_the_penalty_is_chosen_inside_the_pass(opauc, tmp_path):
    ran = opauc("train", "one.csv", "--label", "kind", "--alpha", "auto", "-o", tmp_path / "model")
    assert "pair loss" in ran.err + ran.out
    assert library.load(tmp_path / "model").alpha_ == library.OPAUCCV().fit(ROWS[:600], LABELS[:600]).alpha_
    assert "penalties (alpha), pair_loss of 5 folds held out" in opauc("inspect", tmp_path / "model").out


@pytest.mark.parametrize("n_misspelled", [0, 1, 3, 4])
def test_a_class_of_hardly_any_rows_is_reported(opauc, tmp_path, n_misspelled):
    labels = ["yes", "no"] * 100 + ["maybe"] * 50 + ["yse"] * n_misspelled
    lines = [f"{i % 7},{label}" for i, label in enumerate(labels)]
    (tmp_path / "typo.csv").write_text("\n".join(["a,kind", *lines]) + "\n")
    ran = opauc("train", tmp_path / "typo.csv", "--label", "kind", "--solver", "exact", "-o", tmp_path / "model")
    assert ran.code == 0, ran.err
    rows = f"{n_misspelled} row{'s' if n_misspelled > 1 else ''}"
    assert (f"opauc: warning: classes of hardly any rows: yse ({rows}); " in ran.err) == (0 < n_misspelled <= 3)
    assert ("warning" in ran.err) == (0 < n_misspelled <= 3)


@pytest.mark.parametrize("options", [("--n-jobs", "2"), ("--classes", "dog,cat,bee,ant")])
def test_shards_and_named_classes_give_the_same_model(opauc, tmp_path, options):
    ran = opauc("train", "both.csv", "--label", "kind", "--solver", "exact", *options, "-o", tmp_path / "model")
    assert ran.code == 0
    assert_allclose(library.load(tmp_path / "model").coef_, library.load("both.opauc").coef_, rtol=1e-8)


def test_classes_are_named_where_the_first_rows_do_not_show_them(opauc, tmp_path):
    ran = opauc("train", "sorted.csv", "--label", "kind", "--solver", "exact", "-o", tmp_path / "model")
    assert ran.code == 0  # all rows are in the first batch
    ran = opauc("train", "lacking.csv", "--label", "kind", "--solver", "exact", "--classes", "ant,bee,cat,dog")
    assert (ran.code, ran.err) == (
        2, "opauc: training needs rows of every class, got " f"{np.sum(LABELS != 2)} rows, none labeled cat\n",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            "train one.csv new.csv --label kind --solver exact",
            "new.csv, line 6: label elk is none of the 4 classes ant, bee, cat, dog; name all classes (--classes)",
        ),
        (
            "train one.csv --label kind --solver exact --classes ant,bee",
            "one.csv, line 4: label cat besides ant and bee; name the positive one to take all others as negative "
            "(--positive), or name all classes (--classes)",
        ),
        (
            "train one.csv --label kind --solver exact --classes ant",
            "--classes: classes must be 2 to 100 distinct labels, got ant",
        ),
        ("train cased.csv --label kind --solver exact", "differ in case only: write them alike"),
        ("train many.csv --label kind --solver exact", "the label is continuous, 101 distinct numbers in 1,200 rows"),
        (
            "train one.csv --label kind --solver sgd",
            "Only binary classification is supported by --solver sgd, here there are 4 classes; set --solver exact",
        ),
        (
            "train one.csv --label kind --solver exact --loss logistic",
            "Only binary classification is supported by --loss logistic, here there are 4 classes; set --loss square",
        ),
        (
            "train one.csv --label kind --rank 3",
            "supported by --rank 3, here there are 4 classes; set --solver exact with",
        ),
        ("train one.csv --label kind --solver exact --by a -o cube", "besides"),
        (
            "threshold one.opauc two.csv --at-fpr 0.1",
            "supported by a threshold, here there are 4 classes; opauc predict",
        ),
        ("report one.opauc lacking.csv -o page.html", "lacking.csv: AUC needs rows of every class, got "),
        (
            "evaluate one.opauc two.csv --metric precision@900",
            "--metric: precision@900: k=900 is more than the 600 rows",
        ),
        ("evaluate one.opauc two.csv --within kind", "--within: no group has rows labeled ant, bee, cat, dog and rows"),
        ("evaluate one.opauc two.csv --engine dask", "supported by --engine"),
        ("evaluate one.opauc lacking.csv", "lacking.csv: AUC needs rows of every class, got "),
        ("evaluate one.opauc new.csv", "new.csv, line 6: label elk is none of the 4 classes"),
        ("update one.opauc new.csv -o other.opauc", "new.csv, line 6: label elk is none of the 4 classes"),
        (
            "export one.opauc -o card.csv",
            "supported by the format scorecard, here there are 4 classes; json, js, c, onnx, sql",
        ),
        ("export one.opauc -o model.c --reasons 2", "supported by --reasons 2, here there are 4 classes; leave it out"),
        (
            "compare one.csv --label kind --methods gam,sgd",
            "supported by --methods sgd, here there are 4 classes; gam, lightgbm, exact, exact_cv, logistic_regression "
            "take more",
        ),
        ("compare rare.csv --label kind --methods exact", "comparing needs rows of every class "),
    ],
)
def test_mistakes_are_one_line(opauc, arguments, line):
    ran = opauc(*arguments.split())
    assert ran.code == 2, ran.out
    last = ran.err.strip().splitlines()[-1]
    assert last.startswith("opauc: ")
    assert line in last


def test_evaluation_has_the_mean_aucs_of_scikit_learn(opauc):
    facts = json.loads(opauc("evaluate", "one.opauc", "two.csv", "--json").out.splitlines()[-1])
    model = library.load("one.opauc")
    rows, labels = pd.DataFrame(ROWS[600:], columns=list("abcd")), NAMES[LABELS[600:]]
    balanced, probabilities = np.exp(model.decision_function(rows)), model.predict_proba(rows)
    for average in ("ovo", "ovr"):
        found = facts[f"auc_{average}"]
        expected = roc_auc_score(labels, balanced, multi_class=average)
        assert_allclose(found["value"], expected, rtol=1e-9)
        assert found["low"] < found["value"] < found["high"]
    assert_allclose(facts["log_loss"], log_loss(labels, probabilities), rtol=1e-9)
    assert_allclose(facts["accuracy"], np.mean(model.predict(rows) == labels), rtol=1e-12)
    assert facts["rows_of"] == {name: int(np.sum(labels == name)) for name in NAMES.tolist()}
    assert facts["certain"][0] == facts["certain"][1]
    ran = opauc("evaluate", "one.opauc", "two.csv")
    assert f"mean AUC over pairs of classes        {facts['auc_ovo']['value']:.4f}, 95 % interval" in ran.out
    assert "ant " in ran.out


def test_a_gate_fails_and_models_are_compared_by_a_paired_test(opauc):
    assert opauc("evaluate", "one.opauc", "two.csv", "--at-least", "0.9999").code == 3
    ran = opauc("evaluate", "one.opauc", "two.csv", "--against", "both.opauc", "--json")
    against = json.loads(ran.out.splitlines()[-1])["against"]
    assert against["model"] == "both.opauc"
    assert 0.0 <= against["p_value"] <= 1.0


def test_predictions_are_a_label_and_a_column_for_each_class(opauc, tmp_path):
    model, rows = library.load("one.opauc"), pd.DataFrame(ROWS[600:], columns=list("abcd"))
    found = list(csv.DictReader(io.StringIO(opauc("predict", "one.opauc", "two.csv", "--response", "probability").out)))
    assert list(found[0]) == ["label", *(f"probability_{name}" for name in NAMES)]
    assert [row["label"] for row in found] == model.predict(rows).tolist()
    values = np.array([[float(row[f"probability_{name}"]) for name in NAMES] for row in found])
    assert_allclose(values, model.predict_proba(rows), rtol=1e-9)
    assert opauc("predict", "one.opauc", "two.csv", "--response", "label").out.split() == model.predict(rows).tolist()
    lines = opauc("predict", "one.opauc", "two.csv", "--json").out.splitlines()
    assert_allclose(list(json.loads(lines[0])["score"].values()), model.decision_function(rows[:1])[0], rtol=1e-9)
    opauc("predict", "one.opauc", "two.csv", "--keep", "kind", "-o", tmp_path / "p.parquet")
    table = pq.read_table(tmp_path / "p.parquet")
    assert table.schema.names == ["kind", "label", *(f"score_{name}" for name in NAMES)]
    assert_allclose(table["score_cat"].to_numpy(), model.decision_function(rows)[:, 2], rtol=1e-9)


def test_models_are_updated_merged_and_forget(opauc, tmp_path):
    both = library.load("both.opauc")
    assert opauc("merge", "one.opauc", "two.opauc", "-o", tmp_path / "merged").code == 0
    assert opauc("update", "one.opauc", "two.csv", "-o", tmp_path / "updated").code == 0
    for name in ("merged", "updated"):
        assert_allclose(library.load(tmp_path / name).coef_, both.coef_, rtol=1e-7)
    assert opauc("forget", tmp_path / "merged", "two.csv", "-o", tmp_path / "left").code == 0
    assert_allclose(library.load(tmp_path / "left").coef_, library.load("one.opauc").coef_, rtol=1e-5)


def test_training_goes_on_from_a_checkpoint(opauc, tmp_path):
    command = ["train", "both.csv", "--label", "kind", "--solver", "exact", "--checkpoint-every", "100"]
    assert opauc(*command, "--max-seconds", "1e-9", "-o", tmp_path / "model").code in (0, 2)
    assert opauc(*command, "--resume", "-o", tmp_path / "model").code == 0
    assert_allclose(library.load(tmp_path / "model").coef_, library.load("both.opauc").coef_, rtol=1e-8)


def test_inspection_names_the_class_of_each_weight(opauc):
    shown = opauc("inspect", "one.opauc").out
    assert any(f", {name} " in shown for name in NAMES)
    facts = json.loads(opauc("inspect", "one.opauc", "--json").out)
    assert len(facts["largest_weights"]) == 16


def test_whole_numbers_are_classes(opauc, tmp_path):
    assert opauc("train", "numbers.csv", "--label", "kind", "--solver", "exact", "-o", tmp_path / "model").code == 0
    assert library.load(tmp_path / "model").classes_.tolist() == [0, 1, 2, 3]


def test_metrics_and_groups_are_shown_for_each_class(opauc):
    arguments = ("evaluate", "one.opauc", "two.csv", "--metric", "ap,pauc@0.2", "--by", "a", "--against", "both.opauc")
    facts = json.loads(opauc(*arguments, "--json").out.splitlines()[-1])
    scores, labels = (
        library.load("one.opauc").decision_function(pd.DataFrame(ROWS[600:], columns=list("abcd"))),
        LABELS[600:],
    )
    precisions = [average_precision_score(labels == k, scores[:, k]) for k in range(4)]
    assert_allclose([facts["class_metrics"]["ap"][name]["value"] for name in NAMES], precisions, rtol=1e-9)
    assert_allclose(facts["metrics"]["ap"]["value"], np.mean(precisions), rtol=1e-9)
    areas = [roc_auc_score(labels == k, scores[:, k], max_fpr=0.2) for k in range(4)]
    assert_allclose([facts["class_metrics"]["pauc@0.2"][name]["value"] for name in NAMES], areas, rtol=1e-9)
    assert set(facts["differences"]) == {"ap", "pauc@0.2"}
    assert facts["by"] == "a"
    edges = np.quantile(ROWS[600:, 0], [0.2, 0.4, 0.6, 0.8])
    bands = np.searchsorted(edges, ROWS[600:, 0], side="right")
    for number, group in enumerate(facts["groups"]):
        rows = bands == number
        assert group["rows"] == rows.sum()
        assert group["rows_of"] == {name: int(np.sum(labels[rows] == k)) for k, name in enumerate(NAMES.tolist())}
        if group["auc_ovo"] is not None and all(group["rows_of"].values()):
            expected = roc_auc_score(labels[rows], np.exp(scores[rows]), multi_class="ovo")
            assert_allclose(group["auc_ovo"]["value"], expected, rtol=1e-9)
    shown = " ".join(opauc(*arguments).out.split())
    ap = facts["metrics"]["ap"]
    assert f"mean over classes of average precision {ap['value']:.4f}, 95 % interval {ap['low']:.4f}" in shown
    assert "partial AUC, FPR ≤ 0.2, by class" in shown
    assert "ap, minus that of both.opauc" in shown
    assert "by a" in shown


def cells_of(page, section):
    """The cells of the rows of a table of the page, by the name of the row."""
    part = page[page.index(f'<section class="groups" id="{section}">') :]
    part = part[: part.index("</tbody>")]
    rows = re.findall(r'<tr><th scope="row"><bdi>([^<]*)</bdi></th>(.*?)</tr>', part)
    return {name: re.findall(r'<td class="number[^"]*">([^<]*)</td>', cells) for name, cells in rows}


def test_the_report_page_has_the_classes_and_their_pairs(opauc, tmp_path):
    ran = opauc("evaluate", "one.opauc", "two.csv", "--metric", "ap", "--report", tmp_path / "page.html")
    assert str(tmp_path / "page.html") in ran.out.replace("\n", "").replace(" ", "")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    scores, labels = (
        library.load("one.opauc").decision_function(pd.DataFrame(ROWS[600:], columns=list("abcd"))),
        LABELS[600:],
    )
    classes, pairs = cells_of(page, "classes"), cells_of(page, "pairs")
    for k, name in enumerate(NAMES.tolist()):
        assert int(classes[name][0]) == np.sum(labels == k)
        assert float(classes[name][3]) == pytest.approx(roc_auc_score(labels == k, scores[:, k]), abs=1e-4)
        assert float(classes[name][5]) == pytest.approx(average_precision_score(labels == k, scores[:, k]), abs=1e-4)
        for other in range(4):
            rows = np.isin(labels, (k, other))
            expected = "" if k == other else f"{roc_auc_score(labels[rows] == k, scores[rows, k]):.3f}"
            assert pairs[name][other] == expected
    area = MulticlassAuc().interval(labels, scores)
    assert f'<p class="auc">{area.value:.4f}</p>' in page
    assert f"{area.low:.4f} to {area.high:.4f}" in page
    assert "alarm" not in re.findall(r"<body>.*", page, re.DOTALL)[0]


def test_the_report_says_that_rows_were_training_rows(opauc, tmp_path):
    ran = opauc("report", "one.opauc", "one.csv", "-o", tmp_path / "page.html")
    assert ran.code == 0, ran.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "trained on all rows of this page: one.csv" in page
    library.evaluate("one.opauc", "two.csv", report=tmp_path / "other.html", by="a")
    page = (tmp_path / "other.html").read_text(encoding="utf-8")
    assert "By a" in page
    assert "Largest weights" in page
