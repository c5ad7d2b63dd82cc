"""`opauc.evaluate(..., by=column)`: frames and files alike, and the part of the page about them."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import opauc
from opauc import InputError


def table(seed=0, n_rows=3000):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": random.normal(45, 12, n_rows), "income": random.normal(size=n_rows)})
    frame["sex"] = random.choice(["f", "m"], n_rows)
    frame["site"] = random.choice(["north", "south"], n_rows, p=[0.8, 0.2])  # no feature
    noise = np.where(frame["site"] == "south", 8.0, 0.5)
    score = frame["income"] + (frame["sex"] == "f") + noise * random.normal(size=n_rows)
    return frame.assign(bought=np.where(score > 1, "yes", "no"))


TABLE = table()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model"
    opauc.train(TABLE.drop(columns="site"), "bought", output=path, trees=False)
    return path


@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
def test_groups_are_evaluated_by_any_column_of_frames_and_files(model, form, tmp_path):
    data = TABLE
    if form == "csv":
        data = tmp_path / "t.csv"
        TABLE.to_csv(data, index=False)
    elif form == "parquet":
        data = tmp_path / "t.parquet"
        TABLE.to_parquet(data)
    found = opauc.evaluate(model, data, "bought", by="site")
    scores = opauc.load(model).decision_function(TABLE.drop(columns=["bought", "site"]))
    labels = (TABLE["bought"] == "yes").to_numpy()
    for group in found.groups:
        own = (TABLE["site"] == group.name).to_numpy()
        assert group.n_rows == own.sum()
        assert group.confidence.auc == pytest.approx(roc_auc_score(labels[own], scores[own]), abs=1e-12)
    assert [group.name for group in found.groups] == ["north", "south"]
    assert found.groups[0].confidence.low > found.groups[1].confidence.high
    bands = opauc.evaluate(model, data, "bought", by="age").groups
    assert len(bands) == 5
    assert sum(band.n_rows for band in bands) == len(TABLE)


def test_the_page_shows_the_groups(model, tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    evaluation = opauc.evaluate(model, tmp_path / "t.csv", by="site", report=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "By site" in page
    for group in evaluation.groups:
        line = re.search(rf"<bdi>{group.name}</bdi></th>(.*?)</tr>", page)[1]
        assert f"{group.confidence.auc:.4f}" in line
        assert f"{group.n_rows:,}".replace(",", "") in line.replace(",", "").replace("\u202f", "").replace(" ", "")
    assert "By " not in page.replace("By site", "")
    without = opauc.evaluate(model, tmp_path / "t.csv", report=tmp_path / "page.html")
    assert without.groups == ()
    assert "By site" not in (tmp_path / "page.html").read_text()


def test_a_column_that_is_not_there_is_an_error(model, tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    for data in (TABLE, tmp_path / "t.csv"):
        with pytest.raises(InputError, match="no column sexe; there are sex"):
            opauc.evaluate(model, data, "bought", by="sexe")
