"""Keys of groups: the same value has the same one wherever it comes from, and nothing else has."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opauc.core.group_keys import group_keys

VALUES = st.lists(st.one_of(st.integers(-(2**60), 2**60), st.text(max_size=8), st.booleans()), min_size=1, max_size=30)


@given(VALUES)
def test_two_rows_have_one_key_if_and_only_if_their_groups_read_alike(values):
    column = np.fromiter(values, object, len(values))
    keys = group_keys(column, len(values))
    texts = [str(value) for value in values]
    assert len(set(keys.tolist())) == len(set(texts))
    assert all((keys[i] == keys[j]) == (texts[i] == texts[j]) for i in range(len(texts)) for j in range(i))


@given(st.lists(st.integers(-(2**31), 2**31), min_size=1, max_size=20))
def test_whole_numbers_have_one_key_in_every_type(numbers):
    wanted = group_keys(np.array(numbers), len(numbers)).tolist()
    for form in (np.array(numbers, float), [str(n) for n in numbers], pd.Series(numbers), pd.array(numbers, "Int64")):
        assert group_keys(form, len(numbers)).tolist() == wanted
    assert group_keys(pd.Categorical(numbers), len(numbers)).tolist() == wanted


def test_batches_have_the_keys_of_the_whole():
    names = np.array([f"user {n % 7}" for n in range(50)])
    whole = group_keys(names, 50)
    assert np.concatenate([group_keys(names[:13], 13), group_keys(names[13:], 37)]).tolist() == whole.tolist()


def test_a_fresh_process_gives_the_same_keys():
    code = "from opauc.core.group_keys import group_keys; print(group_keys(['ann', 'bob'], 2).tolist())"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == str(group_keys(["ann", "bob"], 2).tolist())


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1.0, np.nan, 2.0], "groups must have no missing values, got one for row 1"),
        (["a", None, "b"], "groups must have no missing values, got one for row 1"),
        (pd.array([1, None, 3], "Int64"), "groups must have no missing values, got one for row 1"),
        (np.array(["2026-01-01", "NaT", "2026-01-02"], "datetime64[D]"), "no missing values, got one for row 1"),
        ([1, 2], r"groups must hold one value for each of the 3 rows, got shape \(2,\)"),
        (np.ones((3, 1)), r"one value for each of the 3 rows, got shape \(3, 1\)"),
        ("abc", r"one value for each of the 3 rows, got shape \(\)"),
    ],
)
def test_what_is_no_column_of_groups_is_refused_by_name(groups, message):
    with pytest.raises(ValueError, match=message):
        group_keys(groups, 3)
