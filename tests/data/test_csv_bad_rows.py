"""Text tables that cannot be read as they are: refused with file, line and column, or skipped and counted."""

import math

import pytest

from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.formats.csv.reader import CsvReader
from opauc.errors import InputError, MalformedRowError, TooManyBadRowsError
from tests.data.csv_parts import COLUMNS, lines_of, parts_of, written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y,a\n1,2\n0,x\n", "line 3, column a: 'x' is not a number; a column of strings must be declared categorical"),
        ("y,a\n\n1,2\n0\n", "line 4: 1 field, expected 2"),
        ("y,a\n1,2,3\n", "line 2: 3 fields, expected 2"),
        ('y,a\n"1\n",2\n0,1_0\n', "line 4, column a: '1_0' is not a number"),
        ("y,a\n1,2\n1,0x10\n", "line 3, column a: '0x10' is not a number"),
        ("y,a\n1," + "x" * 99 + "\n", f"line 2, column a: '{'x' * 37}...' is not a number"),
        ('y,a\n1,2\n0,"3\n1,4\n', "line 3: a quoted field begins here and does not end"),
        ("y,a\r1,2\r1,z\r", "line 3, column a: 'z' is not a number"),
    ],
)
@pytest.mark.parametrize("block_bytes", [1, 4096])
def test_a_bad_row_is_named_with_file_line_and_column(tmp_path, text, message, block_bytes):
    path = written(tmp_path, text)
    with pytest.raises(MalformedRowError) as error:
        parts_of(path, block_bytes=block_bytes)
    assert str(error.value).startswith(f"{path}, {message}")


def test_strings_that_are_not_utf8_are_read_as_windows_1252_with_a_warning(tmp_path):
    path = written(tmp_path, b"label,a,w\n1,2,Gen\xe8ve\n1,2,Gen\xc3\xa8ve\n0,3,\x80\x81\n1,4,ok\n")
    with pytest.warns(UserWarning, match="some strings are not in UTF-8; they are read as Windows-1252"):
        [part] = parts_of(path, CsvReader(COLUMNS))
    assert part.rows["w"].to_pylist() == ["Genève", "Genève", "€\ufffd", "ok"]
    [part] = parts_of(written(tmp_path, "label,a,größe\n1,2,x\n".encode("latin-1")), CsvReader(TableColumns(drop=[2])))
    assert part.columns.label == "label"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is nothing in it"),
        ("\n\r\n", "there is nothing in it"),
        ("a,b\n1,2\n", "no column is called label, target, class or y; name the label (label=...), one of a, b"),
        ("y,label,a\n1,2,3\n", "columns y, label could each be the label; name the label (label=...), one of y, label"),
        ("sep=;\ny;a\n1;2\n", "the first line, sep=, is no header; take it out"),
        ('{"y": 1, "a": 2}\n', "JSON is not read; save it as CSV or Parquet"),
        ('[{"y": 1, "a": 2}]\n', "JSON is not read; save it as CSV or Parquet"),
        ("@RELATION rows\n@ATTRIBUTE a REAL\n", "ARFF is not read; save it as CSV or Parquet"),
        ("% rows, 1994\n@relation rows\n", "ARFF is not read; save it as CSV or Parquet"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\n\x00", "a workbook is not read; save it as CSV or Parquet"),
        (b"ORC\n\x11\x00", "what is no text is not read; save it as CSV or Parquet"),
        (b"%PDF-1.4\n", "PDF is not read; save it as CSV or Parquet"),
        ("<!DOCTYPE html>\n<table>\n", "XML or HTML is not read; save it as CSV or Parquet"),
        (
            "y\n1\n",
            "no column is left to be a feature besides y; if there are others, name the delimiter (delimiter=...) or "
            "take out lines before the header",
        ),
    ],
)  # fmt: skip
def test_a_header_that_cannot_be_used_is_refused_with_the_reason(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(InputError) as error:
        parts_of(path)
    assert str(error.value) == f"{path}: {message}"


def test_skipped_rows_are_counted_in_their_order_and_the_others_kept(tmp_path):
    path = written(tmp_path, 'y,a\n1,1\n0\n1,x\n0,4\n"1",5\n?,6\n')
    bad = BadRows("skip")
    [part] = parts_of(path, bad=bad)
    assert part.rows.to_pydict() == {"y": [1.0, 0.0, 1.0, None], "a": [1.0, 4.0, 5.0, 6.0]}
    assert lines_of(part) == [2, 5, 6, 7]
    assert bad.total == 2
    assert [text.split(", ")[1][:6] for text in bad.first] == ["line 3", "line 4"]
    with pytest.raises(TooManyBadRowsError):
        parts_of(path, bad=BadRows("skip", most=1))


@pytest.mark.parametrize("missing", ["", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?", "-", " NA "])
def test_missing_numbers_are_distinguished_from_strings(tmp_path, missing):
    path = written(tmp_path, f"label,a,w\n1,{missing},{missing}\n1,2,z\n")
    [part] = parts_of(path, CsvReader(COLUMNS))
    [absent, there] = part.rows.column("a").to_pylist()
    assert absent is None or math.isnan(absent)
    assert there == 2
    assert part.rows.column("w").to_pylist() == [missing, "z"]


def test_a_delimiter_must_be_one_plain_character():
    for wrong in (",,", '"', "\n", "é", ""):
        with pytest.raises(ValueError, match="delimiter must be one ASCII character"):
            CsvReader(delimiter=wrong)


def test_a_label_that_float64_would_merge_is_a_bad_row_where_labels_are_numbers(tmp_path):
    rows = "".join(f"{i},{i % 2}\n" for i in range(100))
    path = written(tmp_path, f"a,y\n{rows}1,9007199254740993\n2,1\n")
    with pytest.raises(MalformedRowError) as error:
        parts_of(path, block_bytes=256)
    assert str(error.value) == (
        f"{path}, line 102, column y: '9007199254740993' is not exact in float64, as the labels at the beginning are"
    )
    bad = BadRows("skip")
    assert sum(part.rows.num_rows for part in parts_of(path, block_bytes=256, bad=bad)) == 101
