"""Strings of digits: categories where the source declares them strings, numbers in CSV, which has no types."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import expit

import opauc
from opauc import OnePassGAM
from opauc.data.schema.infer import TypeOverrides, infer_column_type

TYPED = TypeOverrides(typed=True)


def table(n_rows=3000):
    rng = np.random.default_rng(0)
    shop, age = rng.integers(100, 130, n_rows), rng.normal(size=n_rows)
    frame = pd.DataFrame({"shop": shop, "age": age})
    return frame, (rng.random(n_rows) < expit(age)).astype(int)


def kind_of(model, name="shop"):
    return {column.name: column.kind for column in model._columns.columns}[name]


@pytest.mark.parametrize(
    "declare",
    [
        lambda frame: frame.astype({"shop": str}),
        lambda frame: frame.astype({"shop": "string"}),
        lambda frame: frame.astype({"shop": object}).assign(shop=[str(number) for number in frame["shop"]]),
        lambda frame: frame.astype({"shop": "category"}),
        lambda frame: frame.astype({"shop": str}).astype({"shop": "category"}),
        lambda frame: pl.from_pandas(frame).with_columns(pl.col("shop").cast(pl.String)),
        lambda frame: pl.from_pandas(frame).with_columns(pl.col("shop").cast(pl.String).cast(pl.Categorical)),
        lambda frame: pa.Table.from_pandas(frame.astype({"shop": str}), preserve_index=False),
        lambda frame: frame.astype({"shop": str}).to_dict("records"),
    ],
)
def test_declared_strings_of_digits_stay_categories(declare):
    frame, labels = table()
    assert kind_of(OnePassGAM(random_state=0).fit(frame, labels)) == "number"
    assert kind_of(OnePassGAM(random_state=0).fit(declare(frame), labels)) == "category"
    assert kind_of(OnePassGAM(random_state=0).partial_fit(declare(frame), labels)) == "category"


def test_a_user_may_still_declare_them_numeric():
    frame, labels = table()
    model = OnePassGAM(random_state=0, numeric=["shop"]).fit(frame.astype({"shop": str}), labels)
    assert kind_of(model) == "number"


@pytest.mark.parametrize(
    ("ending", "kind"), [("csv", "number"), ("parquet", "category"), ("feather", "category"), ("jsonl", "category")]
)
def test_files_that_declare_strings_have_categories_and_csv_has_numbers(tmp_path, ending, kind):
    frame, labels = table()
    frame = frame.astype({"shop": str}).assign(y=labels)
    path = tmp_path / f"rows.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False, quoting=2)
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        getattr(frame, f"to_{ending}")(path)
    assert kind_of(opauc.train([path], "y", random_state=0)) == kind
    if kind == "category":
        in_memory = OnePassGAM(random_state=0).fit(frame.drop(columns="y"), labels)
        shown = frame.drop(columns="y").head(100)
        trained = opauc.train([path], "y", random_state=0)
        np.testing.assert_allclose(trained.decision_function(shown), in_memory.decision_function(shown), atol=1e-8)


@pytest.mark.parametrize(
    ("strings", "kind"),
    [
        (["17", "4", "23"] * 9, "category"),
        (["017", "4", "23"] * 9, "category"),
        (["17", "4", "?"] * 9, "number"),  # strings for the sake of the marker
        (["17", "4", ""] * 9, "number"),
        (["1.5", "4", "23"] * 9, "number"),
        (["-17", "4", "23"] * 9, "number"),
        (["1,200", "4", "23"] * 9, "number"),
        (["0", "1"] * 9, "number"),
    ],
)
def test_only_digits_and_nothing_else_are_codes(strings, kind):
    assert infer_column_type("shop", pa.array(strings), TYPED).kind == kind


def test_missing_values_do_not_make_digits_numbers():
    assert infer_column_type("shop", pa.array(["17", None, "4", "23"] * 9), TYPED).kind == "category"
    assert infer_column_type("shop", pa.array(["17", None, "4", "23"] * 9)).kind == "number"


def test_digits_that_identify_rows_are_dropped_as_other_identifiers_are():
    strings = pa.array([str(number) for number in range(1000, 2000)])
    assert infer_column_type("key", strings, TYPED).kind == "identifier"
