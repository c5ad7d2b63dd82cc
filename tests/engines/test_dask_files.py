"""A Dask cluster on files of every format: one task a shard, merged by the workers, in memory that does not grow."""

import os
import re
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pyarrow import parquet

from opauc import OPAUC, OPAUCCV
from opauc.core.labels import ClassLabels
from opauc.core.loop import Trainer
from opauc.data import ReadOptions
from opauc.data.encode.table_features import OneHotReading
from opauc.data.open_stream import open_stream
from opauc.engines.files import score_files, train_files
from opauc.engines.scheduler import merge_in_pairs, quiet
from opauc.engines.shards import ShardPolicy, plan_training
from opauc.engines.threads import ThreadScheduler
from opauc.linear.resolve import opauc_factory
from tests.engines.merged_values import numbered
from tests.tables import FORMATS, rows_and_labels, write_rows

pytest.importorskip("distributed", reason="dask is not installed: opauc[dask]")
from opauc.engines import fit_dask
from opauc.engines.dask.scheduler import DaskScheduler

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

# What is cut nowhere, whatever its size: one task a file.
WHOLE = ("svm.gz", "ndjson.gz", "npz", "sparse.npz")


SMALL = ShardPolicy(min_bytes=3_000, bytes_per_sum=0)


def written(folder, form):
    """Write the same 700 rows to two files; return their paths, rows and labels."""
    rows, labels = rows_and_labels(0, 700, 4)
    rows += 20.0
    parts = (("a", slice(0, 450)), ("b", slice(450, 700)))
    return [str(write_rows(folder, form, rows[part], labels[part], name)) for name, part in parts], rows, labels


@pytest.mark.parametrize("form", FORMATS)
def test_files_of_every_format_give_the_weights_of_one_process_and_the_bits_of_threads(client, tmp_path, form):
    paths, rows, labels = written(tmp_path, form)
    found, whole = (
        fit_dask(OPAUC(alpha=1e-3), paths, client=client, shard_policy=SMALL),
        OPAUC(alpha=1e-3).fit(rows, labels),
    )
    assert_allclose(found.coef_, whole.coef_, rtol=1e-10)
    progress, sketched = [], {"solver": "exact", "rank": 3, "random_state": 4}
    for parameters in ({}, sketched):
        plan = plan_training(opauc_factory(parameters), paths, OneHotReading(ReadOptions()), ClassLabels(), SMALL)
        mine, right = (
            train_files(plan, engine, on_progress=lambda *done: progress.append(done))
            for engine in (DaskScheduler(client), ThreadScheduler(2))
        )
        assert_array_equal(mine.model.scorer.weights, right.model.scorer.weights)
        assert mine.provenance() == right.provenance()
        assert mine.shards == right.shards == progress[-1][0]
    assert mine.shards == 2 if form in WHOLE else mine.shards > 4, "one task a row group or byte range"
    scored = [
        score_files(right.model, paths, engine, shard_policy=SMALL)
        for engine in (DaskScheduler(client), ThreadScheduler(2))
    ]
    assert scored[0].auc.interval() == scored[1].auc.interval()
    assert scored[0].rows == 700


def test_a_penalty_is_chosen_from_files_as_in_one_process(client, tmp_path):
    paths, rows, labels = written(tmp_path, "parquet")
    found, whole = fit_dask(OPAUCCV(), tmp_path, client=client, shard_policy=SMALL), OPAUCCV().fit(rows, labels)
    assert_allclose(found.coef_, whole.coef_, rtol=1e-10, atol=1e-12)
    assert found.alpha_ == pytest.approx(whole.alpha_)
    assert found.decision_function(parquet.read_table(paths[0])).shape == (450,)


def test_what_the_first_rows_tell_of_columns_goes_to_every_worker_and_categories_may_turn_up_later(
    client, tmp_path, monkeypatch
):
    monkeypatch.setattr("opauc.data.sources.BLOCK_BYTES", 2048)  # so that first rows are few
    rows, labels = rows_and_labels(1, 600, 2)
    words = np.array(["red", "green", "blue", "grey"])[np.repeat([0, 1, 2, 1, 3, 0], 100)]  # new ones shard after shard
    lines = [f"{a!r},{word},{b!r},{label}" for (a, b), word, label in zip(rows.tolist(), words, labels, strict=True)]
    path = tmp_path / "a.csv"
    path.write_text("\n".join(["a,word,b,label", *lines]) + "\n")
    options = ReadOptions(categorical=("word",))
    plan = plan_training(opauc_factory({}), [path], OneHotReading(options), ClassLabels(), SMALL)
    known = str(plan.reading.to_json())
    assert "red" in known
    assert "grey" not in known
    found = fit_dask(OPAUC(alpha=0.1), path, reading=options, client=client, shard_policy=SMALL)
    trainer, stream = Trainer(opauc_factory({"alpha": 0.1})), open_stream([path], options)
    for batch in stream.batches():
        trainer.train(batch)
    whole = trainer.finish(OneHotReading(options))
    assert found._feature_names() == tuple(stream.feature_names)
    assert [name for name in stream.feature_names if "word" in name] == [
        f"word={word}" for word in dict.fromkeys(words)
    ]
    assert_allclose(found.coef_[0], whole.scorer.weights, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_items", [1, 2, 7, 13])
def test_workers_merge_in_the_order_of_pairs(client, n_items):
    progress = []
    found = DaskScheduler(client).map_reduce(numbered, range(n_items), progress.append)
    assert found.text == merge_in_pairs([numbered(number) for number in range(n_items)]).text
    assert found.by <= set(client.run(os.getpid).values()), "the workers merge, not this process"
    assert bool(found.by) == (n_items > 1)
    assert progress == list(range(1, n_items + 1))


def fresh_peak():
    """Forget the largest resident size so far."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def peak():
    with open("/proc/self/status") as file:
        return 1024 * int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1))


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="Linux alone tells the peak of a process")
def test_the_memory_of_a_worker_does_not_grow_with_the_rows(client, tmp_path):
    policy = ShardPolicy(min_bytes=2**21)
    rng, n_rows = np.random.default_rng(0), 40_000
    columns = {f"x{j}": rng.standard_normal(n_rows, dtype=np.float32) for j in range(100)}
    parquet.write_table(pa.table({**columns, "label": rng.integers(0, 2, n_rows)}), tmp_path / "0.parquet",
                        row_group_size=5_000, use_dictionary=False)  # fmt: skip
    paths = [str(tmp_path / f"{number}.parquet") for number in range(32)]  # 16 MB each, on the disk only once
    for one, other in pairwise(paths):
        os.link(one, other)
    peaks = []
    for n_files in (2, 2, 32):  # the first to load what is needed
        client.run(fresh_peak)
        model = fit_dask(OPAUC(), paths[:n_files], client=client, shard_policy=policy)
        assert sum(model.moments_.counts) == n_files * n_rows
        peaks.append(max(client.run(peak).values()))
    assert peaks[2] - peaks[1] < 2**26, "64 MiB, where half a gigabyte more was read"


def test_nothing_is_shown_unless_asked_for(client):
    assert DaskScheduler(client).map_reduce(numbered, [3], quiet).text == "3"
    assert DaskScheduler(client).address.startswith("http")
