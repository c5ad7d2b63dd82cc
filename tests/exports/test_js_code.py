"""Models as JavaScript, run by Node: the scores, probabilities, labels and reasons of Python."""

import json
import shutil
import subprocess

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

import opauc
from opauc.data.arrow_columns import encode_category_strings
from opauc.exports.js_code import js_code
from opauc.exports.portable import Column, Input
from tests.exports import cases, texts
from tests.exports.plain_rows import plain_rows

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed"),
    pytest.mark.filterwarnings("ignore:column"),
]
TOLERANCE = {"rtol": 0.0, "atol": 1e-9}
RUN = """
const fs = require("fs"), model = require(process.argv[1]);
const {rows, body} = JSON.parse(fs.readFileSync(0, "utf8"));
const of = new Function("model", "row", "at", "return " + body);
const out = rows.map((row, at) => { try { return of(model, row, at); } catch (error) { return error.message; } });
process.stdout.write(JSON.stringify(out));
"""


def run_node(code, rows, body, folder):
    """Return the value of an expression of JavaScript in `model`, `row` and `at` for each row, or its message."""
    (folder / "model.js").write_text(code, encoding="ascii")
    given = json.dumps({"rows": rows, "body": body})
    ran = subprocess.run(
        ["node", "-e", RUN, folder / "model.js"], input=given, capture_output=True, text=True, check=True
    )
    return json.loads(ran.stdout)


def test_scores_probabilities_and_labels_are_those_of_python(case, tmp_path):
    body = "[model.score(row), model.probability(row), model.label(row)]"
    found = run_node(js_code(case.portable), plain_rows(case.rows), body, tmp_path)
    scores, probabilities, labels = zip(*found, strict=True)
    assert_allclose(scores, case.scores, **TOLERANCE)
    assert_allclose(probabilities, case.probabilities, **TOLERANCE)
    assert list(labels) == case.model.predict(case.frame).tolist()


@pytest.mark.parametrize("direction", ["lower", "raise"])
@pytest.mark.parametrize("by", ["term", "feature"])
@pytest.mark.parametrize("reference", ["mean", "best"])
@pytest.mark.parametrize("name", ["mixed", "trees", "edited"])
def test_reasons_are_those_of_python(name, reference, by, direction, case_of, tmp_path):
    case, options = case_of(name), {"direction": direction, "by": by, "reference": reference}
    body = f"model.reasons(row, 3, {json.dumps(options)})"
    found = run_node(js_code(case.portable), plain_rows(case.rows), body, tmp_path)
    for row, wanted in zip(found, case.model.reasons(case.frame, 3, **options), strict=True):
        assert [one["name"] for one in row] == [reason.name for reason in wanted]
        assert_allclose([one["difference"] for one in row], [reason.difference for reason in wanted], **TOLERANCE)


@pytest.mark.parametrize("number_format", texts.NUMBER_FORMATS)
def test_numbers_in_text_are_read_as_by_the_reader_of_tables(number_format, tmp_path):
    several = texts.mutated(texts.NUMBERS, 2, 3000)
    rows = [{"x": text} for text in several]
    found = run_node(js_code(texts.number_model(number_format)), rows, "model.score(row)", tmp_path)
    wanted = texts.number_scores(several, number_format)
    read = zip(several, found, wanted, strict=True)
    assert [text for text, one, number in read if isinstance(one, str) != (number is None)] == []
    numbers = [one for one in found if not isinstance(one, str)]
    assert 0.1 < np.mean(np.array(numbers) != texts.MISSING) < 0.9
    assert_allclose(numbers, [number for number in wanted if number is not None], rtol=1e-15)


@pytest.mark.parametrize("layout", texts.LAYOUT_SETS)
def test_dates_in_text_are_read_as_by_the_reader_of_tables(layout, tmp_path):
    several = texts.mutated(texts.DATES, 3, 1500)
    rows = [{"x": text} for text in several]
    found = run_node(js_code(texts.date_model(layout)), rows, "model.score(row)", tmp_path)
    wanted = texts.date_scores(several, layout)
    assert [text for text, one, date in zip(several, found, wanted, strict=True) if abs(one - date) > 1e-9] == []
    assert (np.array(found) != 4 * texts.MISSING).any()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("linear_error", {"amount": None}, "column amount: expected a number, none may be missing, got null"),
        ("linear_error", {"amount": "seven"}, "column amount: expected a number, got seven"),
        ("linear_error", {"size": ""}, "column size: expected a category, none may be missing, got "),
        ("linear_zero", {"amount": "seven"}, "column amount: expected a number, got seven"),
        ("text", {"amount": "-Infinity"}, "column amount: expected a finite number, got -Infinity"),
        ("text", {"amount": [1]}, "column amount: expected a number, got 1"),
        ("linear_zero", {"size": {}}, "column size: expected a category, got [object Object]"),
        ("text", {"date": True}, "column date: expected a date, got true"),
        ("text", {"amount": "1e999"}, "column amount: expected a finite number, got 1e999"),
    ],
)
def test_a_value_that_the_model_does_not_take_is_named(name, change, message, case_of, tmp_path):
    case = case_of(name)
    rows = [plain_rows(case.rows)[0] | change]
    assert run_node(js_code(case.portable), rows, "model.score(row)", tmp_path) == [message]


