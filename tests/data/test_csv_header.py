"""What people write into text tables: truth values, decimal commas, an index, labels in other letters."""

import numpy as np
import pytest

from opauc.data.arrow_columns import number_matrix
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.formats.csv.reader import CsvReader
from opauc.errors import InputError, MalformedRowError, Parameter
from tests.data.csv_parts import columns_of, parts_of, written


@pytest.mark.parametrize("block_bytes", [1, 4096])
def test_true_and_false_are_one_and_zero(tmp_path, block_bytes):
    path = written(tmp_path, "y,a,b\nno,True,1\nno,false,True\nyes,,2.5\nyes,TRUE,FALSE\nno, False ,-\n")
    found = columns_of(parts_of(path, block_bytes=block_bytes))
    assert found["a"] == [1.0, 0.0, None, 1.0, 0.0]
    assert found["b"] == [1.0, 1.0, 2.5, 0.0, None]


def test_labels_of_true_and_false_are_truth_values(tmp_path):
    rows = "True,1\nFalse,2\n" * 30
    path = written(tmp_path, f"y,a\n{rows}")
    assert columns_of(parts_of(path, block_bytes=64))["y"] == [True, False] * 30
    path = written(tmp_path, f"y,a\n{rows}1,3\n")
    with pytest.raises(MalformedRowError) as error:
        parts_of(path, block_bytes=64)
    assert str(error.value) == (
        f"{path}, line 62, column y: '1' is neither True nor False, as the labels at the beginning are"
    )


@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize("block_bytes", [1, 4096])
def test_decimal_commas(tmp_path, monkeypatch, narrow, block_bytes):
    if not narrow:
        monkeypatch.setattr("opauc.data.formats.csv.values.MAX_NARROW", 0)
    path = written(tmp_path, 'a;y;b\n1,5;0;-2e-3\n;1;"3,25"\n7;0;1.5\n 2,0 ;1;True\n')
    bad = BadRows("skip")
    parts = parts_of(path, CsvReader(decimal=","), block_bytes, bad=bad)
    rows = [number_matrix(part.rows, ["a", "b"], "")[0] for part in parts]
    wanted = [[1.5, -0.002], [np.nan, 3.25], [7.0, 1.5], [2.0, 1.0]]
    np.testing.assert_array_equal(np.concatenate(rows).astype(float), wanted)
    assert bad.first == []


def test_the_delimiter_is_not_what_stands_before_decimals(tmp_path):
    path = written(tmp_path, "1,5;2,5;0\n2,5;3,5;1\n")
    found = columns_of(parts_of(path, CsvReader(TableColumns(label=2), header=None, decimal=",")))
    assert found == {"0": [1.5, 2.5], "1": [2.5, 3.5], "2": [0.0, 1.0]}


@pytest.mark.parametrize("rows", [("0", "1"), ("1", "2"), ("31", "7"), ("Mazda RX4", "Datsun 710")])
def test_a_first_column_that_numbers_or_names_the_rows_is_left_out_with_a_warning(tmp_path, rows):
    path = written(tmp_path, f",a,Label\n{rows[0]},2.5,1\n{rows[1]},3.5,0\n")
    for header in (None, True):
        with pytest.warns(UserWarning, match="the first column has no name and no value twice; it is left out"):
            found = columns_of(parts_of(path, CsvReader(header=header)))
        assert found == {"a": [2.5, 3.5], "Label": [1.0, 0.0]}
    found = columns_of(parts_of(path, CsvReader(TableColumns(drop=[0]))))
    assert found == {"a": [2.5, 3.5], "Label": [1.0, 0.0]}


@pytest.mark.parametrize(("names", "label"), [("a,LABEL", "LABEL"), ("Target,a", "Target"), ("Y,y,a", "y")])
def test_the_label_is_found_in_other_letters_where_none_has_these(tmp_path, names, label):
    [part] = parts_of(written(tmp_path, names + "\n" + ",".join("1" for _ in names.split(",")) + "\n"))
    assert TableColumns().resolve(part.rows.schema.names, "").by_name.label == label


def test_all_columns_of_strings_are_named_with_the_line_of_the_first(tmp_path):
    path = written(tmp_path, 'y,a,"b, c",d\n1,2,3,\n1,2,x,1\n0,z,x,u\n')
    with pytest.raises(MalformedRowError) as error:
        parts_of(path)
    assert str(error.value) == (
        f"{path}, line 3, column b, c: 'x' is not a number, nor are values of columns a, d; columns of strings must be "
        "declared categorical (categorical=['a', 'b, c', 'd']) or left out (drop=['a', 'b, c', 'd']); values are "
        "missing in d (missing='zero' or missing='mean')"
    )
    named = [part.name for part in error.value.parts if isinstance(part, Parameter)]
    assert named == ["categorical", "drop", "missing", "missing"]


@pytest.mark.parametrize("header", [None, True])
def test_a_comma_at_the_end_of_each_line_makes_no_column(tmp_path, header):
    path = written(tmp_path, "a,y,,\n1,0,,\n2,1, ,\n")
    assert columns_of(parts_of(path, CsvReader(header=header))) == {"a": [1.0, 2.0], "y": [0.0, 1.0]}
    path = written(tmp_path, "a,y,\n1,0,\n2,1,7\n")
    with pytest.warns(UserWarning, match="columns without a name of their own are called Unnamed: 2"):
        found = columns_of(parts_of(path, CsvReader(header=header)))
    assert found == {"a": [1.0, 2.0], "y": [0.0, 1.0], "Unnamed: 2": [None, 7.0]}


def test_bars_between_columns_are_inferred(tmp_path):
    path = written(tmp_path, "a|w|y\n1|x, y; z|0\n2|w|1\n")
    assert columns_of(parts_of(path, CsvReader(TableColumns(categorical=["w"]))))["w"] == ["x, y; z", "w"]


@pytest.mark.parametrize("label", [None, "y"])
def test_lines_before_the_header_are_guessed_at_where_there_is_one_column(tmp_path, label):
    path = written(tmp_path, "Report of 2024\na,y\n1,0\n")
    with pytest.raises(InputError, match=r"name the delimiter \(delimiter=...\) or take out lines before the header"):
        parts_of(path, CsvReader(TableColumns(label)))


@pytest.mark.parametrize("name", ["% of all", "<=50K", "@home", "{a}", "[a", "sep=", "json"])
def test_a_name_that_begins_as_other_formats_do_is_a_name(tmp_path, name):
    assert columns_of(parts_of(written(tmp_path, f"{name},y\n1,0\n2,1\n"))) == {name: [1.0, 2.0], "y": [0.0, 1.0]}
