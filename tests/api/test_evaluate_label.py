"""`evaluate` reads the labels from the column that is named, of files as of frames."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import opauc
from opauc.errors import ParameterError


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(3)
    age, size = random.normal(size=(2, 400))
    bought = np.where(age + random.normal(size=400) > 0, "yes", "no")
    return pd.DataFrame({"age": age, "size": size, "bought": bought, "again": random.permutation(bought)})


@pytest.mark.parametrize("solver", ["gam", "exact"])
@pytest.mark.parametrize("from_file", [True, False])
def test_the_label_of_a_file_is_the_column_that_is_named(table, tmp_path, solver, from_file):
    path = tmp_path / "rows.csv"
    table.to_csv(path, index=False)
    features = ["age", "size"]
    data = path if from_file else table
    model = opauc.train(data, label="bought", features=features, solver=solver)
    scores = opauc.predict(model, table[features])
    for label in ("bought", "again"):
        expected = roc_auc_score(table[label] == "yes", scores)
        assert opauc.evaluate(model, path, label=label).auc == pytest.approx(expected, abs=1e-12)
        assert opauc.evaluate(model, table[[*features, label]], label=label).auc == pytest.approx(expected, abs=1e-12)


def test_a_label_of_a_file_by_position_is_refused(table, tmp_path):
    table.to_csv(tmp_path / "rows.csv", index=False)
    model = opauc.train(table, label="bought", drop=["again"])
    with pytest.raises(ParameterError, match=r"^label=2: expected the name of a column of the files$"):
        opauc.evaluate(model, tmp_path / "rows.csv", label=2)
