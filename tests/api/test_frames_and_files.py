"""Models trained from files score frames, and models trained on frames evaluate files."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import opauc


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    age, city = rng.normal(40.0, 10.0, 200), rng.choice(["Bern", "Chur"], 200)
    bought = np.where(age + 5 * (city == "Bern") + rng.normal(0, 5, 200) > 42, "yes", "no")
    return pd.DataFrame({"age": age, "city": city, "bought": bought})


def test_a_model_trained_from_files_finds_columns_by_name_in_frames_and_dicts(table, tmp_path):
    table.to_csv(tmp_path / "table.csv", index=False)
    model = opauc.train(tmp_path / "table.csv", label="bought")
    scores = model.decision_function(table[["age", "city"]])
    assert_array_equal(model.decision_function(table[["bought", "city", "age"]].assign(more=1)), scores)
    assert_array_equal(model.decision_function(table[["city", "age"]].to_dict("records")), scores)


@pytest.mark.parametrize("positive", [None, "no"])
def test_a_model_trained_on_a_frame_knows_the_label_of_files(table, tmp_path, positive):
    table.to_csv(tmp_path / "table.csv", index=False)
    model = opauc.train(table, label="bought", positive=positive)
    assert opauc.evaluate(model, tmp_path / "table.csv").auc == opauc.evaluate(model, table, label="bought").auc > 0.8
