"""Scorecards: the points of the bins of a row add up to the score of the model."""

import csv
import io
import itertools
import math
import re
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import opauc
from opauc import OPAUC, OnePassGAM
from opauc.errors import ParameterError, UnsupportedOperationError
from opauc.exports.format import ExportOptions
from opauc.exports.make_portable import make_portable
from opauc.exports.scorecard import MOST_DIFFERENCE, Scale, curve_cuts, make_scorecard
from opauc.exports.scorecard_files import write_csv, write_xlsx


def frame(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame({
        "amount": rng.normal(size=n_rows) * 100.0,
        "age": rng.integers(18, 80, n_rows).astype(float),
        "city": rng.choice(["Paris", "Rome", "Oslo", "Bern"], n_rows),
        "when": pd.Timestamp("2023-03-01") + pd.to_timedelta(rng.integers(0, 700, n_rows), unit="D"),
    })  # fmt: skip
    score = rows["amount"] / 100.0 + np.sin(rows["age"] / 9.0) + (rows["city"] == "Rome") * (rows["age"] > 40)
    labels = (score + rng.normal(size=n_rows) > 0).astype(int)
    rows.loc[rng.random(n_rows) < 0.05, "amount"] = np.nan
    rows.loc[rng.random(n_rows) < 0.05, "city"] = None
    return rows, labels


@pytest.fixture(scope="module")
def model():
    return OnePassGAM(random_state=0, trees=False).fit(*frame(4000))


def lines_of(content):
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


def as_number(text):
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2})?", text):
        return (pd.Timestamp(text) - pd.Timestamp(0)) / pd.Timedelta(days=1)
    return float(text)


def inputs_of(row):
    """Return the inputs that bins speak of, None where missing."""
    when = row["when"]
    parts = {"when day": (when - pd.Timestamp(0)) / pd.Timedelta(days=1), "when month": when.month}
    parts |= {"when weekday": when.weekday(), "when hour": when.hour}
    values = {"amount": row["amount"], "age": row["age"], "city": row["city"], **parts}
    return {name: None if pd.isna(value) else value for name, value in values.items()}


def is_in(words, values):
    """Tell whether the inputs of a row are in a bin: written from the words alone."""
    if " and " in words:
        return all(is_in(part, values) for part in words.split(" and "))
    name, _, what = words.partition(": ")
    if what == "either missing":
        return any(values[part] is None for part in name.split(" × "))
    value = values[name]
    if value is None or what == "missing":
        return value is None and what == "missing"
    if match := re.fullmatch(r"below (.*)", what):
        return value < as_number(match[1])
    if match := re.fullmatch(r"(.*) or more", what):
        return value >= as_number(match[1])
    if match := re.fullmatch(r"(\S+(?: \d\d:\d\d)?) to (.*)", what):
        return as_number(match[1]) <= value < as_number(match[2])
    return value in what.split(", ") or (what == "all others" and value not in ("Paris", "Rome", "Oslo", "Bern"))


def sums_of_points(content, rows, column="points"):
    lines = lines_of(content)
    base = next(float(line[column]) for line in lines if line["term"] == "(base)")
    bins = [line for line in lines if not line["term"].startswith("(")]
    sums = []
    for row in rows.to_dict("records"):
        values = inputs_of(row)
        sums.append(base + sum(float(line[column]) for line in bins if is_in(line["bin"], values)))
    return np.array(sums)


def test_points_of_a_row_add_up_to_its_score_within_the_stated_difference(model):
    rows = frame(60, seed=1)[0]
    content = write_csv(make_portable(model._to_model()), ExportOptions())
    stated = {line["term"]: line for line in lines_of(content)}["(largest difference from the model)"]
    log_odds = sums_of_points(content, rows, "log_odds")
    differences = np.abs(log_odds - model.decision_function(rows))
    assert 0.0 < differences.max() <= float(stated["log_odds"]) + 1e-9
    points = sums_of_points(content, rows)
    expected = 600.0 + 20.0 / math.log(2.0) * (model.decision_function(rows) - math.log(50.0))
    assert np.abs(points - expected).max() <= float(stated["points"]) + 1e-9
    assert_allclose(points, 600.0 + 20.0 / math.log(2.0) * (log_odds - math.log(50.0)), rtol=0, atol=1e-9)


def test_points_of_step_functions_are_the_score():
    rows = pd.DataFrame({"city": ["Paris", "Rome", None, "Oslo", "Bern"] * 60})
    labels = np.tile([0, 1, 1, 0, 1, 0, 1, 0, 0, 0], 30)
    model = OnePassGAM(trees=False, interactions=0, random_state=0).fit(rows, labels)
    content = write_csv(make_portable(model._to_model()), ExportOptions(points_to_double=0.0))
    seen = pd.DataFrame({"city": ["Paris", "Rome", None, "Oslo", "Bern", "Wien"], "when": pd.Timestamp(0)})
    sums = sums_of_points(content, seen.assign(amount=0.0, age=0.0))
    assert_allclose(sums, model.decision_function(seen[["city"]]), rtol=0, atol=1e-9)
    stated = {line["term"]: line for line in lines_of(content)}["(largest difference from the model)"]
    assert float(stated["points"]) == 0.0


