"""A Dask cluster gives the additive model of one process: frames, chunks, files, and a worker that is killed."""

import os
import signal
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from opauc import OnePassGAM
from opauc.additive.factory import AdditiveFactory
from opauc.core.labels import ClassLabels
from opauc.data import ReadOptions
from opauc.data.encode.number_reading import OrdinalReading
from opauc.engines.files import train_files
from opauc.engines.shards import plan_training
from opauc.engines.threads import ThreadScheduler
from tests.tables import raw_table, write_csv

dask = pytest.importorskip("dask", reason="dask is not installed: opauc[dask]")
da = pytest.importorskip("dask.array", reason="dask is not installed: opauc[dask]")
dd = pytest.importorskip("dask.dataframe", reason="dask is not installed: opauc[dask]")
from dask.delayed import delayed  # noqa: E402

from opauc.engines import fit_dask  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

# A basis of few rows, and shards no larger.
SETTINGS = {"random_state": 0, "init_size": 500}


def slow(path, part, rows, labels):
    """Leave a mark, who left it, wait, and give a chunk."""
    with open(f"{path}/{part}", "a") as file:
        file.write(f"{os.getpid()} ")
    time.sleep(0.1)
    return rows, labels


@pytest.fixture
def table():
    """A raw table, of which a part makes a basis."""
    return raw_table(2400).drop(columns=["empty", "always", "name", "id"])


def test_an_additive_model_of_several_classes_is_that_of_one_partition(client, table):
    kinds = np.where(table["bought"].astype(str) == str(table["bought"].iloc[0]), "one", "other")
    table = table.assign(bought=np.where(table["age"].rank() > 1700, "old", kinds))
    words, labels = table.drop(columns="bought"), table["bought"].to_numpy()
    found = fit_dask(OnePassGAM(**SETTINGS), dd.from_pandas(table, npartitions=5), "bought", client=client)
    assert found.classes_.tolist() == ["old", "one", "other"]
    assert sum(found._fitted.counts) == len(table)
    one = fit_dask(OnePassGAM(**SETTINGS), [delayed((words, labels))], client=client)
    assert_allclose(one.decision_function(words), found.decision_function(words), rtol=0, atol=1e-7)


def test_an_additive_model_of_frames_and_chunks_is_that_of_one_partition(client, table):
    words, labels = table.drop(columns="bought"), table["bought"].to_numpy()
    frame, model = dd.from_pandas(table, npartitions=5), OnePassGAM(**SETTINGS)
    found = fit_dask(model, frame, "bought", client=client)
    assert found is model
    assert sum(found._fitted.counts) == len(table)
    assert found.feature_names_in_.tolist() == words.columns.tolist()
    one = fit_dask(OnePassGAM(**SETTINGS), [delayed((words, labels))], client=client)
    parts = [delayed((words[a:b], labels[a:b])) for a, b in pairwise([0, 0, 5, 900, 2400])]
    many = fit_dask(OnePassGAM(**SETTINGS), parts, client=client)
    for other in (one, many):
        assert_allclose(other.decision_function(words), found.decision_function(words), rtol=0, atol=1e-8)
        assert other.selection_ == found.selection_
    X = da.from_array(table[["grade"]].to_numpy(float), chunks=(700, 1))
    narrow = fit_dask(OnePassGAM(**SETTINGS), X, da.from_array(labels.astype(str), chunks=100), client=client)
    assert narrow.classes_.tolist() == ["no", "yes"]


def test_an_additive_model_of_files_is_that_of_threads_to_the_last_bit(client, table, tmp_path):
    path = write_csv(tmp_path / "a.csv", table)
    found = fit_dask(OnePassGAM(**SETTINGS), [path], reading=ReadOptions(label="bought"), client=client)
    reading = OrdinalReading(ReadOptions(label="bought"))
    plan = plan_training(AdditiveFactory(SETTINGS), [path], reading, ClassLabels())
    right = train_files(plan, ThreadScheduler(2)).model
    assert_array_equal(found._fitted.final.weights, right.fit.final.weights)
    assert found.selection_ == right.fit.final.selection
    assert found.decision_function(table.drop(columns="bought")).shape == (2400,)


def test_a_worker_killed_in_the_middle_changes_nothing_of_an_additive_model(client, table, tmp_path):
    words, labels = table.drop(columns="bought"), table["bought"].to_numpy()
    edges = list(pairwise(range(0, 2401, 300)))
    right = fit_dask(OnePassGAM(**SETTINGS), [delayed((words[a:b], labels[a:b])) for a, b in edges], client=client)
    chunks = [delayed(slow, pure=False)(str(tmp_path), a, words[a:b], labels[a:b]) for a, b in edges]

    def kill():
        """Kill who reads a partition to learn it, after others have counted its rows and drawn some."""
        mark = tmp_path / "900"
        while not (mark.exists() and len(mark.read_text().split()) == 3):
            time.sleep(0.005)
        os.kill(int(mark.read_text().split()[-1]), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    found = fit_dask(OnePassGAM(**SETTINGS), chunks, client=client)
    killer.join()
    assert len((tmp_path / "900").read_text().split()) > 3, "the partition must have been read again"
    assert sum(found._fitted.counts) == 2400
    assert_array_equal(found._fitted.final.weights, right._fitted.final.weights)
    client.wait_for_workers(2)
