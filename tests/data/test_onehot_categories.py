"""Categories of tables as features, one each or hashed."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opauc.data.bad_rows import BadRows
from opauc.data.columns import TableColumns
from opauc.data.encode.hashing import HashedFeatures
from opauc.data.encode.onehot import OneHotEncoder
from opauc.errors import InputError, MalformedRowError
from tests.data.encoded_parts import encoded

WORDS = st.sampled_from(["red", "blue", "green", None, ""])


MIXED = st.lists(st.tuples(WORDS, WORDS, st.sampled_from([0.0, 1.5, -2.0, None])), min_size=1, max_size=25)


CATEGORIES = TableColumns(labeled=False, categorical=["u", "v"])


def dictionary_rows(rows, names):
    """Each row as the set of its features by name, with their values."""
    array = rows.toarray()
    return [{names[j]: array[i, j] for j in np.flatnonzero(array[i])} for i in range(len(array))]


def expected_rows(table):
    return [
        {**{f"u={u}": 1.0 for u in [u] if u}, **{f"v={v}": 1.0 for v in [v] if v}, **({"a": a} if a else {})}
        for u, v, a in table
    ]


@given(table=MIXED, cut=st.integers(0, 25), as_dictionary=st.booleans())
def test_categories_are_features_in_the_order_they_are_met_however_the_rows_are_cut(table, cut, as_dictionary):
    def batch(rows):
        u, v, a = (
            pa.array([row[k] for row in rows], kind) for k, kind in enumerate((pa.string(), pa.string(), pa.float64()))
        )
        return {"u": u.dictionary_encode() if as_dictionary else u, "v": v, "a": a}

    whole, cut_up = OneHotEncoder(CATEGORIES, missing="zero"), OneHotEncoder(CATEGORIES, missing="zero")
    rows = encoded(whole, batch(table)).rows
    pieces = [encoded(cut_up, batch(piece)).rows for piece in (table[:cut], table[cut:])]
    assert whole.feature_names() == cut_up.feature_names()
    met = [f"{name}={word}" for row in table for name, word in zip("uv", row, strict=False) if word]
    assert whole.feature_names() == ["a", *dict.fromkeys(met)]
    assert whole.n_features == rows.shape[1] == pieces[1].shape[1]
    assert rows.has_canonical_format
    assert dictionary_rows(rows, whole.feature_names()) == expected_rows(table)
    found = [row for piece in pieces for row in dictionary_rows(piece, cut_up.feature_names())]
    assert found == expected_rows(table)


@given(table=MIXED, bits=st.integers(1, 6))
def test_hashed_categories_add_their_signs_in_their_columns(table, bits):
    u, v = (pa.array([row[k] for row in table], pa.string()) for k in (0, 1))
    hashing = HashedFeatures(bits, seed=3)
    encoder = OneHotEncoder(CATEGORIES, hashing, missing="zero")
    rows = encoded(encoder, {"u": u, "v": v, "a": np.arange(len(table))}).rows
    wanted = np.zeros((len(table), 1 + 2**bits))
    wanted[:, 0] = np.arange(len(table))
    for i, row in enumerate(table):
        names = [f"{name}={word}" for name, word in zip("uv", row, strict=False) if word]
        columns, signs = hashing.columns_of(hashing.keys_of(names))
        np.add.at(wanted[i], columns + 1, signs)
    np.testing.assert_array_equal(rows.toarray(), wanted)
    assert rows.has_canonical_format
    assert encoder.n_features == 1 + 2**bits == len(encoder.feature_names())
    assert encoder.state()["categories"] == []


def test_numbers_can_be_categories():
    columns = TableColumns(labeled=False, categorical=["a", "b"])
    encoder = OneHotEncoder(columns)
    encoded(encoder, {"a": [3, 7], "b": [True, False]})
    assert encoder.feature_names() == ["a=3", "b=true", "a=7", "b=false"]
    with pytest.raises(InputError, match="column a holds list<item: int64>, which cannot be categories"):
        encoded(OneHotEncoder(columns), {"a": [[1]], "b": [True]})


def test_a_missing_category_is_refused_or_sets_no_feature():
    table = {"u": ["x", None], "v": ["y", "z"]}
    with pytest.raises(MalformedRowError) as error:
        encoded(OneHotEncoder(CATEGORIES), table)
    wanted = "line 2, column u: the category is missing; a row can go without one (missing='zero' or missing='mean')"
    assert str(error.value) == f"t.parquet, {wanted}"
    encoder = OneHotEncoder(CATEGORIES)
    assert encoded(encoder, table, BadRows("skip")).rows.shape == (1, 2)
    assert encoder.feature_names() == ["u=x", "v=y"]  # words of a skipped row are not learned
    assert encoded(OneHotEncoder(CATEGORIES, missing="mean"), table).rows.toarray().tolist() == [[1, 1, 0], [0, 0, 1]]
