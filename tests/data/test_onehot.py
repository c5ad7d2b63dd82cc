import datetime
import decimal
import json

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.encode.onehot import OneHotEncoder
from opauc.errors import InputError, MalformedRowError
from tests.data.encoded_parts import encoded, features


def test_huge_numbers_are_no_infinite_ones():
    huge = float(np.finfo(np.float32).max)
    table = {f"x{j}": pa.array([huge, -huge] * 8, pa.float32()) for j in range(8)}
    rows = encoded(OneHotEncoder(features()), table).rows
    assert np.abs(rows).min() == huge


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        (pa.bool_(), np.float32), (pa.int8(), np.float32), (pa.uint16(), np.float32), (pa.float16(), np.float32),
        (pa.float32(), np.float32), (pa.int32(), np.float64), (pa.int64(), np.float64), (pa.uint64(), np.float64),
        (pa.float64(), np.float64), (pa.decimal128(9, 2), np.float64),
        (pa.dictionary(pa.int8(), pa.float32()), np.float32),
    ],
)  # fmt: skip
def test_numbers_of_any_type_keep_their_values_in_the_narrowest_float(kind, dtype):
    values = [True, False] * 6 if kind == pa.bool_() else [decimal.Decimal(3), decimal.Decimal(5)] * 6
    if kind != pa.bool_() and not pa.types.is_decimal(kind):
        values = [3, 5] * 6
    column = pa.array(values, pa.float32()).dictionary_encode() if "dictionary" in str(kind) else pa.array(values)
    column = column if "dictionary" in str(kind) else column.cast(kind)
    rows = encoded(OneHotEncoder(features()), {f"x{j}": column for j in range(9)}).rows
    assert rows.dtype == dtype
    assert rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, np.tile(np.array(values, dtype=float)[:, None], 9))


def test_one_wide_column_makes_all_rows_wide():
    rows = encoded(OneHotEncoder(features()), {"a": pa.array([1.0], pa.float32()), "b": [2**40 + 1]}).rows
    assert rows.dtype == np.float64
    assert rows.tolist() == [[1.0, 2.0**40 + 1]]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["x"], "column a holds strings; declare it categorical (categorical=['a']) or leave it out (drop=['a'])"),
        (pa.array(["x"]).dictionary_encode(), "column a holds strings; declare it categorical (categorical=['a'])"),
        ([datetime.date(2020, 1, 1)], "column a holds date32[day], which is no number; turn it into one or leave it"),
        ([datetime.datetime(2020, 1, 1)], "column a holds timestamp[us], which is no number"),
        ([[1, 2]], "column a holds list<item: int64>, which is no number"),
    ],
)
def test_columns_that_are_no_numbers_are_refused_by_name(column, message):
    with pytest.raises(InputError) as error:
        encoded(OneHotEncoder(features()), {"a": column})
    assert str(error.value).startswith(f"t.parquet: {message}")


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        ([1, 0], [1, 0]), ([True, False], [True, False]), (["no", "yes"], ["no", "yes"]), ([1.5, -1.0], [1.5, -1.0]),
        (pa.array(["no", "yes"]).dictionary_encode(), ["no", "yes"]),
        (pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
        (pa.array([decimal.Decimal("1.5"), decimal.Decimal(2)]), [1.5, 2.0]),
    ],
)  # fmt: skip
def test_labels_stay_as_they_stand(column, wanted):
    labels = encoded(OneHotEncoder(), {"a": [1, 2], "y": column}).labels
    assert labels.tolist() == wanted
    assert labels.dtype.kind in "biufU"


@pytest.mark.parametrize("column", [[1, None], [1.0, float("nan")], ["a", ""], ["a", None], [True, None]])
@pytest.mark.parametrize("missing", ["error", "zero", "mean"])
def test_a_row_without_a_label_is_bad_always(column, missing):
    with pytest.raises(MalformedRowError) as error:
        encoded(OneHotEncoder(missing=missing), {"a": [1, 2], "y": column}, line=10)
    message = "t.parquet, line 12, column y: the label is missing; leave such rows out (drop_unlabeled=True)"
    assert str(error.value) == message
    bad = BadRows("skip")
    rows, labels, lines, *_ = encoded(OneHotEncoder(missing=missing), {"a": [1, 2], "y": column}, bad, line=10)
    assert rows.tolist() == [[1]]
    assert labels.tolist() == column[:1]
    assert lines.tolist() == [11]


