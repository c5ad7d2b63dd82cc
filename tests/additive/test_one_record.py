"""One row given as a dict: the same score as in a frame, in microseconds, without warnings."""

import time
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from opauc import OnePassGAM
from opauc.errors import InputError


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n_rows = 2000
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(40, 10, n_rows)),
            "visits": rng.integers(0, 20, n_rows),
            "member": rng.random(n_rows) < 0.5,
            "city": rng.choice(["Bern", "Chur", "Genf", None], n_rows),
            **{f"x{j}": rng.normal(size=n_rows) for j in range(16)},
        }
    )


@pytest.fixture(scope="module")
def model(frame):
    labels = (frame["x0"] * frame["x1"] + (frame["city"] == "Bern") + frame["member"] > 0.5).astype(int)
    return OnePassGAM(random_state=0).fit(frame, labels)


def record(frame, at, **changes):
    return {name: value.item() if hasattr(value, "item") else value for name, value in frame.iloc[at].items()} | changes


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"age": None},
        {"age": float("nan"), "city": float("nan")},
        {"age": 41, "visits": 3.0, "member": 1},
        {"age": "41.5"},  # text is parsed
        {"age": "unknown", "city": ""},
        {"city": "Zug"},
        {"city": "NULL"},
        {"city": None, "not a column": 5},
        {"age": np.float32(3.5), "visits": np.int64(4)},
        {"age": 2.0**60},
    ],
)
def test_a_dict_has_the_score_of_its_frame(model, frame, changes):
    one = record(frame, 7, **changes)
    both = [record(frame, 7, **changes)] * 2  # two rows go the way of tables
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if changes.get("age") == "unknown":
            warnings.filterwarnings("ignore", ".*strings where numbers were")
        assert_array_equal(model.decision_function([one]), model.decision_function(both)[:1])
        assert_array_equal(model.predict_proba([one]), model.predict_proba(both)[:1])
        assert_array_equal(model.explain([one]).contributions, model.explain(both).contributions[:1])


@pytest.mark.parametrize("changes", [{"age": float("inf")}, {"age": [1.0]}, {"city": [1]}])
def test_a_dict_is_refused_as_a_frame_is(model, frame, changes):
    one = record(frame, 7, **changes)
    with pytest.raises((InputError, ValueError)) as alone:
        model.decision_function([one])
    with pytest.raises(type(alone.value)) as together:
        model.decision_function([one, one])
    assert str(alone.value) == str(together.value)


def test_an_absent_column_is_named(model, frame):
    one = record(frame, 7)
    del one["visits"]
    with pytest.raises(InputError, match="visits"):
        model.decision_function([one])


def test_one_dict_is_scored_in_microseconds(model, frame):
    one, seconds = [record(frame, 3)], []
    model.decision_function(one)
    for _ in range(200):
        start = time.perf_counter()
        model.decision_function(one)
        seconds.append(time.perf_counter() - start)
    assert min(seconds) < 300e-6
