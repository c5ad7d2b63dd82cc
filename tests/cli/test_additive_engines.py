"""`train` and `evaluate` of raw tables on more than one core."""

import json
from pathlib import Path
from threading import get_ident

import pytest
from numpy.testing import assert_allclose, assert_array_equal

import opauc as library
from opauc.additive.state import AdditiveFit
from opauc.core.model import load_model
from tests.cli.commands import with_init_size
from tests.tables import raw_table, write_csv

ROWS, TEST = raw_table(4000), raw_table(1000, seed=1)
TRAIN = ("train", "rows.csv", "--label", "bought")


@pytest.fixture
def opauc(opauc):
    return with_init_size(opauc, 1000)


@pytest.fixture(autouse=True)
def _small(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    write_csv("rows.csv", ROWS)


def same_scores(one, two):
    found, right = library.load(one), library.load(two)
    assert_allclose(found.decision_function(TEST), right.decision_function(TEST), rtol=0, atol=1e-8)
    return found, right


def test_threads_learn_what_one_learns_and_tell_it(opauc):
    one, two = opauc(*TRAIN, "-o", "one"), opauc(*TRAIN, "-o", "two", "--n-jobs", "2", "--explain-columns")
    assert (one.code, two.code) == (0, 0), two.err
    told = [run.err.splitlines()[0] for run in (one, two)]
    assert told[0] == told[1]
    assert told[0].startswith("columns: 3 numbers")
    assert "dropped, identifier" in two.out
    assert "two: 4,000 rows" in two.err
    assert "6 columns, additive model of 8 features" in two.err
    assert "progressive AUC" not in two.err  # which only rows in order have
    found, right = same_scores("two", "one")
    assert found.selection_ == right.selection_
    assert found.random_state == right.random_state == 0
    assert opauc("inspect", "two").code == 0
    assert [record["rows"] for record in load_model("two").provenance["inputs"]] == [4000]


@pytest.mark.parametrize("words", [("--checkpoint-every", "500"), ()], ids=["checkpoints", "compressed"])
def test_what_must_come_in_order_does_with_many_threads_too(opauc, words):
    data = "rows.csv" if words else str(write_csv("rows.csv.gz", ROWS))
    ran = opauc("train", data, "--label", "bought", "-o", "two", "--n-jobs", "2", *words)
    assert ran.code == 0, ran.err
    assert "progressive AUC" in ran.err


def test_shards_like_a_model_merge_with_it(opauc):
    write_csv("more.csv", TEST)
    assert opauc(*TRAIN, "-o", "one").code == 0
    for name, jobs in (("alone", "1"), ("shards", "2")):
        assert opauc("train", "more.csv", "--basis-from", "one", "-o", name, "--n-jobs", jobs).code == 0
        assert opauc("merge", "one", name, "-o", f"merged-{name}").code == 0
    found, _ = same_scores("merged-shards", "merged-alone")
    assert sum(found._fitted.counts) == 5000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("rows.csv", "--label", "bought", "--engine", "cuda"), "--engine cuda is for linear solvers (--solver exact)"),
        (
            ("rows.csv", "--label", "bought", "--engine", "abacus"),
            "--engine: unknown engine 'abacus'; expected one of dask, spark, cuda",
        ),
        (
            ("few.csv", "--label", "bought", "--engine", "dask"),
            "so that shards have no basis to begin with",
        ),
        (
            ("rows.csv", "--label", "bought", "--engine", "dask", "--resume"),
            "checkpoints and time budgets are for rows in order",
        ),
        (("rows.csv", "other.csv", "--label", "bought", "--n-jobs", "2"), "other.csv: no column city"),
    ],
)
def test_mistakes_are_one_line(opauc, words, message):
    write_csv("few.csv", ROWS[:500])
    write_csv("other.csv", ROWS.drop(columns="city"))
    ran = opauc("train", *words, "-o", "model")
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.splitlines()[-1].startswith("opauc: ")


def test_a_bad_row_is_named_by_its_file_and_line(opauc):
    with open("rows.csv", "a") as file:
        file.write("9,30.0,inf,Bern,True,2020-01-01,x y,1,,x,yes\n")
    ran = opauc(*TRAIN, "-o", "model", "--n-jobs", "2")
    assert ran.code == 2
    assert ran.err.splitlines()[-1].startswith("opauc: rows.csv, line 4002, column income: inf")
    ran = opauc(*TRAIN, "-o", "model", "--n-jobs", "2", "--on-bad-row", "skip")
    assert ran.code == 0
    assert "skipped 1 bad row" in ran.err


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cluster_trains_and_evaluates(opauc):
    distributed = pytest.importorskip("distributed", reason="dask is not installed: opauc[dask]")
    write_csv("test.csv", TEST)
    assert opauc(*TRAIN, "-o", "threads", "--n-jobs", "2").code == 0
    workers = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(**workers) as cluster:
        there = ("--engine", "dask", "--scheduler", cluster.scheduler_address, "--json")
        trained = opauc(*TRAIN, "-o", "cluster", *there)
        assert trained.code == 0, trained.err
        evaluated = opauc("evaluate", "cluster", "test.csv", *there)
    events = [json.loads(line) for line in trained.out.splitlines()]
    assert [event["event"] for event in events if event["event"] != "progress"] == ["columns", "engine", "trained"]
    with open("cluster", "rb") as one, open("threads", "rb") as other:
        assert one.read() == other.read()
    found = [json.loads(line) for line in evaluated.out.splitlines()]
    right = json.loads(opauc("evaluate", "threads", "test.csv", "--json").out.splitlines()[-1])
    assert [event["column"] for event in found if event["event"] == "unknown_categories"] == ["city"]
    low, high = found[-1]["certain"]
    assert low <= right["auc"] <= high
    assert found[-1]["rows"] == 1000


def test_all_cores_train_and_score_as_one(opauc, monkeypatch):
    """Rows in order, more than two shards in a batch; with checkpoints, which are the same too."""
    monkeypatch.setattr("opauc.core.parameters._count_cores", lambda: 3)
    write_csv("rows.csv", raw_table(30_000))
    write_csv("more.csv", raw_table(20_000, seed=2))
    threads, shard = set(), AdditiveFit._encoded

    def watch(self, *rows):
        threads.add(get_ident())
        return shard(self, *rows)

    monkeypatch.setattr(AdditiveFit, "_encoded", watch)
    for name, more in {"all": (), "one": ("--n-jobs", "1")}.items():
        threads.clear()
        ran = opauc(*TRAIN, "-o", name, *more)
        assert ran.code == 0, ran.err
        assert "progressive AUC" in ran.err
        assert (len(threads) > 1) == (name == "all")
    assert Path("all").read_bytes() == Path("one").read_bytes()
    assert opauc("update", "all", "more.csv").code == 0
    monkeypatch.setattr("opauc.core.parameters._count_cores", lambda: 1)
    assert opauc("update", "one", "more.csv").code == 0
    assert Path("all").read_bytes() == Path("one").read_bytes()
    alone = opauc("predict", "one", "rows.csv").out
    monkeypatch.setattr("opauc.core.parameters._count_cores", lambda: 3)
    assert opauc("predict", "one", "rows.csv").out == alone


def test_a_table_in_memory_is_trained_on_by_as_many_threads_as_asked_for():
    models = [library.train(ROWS, "bought", random_state=0, **more) for more in ({}, {"n_jobs": 1}, {"n_jobs": 2})]
    assert [model.n_jobs for model in models] == [-1, 1, 2]
    scores = [model.decision_function(TEST.drop(columns="bought")) for model in models]
    assert_array_equal(scores[1:], [scores[0]] * 2)
