"""A Dask cluster gives the model of one process: two workers, real faults."""

import os
import signal
import threading
import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import opauc
from opauc import OPAUC, OPAUCCV
from opauc.baselines import OAM
from opauc.engines.partitions import PartitionPlan, adopt_shards
from opauc.engines.scheduler import merge_in_pairs
from opauc.errors import (
    EngineError,
    IncompatibleMomentsError,
    InputError,
    ParameterError,
    UnsupportedOperationError,
)
from tests.problems import problem, several_problem

dask = pytest.importorskip("dask", reason="dask is not installed: opauc[dask]")
da = pytest.importorskip("dask.array", reason="dask is not installed: opauc[dask]")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed: opauc[dask]")
from dask.delayed import delayed  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

from opauc.engines import fit_dask  # noqa: E402
from opauc.engines.dask.scheduler import dask_cluster  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

N_ROWS, NAMES = 1200, list("abcde")
CUTS = [(100, 2), (N_ROWS, 5), (333, 5)]


@pytest.fixture(scope="module")
def rows():
    return problem(5, N_ROWS, 5, offset=50.0)


def cut(rows, labels, chunks):
    return da.from_array(rows, chunks=chunks), da.from_array(labels, chunks=217)


def slow(path, part, rows, labels):
    """Leave a mark, who left it, wait, and give a chunk."""
    with open(f"{path}/{part}", "a") as file:
        file.write(f"{os.getpid()} ")
    time.sleep(0.15)
    return rows, labels


@pytest.mark.parametrize("chunks", CUTS)
@pytest.mark.parametrize("model", [OPAUC(alpha=1e-3), OPAUCCV()], ids=["exact", "cross-validated"])
def test_arrays_give_the_weights_of_one_process_however_they_are_cut(client, rows, model, chunks):
    whole = type(model)(**model.get_params()).fit(*rows)
    found = fit_dask(model, *cut(*rows, chunks), client=client)
    assert found is model
    assert_allclose(found.coef_, whole.coef_, rtol=1e-10, atol=1e-12)
    assert_allclose(found.intercept_, whole.intercept_, rtol=1e-10)
    assert_array_equal(found.predict(rows[0][:50]), whole.predict(rows[0][:50]))


def test_weights_of_rows_count(client, rows):
    weight = np.random.default_rng(0).integers(0, 4, N_ROWS).astype(float)
    X, y = cut(*rows, (250, 5))
    found = fit_dask(OPAUC(alpha=1e-3), X, y, sample_weight=da.from_array(weight, chunks=90), client=client)
    parts = [slice(0, 700), slice(700, N_ROWS)]
    chunks = fit_dask(OPAUC(alpha=1e-3), [delayed((rows[0][at], rows[1][at], weight[at])) for at in parts],
                      client=client)  # fmt: skip
    for model in (found, chunks):
        assert_allclose(model.coef_, OPAUC(alpha=1e-3).fit(*rows, weight).coef_, rtol=1e-10)


@pytest.mark.parametrize("model", [OPAUC(alpha=1e-3), OPAUCCV()], ids=["exact", "cross-validated"])
def test_dataframes_give_the_weights_and_names_of_one_process(client, rows, model):
    frame = pd.DataFrame(rows[0], columns=NAMES).assign(label=np.where(rows[1], "yes", "no"))
    whole = type(model)(**model.get_params()).fit(frame[NAMES], frame["label"])
    lazy = dd.from_pandas(frame, npartitions=5)
    for given in ((lazy, "label"), (lazy[NAMES], lazy["label"])):
        found = fit_dask(model, *given, client=client)
        assert_allclose(found.coef_, whole.coef_, rtol=1e-10, atol=1e-12)
        assert found.feature_names_in_.tolist() == NAMES
        assert found.classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("model", [OPAUC(alpha=1e-3), OPAUCCV()], ids=["exact", "cross-validated"])
def test_delayed_chunks_of_any_size_empty_or_of_one_class_give_the_weights_of_one_process(client, rows, model, form):
    X, y = rows
    order = np.argsort(y, kind="stable")
    edges = [0, 0, 100, 101, 700, 700, N_ROWS]
    chunks = [delayed((form(X[order[a:b]]), y[order[a:b]])) for a, b in pairwise(edges)]
    found = fit_dask(model, chunks, client=client)
    assert_allclose(found.coef_, type(model)(**model.get_params()).fit(form(X[order]), y[order]).coef_, rtol=1e-10)