def test_dates_cannot_be_labels():
    with pytest.raises(InputError, match="the label, column y, holds date32"):
        encoded(OneHotEncoder(), {"a": [1], "y": [datetime.date(2020, 1, 1)]})


def test_missing_numbers_are_refused_with_line_and_column_unless_something_stands_for_them():
    table = {"a": [1.0, None, 3.0], "b": pa.array([1, 2, None], pa.int64())}
    with pytest.raises(MalformedRowError) as error:
        encoded(OneHotEncoder(features()), table, lines=np.array([4, 7, 9]))
    assert str(error.value) == (
        "t.parquet, line 7, column a: the value is missing; "
        "missing values can be taken as zero or as the mean (missing=...)"
    )
    bad = BadRows("skip")
    rows, _, lines, *_ = encoded(OneHotEncoder(features()), table, bad, lines=np.array([4, 7, 9]))
    assert (rows.tolist(), lines.tolist(), bad.total) == ([[1.0, 1.0]], [4], 2)
    assert encoded(OneHotEncoder(features(), missing="zero"), table).rows.tolist() == [[1, 1], [0, 2], [3, 0]]
    assert encoded(OneHotEncoder(features(), missing="mean"), table).rows.tolist() == [[1, 1], [2, 2], [3, 1.5]]


def test_the_mean_is_that_of_all_values_up_to_the_end_of_the_part():
    encoder = OneHotEncoder(features(), missing="mean")
    assert encoded(encoder, {"a": pa.array([None, None], pa.float64())}).rows.tolist() == [[0.0], [0.0]]
    assert encoded(encoder, {"a": [None, 4.0]}).rows.tolist() == [[4.0], [4.0]]
    assert encoded(encoder, {"a": [None, 1.0]}).rows.tolist() == [[2.5], [1.0]]
    frozen = encoder.with_state(encoder.state(), frozen=True)
    assert encoded(frozen, {"a": [None, 100.0]}).rows.tolist() == [[2.5], [100.0]]


@pytest.mark.parametrize("missing", ["error", "zero", "mean"])
def test_infinite_numbers_are_refused_whatever_stands_for_missing_ones(missing):
    with pytest.raises(MalformedRowError) as error:
        encoded(OneHotEncoder(features(), missing=missing), {"a": [1.0, float("-inf")], "b": [1.0, 2.0]})
    assert str(error.value) == "t.parquet, line 2, column a: -inf is not a finite number"


def test_the_state_goes_through_json_and_indicators_say_what_it_was():
    encoder = OneHotEncoder(TableColumns(categorical=["u"]), missing="mean")
    first = {"u": ["x", "é"], "a": [1.0, None], "y": [0, 1]}
    encoded(encoder, first)
    mark, then = encoder.mark(), json.loads(json.dumps(encoder.state()))
    encoded(encoder, {"u": ["new"], "a": [5.0], "y": [0]})
    assert encoder.state(mark) == then
    assert encoder.state() != then
    restored = OneHotEncoder(TableColumns(categorical=["u"]), missing="mean").with_state(then, frozen=False)
    again = encoded(restored, {"u": ["new"], "a": [None], "y": [0]})
    assert again.rows.toarray().tolist() == [[1.0, 0.0, 0.0, 1.0]]
    frozen = encoder.with_state(then, frozen=True)
    assert encoded(frozen, {"u": ["new"], "a": [None], "y": [0]}).rows.toarray().tolist() == [[1.0, 0.0, 0.0]]
    assert frozen.state() == then


