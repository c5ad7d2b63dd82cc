"""Columns of a data frame that Arrow has no plain type for are read as text."""

import datetime
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

from opauc import OnePassGAM
from opauc.data.frames import with_plain_values
from opauc.errors import InputError

RANDOM = np.random.default_rng(0)
SIZE = RANDOM.normal(size=1200)
LABELS = (np.abs(SIZE) + RANDOM.normal(size=1200) / 2 > 1).astype(int)
FLOORS = pd.Series(np.where(np.arange(1200) % 3, "ground", "1"))


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1, "a", None, 2.0, 2.5, np.nan], ["1", "a", None, "2", "2.5", None]),
        ([True, "no"], ["True", "no"]),
        ([datetime.date(2024, 2, 29), "unknown"], ["2024-02-29", "unknown"]),
        (pd.period_range("2024-01", periods=2, freq="M"), ["2024-01", "2024-02"]),
        (pd.cut([0.5, np.nan, 1.5], [0, 1, 2]), ["(0, 1]", None, "(1, 2]"]),
        (pd.cut([0.5, 1.5], [0, 1, 2]).astype(object), ["(0, 1]", "(1, 2]"]),
        ([uuid.UUID(int=7), None], ["00000000-0000-0000-0000-000000000007", None]),
    ],
)
def test_values_that_are_not_plain_become_strings(values, wanted):
    table, schema = with_plain_values(pd.DataFrame({"x": values, "n": range(len(values))}))
    column = pa.Table.from_pandas(table, schema, preserve_index=False)["x"].combine_chunks()
    column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    assert column.to_pylist() == wanted
    assert schema.field("n").type == pa.int64()


def test_plain_columns_stay_as_they_are():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": pd.Categorical(["x", "y"])})
    assert with_plain_values(frame)[0] is frame


@pytest.mark.parametrize("values", [[1j, 2j], [[1], [2]]])
def test_values_that_cannot_be_strings_are_an_error(values):
    with pytest.raises(InputError, match="neither"):
        OnePassGAM().fit(pd.DataFrame({"x": values}), [0, 1])


def test_numbers_mixed_with_strings_are_categories():
    words = pd.DataFrame({"size": SIZE, "floor": FLOORS})
    mixed = words.assign(floor=[1 if floor == "1" else floor for floor in FLOORS])
    model, other = OnePassGAM().fit(words, LABELS), OnePassGAM().fit(mixed, LABELS)
    assert_allclose(other.decision_function(mixed), model.decision_function(words))
    numbers = mixed[FLOORS == "1"].astype({"floor": float})
    assert_allclose(other.decision_function(numbers), model.decision_function(words[FLOORS == "1"]))


def test_intervals_as_of_cut_are_categories():
    frame = pd.DataFrame({"part": pd.cut(SIZE, [-9, -1, 1, 9])})
    model = OnePassGAM().fit(frame, LABELS)
    assert set(model._columns.columns[0].categories) == {"(-9, -1]", "(-1, 1]", "(1, 9]"}
    shares = pd.Series(LABELS).groupby(frame["part"].astype(str)).transform("mean")
    assert model.score(frame, LABELS) == pytest.approx(roc_auc_score(LABELS, shares))
