"""Spark gives the model of one process: two cores, tasks that really fail."""

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import opauc
from opauc import OPAUC, OPAUCCV, OnePassGAM
from opauc.additive.factory import AdditiveFactory
from opauc.baselines import OAM
from opauc.core.labels import ClassLabels
from opauc.data import ReadOptions
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.encode.table_features import OneHotReading
from opauc.engines.scheduler import merge_in_pairs, quiet
from opauc.errors import EngineError, InputError, UnsupportedOperationError
from tests.engines.merged_values import numbered
from tests.engines.test_additive_partitions import Cut
from tests.problems import problem, several_problem
from tests.tables import raw_table, write_csv

pytest.importorskip("pyspark", reason="pyspark is not installed: opauc[spark]")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17, which is not on this machine"),
    pytest.mark.filterwarnings("ignore"),  # pyspark warns of the versions of its own dependencies
]
NAMES, N_ROWS = ["a", "b", "c", "d"], 600


@pytest.fixture(scope="module")
def scheduler():
    from opauc.engines.spark.scheduler import spark_session

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    with spark_session(None, 2) as found:
        found.session.conf.set("spark.sql.shuffle.partitions", "2")
        yield found


@pytest.fixture(scope="module")
def rows():
    X, y = problem(6, N_ROWS, 4, offset=20.0)
    X[:, 2] *= np.arange(N_ROWS) % 3 == 0
    return X, y


@pytest.fixture(scope="module")
def frame(scheduler, rows):
    given = [(*map(float, row), int(label)) for row, label in zip(*rows, strict=True)]
    return scheduler.session.createDataFrame(given, [*NAMES, "label"]).cache()


def fit_spark(*given, **more):
    from opauc.engines import fit_spark as fit

    return fit(*given, **more)


@pytest.mark.parametrize("model", [OPAUC(alpha=1e-3), OPAUCCV()], ids=["exact", "cross-validated"])
def test_columns_give_the_weights_and_names_of_one_process(frame, rows, model):
    found = fit_spark(model, frame)
    assert found is model
    assert_allclose(found.coef_, type(model)(**model.get_params()).fit(*rows).coef_, rtol=1e-10, atol=1e-12)
    assert found.feature_names_in_.tolist() == NAMES
    assert found.classes_.tolist() == [0, 1]