def test_columns_are_those_of_the_first_part_by_name():
    encoder = OneHotEncoder(TableColumns(label=-1))
    assert encoded(encoder, {"a": [1], "b": [2], "c": [0]}).rows.tolist() == [[1, 2]]
    assert encoder.pinned_columns == TableColumns("c", ("a", "b"), [], True)
    assert encoded(encoder, {"c": [0], "b": [2], "a": [1]}).rows.tolist() == [[1, 2]]
    with pytest.raises(InputError) as error:
        encoded(encoder, {"c": [0], "x": [2]})
    assert str(error.value) == "t.parquet: no columns a, b; there are c, x"
    with pytest.raises(InputError, match="the first source has no column d; name the features"):
        encoded(encoder, {"a": [1], "b": [2], "c": [0], "d": [5]})
    named = OneHotEncoder(TableColumns("c", ["b"]))
    for _ in range(2):
        assert encoded(named, {"a": [1], "b": [2], "c": [0], "d": [5]}).rows.tolist() == [[2]]


def test_scoring_needs_no_label_and_passes_over_it_where_it_is():
    trained = OneHotEncoder()
    encoded(trained, {"a": [1], "y": [0]})
    scoring = OneHotEncoder(TableColumns(labeled=False)).with_state(trained.state(), frozen=True)
    for table in ({"a": [1]}, {"y": ["?"], "a": [1], "id": ["x"]}):
        assert encoded(scoring, table).rows.tolist() == [[1]]
        assert encoded(scoring, table).labels is None
    assert scoring.pinned_columns.features == ("a",)


def test_a_label_cannot_be_a_feature():
    for columns in (TableColumns("y", ["a", "y"]), TableColumns("y", categorical=["y"])):
        with pytest.raises(InputError, match="column y cannot be the label and a feature"):
            encoded(OneHotEncoder(columns), {"a": [1], "y": [0]})


def test_arrays_are_checked_and_filled_as_tables_are():
    array = np.array([[1.0, np.nan], [np.inf, 2.0], [3.0, 4.0]])
    labels = np.array([0.0, 1.0, np.nan])
    bad = BadRows("skip")
    rows, kept, lines, *_ = encoded(OneHotEncoder(missing="mean"), array, bad, labels=labels)
    assert (rows.tolist(), kept.tolist(), lines.tolist()) == ([[1.0, 0.0]], [0.0], [1])
    assert bad.first == [
        "t.parquet, line 2, column 0: inf is not a finite number", "t.parquet, line 3, column y: the label is missing",
    ]  # fmt: skip
    assert np.isnan(array[0, 1])  # the caller's array is left alone
    encoder = OneHotEncoder()
    encoded(encoder, np.eye(2))
    with pytest.raises(InputError, match=r"t.parquet: 3 columns, the first source has 2"):
        encoded(encoder, np.eye(3))
    with pytest.raises(InputError, match="is a table, the first source is an array"):
        encoded(encoder, {"a": [1], "y": [0]})
    table = OneHotEncoder()
    encoded(table, {"a": [1], "y": [0]})
    with pytest.raises(InputError, match="is an array, the first source is a table"):
        encoded(table, np.eye(1))


def test_sparse_rows_are_checked_too():
    rows = sparse.csr_array(np.array([[1.0, 0.0], [0.0, np.nan], [np.inf, 0.0]]))
    with pytest.raises(MalformedRowError, match="line 2, column 1: the value is missing"):
        encoded(OneHotEncoder(), rows)
    bad = BadRows("skip")
    found = encoded(OneHotEncoder(missing="zero"), rows, bad, labels=np.array(["a", "b", "c"]))
    assert found.rows.toarray().tolist() == [[1, 0], [0, 0]]
    assert (found.rows.nnz, found.labels.tolist(), bad.total) == (1, ["a", "b"], 1)
    with pytest.raises(InputError, match="taken as zero, not as the mean"):
        encoded(OneHotEncoder(missing="mean"), rows)
    assert encoded(OneHotEncoder(), rows[:1]).rows.has_canonical_format


def test_what_stands_for_missing_values_is_one_of_three():
    with pytest.raises(ValueError, match="missing must be one of error, zero, mean, got 'median'"):
        OneHotEncoder(missing="median")
