"""`train` and `evaluate` on more than one core."""

import json
import re
import shutil
import sys
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

import opauc as library
from opauc.cli import main
from opauc.core.checksummed_file import read_checksummed
from opauc.engines.files import score_files
from opauc.engines.shards import ShardPolicy, plan_training
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
    """Let the command cut small files, which no option asks for."""
    small = ShardPolicy(min_bytes=20_000, bytes_per_sum=0)
    monkeypatch.setattr("opauc.api.train.plan_training", partial(plan_training, policy=small))
    monkeypatch.setattr("opauc.engines.files.score_files", partial(score_files, shard_policy=small))


def test_threads_train_what_one_trains(opauc, data, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    assert opauc("train", "--solver", "auto", data, "-o", one).code == 0
    ran = opauc("train", "--solver", "auto", data, "-o", two, "--n-jobs", 2)
    assert ran.code == 0
    line = rf"{two}: 2,000 rows \(positive: 1\), 3 features, exact, \d+\.\d s, trained in (\d+) shards: opauc evaluate "
    assert int(re.match(line, ran.err).group(1)) > 3
    assert ran.err.count("\n") == 1
    found, right = library.load(two), library.load(one)
    assert_allclose(found.coef_, right.coef_, rtol=1e-10)
    assert found.n_jobs == 2
    _, header, _ = read_checksummed(two)
    [record] = header["provenance"]["inputs"]
    assert (record["rows"], record["bytes"]) == (2000, data.stat().st_size)
    assert opauc("inspect", two).code == 0


def assert_progress(ran, data):
    """Assert that progress was shown, some way through and to the end of the file."""
    passed = [event["bytes"] for event in map(json.loads, ran.out.splitlines()) if event["event"] == "progress"]
    assert passed == sorted(passed)
    assert 0 < passed[0] < passed[-1] == data.stat().st_size


def test_a_terminal_shows_how_many_shards_are_done(opauc, data, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # by which rich takes any stream for a terminal
    ran = opauc("train", "--solver", "auto", data, "-o", tmp_path / "m", "--n-jobs", 2)
    assert re.search(r"training .*━.* MB/s", ran.err)


IN_ORDER = [("--solver", "sgd"), ("--missing", "mean"), ("--forgetting-factor", "0.99"), ("--checkpoint-every", "500")]


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
        (("--engine", "abacus"), "--engine: unknown engine 'abacus'; expected one of dask, spark, cuda"),
        (("--engine", "dask", "--resume"), "--engine dask: checkpoints and time budgets are for rows in order"),
        (("--engine", "dask", "--scheduler", "tcp://127.0.0.1:1"), "no Dask scheduler answers there"),
        (("--engine", "spark", "--scheduler", "spark://127.0.0.1:1"), "127.0.0.1:1: no Spark master answers there"),
        (("--scheduler", "tcp://127.0.0.1:1"), "--scheduler is the address of a cluster: add --engine dask"),
        (("--n-jobs", "0"), "--n-jobs must be a number other than 0; -1 uses all cores"),
        (("--engine", "dask", "--solver", "sgd"), "'sgd' processes rows one after the other"),
    ],
)
def test_mistakes_are_one_line(opauc, data, tmp_path, words, message, monkeypatch):
    for package, extra in (("distributed", "dask"), ("pyspark", "spark")):
        pytest.importorskip(package, reason=f"{extra} is not installed: opauc[{extra}]")
    monkeypatch.setattr("opauc.engines.dask.scheduler.SECONDS_TO_ANSWER", 1.0)
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
def test_a_cluster_trains_and_evaluates_and_says_where_to_watch(opauc, data, tmp_path, monkeypatch):
    monkeypatch.setattr("opauc.cli.console.SECONDS_BETWEEN_LINES", 0.0)
    distributed = pytest.importorskip("distributed", reason="dask is not installed: opauc[dask]")
    one, two = tmp_path / "one", tmp_path / "two"
    opauc("train", "--solver", "auto", data, "-o", one)
    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**workers) as cluster:
        there = ("--engine", "dask", "--scheduler", cluster.scheduler_address)
        trained = opauc("train", "--solver", "auto", data, "-o", two, *there, "--n-jobs", 2, "--json")
        evaluated = opauc("evaluate", two, data, *there, "--json")
        told = opauc("evaluate", two, data, *there)
    assert re.match(r"dask: dashboard at http://\S+/status\n$", told.err)
    assert re.search(r"rows +2,000, 796 positive, 1,204 negative", told.out)
    shown = [json.loads(line) for line in trained.out.splitlines()]
    assert shown[0]["event"] == "engine"
    assert shown[0]["dashboard"].startswith("http")
    assert shown[-1]["rows"] == 2000
    for ran in (trained, evaluated):
        assert_progress(ran, data)
    assert_allclose(library.load(two).coef_, library.load(one).coef_, rtol=1e-10)
    threads = opauc("train", "--solver", "auto", data, "-o", tmp_path / "threads", "--n-jobs", 2, "--json")
    assert_progress(threads, data)
    assert (tmp_path / "threads").read_bytes() == two.read_bytes(), "the same shards give the same file"
    found = json.loads(evaluated.out.splitlines()[-1])
    right = json.loads(opauc("evaluate", one, data, "--json").out.splitlines()[-1])
    low, high = found["certain"]
    assert low <= right["auc"] <= high
    assert high - low < 1e-3
    assert found["rows"] == 2000
    assert np.isclose(found["brier"], right["brier"], rtol=1e-6)