def test_several_classes_give_the_weights_of_one_process_and_an_array_of_scores(scheduler):
    from opauc.engines import score_spark

    rows, labels = several_problem(5, 600, 4, 3)
    given = [(*map(float, row), f"class {label}") for row, label in zip(rows, labels, strict=True)]
    frame = scheduler.session.createDataFrame(given, [*NAMES, "label"]).cache()
    whole = OPAUC(alpha=1e-3).fit(rows, [f"class {label}" for label in labels])
    found = fit_spark(OPAUC(alpha=1e-3), frame)
    assert found.classes_.tolist() == ["class 0", "class 1", "class 2"]
    assert_allclose(found.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
    scored = score_spark(found, frame).toPandas()
    assert_allclose(np.stack(scored["score"]), found.decision_function(scored[NAMES]), rtol=1e-12)
    named = fit_spark(OPAUC(alpha=1e-3), frame, classes=["class 0", "class 1", "class 2"])
    assert_array_equal(named.coef_, found.coef_)
    with pytest.raises(InputError, match="OPAUC needs rows of every class"):
        fit_spark(OPAUC(), frame, classes=["class 0", "class 1", "class 2", "class 3"])


def test_partitions_play_no_part_however_many_empty_or_of_one_class(frame, rows):
    whole = OPAUC(alpha=1e-3).fit(*rows).coef_
    for cut in (frame.repartition(11), frame.coalesce(1), frame.repartition(3, "label")):
        assert_allclose(fit_spark(OPAUC(alpha=1e-3), cut).coef_, whole, rtol=1e-10)


def test_the_same_partitions_give_the_same_file(frame, tmp_path):
    for name in ("one", "two"):
        opauc.save(fit_spark(OPAUC(), frame), tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_weights_of_rows_count_and_labels_may_be_words(frame, rows):
    from pyspark.sql import functions as F  # noqa: N812

    weighed = frame.withColumn("w", 1.0 + F.col("label")).withColumn(
        "label", F.when(F.col("label") == 1, "yes").otherwise("no")
    )
    found = fit_spark(OPAUC(alpha=1e-3), weighed, weight="w")
    assert found.classes_.tolist() == ["no", "yes"]
    assert_allclose(found.coef_, OPAUC(alpha=1e-3).fit(*rows, 1.0 + rows[1]).coef_, rtol=1e-10)
    assert sum(found.moments_.counts) == N_ROWS + rows[1].sum()


def test_vectors_dense_and_sparse_give_the_same_model_and_scores(scheduler, rows):
    from pyspark.ml.linalg import Vectors

    from opauc.engines import score_spark

    X, y = rows
    whole = OPAUC(alpha=1e-3).fit(X, y)
    entries = [[(j, float(value)) for j, value in enumerate(row) if value] for row in X]
    kinds = {
        "dense": [Vectors.dense(row) for row in X],
        "sparse": [Vectors.sparse(4, row) for row in entries],
    }
    kinds["mixed"] = [kinds["dense" if at % 2 else "sparse"][at] for at in range(N_ROWS)]
    for vectors in kinds.values():
        given = [(vector, int(label)) for vector, label in zip(vectors, y, strict=True)]
        lazy = scheduler.session.createDataFrame(given, ["v", "label"])
        found = fit_spark(OPAUC(alpha=1e-3), lazy, features="v")
        assert_allclose(found.coef_, whole.coef_, rtol=1e-10)
        scores = [row["score"] for row in score_spark(found, lazy, features="v").collect()]
        assert_allclose(scores, whole.decision_function(X), rtol=1e-9, atol=1e-9)


def test_scores_come_back_as_a_column(frame, rows):
    from opauc.engines import score_spark

    model = fit_spark(OPAUC(alpha=1e-3), frame)
    scored = score_spark(model, frame.select("d", "c", "b", "a"), output="rank").collect()  # columns go by their names
    right = OPAUC(alpha=1e-3).fit(*rows).decision_function(rows[0])
    assert_allclose([row["rank"] for row in scored], right, rtol=1e-9, atol=1e-9)
    with pytest.raises(InputError, match="the frame has no column b"):
        score_spark(model, frame.drop("b"))


def test_a_task_that_fails_once_changes_nothing_and_no_row_counts_twice(frame, tmp_path):
    folder = str(tmp_path)

    def failing_once(batches):
        from pyspark import TaskContext

        context = TaskContext.get()
        with open(f"{folder}/{context.partitionId()}", "a") as file:
            file.write("x")
        batches = list(batches)
        yield from batches[:1]
        if context.partitionId() == 1 and context.attemptNumber() == 0:
            raise RuntimeError("this machine is gone")
        yield from batches[1:]

    parts = frame.repartition(4).cache()
    right = fit_spark(OPAUC(alpha=1e-3), parts)
    before = {name: len((tmp_path / name).read_text()) for name in os.listdir(folder)}
    found = fit_spark(OPAUC(alpha=1e-3), parts.mapInArrow(failing_once, parts.schema))
    reads = {name: len((tmp_path / name).read_text()) for name in os.listdir(folder)}
    assert before == {}
    assert reads["1"] > min(reads.values()), "the partition must have been read again"
    assert sum(found.moments_.counts) == N_ROWS
    assert_array_equal(found.coef_, right.coef_)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("exit", "a shard ended every worker that took it on: most likely it does not fit their memory; give workers"),
        (
            "memory",
            r"a worker has not enough memory for a shard \(\S*MemoryError: Unable to allocate .*\); give workers",
        ),
        ("file", r"Spark gave up: FileNotFoundError: .*'/nowhere/rows\.csv'"),
    ],
)
def test_a_task_that_fails_each_time_is_one_clear_line(frame, kind, message):
    def failing(batches):
        if kind == "exit":
            os._exit(1)  # as one does that the system has killed
        if kind == "memory":
            np.ones(2**50)
        Path("/nowhere/rows.csv").read_text()
        yield from batches

    model = OPAUC()
    with pytest.raises(EngineError, match=message):
        fit_spark(model, frame.coalesce(1).mapInArrow(failing, frame.schema))
    assert not hasattr(model, "coef_")


def test_a_sketch_depends_on_the_partitions_and_not_on_who_does_what(frame):
    model = OPAUC(solver="exact", rank=2, random_state=4)
    parts = frame.repartition(5).cache()
    first, again = (fit_spark(model, parts).coef_.copy() for _ in range(2))
    assert_array_equal(first, again)
    assert not np.allclose(first, fit_spark(model, frame.coalesce(1)).coef_)


def test_tasks_merge_in_the_order_of_pairs(scheduler):
    found = scheduler.map_reduce(numbered, range(21), quiet)
    assert found.text == merge_in_pairs([numbered(number) for number in range(21)]).text
    assert found.by - {os.getpid()}, "tasks merge while values are many"
    assert scheduler.map(len, ["a", "bcd"]) == [1, 3]


