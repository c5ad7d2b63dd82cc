"""JSON lines become the table that pandas reads, with the line of every error."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import opauc
from opauc.core.batch import BEGINNING
from opauc.data import BadRows, ReadOptions
from opauc.data.columns import TableColumns
from opauc.data.formats.json_lines import JsonLinesReader
from opauc.data.open_stream import open_stream
from opauc.data.sources import ByteSource
from opauc.errors import InputError, MalformedRowError
from tests.tables import raw_table

TEXT = """\ufeff{"age": 30, "y": "no", "city": "Bern", "paid": true}

{"y": "yes", "city": null, "age": 2.5, "code": 9007199254740993}
{"y": "no", "city": 7, "paid": false}
"""


def batch_of(tmp_path, text, columns=None, bad_rows=None):
    path = tmp_path / "rows.jsonl"
    path.write_text(text, encoding="utf-8")
    [batch] = JsonLinesReader(columns or TableColumns()).batches(
        ByteSource(str(path)), BEGINNING, bad_rows or BadRows()
    )
    return batch


def test_values_are_those_of_the_text(tmp_path):
    batch = batch_of(tmp_path, TEXT)
    assert batch.rows.to_pydict() == {
        "age": [30.0, 2.5, None],
        "y": ["no", "yes", "no"],
        "city": ["Bern", None, "7"],
        "paid": [True, None, False],
        "code": [None, 9007199254740993, None],  # exact, where a float is not
    }
    assert batch.lines.tolist() == [1, 3, 4]


def test_numbers_are_those_that_pandas_reads(tmp_path):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=50), "n": random.integers(0, 9, 50), "y": random.integers(0, 2, 50)})
    frame.loc[3, "a"] = np.nan
    text = frame.to_json(orient="records", lines=True, double_precision=15)
    expected = pd.read_json(io.StringIO(text), lines=True, precise_float=True)
    pd.testing.assert_frame_equal(batch_of(tmp_path, text).rows.to_pandas(), expected, check_dtype=False)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"age": 30, "y": ', "line 2: not JSON: Expecting value"),
        ("[1, 2]", "line 2: expected an object, got a list"),
        ("7", "line 2: expected an object, got 7"),
        ('{"age": [1], "y": "no"}', "line 2, column age: expected a number, a string or a boolean, got a list"),
        (
            '{"age": {"in": 1}, "y": "no"}',
            "line 2, column age: expected a number, a string or a boolean, got an object",
        ),
        ('{"age": ' + "[" * 10_000, "line 2: too deep, or with too long a number, and cannot be read"),
        ('{"age": 1' + "0" * 5000 + "}", "line 2: too deep, or with too long a number, and cannot be read"),
    ],
)
def test_a_bad_line_is_an_error_with_its_number_or_is_skipped(tmp_path, line, message):
    text = f'{{"age": 30, "y": "no"}}\n{line}\n{{"age": 31, "y": "yes"}}\n'
    with pytest.raises(MalformedRowError) as error:
        batch_of(tmp_path, text)
    assert str(error.value) == f"{tmp_path / 'rows.jsonl'}, {message}"
    skipping = BadRows("skip")
    batch = batch_of(tmp_path, text, bad_rows=skipping)
    assert (batch.rows.to_pydict()["age"], batch.lines.tolist(), skipping.total) == ([30, 31], [1, 3], 1)


def test_a_key_that_the_first_block_lacks_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("opauc.data.sources.BLOCK_BYTES", 64)
    path = tmp_path / "rows.jsonl"
    path.write_text('{"age": 30, "y": "no"}\n' * 8 + '{"Age": 31, "y": "yes"}\n')
    with pytest.raises(InputError) as error:
        list(open_stream([path], ReadOptions()).batches())
    assert str(error.value) == f"{path}, line 9: unknown key 'Age'; expected one of age, y"


def test_an_empty_file_and_one_without_a_line_are_errors(tmp_path):
    for text in ("", "\n \n"):
        with pytest.raises(InputError, match=r"rows\.jsonl: there is nothing in it$"):
            batch_of(tmp_path, text)


def test_a_file_of_unknown_ending_is_known_by_its_first_line(tmp_path):
    (tmp_path / "rows.log").write_text('{"age": 30, "y": 0}\n{"age": 31, "y": 1}\n')
    [batch] = open_stream([tmp_path / "rows.log"], ReadOptions()).batches()
    assert np.asarray(batch.rows).tolist() == [[30.0], [31.0]]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_json_lines_train_the_model_of_the_same_table_as_csv(tmp_path, n_jobs):
    table = raw_table(3000)
    table.to_csv(tmp_path / "rows.csv", index=False)
    rows = (json.dumps(row) for row in table.astype({"id": int, "grade": int}).to_dict("records"))
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    label = table.columns[-1]
    scores = [
        opauc.predict(opauc.train(path, label=label, n_jobs=n_jobs), path)
        for path in (tmp_path / "rows.csv", tmp_path / "rows.jsonl")
    ]
    np.testing.assert_allclose(*scores, atol=1e-9)
