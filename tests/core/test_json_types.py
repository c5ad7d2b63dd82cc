"""Values of a header are held against declared types, and what is wrong is said with its place."""

import math
import time
from typing import TypedDict

import pytest

from opauc.core.json_schema import json_as


class Needed(TypedDict):
    name: str
    sizes: list[int]


class Record(Needed, total=False):
    share: float | None


GOOD = {"name": "a", "sizes": [1, 2], "share": 0.5}


@pytest.mark.parametrize("value", [GOOD, {"name": "", "sizes": []}, {**GOOD, "share": None}, {**GOOD, "share": 1}])
def test_what_is_of_the_kind_comes_back_as_it_is(value):
    assert json_as(Record, value, "record") is value


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "record: expected names with values, got []"),
        ({"name": "a"}, "record: lacks sizes"),
        ({**GOOD, "predict": "x"}, "record: has a part 'predict', which is not known here"),
        ({**GOOD, "name": None}, "record: name: expected text, got None"),
        ({**GOOD, "sizes": {}}, "record: sizes: expected a list, got {}"),
        ({**GOOD, "sizes": [1, True]}, "record: sizes[1]: expected a whole number, got True"),
        ({**GOOD, "sizes": [1.0]}, "record: sizes[0]: expected a whole number, got 1.0"),
        ({**GOOD, "share": math.nan}, "record: share: expected a finite number or nothing, got nan"),
        ({**GOOD, "share": 10**400}, "record: share: expected a finite number or nothing, got 1000"),
        ({**GOOD, "name": ["x" * 10**6]}, "record: name: expected text, got ['xxxx"),
    ],
)
def test_what_is_not_is_refused_with_its_place_and_in_few_words(value, said):
    with pytest.raises(ValueError, match="record") as refused:
        json_as(Record, value, "record")
    assert str(refused.value).startswith(said)
    assert len(str(refused.value)) < 200


def test_dictionaries_and_nested_lists_are_looked_through():
    assert json_as(dict[str, list[list[str]]], {"a": [["b"], []]}, "it")
    with pytest.raises(ValueError, match=r"it\['a'\]\[0\]\[1\]: expected text, got 3"):
        json_as(dict[str, list[list[str]]], {"a": [["b", 3]]}, "it")


def test_names_of_a_million_features_cost_less_than_a_second():
    names, began = ["feature"] * 10**6, time.perf_counter()
    json_as(list[str] | None, names, "names")
    assert time.perf_counter() - began < 1.0