def test_files_are_trained_on_and_scored_in_shards(scheduler, rows, tmp_path):
    from opauc.engines.files import score_files, train_files
    from opauc.engines.shards import ShardPolicy, plan_training
    from opauc.engines.threads import ThreadScheduler
    from opauc.linear.resolve import opauc_factory

    small = ShardPolicy(min_bytes=5_000, bytes_per_sum=0)
    path = tmp_path / "a.csv"
    lines = [",".join(map(repr, [*row, int(label)])) for row, label in zip(rows[0].tolist(), rows[1], strict=True)]
    path.write_text("\n".join([",".join([*NAMES, "label"]), *lines]) + "\n")
    plan = plan_training(opauc_factory({}), [path], OneHotReading(ReadOptions()), ClassLabels(), small)
    progress = []
    found, right = (
        train_files(plan, engine, None, lambda *done: progress.append(done), 2_500)
        for engine in (scheduler, ThreadScheduler(2))
    )
    assert_array_equal(found.model.scorer.weights, right.model.scorer.weights)
    assert progress[0][0] > 8, "more shards than are merged at once"
    assert found.provenance() == right.provenance()
    scored, right = (
        score_files(found.model, [path], engine, shard_policy=small) for engine in (scheduler, ThreadScheduler(2))
    )
    assert scored.auc.interval() == right.auc.interval()
    assert scheduler.address.startswith("http")


@pytest.fixture
def table():
    """A raw table, of which a part makes a basis."""
    return raw_table(2400).drop(columns=["empty", "always", "name", "id"])


def test_an_additive_model_of_raw_columns_does_not_depend_on_the_partitions_and_scores_a_column(scheduler, table):
    from opauc.engines import score_spark

    words = table.drop(columns="bought")
    frame = scheduler.session.createDataFrame(table).cache()
    found, one = (
        fit_spark(OnePassGAM(random_state=0, init_size=800), cut, "bought") for cut in (frame, frame.coalesce(1))
    )
    assert frame.rdd.getNumPartitions() > 1
    assert sum(found._fitted.counts) == len(table)
    assert found.selection_ == one.selection_
    assert_allclose(found.decision_function(words), one.decision_function(words), rtol=0, atol=1e-8)
    right = Cut(words, table["bought"].to_numpy(), [1000]).fitted(OnePassGAM(random_state=0, init_size=800))
    assert_allclose(found.decision_function(words), right.decision_function(words), rtol=0, atol=1e-8)
    scored = score_spark(found, frame).select("score").collect()
    assert_allclose([row["score"] for row in scored], found.decision_function(words), rtol=1e-9, atol=1e-9)


def test_an_additive_model_of_files_is_that_of_threads_to_the_last_bit(scheduler, table, tmp_path):
    from opauc.engines.files import score_files, train_files
    from opauc.engines.shards import plan_training
    from opauc.engines.threads import ThreadScheduler

    path = write_csv(tmp_path / "a.csv", table)
    reading = OrdinalReading(ReadOptions(label="bought"))
    plan = plan_training(AdditiveFactory({"random_state": 0, "init_size": 500}), [path], reading, ClassLabels())
    found, right = (train_files(plan, engine).model for engine in (scheduler, ThreadScheduler(2)))
    assert_array_equal(found.fit.final.weights, right.fit.final.weights)
    assert found.fit.final.selection == right.fit.final.selection
    scored = [score_files(found, [path], engine).auc.interval() for engine in (scheduler, ThreadScheduler(2))]
    assert scored[0] == scored[1]


def test_bad_input_is_one_clear_line(frame):
    from pyspark.sql import functions as F  # noqa: N812

    with pytest.raises(InputError, match="the frame has no column y; it has a, b, c, d, label"):
        fit_spark(OPAUC(), frame, "y")
    with pytest.raises(InputError, match=r"rows of two classes are needed, got \[0\]"):
        fit_spark(OPAUC(), frame.where("label = 0"))
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        fit_spark(OPAUC(), frame.withColumn("label", F.col("label") + F.rand(0)))
    with pytest.raises(ValueError, match=r"Input X contains NaN\."):
        fit_spark(OPAUC(), frame.withColumn("a", F.lit(float("nan"))))
    with pytest.raises(InputError, match="labels are missing"):
        fit_spark(OPAUC(), frame.withColumn("label", F.when(F.col("a") > 19, F.col("label"))))
    with pytest.raises(UnsupportedOperationError, match="'sgd' processes rows one after the other"):
        fit_spark(OPAUC(solver="sgd"), frame)
    with pytest.raises(UnsupportedOperationError, match="OAM cannot train in shards"):
        fit_spark(OAM(), frame)