def run_seen(monkeypatch, capfd, code, *words):
    """Run the command and return all that a terminal would show, other processes included."""
    monkeypatch.setattr(sys, "argv", ["opauc", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == code
    return capfd.readouterr()


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_bad_row_on_a_cluster_that_the_command_starts_is_one_line(data, tmp_path, monkeypatch, capfd):
    pytest.importorskip("distributed", reason="dask is not installed: opauc[dask]")
    data.write_text(data.read_text() + "x,1,2,0\n")
    words = ("train", "--solver", "auto", data, "-o", tmp_path / "m", "--engine", "dask", "--n-jobs", 1)
    shown = run_seen(monkeypatch, capfd, 2, *words).err.splitlines()
    assert shown[0].startswith("dask: dashboard at http://")
    assert shown[1].startswith(f"opauc: {data}, line 2002, column a: 'x' is not a number")
    assert len(shown) == 2, "nothing of what workers say of it"


@pytest.mark.filterwarnings("ignore")  # pyspark warns of the versions of its own dependencies
@pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17, which is not on this machine")
def test_spark_trains_and_evaluates_and_nothing_of_java_reaches_the_terminal(data, tmp_path, monkeypatch, capfd):
    pytest.importorskip("pyspark", reason="pyspark is not installed: opauc[spark]")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")

    def run(*words):
        return run_seen(monkeypatch, capfd, 0, *words)

    run("train", "--solver", "auto", data, "-o", tmp_path / "threads", "--n-jobs", 2)
    there, model = ("--engine", "spark", "--n-jobs", 2), tmp_path / "spark"
    trained = run("train", "--solver", "auto", data, "-o", model, *there).err.splitlines()
    assert len(trained) == 2, "where to watch it, and what was learned"
    assert trained[0].startswith("spark: dashboard at http://")
    assert trained[1].startswith(f"{model}: 2,000 rows")
    assert model.read_bytes() == (tmp_path / "threads").read_bytes(), "the same shards give the same file"
    monkeypatch.setattr("opauc.cli.console.SECONDS_BETWEEN_LINES", 0.0)
    evaluated = json.loads(run("evaluate", model, data, "--engine", "spark", "--json").out.splitlines()[-1])
    right = json.loads(run("evaluate", model, data, "--json").out.splitlines()[-1])
    low, high = evaluated["certain"]
    assert low <= right["auc"] <= high
    assert evaluated["rows"] == 2000


def test_a_device_trains_and_evaluates(opauc, data, tmp_path, monkeypatch):
    """By the name of a device that every machine has."""
    pytest.importorskip("torch", reason="torch is not installed: opauc[gpu]")
    monkeypatch.setattr("opauc.api.engines.DEVICE", "cpu")
    one, two = tmp_path / "one", tmp_path / "two"
    assert opauc("train", "--solver", "auto", data, "-o", one).code == 0
    ran = opauc("train", "--solver", "auto", data, "-o", two, "--engine", "cpu")
    assert ran.code == 0, ran.err
    assert_allclose(library.load(two).coef_, library.load(one).coef_, rtol=1e-10)
    found, right = (
        json.loads(opauc("evaluate", two, data, *more, "--json").out.splitlines()[-1])
        for more in (("--engine", "cpu"), ())
    )
    assert {**found, "seconds": 0, "brier": 0} == {**right, "seconds": 0, "brier": 0}
    assert np.isclose(found["brier"], right["brier"], rtol=1e-12)
    sparse = tmp_path / "a.svm"
    sparse.write_text("0 1:1\n1 2:1\n")
    for words, message in (
        (
            ("train", sparse, "-o", tmp_path / "m", "--solver", "exact"),
            "--engine cpu takes dense rows; these are sparse",
        ),
        (("train", data, "-o", tmp_path / "m", "--solver", "sgd"), "--engine cpu needs solver='exact'"),
        (("train", data, "-o", tmp_path / "m", "--scheduler", "a:1"), "--scheduler is the address of a cluster"),
        (("evaluate", one, data, "--scheduler", "a:1"), "--scheduler is the address of a cluster"),
    ):
        ran = opauc(*words, "--engine", "cpu")
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert message in ran.err


@pytest.mark.parametrize("verb", ["train", "evaluate"])
def test_no_device_is_one_line_before_anything_is_read(opauc, data, tmp_path, monkeypatch, verb):
    torch = pytest.importorskip("torch", reason="torch is not installed: opauc[gpu]")
    model = tmp_path / "m"
    assert opauc("train", "--solver", "auto", data, "-o", model).code == 0
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("opauc.data.stream.DataStream.batches", lambda *_: pytest.fail("rows were read"))
    words = ("evaluate", model, data) if verb == "evaluate" else ("train", "--solver", "exact", data, "-o", model)
    ran = opauc(*words, "--engine", "cuda")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert ran.err.startswith("opauc: --engine cuda: torch finds 0 CUDA devices on this machine")


def test_evaluating_on_an_engine_that_is_none_is_one_line(opauc, data, tmp_path):
    opauc("train", "--solver", "auto", data, "-o", tmp_path / "m")
    ran = opauc("evaluate", tmp_path / "m", data, "--engine", "abacus")
    assert (ran.code, ran.err) == (2, "opauc: --engine: unknown engine 'abacus'; expected one of dask, spark, cuda\n")
