"""Columns without a name of their own are called as pandas calls them."""

import io

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from opauc.data.columns import unique_names

NAMES = st.sampled_from(["a", "b", "a.1", "", "a.2", "a.1.1", "b.1", "Unnamed: 0", "Unnamed: 2"])


@given(fields=st.lists(NAMES, min_size=2, max_size=8).filter(any))
@settings(max_examples=300)
def test_names_are_those_of_pandas(fields):
    text = ",".join(fields) + "\n" + ",".join("1" for _ in fields) + "\n"
    assert unique_names(fields) == pd.read_csv(io.StringIO(text)).columns.tolist()


def test_very_many_columns_of_one_name_take_no_longer_than_others():
    assert unique_names(["x"] * 50_000)[-1] == "x.49999"
