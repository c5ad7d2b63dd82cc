"""What columns are, found by looking."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from opauc.data.schema.infer import TypeOverrides, are_codes, infer_column_type, is_counter, rows_of_one_class
from opauc.data.schema.numbers import (
    MISSING_MARKERS,
    infer_number_format,
    is_missing,
    merges_integers,
    parse_number,
    parse_numbers,
)

RANDOM = np.random.default_rng(0)
N = 2000


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("price", ["1,200", "$5", "?", "7.5"] * 50, "number"),
        ("price", ["1,5", "2,75", "NULL", "0,1"] * 50, "number"),
        ("age", ["31", "27", "unknown", "45"] * 50, "number"),
        ("ticket", ["31", "A/5 27", "PC 45", "C 9", "B 1"] * 50, "category"),
        ("flag", ["True", "False", ""] * 50, "boolean"),
        ("when", ["2024-01-31", "2023-12-01", "NA"] * 50, "date"),
        ("when", ["31.01.2024", "1.12.2023", "5.6.2020"] * 50, "date"),
        ("when", ["12/31/2024", "1/2/2023", ""] * 50, "date"),
        ("when", ["2024-01-31T08:00:00.000Z", "2023-12-01T09:30:00+02:00"] * 50, "date"),
        ("when", ["31.01.2024", "2023-12-01", "5.6.2020"] * 50, "date"),
        ("none", ["NA", "", "NULL"] * 50, "empty"),
        ("none", ["?"] * 150, "empty"),
        ("year", ["2015", "2016", "2017"] * 50, "number"),
        ("word", ["red", "blue", None] * 50, "category"),
        ("key", [f"k{i:05d}" for i in range(N)], "identifier"),
        ("note", [f"it was a fine day, number {i}" for i in range(N)], "free text"),
        ("n", [str(i) for i in RANDOM.permutation(N)], "identifier"),
        ("userId", [str(i**2) for i in range(N)], "identifier"),
        ("time", [str(1_700_000_000 + i) for i in range(N)], "number"),
        ("amount", [str(value) for value in RANDOM.integers(10**9, size=N) ** 2], "number"),
        ("same", ["x"] * 50, "constant"),
        ("same", ["1"] * 50, "constant"),
        ("nothing", ["", None] * 50, "empty"),
        ("nothing", [None] * 50, "empty"),
        ("lists", [[1], [2]] * 50, "other"),
    ],
)
def test_a_column_is_what_it_looks_like(name, values, kind):
    found = infer_column_type(name, pa.array(values))
    assert found.kind == kind
    assert (found.column is None) == (kind in ("identifier", "free text", "constant", "empty", "other"))


def test_what_the_user_says_comes_before_what_it_looks_like():
    numbers = pa.array([str(i) for i in range(N)])
    assert infer_column_type("n", numbers, TypeOverrides(categorical={"n"})).kind == "category"
    assert infer_column_type("n", numbers, TypeOverrides(numeric={"n"})).kind == "number"


@pytest.mark.parametrize("seed", range(5))
def test_codes_are_distinguished_from_quantities_by_their_neighbors(seed):
    random = np.random.default_rng(seed)
    values, rates = random.integers(80, size=30_000), random.random(80)
    assert are_codes(values * 1.0, random.random(30_000) < rates[values])
    smooth = 0.5 + 0.4 * np.sin(np.arange(80) / 8)
    assert not are_codes(values * 1.0, random.random(30_000) < smooth[values])
    assert not are_codes(values * 1.0, random.random(30_000) < 0.3)
    assert not are_codes(values + 0.5, random.random(30_000) < rates[values])


def test_numbers_as_text_are_what_float_says_and_whatever_else_is_counted():
    written = [f"{value:.6g}" for value in RANDOM.normal(size=200) * 10.0 ** RANDOM.integers(-5, 5, 200)]
    found = parse_numbers(pa.array([*written, "NaN", " ", "no"]))
    np.testing.assert_array_equal(found.numbers[:200], [float(word) for word in written])
    assert np.isnan(found.numbers[200:]).all()
    assert found.unreadable == 1
    for word in ("1_000", "0x10", "12a", "1,2,3", "--5", "1e", ""):
        assert np.isnan(parse_number(word)), word


def test_infinite_numbers_are_neither_counters_nor_codes_and_no_warning():
    rows = np.arange(1000.0)
    assert is_counter("n", rows, rows)
    rows[7] = np.inf
    assert not is_counter("n", rows, np.unique(rows))
    codes = np.repeat(np.arange(100.0), 20)
    positive = np.repeat(np.random.default_rng(0).random(100) < 0.5, 20)
    assert are_codes(codes, positive)
    codes[:20] = -np.inf
    assert not are_codes(codes, positive)


plain_strings = st.one_of(
    st.floats(-1e6, 1e6).map(repr), st.integers(-(10**17), 10**17).map(str), st.sampled_from([*MISSING_MARKERS, "nan"]),
    st.sampled_from(["1e5", ".5", "5.", " 7 ", "+3", "inf", "1,5", "true", "x"]),
)  # fmt: skip


@given(st.lists(st.none() | plain_strings, min_size=1, max_size=12), st.sampled_from([(".", ","), (",", "."), (".",)]))
def test_numbers_are_found_as_by_looking_at_every_string(values, decimals):
    """Columns that Arrow can cast take a shorter way: their profile is that of the number format of their strings."""
    profile = infer_column_type("x", pa.array(values, pa.string()), TypeOverrides(decimals=decimals))
    strings = sorted({value for value in values if value})
    counts = np.array([values.count(string) for string in strings], np.int64)
    found = infer_number_format(strings, counts, decimals=decimals) if strings else None
    if found is None or merges_integers(strings):
        assert profile.kind not in ("number", "identifier")
        return
    numbers = np.array([np.nan if value is None else parse_number(value, found.name) for value in values])
    present = numbers[~np.isnan(numbers)]
    booleans = {string.strip().lower() for string in strings if not is_missing(string)} <= {"true", "false"}
    expected = "boolean" if booleans else "number"
    if np.unique(present).size == 1 and present.size == numbers.size:
        expected = "constant"
    assert profile.kind == expected
    if profile.column is not None:
        assert profile.number_format == found
        assert profile.column.missing_markers == found.markers
        assert_array_equal(profile.column.encode(pa.array(values, pa.string()), "a.csv").rows[:, 0], numbers)


@given(
    st.lists(st.tuples(plain_strings | st.sampled_from(["?", "red", "5 kg"]), st.integers(0, 400)), min_size=1),
    st.booleans(),
)
def test_columns_that_are_no_numbers_are_known_early_and_all_others_by_all_their_strings(rows, force):
    counted = dict(rows)
    strings, counts = list(counted), np.array(list(counted.values()), np.int64)
    found = []
    for at_once in (1, 3, len(strings)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("opauc.data.schema.numbers.STRINGS_AT_ONCE", at_once)
            found.append(infer_number_format(strings, counts, force=force))
    assert found[0] == found[1] == found[2]


def test_few_of_many_strings_are_read_as_numbers_where_all_are_words(monkeypatch):
    read = []
    monkeypatch.setattr("opauc.data.schema.numbers.parse_number", lambda string, _: read.append(string) or np.nan)
    assert infer_number_format([f"word{k}" for k in range(9000)], np.ones(9000, np.int64)) is None
    assert 0 < len(read) < 1000


def test_one_class_of_several_counts_as_positive_whichever_row_is_first():
    labels = np.array(["b", "a", "c", "a"])
    for order in ([0, 1, 2, 3], [2, 3, 0, 1]):
        assert (rows_of_one_class(labels[order]) == (labels[order] == "a")).all()
    assert rows_of_one_class(np.array([2.0, 1.0])).tolist() == [True, False]
    assert rows_of_one_class(np.array([])).tolist() == []
