"""`train` and `evaluate` on more than one core."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import opauc as library
from opauc.files import read_sealed
from tests.problems import problem


@pytest.fixture
def data(tmp_path):
    rows, labels = problem(2, 2000, 3)
    path = tmp_path / "a.csv"
    lines = [f"{a!r},{b!r},{c!r},{label}" for (a, b, c), label in zip(rows.tolist(), labels, strict=True)]
    path.write_text("\n".join(["a,b,c,label", *lines]) + "\n")
    return path


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr("opauc.engines.file_shards.LEAST_BYTES", 20_000)
    monkeypatch.setattr("opauc.engines.linear_shards.SUMS_A_SHARD", 0)


def test_threads_learn_what_one_learns(opauc, data, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    assert opauc("train", "--solver", "auto", data, "-o", one).code == 0
    ran = opauc("train", "--solver", "auto", data, "-o", two, "--n-jobs", 2)
    assert ran.code == 0
    assert "2,000 rows (positive: 1), 3 features, exact" in ran.err
    found, right = library.load(two), library.load(one)
    assert_allclose(found.coef_, right.coef_, rtol=1e-10)
    assert found.n_jobs == 2
    _, header, _ = read_sealed(two)
    [record] = header["provenance"]["inputs"]
    assert (record["rows"], record["bytes"]) == (2000, data.stat().st_size)
    assert opauc("inspect", two).code == 0


IN_ORDER = [("--solver", "sgd"), ("--missing", "mean"), ("--forgetting", "0.99"), ("--checkpoint-every", "500")]


@pytest.mark.parametrize("more", IN_ORDER)
def test_what_must_come_in_order_does_with_many_threads_too(opauc, data, tmp_path, more):
    ran = opauc("train", "--solver", "auto", data, "-o", tmp_path / "two", "--n-jobs", 2, *more)
    assert ran.code == 0
    assert "progressive AUC" in ran.err  # which only rows in order have
    assert opauc("train", "--solver", "auto", data, "-o", tmp_path / "one", *more).code == 0
    assert_allclose(library.load(tmp_path / "two").coef_, library.load(tmp_path / "one").coef_, rtol=1e-9)


def test_bad_rows_are_reported(opauc, data, tmp_path):
    data.write_text(data.read_text() + "x,1,2,0\n")
    ran = opauc("train", "--solver", "auto", data, "-o", tmp_path / "m", "--n-jobs", 2)
    assert ran.code == 2
    assert ran.err.startswith(f"opauc: {data}, line 2002, column a: 'x' is not a number")
    assert "(--categorical a)" in ran.err
    ran = opauc("train", "--solver", "auto", data, "-o", tmp_path / "m", "--n-jobs", 2, "--on-bad-row", "skip")
    assert ran.code == 0
    assert "skipped 1 bad row" in ran.err
    assert "line 2002" in ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--engine", "abacus"), "--engine must be one of dask, spark, cuda, got 'abacus'"),
        (("--engine", "dask", "--resume"), "--engine dask: checkpoints are for rows in order"),
        (("--engine", "dask", "--scheduler", "tcp://127.0.0.1:1"), "no Dask scheduler answers there"),
    ],
)
def test_mistakes_are_one_line(opauc, data, tmp_path, words, message, monkeypatch):
    pytest.importorskip("distributed", reason="dask is not installed: opauc[dask]")
    monkeypatch.setattr("opauc.engines.dask_scheduler.SECONDS_TO_ANSWER", 1.0)
    ran = opauc("train", "--solver", "auto", data, "-o", tmp_path / "m", *words)
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_groups_stay_together_in_shards(opauc, data, tmp_path):
    lines = data.read_text().splitlines()
    grouped = [f"p{number // 7}," + line for number, line in enumerate(lines[1:])]
    data.write_text("\n".join(["patient," + lines[0], *grouped]) + "\n")
    options = ["--alpha", "auto", "--groups", "patient"]
    one, two = tmp_path / "one", tmp_path / "two"
    assert opauc("train", data, "-o", one, *options).code == 0
    ran = opauc("train", data, "-o", two, "--n-jobs", 2, *options)
    assert ran.code == 0
    assert "progressive AUC" not in ran.err  # shards have none
    assert_allclose(library.load(two).coef_, library.load(one).coef_, rtol=1e-10)
    assert library.load(two).moments_.grouped


def test_a_device_chooses_the_penalty_with_sgd_alone(opauc, data, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed: opauc[gpu]")
    ran = opauc("train", data, "-o", tmp_path / "m", "--engine", "cuda", "--alpha", "auto")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "--engine cuda with --alpha auto needs --solver sgd" in ran.err


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cluster_trains_and_evaluates_and_says_where_to_watch(opauc, data, tmp_path):
    distributed = pytest.importorskip("distributed", reason="dask is not installed: opauc[dask]")
    one, two = tmp_path / "one", tmp_path / "two"
    opauc("train", "--solver", "auto", data, "-o", one)
    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**workers) as cluster:
        there = ("--engine", "dask", "--scheduler", cluster.scheduler_address)
        trained = opauc("train", "--solver", "auto", data, "-o", two, *there, "--json")
        shown = [json.loads(line) for line in trained.out.splitlines()]
        assert shown[0]["event"] == "engine"
        assert shown[0]["dashboard"].startswith("http")
        assert shown[-1]["rows"] == 2000
        evaluated = opauc("evaluate", two, data, *there, "--json")
    assert_allclose(library.load(two).coef_, library.load(one).coef_, rtol=1e-10)
    found = json.loads(evaluated.out.splitlines()[-1])
    right = json.loads(opauc("evaluate", one, data, "--json").out.splitlines()[-1])
    low, high = found["certain"]
    assert low <= right["auc"] <= high
    assert high - low < 1e-3
    assert found["rows"] == 2000
    assert np.isclose(found["brier"], right["brier"], rtol=1e-6)


def test_a_device_does_not_evaluate(opauc, data, tmp_path):
    opauc("train", "--solver", "auto", data, "-o", tmp_path / "m")
    ran = opauc("evaluate", tmp_path / "m", data, "--engine", "cuda")
    assert (ran.code, ran.err) == (2, "opauc: --engine: cuda does not work on shards; there are dask and spark\n")
