import hashlib
import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

import opauc as library
from opauc import OPAUC
from tests.tables import FORMATS, rows_and_labels, write_rows


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_gives_the_model_of_the_arrays_themselves(tmp_path, opauc, form):
    rows, labels = rows_and_labels()
    data = write_rows(tmp_path, form, rows, labels)
    ran = opauc("train", "--solver", "auto", data, "-o", tmp_path / "model", "--alpha", "0.01", "--json")
    assert ran.code == 0, ran.err
    wanted = OPAUC(alpha=0.01).fit(rows, labels)
    found = library.load(tmp_path / "model")
    assert_allclose(found.coef_, wanted.coef_, rtol=1e-6, atol=1e-12)
    told = json.loads(ran.out.splitlines()[-1])
    assert (told["event"], told["rows"], told["features"], told["solver"]) == ("trained", 400, 5, "exact")

    scored = opauc("predict", tmp_path / "model", data)
    scores = np.array(scored.out.split(), float)
    assert_allclose(scores, wanted.decision_function(rows), rtol=1e-6, atol=1e-9)

    evaluated = json.loads(opauc("evaluate", tmp_path / "model", data, "--json").out.splitlines()[-1])
    assert evaluated["auc"] == pytest.approx(roc_auc_score(labels, scores), abs=1e-12)
    assert evaluated["low"] < evaluated["auc"] < evaluated["high"]


@pytest.mark.parametrize(
    "options",
    [["--solver", "sgd"], ["--solver", "sgd", "--rank", "3"], ["--rank", "0"], ["--solver", "progressive_selection"]],
)
def test_other_solvers_learn_from_files_what_they_learn_from_arrays(tmp_path, opauc, options):
    rows, labels = rows_and_labels(1)
    data = write_rows(tmp_path, "npz", rows, labels)
    assert opauc("train", "--solver", "auto", data, "-o", tmp_path / "model", *options, "--seed", "7").code == 0
    named = dict(zip([option.removeprefix("--") for option in options[::2]], options[1::2], strict=True))
    named |= {"rank": int(named["rank"])} if "rank" in named else {}
    wanted = OPAUC(random_state=7, **named).fit(rows, labels)
    assert_allclose(library.load(tmp_path / "model").coef_, wanted.coef_, rtol=1e-8, atol=1e-12)


def test_files_folders_and_patterns_are_one_stream(tmp_path, opauc):
    rows, labels = rows_and_labels(2)
    for name, part in (("a", slice(0, 100)), ("b", slice(100, 250)), ("c", slice(250, 400))):
        write_rows(tmp_path, "parquet", rows[part], labels[part], name)
    wanted = OPAUC().fit(rows, labels).coef_
    for given in ([tmp_path], [tmp_path / "?.parquet"], [tmp_path / f"{name}.parquet" for name in "abc"]):
        assert opauc("train", "--solver", "auto", *given, "-o", tmp_path / "model").code == 0
        assert_allclose(library.load(tmp_path / "model").coef_, wanted, rtol=1e-8)


def test_features_that_turn_up_late_and_unknown_ones_in_new_data_are_right(tmp_path, opauc):
    (tmp_path / "a.svm").write_text("+1 1:1\n-1 1:0.5\n" * 20)
    (tmp_path / "b.svm").write_text("+1 1:1 4:2\n-1 1:0.5 3:1\n" * 20)
    assert (
        opauc("train", "--solver", "auto", tmp_path / "a.svm", tmp_path / "b.svm", "-o", tmp_path / "model").code == 0
    )
    model = library.load(tmp_path / "model")
    rows = np.array([[1, 0, 0, 0], [0.5, 0, 0, 0]] * 20 + [[1, 0, 0, 2], [0.5, 0, 1, 0]] * 20)
    assert_allclose(model.coef_, OPAUC().fit(rows, [1, -1] * 40).coef_, rtol=1e-8)
    (tmp_path / "new.svm").write_text("0 1:1 9:5\n0 2:1\n")
    scores = np.array(opauc("predict", tmp_path / "model", tmp_path / "new.svm").out.split(), float)
    assert_allclose(scores, model.decision_function([[1, 0, 0, 0], [0, 1, 0, 0]]))


def test_categories_words_and_positive_labels(tmp_path, opauc):
    lines = ["size,color,kind"] + [f"{i % 7},{'red' if i % 3 else 'blue'},{'abc'[i % 3]}" for i in range(90)]
    (tmp_path / "rows.csv").write_text("\n".join(lines))
    options = ["--label", "kind", "--categorical", "color", "--positive", "a"]
    assert opauc("train", "--solver", "auto", tmp_path / "rows.csv", "-o", tmp_path / "model", *options).code == 0
    model = library.load(tmp_path / "model")
    assert model.feature_names_in_.tolist() == ["size", "color=blue", "color=red"]
    assert model.classes_.tolist() == ["not a", "a"]
    (tmp_path / "new.csv").write_text("color,size\nblue,3\ngreen,3\n")  # no label, an unknown color
    labels = opauc("predict", tmp_path / "model", tmp_path / "new.csv", "--response", "label").out.split("\n")
    assert labels[0] == "a"
    assert opauc("evaluate", tmp_path / "model", tmp_path / "rows.csv", "--json").code == 0


