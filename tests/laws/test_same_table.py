"""The same table gives the same model, whether it comes as a frame, as files of any format or as partitions."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from opauc.cli.additive_run import AdditiveRun
from scipy.special import expit

from opauc import OnePassGAM
from opauc.additive.factory import AdditiveFactory
from opauc.additive.state import same_basis
from opauc.core.labels import ClassLabels
from opauc.data import BadRows, ReadOptions
from opauc.engines.partitions import PartitionPlan, joined_chunks, published, taken
from opauc.engines.scheduler import in_pairs

LABEL = "bought"
KEPT = {
    "age": "number", "income": "number", "city": "category", "since": "date", "seen": "date", "paid": "number",
    "shop": "category", "rooms": "number", "note": "category",
}  # fmt: skip
DROPPED = ("constant", "row")
FRAMES, FILES = ["pandas", "polars", "arrow", "dicts"], ["csv", "csv.gz", "quoted csv", "parquet", "feather", "folder"]


def mixed_table(n_rows, seed=0):
    """Return numbers, strings, dates, times, booleans, missing values, integer codes, a constant and a row counter."""
    random, truth = np.random.default_rng(seed), np.random.default_rng(99)
    habits = 1.5 * truth.normal(size=60)
    age, income = random.normal(45, 12, n_rows), random.lognormal(10, 1, n_rows)
    city = random.choice(["Bern", "Chur", "Genf, Stadt", 'the "Rock"'], n_rows, p=[0.5, 0.3, 0.19, 0.01])
    paid, days, shop = random.random(n_rows) < 0.4, random.integers(0, 700, n_rows), random.integers(0, 60, n_rows)
    score = np.sin(age / 8) + (city == "Bern") - paid + 0.5 * (np.log(income) - 10) + habits[shop] + (days % 7 == 3)
    return pd.DataFrame(
        {
            "row": np.arange(n_rows),
            "age": np.where(random.random(n_rows) < 0.1, np.nan, age),
            "income": income,
            "city": np.where(random.random(n_rows) < 0.05, None, city),
            "since": np.datetime64("2020-01-01", "us") + days * np.timedelta64(1, "D"),
            "seen": np.datetime64("2021-01-01", "us") + random.integers(0, 10**6, n_rows) * np.timedelta64(1, "m"),
            "paid": paid,
            "shop": 1000 + 17 * shop,
            "rooms": random.integers(1, 8, n_rows),
            "constant": 7,
            "note": random.choice(["early", "late"], n_rows),
            LABEL: np.where(random.random(n_rows) < expit(score), "yes", "no"),
        }
    )


class Partitions:
    """Rows in partitions of this process, as Dask and Spark have them."""

    def __init__(self, X, y, n_parts):
        edges = np.linspace(0, len(y), n_parts + 1).astype(int)
        self.parts = [(X[a:b], y[a:b], None) for a, b in pairwise(edges)]

    def n_rows(self):
        return sum(len(labels) for _, labels, _ in self.parts)

    def take(self, numbers):
        return taken(joined_chunks(self.parts), numbers)

    def fit(self, model):
        plan = PartitionPlan.of(model, np.array(["no", "yes"]), self.parts[0][0].shape[1], self)
        return published(model, in_pairs([plan.learned(number, 0, [part]) for number, part in enumerate(self.parts)]))


def trained_on_files(paths):
    """Return the model of `opauc train`."""
    recipe, options = AdditiveFactory({"random_state": 0}), ReadOptions(label=LABEL)
    run = AdditiveRun.begun([str(path) for path in paths], options, ClassLabels(), recipe, BadRows())
    for chunk in run.stream.chunks():
        run.training.learn(chunk)
    model = OnePassGAM()
    model._adopt(run.finished())
    return model


def fitted(door, table, folder):
    """Return the model of a table that comes by one of the doors."""
    X, y = table.drop(columns=LABEL), table[LABEL].to_numpy()
    frames = {
        "pandas": lambda: X,
        "polars": lambda: pl.from_pandas(X),
        "arrow": lambda: pa.Table.from_pandas(X, preserve_index=False),
        "dicts": lambda: pa.Table.from_pandas(X, preserve_index=False).to_pylist(),
    }
    if door in frames:
        return OnePassGAM(random_state=0).fit(frames[door](), y)
    if door == "partitions":
        return Partitions(X, y, 7).fit(OnePassGAM(random_state=0))
    if door == "folder":
        for number, part in enumerate(np.array_split(np.arange(len(table)), 5)):
            table.iloc[part].to_csv(folder / f"part-{number}.csv", index=False)
    elif door == "parquet":
        table.to_parquet(folder / "rows.parquet", row_group_size=1000)
    elif door == "feather":
        table.to_feather(folder / "rows.feather")
    elif door == "quoted csv":
        table.to_csv(folder / "rows.csv", index=False, quoting=2)
    else:
        table.to_csv(folder / f"rows.{door}", index=False)
    return trained_on_files([folder])


@pytest.fixture(scope="module", params=[3000, 30_000])
def table(request):
    return mixed_table(request.param)


@pytest.fixture(scope="module")
def expected(table):
    return OnePassGAM(random_state=0).fit(table.drop(columns=LABEL), table[LABEL])


@pytest.mark.parametrize("door", [*FRAMES, *FILES, "partitions"])
def test_a_table_gives_the_same_model_by_every_door(door, table, expected, tmp_path):
    model = fitted(door, table, tmp_path)
    assert {column.name: column.kind for column in model._columns.columns} == KEPT
    for mine, theirs in zip(model._columns.columns, expected._columns.columns, strict=True):
        assert (mine.parts, dict(mine.words)) == (theirs.parts, dict(theirs.words)), mine.name
    assert same_basis(model.basis_, expected.basis_)
    test = mixed_table(2000, seed=1).drop(columns=LABEL)
    assert_allclose(model.decision_function(test), expected.decision_function(test), rtol=0, atol=1e-8)
    assert model.selection_.rung == expected.selection_.rung


def test_constants_and_row_counters_are_dropped_by_fit(expected):
    assert set(expected.dropped_columns_) == set(DROPPED)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_dask_frame_gives_the_same_model(table, expected):
    distributed = pytest.importorskip("distributed", reason="dask is not installed: opauc[dask]")
    from dask import dataframe

    from opauc.engines import fit_dask

    with distributed.Client(processes=False, n_workers=1, dashboard_address=None) as client:
        frame = dataframe.from_pandas(table, npartitions=4, sort=False)
        model = fit_dask(OnePassGAM(random_state=0), frame, LABEL, client=client)
    assert same_basis(model.basis_, expected.basis_)
    test = mixed_table(2000, seed=1).drop(columns=LABEL)
    assert_allclose(model.decision_function(test), expected.decision_function(test), rtol=0, atol=1e-8)
