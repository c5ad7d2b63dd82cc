"""Terms and explanations as data frames of pandas and polars."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from opauc import OnePassGAM
from opauc.additive.terms.terms import Term
from opauc.errors import MissingEngineError

PAIR = Term(
    "value × city", ("value", "city"), ((1.0, 2.0, "missing"), ("Bern", "missing")), np.arange(6.0).reshape(3, 2),
    np.ones((3, 2)), 1.0,
)  # fmt: skip
CROSSED = Term("a × b × c", ("a", "b", "c"), (("1 × u × 3", "2 × v × 3"),), np.ones(2), np.ones(2), 1.0)
TREES = Term("age (trees)", ("age",), (), np.empty(0), np.empty(0), 1.0)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_pair_has_a_row_per_cell_and_missing_numbers_are_missing(library):
    frame = PAIR.to_frame(library)
    assert list(frame.columns) == ["value (column)", "city", "value", "error"]
    rows = frame.to_pandas() if library == "polars" else frame
    assert_array_equal(rows["value (column)"], [1.0, 1.0, 2.0, 2.0, np.nan, np.nan])
    assert rows["city"].tolist() == ["Bern", "missing"] * 3
    for _, row in rows.iterrows():
        at = "missing" if np.isnan(row["value (column)"]) else row["value (column)"]
        assert row["value"] == PAIR.value[PAIR.at[0].index(at), PAIR.at[1].index(row["city"])]
    if library == "polars":
        assert frame["value (column)"].null_count() == 2


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_combinations_have_one_column_and_trees_no_rows(library):
    assert list(CROSSED.to_frame(library).columns) == ["a × b × c", "value", "error"]
    assert TREES.to_frame(library).shape == (0, 3)


def test_explanations_come_as_the_rows_did_and_sum_to_the_scores():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"], index=range(1000, 1200))
    model = OnePassGAM(random_state=0).fit(table, table["a"] + rng.normal(size=200) > 0)
    of_pandas, of_polars = (model.explain(rows).to_frame() for rows in (table, pl.from_pandas(table)))
    assert type(of_polars) is pl.DataFrame
    assert of_pandas.index.equals(table.index)
    assert of_polars.columns == of_pandas.columns.tolist()
    scores = model.explain(table).baseline + of_pandas.sum(axis=1)
    np.testing.assert_allclose(scores, model.decision_function(table))
    assert_array_equal(of_polars.to_numpy(), of_pandas.to_numpy())
    assert type(model.explain(table).to_frame("polars")) is pl.DataFrame
    assert type(model.explain(pl.from_pandas(table)).to_frame("pandas")) is pd.DataFrame


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_absent_is_named(library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingEngineError, match=f"{library} is not installed; to_frame"):
        CROSSED.to_frame(library)


def test_another_library_is_an_error():
    with pytest.raises(ValueError, match="as_frame"):
        CROSSED.to_frame("modin")


@pytest.mark.parametrize(
    ("value", "error", "sign"),
    [
        ([-1.0, 0.0, 1.0], 0.1, "+"),
        ([1.0, 0.0, -1.0], 0.1, "−"),
        ([-1.0, 1.0, 0.9, 2.0], 0.1, "+"),  # the fall is within two errors
        ([-1.0, 1.0, 0.7, 2.0], 0.1, "±"),
        ([0.0, 0.1, 0.0], 0.1, ""),
    ],
)
def test_a_curve_has_a_direction_unless_it_turns_back_by_more_than_two_errors(value, error, sign):
    values = np.array(value)
    at = tuple(map(float, range(values.size)))
    assert Term("a", ("a",), (at,), values, np.full(values.size, error), 1.0).direction() == sign
    with_missing = Term(
        "a", ("a",), ((*at, "missing"),), np.append(values, 9.0), np.full(values.size + 1, error), 1.0
    )  # fmt: skip
    assert with_missing.direction() == sign


def test_levels_pairs_and_trees_have_no_direction():
    assert [term.direction() for term in (PAIR, CROSSED, TREES)] == ["", "", ""]