def test_hashing_keeps_the_number_of_features(tmp_path, opauc):
    (tmp_path / "rows.svm").write_text("+1 1:1 1000000:1\n-1 2:1 77:3\n" * 50)
    assert (
        opauc("train", "--solver", "auto", tmp_path / "rows.svm", "-o", tmp_path / "model", "--hash-bits", "6").code
        == 0
    )
    assert library.load(tmp_path / "model").n_features_in_ == 64
    scores = np.array(opauc("predict", tmp_path / "model", tmp_path / "rows.svm").out.split(), float)
    assert scores[0] > 0 > scores[1]


def test_merged_files_are_one_model_and_rows_can_be_forgotten(tmp_path, opauc):
    rows, labels = rows_and_labels(3)
    parts = {"a": slice(0, 150), "b": slice(150, 400)}
    for name, part in parts.items():
        data = write_rows(tmp_path, "svm", rows[part], labels[part], name)
        assert opauc("train", "--solver", "auto", data, "-o", tmp_path / f"{name}.opauc").code == 0
    ran = opauc("merge", tmp_path / "a.opauc", tmp_path / "b.opauc", "-o", tmp_path / "c.opauc")
    assert ran.code == 0, ran.err
    merged = library.load(tmp_path / "c.opauc")
    assert_allclose(merged.coef_, OPAUC().fit(rows, labels).coef_, rtol=1e-7)
    ran = opauc("forget", tmp_path / "c.opauc", tmp_path / "b.svm", "-o", tmp_path / "d.opauc")
    assert ran.code == 0, ran.err
    left = library.load(tmp_path / "d.opauc")
    assert_allclose(left.coef_, library.load(tmp_path / "a.opauc").coef_, rtol=1e-6)


def test_forgetting_files_that_were_never_trained_on_or_are_forgotten_already_is_warned_of(tmp_path, opauc):
    for part, n_rows in enumerate((1000, 20, 20)):  # so few that taking them out is plausible
        write_rows(tmp_path, "svm", *rows_and_labels(part, n_rows), str(part))
    assert opauc("train", "--solver", "auto", tmp_path / "0.svm", tmp_path / "1.svm", "-o", tmp_path / "m").code == 0
    learned = opauc("forget", tmp_path / "m", tmp_path / "1.svm", "-o", tmp_path / "left")
    assert (learned.code, "warning" in learned.err) == (0, False)
    stranger = opauc("forget", tmp_path / "m", tmp_path / "2.svm", "-o", tmp_path / "wrong")
    assert stranger.err.count("2.svm is none of the files the model was trained on") == 1
    again = opauc("forget", tmp_path / "left", tmp_path / "1.svm", "-o", tmp_path / "twice")
    assert again.err.count("1.svm was forgotten before") == 1
    # What is left may be no sums of any rows: then there is an error and no file, else a file that can be read.
    for ran, name in ((stranger, "wrong"), (again, "twice")):
        assert (ran.code, (tmp_path / name).exists()) in ((0, True), (2, False)), ran.err
        assert ran.code == 0 or "not written: cannot be used" in ran.err
        assert ran.code == 2 or library.load(tmp_path / name).coef_.any()


def test_rows_of_a_sketched_model_are_forgotten_by_their_numbers(tmp_path, opauc):
    rows, labels = rows_and_labels(4)
    whole = write_rows(tmp_path, "npz", rows, labels)
    last = write_rows(tmp_path, "npz", rows[300:], labels[300:], "last")
    first = write_rows(tmp_path, "npz", rows[:300], labels[:300], "first")
    options = ["--solver", "exact", "--rank", "4"]
    assert opauc("train", "--solver", "auto", whole, "-o", tmp_path / "whole", *options).code == 0
    assert opauc("train", "--solver", "auto", first, "-o", tmp_path / "wanted", *options).code == 0
    refused = opauc("forget", tmp_path / "whole", last, "-o", tmp_path / "left")
    assert (refused.code, "row_numbers" in refused.err) == (2, True)
    ran = opauc("forget", tmp_path / "whole", last, "-o", tmp_path / "left", "--first-row", "300")
    assert ran.code == 0
    assert "last.npz is none of the files the model was trained on" in ran.err
    assert_allclose(library.load(tmp_path / "left").coef_, library.load(tmp_path / "wanted").coef_, rtol=1e-6)


def test_inspect_tells_what_a_model_was_made_of(tmp_path, opauc):
    rows, labels = rows_and_labels(5)
    data = write_rows(tmp_path, "csv", rows, labels)
    opauc("train", "--solver", "auto", data, "-o", tmp_path / "model")
    told = json.loads(opauc("inspect", tmp_path / "model", "--json").out)
    assert told["kind"] == "model"
    [record] = told["header"]["provenance"]["inputs"]
    assert (record["path"], record["rows"], record["bytes"]) == (str(data), 400, data.stat().st_size)
    assert record["sha256"] == hashlib.sha256(data.read_bytes()).hexdigest()
    shown = opauc("inspect", tmp_path / "model").out
    assert "x0" in shown
    assert "400" in shown


def test_the_report_is_written_by_both_verbs(tmp_path, opauc):
    rows, labels = rows_and_labels(7, 3000)
    data = write_rows(tmp_path, "csv", rows, labels)
    opauc("train", "--solver", "auto", data, "-o", tmp_path / "model")
    assert opauc("evaluate", tmp_path / "model", data, "--report", tmp_path / "a.html").code == 0
    assert opauc("report", tmp_path / "model", data, "-o", tmp_path / "b.html").code == 0
    for name in ("a.html", "b.html"):
        page = (tmp_path / name).read_text()
        assert "Learning curve" in page
        assert "x0" in page
        assert "rows.csv" in page
