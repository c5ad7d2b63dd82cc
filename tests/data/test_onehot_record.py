"""A row given as a dict becomes the features that a table of this one row becomes, or is left to the table."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from opauc.data import ReadOptions
from opauc.data.encode.onehot_record import OneHotRecordReader
from opauc.data.encode.table_features import OneHotReading
from opauc.errors import OpaucError
from tests.data.test_record import VALUES

TABLE = pd.DataFrame(
    {
        "size": [1.5, 2.0, 4.0, 0.0],
        "price": ["1,200.50", "3", "?", "45%"],
        "color": ["red", "blue", "7", "True"],
        "flag": [True, False, True, False],
    }
)
COMPLETE = TABLE.assign(price=["1,200.50", "3", "7", "45%"])


def reading_of(missing, categorical=("color", "flag")):
    options = ReadOptions(categorical=categorical, missing=missing, drop=() if categorical else ("color",))
    return OneHotReading(options).learn(COMPLETE if missing == "error" else TABLE).features


READINGS = {missing: reading_of(missing) for missing in ("error", "zero", "mean")}
READINGS["numbers only"] = reading_of("mean", ())
readings = pytest.mark.parametrize("reading", READINGS.values(), ids=list(READINGS))
NAMES = "size", "price", "color", "flag"
RECORDS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(NAMES, VALUES | st.sampled_from(["red", "7.0", "true", "2"]))
)


def reader_of(reading):
    return OneHotRecordReader.of(reading.encoding, reading.options.missing)


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


@readings
@given(record=RECORDS)
def test_a_row_becomes_what_it_becomes_in_a_table_or_nothing(reading, record):
    row = reader_of(reading).read(record)
    if row is None:
        return
    columns = [*reading.encoding["numeric"], *reading.encoding["categorical"]]
    expected = reading.read([{name: record.get(name) for name in columns}]).rows
    assert sparse.issparse(row) == sparse.issparse(expected)
    assert_array_equal(dense(row), dense(expected))
    if sparse.issparse(row):
        assert_array_equal(row.indices, expected.indices)
        assert row.has_canonical_format


@readings
def test_plain_rows_are_read(reading):
    reader = reader_of(reading)
    for record in COMPLETE.to_dict("records"):
        assert reader.read(record) is not None
    assert reader.read({**record, "color": "green", "flag": True, "price": "$5", "size": 7}) is not None
    absent = {name: value for name, value in record.items() if name != "size"}
    assert (reader.read(absent) is None) == (reading.options.missing == "error")


@readings
@pytest.mark.parametrize("value", ["many", [1], {"a": 1}, float("inf"), 10**30, "1e999"])
def test_what_cannot_be_read_is_left_to_the_table_which_refuses_it(reading, value):
    record = {**COMPLETE.iloc[0].to_dict(), "size": value}
    assert reader_of(reading).read(record) is None
    with pytest.raises((OpaucError, ValueError)):
        reading.read([record])
