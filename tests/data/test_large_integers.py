"""Integers beyond 2**53 are not exact in float64: they are categories, or refused by name, never silently merged."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from sklearn.metrics import roc_auc_score

import opauc
from opauc.data import ReadOptions, open_stream, stream_of_memory
from opauc.errors import InputError

# Ten accounts that float64 makes one; most rows of half of them are positive.
ACCOUNTS = [2**60 + number for number in range(10)]
FRAME = pd.DataFrame({"account": ACCOUNTS * 60, "x": [1.0, 2.0, 3.0] * 200})
NOISE = np.random.default_rng(0).random(600) < 0.1
LABELS = np.array([number % 2 for number in range(10)] * 60) ^ NOISE


def write(folder, frame, name):
    path = folder / name
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        parquet.write_table(pa.Table.from_pandas(frame), path)
    return path


@pytest.mark.parametrize("kind", ["frame", "t.csv", "t.parquet"])
def test_an_additive_model_takes_them_as_categories(tmp_path, kind):
    table = FRAME.assign(y=LABELS)
    data = table if kind == "frame" else write(tmp_path, table, kind)
    model = opauc.train(data, label="y")
    assert roc_auc_score(LABELS, model.decision_function(FRAME)) > 0.85


@pytest.mark.parametrize("kind", ["frame", "array", "t.csv", "t.parquet"])
def test_a_linear_model_refuses_them_by_name(tmp_path, kind):
    table = FRAME.assign(y=LABELS)
    name = "account" if kind != "array" else "0"
    if kind == "array":
        stream = stream_of_memory(FRAME[["account"]].to_numpy(), LABELS)
    else:
        stream = stream_of_memory(table) if kind == "frame" else open_stream([write(tmp_path, table, kind)])
    message = rf"column {name}: integers beyond 2\*\*53 become equal as numbers; declare such a column categorical"
    with pytest.raises(InputError, match=message):
        list(stream.batches())


@pytest.mark.parametrize("estimator", [opauc.OPAUC(), opauc.OnePassGAM()])
def test_arrays_of_them_are_refused_by_position(tmp_path, estimator):
    rows = np.column_stack([np.arange(600), FRAME["account"]])
    with pytest.raises(InputError, match=r"^X: column 1: integers beyond 2\*\*53 become equal as numbers"):
        estimator.fit(rows, LABELS)
    np.save(tmp_path / "rows.npy", np.column_stack([rows, LABELS]))
    with pytest.raises(InputError, match=r"rows.npy: column 1: integers beyond 2\*\*53 become equal as numbers"):
        list(open_stream([tmp_path / "rows.npy"], ReadOptions(label=2)).batches())


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_declared_categorical_they_are_told_apart_by_a_linear_model(tmp_path, name):
    path = write(tmp_path, FRAME.assign(y=LABELS), name)
    [batch] = open_stream([path], ReadOptions(categorical=("account",))).batches()
    assert batch.rows.shape == (600, 1 + len(ACCOUNTS))


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_times_in_nanoseconds_stay_numbers(tmp_path, name):
    times = 1_700_000_000_000_000_000 + np.random.default_rng(0).integers(10**15, size=600)
    table = pd.DataFrame({"time": times, "y": (times > np.median(times)).astype(int) ^ NOISE})
    path = write(tmp_path, table, name)
    [batch] = open_stream([path]).batches()
    np.testing.assert_array_equal(batch.rows[:, 0], times.astype(float))
    model = opauc.train(path, label="y")
    assert roc_auc_score(table["y"], model.decision_function(table[["time"]])) > 0.85
