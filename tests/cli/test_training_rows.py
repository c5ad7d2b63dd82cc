"""Evaluation on rows that the model was trained on: a warning, and a note on the page."""

import json
import re
import shutil
import warnings

import numpy as np
import pytest

import opauc as library


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
