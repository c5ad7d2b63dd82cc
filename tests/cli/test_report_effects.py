"""The report of an additive model that the command trained: its effects, and rows of the data explained."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opauc as library
from opauc.api.describe import ExampleRows

N_ROWS = 900


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    age, job = rng.normal(40.0, 10.0, N_ROWS), rng.integers(0, 3, N_ROWS)
    labels = rng.random(N_ROWS) < 1 / (1 + np.exp(2.0 - 0.2 * np.abs(age - 40.0) - job))
    words = np.array(["clerk", "cook", "judge"])[job]
    lines = [f"{a:.1f},{w},{'yes' if y else 'no'}" for a, w, y in zip(age, words, labels, strict=True)]
    paths = tmp_path / "learn.csv", tmp_path / "rest.csv"
    for path, part in zip(paths, (lines[:600], lines[600:]), strict=True):
        path.write_text("\n".join(["age,job,bought", *part]) + "\n", encoding="utf-8")
    return paths


def test_the_page_shows_effects_and_the_rows_it_explains_are_those_of_the_data(files, tmp_path, opauc):
    model, page = tmp_path / "model.opauc", tmp_path / "page.html"
    assert opauc("train", files[0], "--label", "bought", "-o", model).code == 0
    assert opauc("evaluate", model, files[1], "--report", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert {"age", "job"} <= set(re.findall(r"<h3><bdi>(\w+)</bdi></h3>", text))
    lines = files[1].read_text(encoding="utf-8").splitlines()[1:]
    numbers = [int(number) for number in re.findall(r"Row (\d+)", text)]
    assert len(numbers) == 2
    for number, shown in zip(numbers, re.findall(r"<title>age = ([\d.]+):", text), strict=True):
        assert float(lines[number - 1].split(",")[0]) == pytest.approx(float(shown), rel=1e-3)
    assert lines[numbers[1] - 1].endswith("yes")
    assert "Largest weights" not in text
    assert opauc("report", model, files[1], "-o", tmp_path / "again.html").code == 0


def test_a_linear_scorer_has_no_effects_on_its_page(files, tmp_path, opauc):
    model, page = tmp_path / "model.opauc", tmp_path / "page.html"
    opauc("train", files[0], "--label", "bought", "-o", model, "--solver", "exact", "--categorical", "job")
    opauc("evaluate", model, files[1], "--report", page)
    assert "<h2>Terms</h2>" not in page.read_text(encoding="utf-8")


def test_a_model_that_learnt_arrays_goes_by_numbers(tmp_path, opauc):
    rows = np.random.default_rng(0).normal(size=(200, 2))
    library.save(library.OnePassGAM().fit(rows, rows[:, 0] > 0), tmp_path / "model.opauc")
    assert "x0" in opauc("inspect", tmp_path / "model.opauc").out


@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(0, 30), max_size=4))
def test_rows_worth_explaining_do_not_depend_on_how_the_rows_were_cut(seed, cuts):
    rng = np.random.default_rng(seed)
    rows, labels = rng.normal(size=(30, 2)), rng.integers(0, 2, 30).astype(np.int8)
    scores = rng.integers(0, 6, 30).astype(float)  # many are equal
    noted, at = ExampleRows(), 0
    for part in np.split(np.arange(30), sorted(cuts)):
        noted, at = noted.after(rows[part], labels[part], scores[part], at), at + part.size
    highest = int(np.argmax(scores))
    assert (noted.highest.number, noted.highest.score) == (highest + 1, scores[highest])
    np.testing.assert_array_equal(noted.highest.row, rows[highest])
    if labels.any():
        lowest = int(np.where(labels == 1, scores, np.inf).argmin())
        assert (noted.lowest_positive.number, noted.lowest_positive.positive) == (lowest + 1, True)
    else:
        assert noted.lowest_positive is None