def test_a_sketch_depends_on_the_partitions_and_not_on_who_does_what_and_when(client, rows):
    model, edges = OPAUC(solver="exact", rank=3, random_state=4), list(pairwise(range(0, N_ROWS + 1, 200)))
    found = fit_dask(model, *cut(*rows, (200, 5)), client=client).coef_.copy()
    plan = PartitionPlan.of(model, np.array([0, 1]), 5, None)
    backwards = [plan.train(at, 0, [(rows[0][a:b], rows[1][a:b], None)]) for at, (a, b) in [*enumerate(edges)][::-1]]
    right = adopt_shards(OPAUC(**model.get_params()), merge_in_pairs(backwards[::-1]))
    assert_array_equal(found, right.coef_)
    assert not np.allclose(found, fit_dask(model, *cut(*rows, (300, 5)), client=client).coef_)


def test_the_same_partitions_give_the_same_file(client, rows, tmp_path):
    for name in ("one", "two"):
        opauc.save(fit_dask(OPAUC(), *cut(*rows, (170, 5)), client=client), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_worker_killed_in_the_middle_changes_nothing_and_no_row_counts_twice(client, rows, tmp_path):
    X, y = rows
    parts = range(0, N_ROWS, 60)
    quick = fit_dask(OPAUC(alpha=1e-3), [delayed((X[at : at + 60], y[at : at + 60])) for at in parts], client=client)
    chunks = [delayed(slow, pure=False)(str(tmp_path), at, X[at : at + 60], y[at : at + 60]) for at in parts]
    victims = []

    def kill():
        """Kill whoever has just begun to read a partition: it must be read again."""
        known = set(os.listdir(tmp_path))
        while len(known) < 10 or not (fresh := set(os.listdir(tmp_path)) - known):
            known = set(os.listdir(tmp_path))
            time.sleep(0.01)
        while not (who := (tmp_path / fresh.copy().pop()).read_text().split()):
            time.sleep(0.001)
        victims.append(int(who[0]))
        os.kill(victims[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = fit_dask(OPAUC(alpha=1e-3), chunks, client=client)
    killer.join()
    marks = [(tmp_path / str(at)).read_text().split() for at in parts]
    assert all(marks)
    assert sum(map(len, marks)) > len(marks) + 1, "some partition must have been read again"
    assert sum(found.moments_.counts) == N_ROWS
    assert_array_equal(found.coef_, quick.coef_)
    assert victims[0] not in client.run(os.getpid).values()


def test_a_partition_that_ends_every_worker_is_one_clear_line(client):
    client.wait_for_workers(2)
    ending = delayed(os._exit, pure=False)(1)
    good = delayed((np.eye(2), np.array([0, 1])))
    with pytest.raises(EngineError, match="ended every worker that took it on"):
        fit_dask(OPAUC(), [good, ending], client=client)
    client.wait_for_workers(2)


def test_a_worker_that_takes_more_memory_than_it_has_is_one_clear_line():
    def hungry():
        taken = [np.ones(2**26) for _ in range(4)]  # 2 GiB
        time.sleep(30.0)
        return taken[0][:2, None], np.array([0, 1])

    good = delayed((np.eye(1), np.array([0])))
    few = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(memory_limit="800MB", **few) as cluster,
        Client(cluster) as client,
        pytest.raises(EngineError, match="most likely it does not fit their memory; give workers more"),
    ):
        fit_dask(OPAUC(), [good, delayed(hungry, pure=False)()], client=client)


def test_workers_started_here_keep_their_memory_and_nothing_is_left_of_it_in_the_settings(monkeypatch):
    for name in ("MALLOC_TRIM_THRESHOLD_", "OPENBLAS_NUM_THREADS"):  # what is set already workers are given as it is
        monkeypatch.delenv(name, raising=False)
    settings = ["distributed.nanny.pre-spawn-environ", "distributed.worker.profile.interval"]
    before = [dask.config.get(name) for name in settings]
    with dask_cluster(None, 1) as found:
        assert [dask.config.get(name) for name in settings] == before
        [trimmed] = found.client.run(lambda: os.environ.get("MALLOC_TRIM_THRESHOLD_")).values()
        [threads] = found.client.run(lambda: os.environ["OPENBLAS_NUM_THREADS"]).values()
        [interval] = found.client.run(lambda: dask.config.get("distributed.worker.profile.interval")).values()
    assert (trimmed, threads, interval) == (None, "1", "1s")


def test_an_array_for_which_a_worker_has_no_memory_is_one_clear_line(client):
    huge = delayed(np.ones, pure=False)(2**50)
    with pytest.raises(EngineError, match=r"a worker has not enough memory for a shard .*give workers more"):
        fit_dask(OPAUC(), [huge], client=client)


def test_bad_input_is_one_clear_line(client, rows):
    X, y = cut(*rows, (400, 5))
    with pytest.raises(InputError, match=r"y must have one entry for each of the 1200 rows, its shape is \(400,\)"):
        fit_dask(OPAUC(), X, y[:400], client=client)
    with pytest.raises(InputError, match="delayed batches or paths, got ndarray"):
        fit_dask(OPAUC(), rows[0], rows[1], client=client)
    with pytest.raises(InputError, match="y must be a dask array or series, got ndarray"):
        fit_dask(OPAUC(), X, rows[1], client=client)
    with pytest.raises(InputError, match="needs rows of two classes, got one class, 0"):
        fit_dask(OPAUC(), X, da.zeros(N_ROWS, chunks=400, dtype=int), client=client)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        fit_dask(OPAUC(), X * np.nan, y, client=client)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        fit_dask(OPAUC(solver="sgd"), X, da.from_array(np.arange(N_ROWS) % 3, chunks=400), client=client)
    with pytest.raises(UnsupportedOperationError, match="'sgd' processes rows one after the other"):
        fit_dask(OPAUC(solver="sgd"), X, y, client=client)
    with pytest.raises(InputError, match="the labels of files are in them"):
        fit_dask(OPAUC(), "a.csv", y, client=client)
    with pytest.raises(InputError, match=r"a delayed batch must give \(X, y\)"):
        fit_dask(OPAUC(), [delayed(rows[0])], client=client)
    with pytest.raises(UnsupportedOperationError, match="OAM cannot train in shards"):
        fit_dask(OAM(), X, y, client=client)


@pytest.mark.parametrize("chunks", CUTS)
@pytest.mark.parametrize("model", [OPAUC(alpha=1e-3), OPAUCCV()], ids=["exact", "cross-validated"])
def test_several_classes_give_the_weights_of_one_process(client, model, chunks):
    rows, labels = several_problem(5, N_ROWS, 5, 4)
    names = np.array(["ant", "bee", "cat", "dog"])[labels]
    whole = type(model)(**model.get_params()).fit(rows, names)
    found = fit_dask(model, *cut(rows, names, chunks), client=client)
    assert found.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    assert_allclose(found.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
    assert_allclose(found.predict_proba(rows[:50]), whole.predict_proba(rows[:50]), rtol=1e-8)


def test_classes_that_come_late_are_named(client):
    rows, labels = several_problem(5, N_ROWS, 5, 3)
    order = np.argsort(labels, kind="stable")
    X, y = cut(rows[order], labels[order], (200, 5))
    with pytest.raises(ValueError, match=r"besides the classes 0 and 1; .* give all of them at the start"):
        fit_dask(OPAUC(), X, y, client=client)
    found = fit_dask(OPAUC(alpha=1e-3), X, y, classes=[2, 1, 0], client=client)
    assert_allclose(found.coef_, OPAUC(alpha=1e-3).fit(rows, labels).coef_, rtol=1e-8, atol=1e-10)
    with pytest.raises(InputError, match="OPAUC needs rows of every class, got 1200 rows of fewer"):
        fit_dask(OPAUC(), X, y, classes=[0, 1, 2, 3], client=client)
    with pytest.raises(ParameterError, match=r"^classes: classes must be 2 to 100 distinct labels, got 1"):
        fit_dask(OPAUC(), X, y, classes=[1], client=client)


def test_files_of_several_classes_give_the_weights_of_one_process(client, tmp_path):
    rows, labels = several_problem(5, N_ROWS, 5, 3)
    table = pd.DataFrame(rows, columns=NAMES).assign(label=labels)
    table.to_csv(tmp_path / "rows.csv", index=False)
    found = fit_dask(OPAUC(alpha=1e-3), tmp_path / "rows.csv", client=client)
    assert_allclose(found.coef_, OPAUC(alpha=1e-3).fit(rows, labels).coef_, rtol=1e-8, atol=1e-10)


def test_frames_of_other_columns_are_refused(client, rows):
    frames = [pd.DataFrame(rows[0][:50], columns=names) for names in (NAMES, [*NAMES[:4], "z"])]
    chunks = [delayed((frame, rows[1][:50])) for frame in frames]
    with pytest.raises(IncompatibleMomentsError, match="features with different names: e and z"):
        fit_dask(OPAUC(), chunks, client=client)


def test_a_model_stays_as_it_was_where_fitting_fails(client, rows):
    model = OPAUC(alpha=1e-3).fit(*rows)
    before = model.coef_.copy()
    X, y = cut(*rows, (400, 5))
    with pytest.raises(ValueError, match="NaN"):
        fit_dask(model, da.concatenate([X[:400], X[400:] * np.nan]), y, client=client)
    assert_array_equal(model.coef_, before)
