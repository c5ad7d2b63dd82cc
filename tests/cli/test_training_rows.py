"""Evaluation on rows that the model was trained on: a warning, and a note on the page."""

import json
import re
import shutil
import warnings

import numpy as np
import pandas as pd
import pytest

import opauc as library
from opauc.api.evaluate import about_page


@pytest.fixture
def folder(tmp_path, monkeypatch, opauc):
    rng = np.random.default_rng(3)
    for name, n_rows in (("march.csv", 300), ("april.csv", 200)):
        x = rng.normal(size=n_rows)
        lines = [f"{a:.3f},{int(y)}" for a, y in zip(x, x + rng.normal(size=n_rows) > 0, strict=True)]
        (tmp_path / name).write_text("x,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert opauc("train", "march.csv", "--label", "y", "-o", "model", "--solver", "exact").code == 0
    return tmp_path


def note(page):
    return re.findall(r'<p class="alarm".*?</p>', page.read_text(encoding="utf-8"))


def test_training_rows_are_told_by_a_warning_and_on_top_of_the_page(folder, opauc):
    shutil.copy("march.csv", "copy.csv")  # the content counts, not the name
    ran = opauc("evaluate", "model", "copy.csv", "--report", "page.html")
    assert ran.code == 0
    assert "warning: copy.csv: the model was trained on these rows" in ran.err
    (text,) = note(folder / "page.html")
    assert "trained on all rows of this page: copy.csv." in text
    lines = opauc("evaluate", "model", "copy.csv", "--json").out.splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["warning", "evaluated"]


def test_of_several_files_those_are_named(folder, opauc):
    ran = opauc("report", "model", "april.csv", "march.csv", "-o", "page.html")
    assert "march.csv: the model was trained on these rows (1 of 2 files)" in ran.err
    assert "april.csv:" not in ran.err
    (text,) = note(folder / "page.html")
    assert "trained on 300 of the 500 rows of this page: march.csv." in text


def test_new_and_forgotten_rows_are_no_training_rows(folder, opauc):
    assert "warning" not in opauc("evaluate", "model", "april.csv", "--report", "page.html").err
    assert note(folder / "page.html") == []
    assert opauc("train", "april.csv", "march.csv", "--label", "y", "-o", "both", "--solver", "exact").code == 0
    assert opauc("forget", "both", "march.csv", "-o", "less").code == 0
    assert "warning" not in opauc("evaluate", "less", "march.csv").err


@pytest.mark.usefixtures("folder")
def test_the_function_warns_too():
    with pytest.warns(UserWarning, match="march.csv: the model was trained on these rows"):
        found = library.evaluate("model", "march.csv")
    assert [record["rows"] for record in found.trained_on] == [300]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert library.evaluate("model", "april.csv").trained_on == []


def test_the_page_says_when_and_how_it_was_made_and_counts_the_rows_that_predict_calls_positive(folder, opauc):
    opauc("threshold", "model", "april.csv", "--at-recall", "0.8", "-o", "chosen", "-q")
    opauc("evaluate", "chosen", "april.csv", "--report", "page.html")
    page = re.sub("<wbr>", "", (folder / "page.html").read_text(encoding="utf-8"))
    assert "<td>opauc evaluate chosen april.csv --report page.html</td>" in page
    assert re.search(r"<td>\d{4}-\d\d-\d\d \d\d:\d\d UTC</td>", page)
    (cells,) = re.findall(r'<th scope="row">predict: at_recall=0.8</th>(.*?)</tr>', page)
    numbers = [float(number.rstrip(" %")) for number in re.findall(r">([^<]+)</td>", cells.replace("\u2212", "-"))]
    model = library.load("chosen")
    assert numbers[0] == pytest.approx(model.threshold_.score, abs=1e-3)
    assert numbers[2] == pytest.approx(100 * model.threshold_.recall.value, abs=0.05)
    table = pd.read_csv("april.csv")
    positive, predicted = (table["y"] == 1).to_numpy(), model.predict(table[["x"]]) == model.classes_[1]
    counts = [(positive & predicted).sum(), (~positive & predicted).sum()]
    counts += [(~positive & ~predicted).sum(), (positive & ~predicted).sum()]
    assert numbers[4:] == [5.0 * count for count in counts]


def test_a_password_in_the_command_is_left_out():
    command = about_page("opauc report m --database postgresql://ann:secret@host/sales")["Command"]
    assert command == "opauc report m --database postgresql://ann:…@host/sales"
