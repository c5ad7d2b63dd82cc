"""Models as C, compiled without a warning and run with sanitizers: the scores, probabilities and reasons of Python."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import opauc
from opauc import OPAUC, OnePassGAM
from opauc.exports.c.code import c_code
from opauc.exports.make_portable import make_portable
from tests.exports import texts
from tests.exports.c import program as c_program
from tests.exports.plain_rows import plain_rows

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler"),
    pytest.mark.filterwarnings("ignore:column"),
]
TOLERANCE = {"rtol": 0.0, "atol": 1e-9}


def run(portable, rows, folder, reasons=0):
    program = c_program.build(c_code(portable, reasons), folder)
    return c_program.run(program, rows, [column.name for column in portable.columns])


def test_scores_probabilities_and_labels_are_those_of_python(case, tmp_path):
    found = run(case.portable, plain_rows(case.rows), tmp_path)
    scores, probabilities, labels = zip(*found, strict=True)
    assert_allclose(np.array(scores, float), case.scores, **TOLERANCE)
    assert_allclose(np.array(probabilities, float), case.probabilities, **TOLERANCE)
    names = case.portable.labels
    assert [names[int(label)] for label in labels] == case.model.predict(case.frame).tolist()


@pytest.mark.parametrize(("name", "k"), [("mixed", 1), ("mixed", 3), ("trees", 3), ("edited", 3), ("trees", 200)])
def test_reasons_are_those_of_python(name, k, case_of, tmp_path):
    case = case_of(name)
    found = run(case.portable, plain_rows(case.rows), tmp_path, reasons=k)
    assert_allclose([float(row[0]) for row in found], case.scores, **TOLERANCE)
    for row, wanted in zip(found, case.model.reasons(case.frame, k), strict=True):
        differences = [float(part) for part in row[4::2]]
        assert_allclose(differences, [reason.difference for reason in wanted], **TOLERANCE)
        if k == 3:
            assert "\t".join(row[3::2]) == "\t".join(reason.name for reason in wanted)


def test_reasons_that_raise_the_score_are_those_of_python(case_of, tmp_path):
    case, code = case_of("edited"), c_code(case_of("edited").portable, 3)
    found = c_program.run(
        c_program.build(code.replace("OPAUC_LOWER, reasons, &n)", "OPAUC_RAISE, reasons, &n)"), tmp_path),
        plain_rows(case.rows),
        [column.name for column in case.portable.columns],
    )
    wanted = case.model.reasons(case.frame, 3, direction="raise")
    assert [row[3::2] for row in found] == [[reason.name for reason in one] for one in wanted]


@pytest.mark.parametrize("number_format", texts.NUMBER_FORMATS)
def test_numbers_in_text_are_read_as_by_the_reader_of_tables(number_format, tmp_path):
    several = texts.mutated(texts.NUMBERS, 0, 1500)
    found = run(texts.number_model(number_format), [{"x": text} for text in several], tmp_path)
    wanted = texts.number_scores(several, number_format)
    bad = [
        text for text, row, number in zip(several, found, wanted, strict=True) if (len(row) == 1) != (number is None)
    ]
    assert bad == []
    numbers = [float(row[0]) for row in found if len(row) > 1]
    assert 0.1 < np.mean(np.array(numbers) != texts.MISSING) < 0.9
    assert_allclose(numbers, [number for number in wanted if number is not None], rtol=1e-15)


@pytest.mark.parametrize("layout", texts.LAYOUT_SETS)
def test_dates_in_text_are_read_as_by_the_reader_of_tables(layout, tmp_path):
    several = texts.mutated(texts.DATES, 1, 600)
    found = run(texts.date_model(layout), [{"x": text} for text in several], tmp_path)
    wanted = texts.date_scores(several, layout)
    assert_allclose([float(row[0]) for row in found], wanted, rtol=1e-15, err_msg=str(several))


@pytest.mark.parametrize(
    ("name", "change", "column"),
    [
        ("linear_error", {"amount": None}, "amount"),
        ("linear_error", {"amount": "seven"}, "amount"),
        ("linear_error", {"size": ""}, "size"),
        ("linear_zero", {"amount": "seven"}, "amount"),
        ("text", {"amount": "-Infinity"}, "amount"),
    ],
)
def test_a_value_that_the_model_does_not_take_is_named(name, change, column, case_of, tmp_path):
    case = case_of(name)
    rows = [plain_rows(case.rows)[0] | change]
    assert run(case.portable, rows, tmp_path) == [[f"column {column}: not a value that the model takes"]]


CALLER = """
#define OPAUC_DECLARATIONS
#include "model.c"
#include <math.h>
#include <stdio.h>
int main(void)
{
    opauc_row row;
    double score;
    opauc_clear(&row);
    row.age = 30.0;
    row.int_ = "b";
    row.born = opauc_days(1994, 2, 3, 4, 5, 6.5);
    if (opauc_score(&row, &score))
        return 1;
    printf("%.17g %d\\n", score, opauc_set(&row, 3, "x"));
    row.age = HUGE_VAL;
    printf("%d %s\\n", opauc_score(&row, &score), opauc_columns[0]);
    return 0;
}
"""


def test_a_program_includes_the_declarations_and_links_the_model(tmp_path):
    rng = np.random.default_rng(0)
    days = np.datetime64("1994-02-03T04:05:06.5", "us") + rng.integers(0, 10**15, 300).astype("timedelta64[us]")
    columns = {"age": rng.normal(30, 5, 300), "int": rng.choice(["a", "b"], 300), "born": days}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    fitted = OnePassGAM(random_state=0).fit(rows, rng.random(300) < 0.5)
    (tmp_path / "model.c").write_text(c_code(make_portable(fitted._to_model())), encoding="ascii")
    (tmp_path / "caller.c").write_text(CALLER, encoding="ascii")
    command = ["cc", *c_program.FLAGS, "caller.c", "model.c", "-o", "caller", "-lm"]
    subprocess.run(command, check=True, cwd=tmp_path)
    printed = subprocess.run([tmp_path / "caller"], capture_output=True, text=True, check=True).stdout.split()
    row = {"age": 30.0, "int": "b", "born": np.datetime64("1994-02-03T04:05:06.5", "us")}
    assert_allclose(float(printed[0]), fitted.decision_function([row])[0], **TOLERANCE)
    assert printed[1:] == ["-1", "1", "age"]


def test_the_example_of_the_documentation_compiles(tmp_path):
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "export.md").read_text(encoding="utf-8")
    example = re.search(r"```c\n(.*?)```", page, re.DOTALL)[1].split("\n\n", 1)
    rng = np.random.default_rng(0)
    days = np.datetime64("2025-01-01", "us") + rng.integers(0, 600, 300).astype("timedelta64[D]")
    columns = {"amount": rng.normal(size=300), "shop": rng.choice(["web", "east"], 300), "placed on": days}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    fitted = OnePassGAM(random_state=0).fit(rows, rng.random(300) < 0.5)
    (tmp_path / "model.c").write_text(c_code(make_portable(fitted._to_model()), 2), encoding="ascii")
    program = f"#include <stdio.h>\n{example[0]}\nint main(void)\n{{\n{example[1]}return 0;\n}}\n"
    (tmp_path / "caller.c").write_text(program, encoding="ascii")
    command = ["cc", *c_program.FLAGS, "caller.c", "model.c", "-o", "caller", "-lm"]
    subprocess.run(command, check=True, cwd=tmp_path)
    subprocess.run([tmp_path / "caller"], check=True)


TWO_MODELS = """
#define OPAUC_DECLARATIONS
#define CHURN_DECLARATIONS
#include "model.c"
#include "churn.c"
#include <stdio.h>
int main(void)
{
    opauc_row row;
    churn_row other;
    double score, churn;
    opauc_clear(&row);
    churn_clear(&other);
    row.x = other.x = 2.0;
    if (opauc_score(&row, &score) || churn_score(&other, &churn))
        return 1;
    printf("%g %g\\n", score, churn);
    return 0;
}
"""


def test_two_models_in_one_program_have_different_names(tmp_path):
    code, other = c_code(texts.number_model(".")), c_code(replace(texts.number_model("."), baseline=5.0))
    (tmp_path / "model.c").write_text(code, encoding="ascii")
    (tmp_path / "churn.c").write_text(other.replace("opauc_", "churn_").replace("OPAUC_", "CHURN_"), encoding="ascii")
    (tmp_path / "caller.c").write_text(TWO_MODELS, encoding="ascii")
    command = ["cc", *c_program.FLAGS, "caller.c", "model.c", "churn.c", "-o", "caller", "-lm"]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert subprocess.run([tmp_path / "caller"], capture_output=True, check=True).stdout == b"2 7\n"


def test_numbers_have_the_decimal_point_of_the_locale_when_strtod_reads_them(tmp_path):
    code = c_code(texts.number_model(".")).replace("int main(void)\n{", "int main(void)\n{\n    set_comma();")
    # With a decimal comma the text is 1,5, of which strtod reads 1 in the locale of the test.
    comma = (
        'static struct lconv commas;\nstatic void set_comma(void) { commas.decimal_point = (char *)","; }\n'
        "static struct lconv *any_locale(void) { return &commas; }\n"
    )
    code = code.replace("/* Text. */", comma.replace("\n", "\n", 1)).replace("*localeconv()", "*any_locale()")
    program = c_program.build(code, tmp_path)
    assert float(c_program.run(program, [{"x": "1.5"}], ["x"])[0][0]) == 1.0


def test_the_file_is_ascii_and_a_long_category_compiles(tmp_path):
    rows = [{"c": name} for name in ("é" * 3000, "b")] * 20
    fitted = OnePassGAM(random_state=0).fit(rows, [0, 1, 1, 1] * 10)
    portable = make_portable(fitted._to_model())
    assert c_code(portable).isascii()
    found = run(portable, rows[:2], tmp_path)
    assert_allclose([float(row[0]) for row in found], fitted.decision_function(rows[:2]), **TOLERANCE)


def test_reasons_without_means_are_one_line(case_of, tmp_path):
    with pytest.raises(opauc.UnsupportedOperationError, match="cannot be exported with reasons: the model does not"):
        c_code(case_of("array_3").portable, 1)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    opauc.export(OPAUC().fit(rows, rows[:, 0] > 0), tmp_path / "model.c", reasons=2)
    assert "#define OPAUC_N_REASONS 2" in (tmp_path / "model.c").read_text()


def test_a_threshold_decides_the_label(case_of, tmp_path):
    case = case_of("array_0")
    portable = replace(case.portable, threshold=float(np.median(case.scores)))
    labels = [row[2] for row in run(portable, plain_rows(case.rows), tmp_path)]
    assert labels == ["1" if score > portable.threshold else "0" for score in case.scores]
