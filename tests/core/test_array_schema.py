"""Arrays are held against declared rules, and what is wrong is said with the name of the array."""

import numpy as np
import pytest

from opauc.core.array_schema import ArrayRule, add_prefix, check_arrays, copy_arrays, with_prefix
from opauc.errors import IncompatibleMomentsError

SCHEMA = {
    "values": ArrayRule("float64", "n", missing=True),
    "table": ArrayRule("float64", "n 2", low=0, high=9),
    "ends": ArrayRule("int64", "parts+1", ends="n"),
    "links": ArrayRule("int32", "parts", low=-1, below="n"),
    "keys": ArrayRule("uint64", "keys", rising=True, optional=True),
    "bounds": ArrayRule("float64", "2", infinite=True),
    "count": ArrayRule("int64", low=1),
}
GOOD = {
    "values": np.array([1.0, np.nan, 3.0]),
    "table": np.full((3, 2), 9.0),
    "ends": np.array([0, 0, 3]),
    "links": np.array([-1, 2], np.int32),
    "keys": np.array([1, 2**64 - 1], np.uint64),
    "bounds": np.array([-np.inf, np.inf]),
    "count": np.array(5),
}


def test_arrays_that_follow_their_rules_give_the_lengths_they_name():
    assert check_arrays(SCHEMA, GOOD) == {"n": 3, "parts": 2, "keys": 2}
    del (less := dict(GOOD))["keys"]
    assert check_arrays(SCHEMA, less, {"n": 3, "more": 7}) == {"n": 3, "parts": 2, "more": 7}
    nothing = {"values": np.empty(0), "table": np.empty((0, 2)), "ends": np.array([0]), "links": np.empty(0, np.int32)}
    assert check_arrays(SCHEMA, GOOD | nothing)["n"] == 0


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("values", np.zeros(3, np.float32), r"values: expected float64 numbers of shape \(3,\), got float32"),
        ("values", np.array(1.0), r"values: expected float64 numbers of shape \(n,\), got float64 of shape \(\)"),
        ("values", np.zeros(4), r"table: expected float64 numbers of shape \(4, 2\), got float64 of shape \(3, 2\)"),
        ("values", np.full(3, np.inf), "values: expected finite numbers"),
        ("table", np.full((3, 2), np.nan), "table: expected finite numbers"),
        ("table", np.full((3, 2), 10.0), "table: expected numbers from 0 to 9"),
        ("table", np.full((3, 2), -1e-300), "table: expected numbers from 0 to 9"),
        ("ends", np.array([1, 2, 3]), "ends: expected numbers that rise from 0 to 3"),
        ("ends", np.array([0, 2, 4]), "ends: expected numbers that rise from 0 to 3"),
        ("ends", np.array([0, 2**62, 3]), "ends: expected numbers that rise from 0 to 3"),
        ("ends", np.array([0, -(2**63), 3]), "ends: expected numbers that rise from 0 to 3"),
        ("ends", np.empty(0, np.int64), r"ends: expected int64 numbers of shape \(parts\+1,\)"),
        ("links", np.array([0, 3], np.int32), "links: expected numbers from -1 to 2"),
        ("links", np.array([-2, 0], np.int32), "links: expected numbers from -1 to 2"),
        ("keys", np.array([2, 2], np.uint64), "keys: expected numbers that rise"),
        ("bounds", np.array([np.nan, 0.0]), "bounds: expected numbers, not NaN"),
        ("count", np.array(0), "count: expected numbers of at least 1"),
        ("count", np.array([5]), r"count: expected int64 numbers of shape \(\), got int64 of shape \(1,\)"),
        ("other", np.array(0), "expected arrays values, table, .*, got bounds, count, .*, other"),
    ],
)  # fmt: skip
def test_an_array_that_breaks_a_rule_is_refused_by_name(name, array, message):
    with pytest.raises(IncompatibleMomentsError, match=f"^{message}"):
        check_arrays(SCHEMA, GOOD | {name: array})


@pytest.mark.parametrize("name", [name for name, rule in SCHEMA.items() if not rule.optional])
def test_an_array_that_is_missing_is_refused(name):
    with pytest.raises(IncompatibleMomentsError, match=r"^expected arrays values, "):
        check_arrays(SCHEMA, {key: array for key, array in GOOD.items() if key != name})


def test_copies_come_in_the_order_of_the_schema_and_share_no_memory():
    shuffled = dict(reversed(GOOD.items()))
    copies = copy_arrays(SCHEMA, shuffled)
    assert list(copies) == list(SCHEMA)
    assert not any(np.shares_memory(copies[name], GOOD[name]) for name in GOOD)


def test_prefixes_are_added_and_taken_away():
    assert with_prefix("a.", add_prefix("a.", GOOD) | {"b.count": GOOD["count"]}) == GOOD
