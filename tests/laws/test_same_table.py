"""The same table gives the same model, whether it comes as a frame, as files of any format or as partitions."""

from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import opauc
from opauc import OnePassGAM
from opauc.additive.state import same_basis
from opauc.engines.partitions import PartitionPlan, adopt_shards, concat_rows, take_rows
from opauc.engines.scheduler import merge_in_pairs

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
        return take_rows(concat_rows(self.parts), numbers)

    def fit(self, model):
        plan = PartitionPlan.of(model, np.array(["no", "yes"]), self.parts[0][0].shape[1], self)
        return adopt_shards(
            model, merge_in_pairs([plan.train(number, 0, [part]) for number, part in enumerate(self.parts)])
        )


def train_on_files(paths):
    """Return the model of `opauc train`."""
    return opauc.train(paths, LABEL, random_state=0, n_jobs=1)


def fit_source(source, table, folder):
    """Return the model of a table from one kind of source."""
    X, y = table.drop(columns=LABEL), table[LABEL].to_numpy()
    frames = {
        "pandas": lambda: X,
        "polars": lambda: pl.from_pandas(X),
        "arrow": lambda: pa.Table.from_pandas(X, preserve_index=False),
        "dicts": lambda: pa.Table.from_pandas(X, preserve_index=False).to_pylist(),
    }
    if source in frames:
        return OnePassGAM(random_state=0).fit(frames[source](), y)
    if source == "partitions":
        return Partitions(X, y, 7).fit(OnePassGAM(random_state=0))
    if source == "folder":
        for number, part in enumerate(np.array_split(np.arange(len(table)), 5)):
            table.iloc[part].to_csv(folder / f"part-{number}.csv", index=False)
    elif source == "parquet":
        table.to_parquet(folder / "rows.parquet", row_group_size=1000)
    elif source == "feather":
        table.to_feather(folder / "rows.feather")
    elif source == "quoted csv":
        table.to_csv(folder / "rows.csv", index=False, quoting=2)
    else:
        table.to_csv(folder / f"rows.{source}", index=False)
    return train_on_files([folder])


@pytest.fixture(scope="module", params=[3000, 30_000])
def table(request):
    return mixed_table(request.param)


@pytest.fixture(scope="module")
def expected(table):
    return OnePassGAM(random_state=0).fit(table.drop(columns=LABEL), table[LABEL])


@pytest.mark.parametrize("source", [*FRAMES, *FILES, "partitions"])
def test_a_table_gives_the_same_model_from_every_source(source, table, expected, tmp_path):
    model = fit_source(source, table, tmp_path)
    assert {column.name: column.kind for column in model._columns.columns} == KEPT
    for mine, theirs in zip(model._columns.columns, expected._columns.columns, strict=True):
        assert (mine.parts, dict(mine.categories)) == (theirs.parts, dict(theirs.categories)), mine.name
    assert same_basis(model.basis_, expected.basis_)
    test = mixed_table(2000, seed=1).drop(columns=LABEL)
    assert_allclose(model.decision_function(test), expected.decision_function(test), rtol=0, atol=1e-8)
    assert model.selection_.model == expected.selection_.model


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