def test_a_linear_model_of_categories_is_a_scorecard(tmp_path):
    lines = [
        f"{city},{label}" for city, label in zip(["Rome", "Oslo", "Bern", ""] * 20, [0, 1, 1, 0, 1] * 16, strict=True)
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["city,y", *lines]) + "\n", encoding="utf-8")
    model = opauc.train(tmp_path / "rows.csv", label="y", solver="exact", categorical=["city"], missing="zero")
    content = write_csv(make_portable(model._to_model()), ExportOptions(points_to_double=0.0))
    seen = pd.DataFrame({"city": ["Rome", None, "Oslo", "Bern"]})
    sums = sums_of_points(content, seen.assign(amount=0.0, age=0.0, when=pd.Timestamp(0)))
    probabilities = model.predict_proba(seen)[:, 1]
    assert_allclose(1.0 / (1.0 + np.exp(-sums)), probabilities, rtol=0, atol=1e-9)


def test_bins_of_curves_are_within_the_difference_allowed(model):
    card = make_scorecard(make_portable(model._to_model()), Scale())
    assert any(row.bin.startswith("age: below ") for row in card.rows)
    rng = np.random.default_rng(0)
    for _ in range(200):
        knots = np.unique(rng.normal(size=rng.integers(2, 12)) * 10.0 ** rng.integers(-5, 6))
        values = rng.normal(size=knots.size) * rng.choice([0.01, 0.3, 3.0])
        ends = [knots[0], *curve_cuts(knots, values), knots[-1]]
        for low, high in itertools.pairwise(ends):
            heights = np.interp(np.linspace(low, high, 50), knots, values)
            steepest = np.abs(np.diff(values) / np.diff(knots)).max()
            rounding = steepest * np.ptp(knots) * 5e-4
            assert np.ptp(heights) <= 2.0 * MOST_DIFFERENCE + 2.0 * rounding + 1e-9


def test_xlsx_has_the_lines_of_csv(model):
    openpyxl = pytest.importorskip("openpyxl")
    portable = make_portable(model._to_model())
    sheet = openpyxl.load_workbook(io.BytesIO(write_xlsx(portable, ExportOptions()))).active
    found = [["" if value is None else value for value in row] for row in sheet.iter_rows(values_only=True)]
    expected = [
        list(line) for line in csv.reader(io.StringIO(write_csv(portable, ExportOptions()).decode(), newline=""))
    ]
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    numbers = [[float(value or "nan") for value in row[2:]] for row in expected[1:]]
    assert_allclose(
        [[float(value or "nan") if value == "" else value for value in row[2:]] for row in found[1:]],
        numbers,
        rtol=1e-14,
    )


@pytest.mark.parametrize("name", ["=1+1", "@sum", "-2", "+3", "\t=1", " =cmd()"])
def test_names_are_no_formulas(name):
    rows = pd.DataFrame({name: ["u", "v"] * 100})
    model = OnePassGAM(trees=False, interactions=0, random_state=0).fit(rows, [0, 1, 1, 1] * 50)
    portable = make_portable(model._to_model())
    for line in lines_of(write_csv(portable, ExportOptions()))[3:]:
        assert line["term"] == f"'{name}"
        assert line["bin"].startswith(f"'{name}")
    with zipfile.ZipFile(io.BytesIO(write_xlsx(portable, ExportOptions()))) as archive:
        assert b"<f>" not in archive.read("xl/worksheets/sheet1.xml")


def test_what_has_no_bins_is_one_line(case_of):
    with pytest.raises(
        UnsupportedOperationError, match=r"trees and effects of combinations have none; train with trees=False$"
    ):
        make_scorecard(case_of("trees").portable, Scale())
    linear = make_portable(OPAUC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])._to_model())
    with pytest.raises(UnsupportedOperationError, match="OPAUC draws straight lines, which have none"):
        make_scorecard(linear, Scale())


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (Scale(points_to_double=-1.0), "points_to_double must be at least 0, got -1.0"),
        (Scale(base_odds=0.0), "base_odds must be positive, got 0.0"),
        (Scale(base_odds=float("nan")), "base_odds must be positive, got nan"),
    ],
)
def test_a_scale_that_is_none_is_one_line(scale, message, model):
    with pytest.raises(ParameterError, match=f"^{re.escape(message)}$"):
        make_scorecard(make_portable(model._to_model()), scale)


def test_the_ending_of_the_file_decides_between_csv_and_xlsx(model, tmp_path):
    opauc.export(model, tmp_path / "card.csv", points_to_double=40.0)
    opauc.export(model, tmp_path / "card.xlsx", to="scorecard")
    assert lines_of((tmp_path / "card.csv").read_bytes())[0]["bin"].startswith("40 points double the odds; 600 points")
    assert zipfile.is_zipfile(tmp_path / "card.xlsx")


def test_a_calibrated_slope_scales_the_points(model):
    portable = make_portable(model._to_model())
    plain, steep = (make_scorecard(replace(portable, slope=slope, offset=1.0), Scale(0.0)) for slope in (1.0, 2.0))
    assert_allclose([row.points for row in steep.rows], 2.0 * np.array([row.points for row in plain.rows]))
    assert_allclose(steep.base - 1.0, 2.0 * (plain.base - 1.0))
