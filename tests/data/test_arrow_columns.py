"""Arrow columns as NumPy arrays, against pyarrow's own conversion."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from opauc.data.arrow_columns import numbers_in, strings_array

KINDS = {
    pa.float64(): st.floats(), pa.float32(): st.floats(width=32), pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint8(): st.integers(0, 255), pa.bool_(): st.booleans(),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(data=st.data())
def test_numbers_are_those_of_the_column_with_another_one_where_they_are_missing(kind, data):
    values = data.draw(st.lists(st.none() | KINDS[kind], max_size=30))
    start, length = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 30))
    column = pa.array(values, kind).slice(start, length)
    missing = data.draw(st.sampled_from([0, 1]) if not pa.types.is_floating(kind) else st.just(np.nan))
    expected = [missing if value is None else value for value in column.to_pylist()]
    numbers = numbers_in(column, missing)
    assert numbers.dtype == (np.uint8 if kind == pa.bool_() else kind.to_pandas_dtype())
    assert_array_equal(numbers, np.array(expected, numbers.dtype))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_strings_become_an_arrow_array(strings):
    assert strings_array(strings).equals(pa.array(strings, pa.string()))
