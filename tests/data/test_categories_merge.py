"""What two encoders learned is what one would have learned of all rows."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opauc.core.batch import Position, RawBatch
from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.encode.categories import merge_onehot_states
from opauc.data.encode.onehot import OneHotEncoder
from opauc.errors import InputError

WORDS = st.sampled_from(["red", "blue", "green", "Zürich", None])
TABLES = st.lists(st.tuples(WORDS, WORDS, st.sampled_from([0.0, 1.5, -2.0, None])), min_size=1, max_size=12)


def learned(table, reverse=False):
    """The encoder after the rows, and the rows; columns in another order where asked."""
    columns = {
        name: pa.array([row[k] for row in table], kind)
        for name, k, kind in (
            ("u", 0, pa.string()),
            ("v", 1, pa.string()),
            ("a", 2, pa.float64()),
            ("b", 2, pa.float64()),
        )
    }
    names = sorted(columns, reverse=reverse)
    encoder = OneHotEncoder(TableColumns(labeled=False, categorical=["u", "v"]), missing="mean")
    part = RawBatch(
        pa.record_batch({name: columns[name] for name in names}), None, None, Position(), Position(len(table))
    )
    return encoder, encoder.encode(part, "t", BadRows()).rows.toarray()


@given(one=TABLES, two=TABLES)
def test_features_of_the_second_stand_where_their_names_do_and_those_of_the_first_stay(one, two):
    (first, _), (second, rows) = learned(one), learned(two, reverse=True)
    merged = merge_onehot_states(first.state(), second.state())
    both = OneHotEncoder(first.columns, missing="mean").with_state(merged.encoding, frozen=True)
    names = both.feature_names()
    assert names[: first.n_features] == first.feature_names()
    assert [names[place] for place in merged.places] == second.feature_names()
    assert set(names) == {*first.feature_names(), *second.feature_names()}
    assert rows.shape[1] == merged.places.size


@given(one=TABLES, two=TABLES)
def test_running_means_are_those_of_all_rows(one, two):
    merged = merge_onehot_states(learned(one)[0].state(), learned(two, reverse=True)[0].state()).encoding
    whole = learned(one + two)[0].state()
    assert merged["numeric"] == whole["numeric"]
    np.testing.assert_allclose(merged["sums"], whole["sums"], rtol=1e-12)
    assert merged["counts"] == whole["counts"]


def test_a_column_of_numbers_in_one_and_of_categories_in_the_other_is_an_error_with_a_message():
    known = learned([("red", "blue", 1.0)])[0].state()
    other = {**known, "numeric": ["a"], "categorical": ["b", "u", "v"]}
    with pytest.raises(InputError) as error:
        merge_onehot_states(known, other)
    assert str(error.value) == ("the models have other columns of numbers: b in the first only, none in the other only")
