"""`opauc predict -o`: text, JSON lines and Parquet hold the same predictions."""

import json

import numpy as np
import pandas as pd
import pytest

import opauc as library


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("predictions"), np.random.default_rng(2)
    table = pd.DataFrame({"a": random.normal(size=300), "name": [f"row {i}" for i in range(300)]})
    table["label"] = np.where(table.a + random.normal(size=300) > 0, "yes", "no")
    table.to_csv(folder / "rows.csv", index=False)
    library.train(table, output=folder / "model", drop=["name"])
    table.head(0).to_csv(folder / "header.csv", index=False)
    return folder


@pytest.fixture
def run(folder, monkeypatch, opauc):
    monkeypatch.chdir(folder)
    return lambda *options, data="rows.csv": opauc("predict", "model", data, *options)


@pytest.mark.parametrize("ending", ["json", "jsonl", "ndjson"])
def test_a_file_of_json_lines_is_what_standard_output_would_be(folder, run, ending):
    printed = run("--json", "--keep", "name").out
    ran = run("--keep", "name", "-o", f"p.{ending}", *(["--json"] if ending == "json" else []))
    assert (ran.code, ran.out) == (0, "")
    assert (folder / f"p.{ending}").read_text() == printed
    rows = [json.loads(line) for line in printed.splitlines()]
    assert [row["kept"]["name"] for row in rows] == [f"row {i}" for i in range(300)]
    expected = library.predict("model", pd.read_csv("rows.csv"), response="probability")
    np.testing.assert_allclose([row["probability"] for row in rows], expected, rtol=1e-12)


@pytest.mark.parametrize("response", ["score", "probability", "label"])
def test_parquet_has_the_columns_of_the_text(folder, run, response):
    options = ("--keep", "name", "--response", response)
    assert run(*options, "-o", "p.csv").code == run(*options, "-o", "p.parquet").code == 0
    pd.testing.assert_frame_equal(pd.read_parquet(folder / "p.parquet"), pd.read_csv(folder / "p.csv"))


def test_no_rows_are_an_empty_file_of_parquet(folder, run):
    assert run("-o", "none.parquet", data="header.csv").code == 0
    frame = pd.read_parquet(folder / "none.parquet")
    assert (list(frame.columns), len(frame), frame.score.dtype) == (["score"], 0, np.float64)


def test_a_bad_row_leaves_no_half_written_parquet(folder, run):
    (folder / "bad.csv").write_text("a,name\n1,x\n2,y,z\n")
    assert run("-o", "bad.parquet", data="bad.csv").code == 2
    assert not list(folder.glob("*bad.parquet*"))