def test_a_property_that_is_not_there_is_missing(case_of, tmp_path):
    case = case_of("mixed")
    found = run_node(js_code(case.portable), [{}], "model.score(row)", tmp_path)
    nothing = case.frame.head(1).assign(**dict.fromkeys(case.frame.columns, None))
    assert_allclose(found, case.model.decision_function(nothing), **TOLERANCE)


def test_names_of_objects_of_the_language_are_columns_and_categories_like_others(tmp_path):
    names = ["__proto__", "constructor", "toString"]
    rows = [{"__proto__": names[at % 3], "constructor": float(at)} for at in range(300)]
    fitted = opauc.OnePassGAM(random_state=0).fit(rows, [int(at % 3 == 1 or at % 5 == 0) for at in range(300)])
    code = js_code(cases.Case(fitted, rows, rows).portable)
    found = run_node(code, [*rows[:5], {}], "model.score(row)", tmp_path)
    wanted = fitted.decision_function([*rows[:5], dict.fromkeys(rows[0])])
    assert_allclose(found, wanted, **TOLERANCE)


def test_numbers_are_the_categories_that_the_reader_of_tables_makes_of_them(tmp_path):
    numbers = np.array(
        [
            7.0,
            -3.0,
            0.1,
            1e-5,
            1.5e-6,
            1.5e-7,
            1e9 + 0.5,
            1e10 + 0.5,
            1e13 + 0.5,
            1e14 + 0.5,
            1e15,
            2.0**53,
            1e16,
            1.5e16,
            1e22,
        ]
    )
    texts_of_numbers = encode_category_strings(pa.array(numbers)).strings
    categories = {text: number for number, text in enumerate(texts_of_numbers)}
    column = Column("x", "category", categories=categories, missing=("",))
    model = js_code(texts.reading_model((column,), (Input("x", 0),)))
    given = [*numbers.tolist(), 123.0]
    found = run_node(model, [{"x": number} for number in given], "model.score(row)", tmp_path)
    assert found == [*range(len(numbers)), -1]


def test_a_model_without_means_gives_no_reasons(case_of, tmp_path):
    case = case_of("array_3")
    message = "reasons need the means of the training rows, which the model lacks"
    assert run_node(js_code(case.portable), plain_rows(case.rows[:1]), "model.reasons(row, 1)", tmp_path) == [message]


@pytest.mark.parametrize("body", ["Date", "days"])
def test_dates_may_be_objects_in_utc_or_days_since_1970(body, case_of, tmp_path):
    case = case_of("mixed")
    rows = [row for row in plain_rows(case.rows) if row["when"] is not None]
    date = 'new Date(row.when + "Z")'
    body = f"model.score({{...row, when: {date if body == 'Date' else f'{date}.getTime() / 86400000'}}})"
    wanted = run_node(js_code(case.portable), rows, "model.score(row)", tmp_path)
    assert_allclose(run_node(js_code(case.portable), rows, body, tmp_path), wanted, **TOLERANCE)


def test_the_file_is_safe_in_a_script_and_names_what_it_offers_to_a_page(case_of, tmp_path):
    code = js_code(case_of("mixed").portable)
    assert code.isascii()
    assert "</" not in code
    assert "<!--" not in code
    (tmp_path / "page.js").write_text(code, encoding="ascii")
    load = 'const text = require("fs").readFileSync(process.argv[1], "utf8");'
    run = 'const {opaucModel} = require("vm").runInNewContext(text + ";globalThis");'
    show = "console.log(JSON.stringify([Object.keys(opaucModel), opaucModel.labels, opaucModel.terms.length]))"
    ran = subprocess.run(
        ["node", "-e", load + run + show, tmp_path / "page.js"], capture_output=True, text=True, check=True
    )
    names, labels, n_terms = json.loads(ran.stdout)
    assert {"score", "probability", "label", "reasons", "contributions"} <= set(names)
    assert labels == ["no", "yes"]
    assert n_terms == len(case_of("mixed").portable.terms)


def test_the_format_is_that_of_the_ending(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 2))
    opauc.export(opauc.OPAUC().fit(rows, rows[:, 0] > 0), tmp_path / "model.js")
    assert run_node((tmp_path / "model.js").read_text(), [{"x0": 1, "x1": 0}], "model.label(row)", tmp_path) == [True]
