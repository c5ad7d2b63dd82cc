"""Shards of files, scored apart, give the AUC of all rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

from opauc.core.labels import ClassLabels
from opauc.data import BadRows, ReadOptions
from opauc.data.encode.table_features import OneHotReading
from opauc.engines import files
from opauc.engines.files import train_files
from opauc.engines.shards import ShardPolicy, plan_training
from opauc.engines.threads import ThreadScheduler
from opauc.errors import InputError, MalformedRowError, TooManyBadRowsError
from opauc.linear.resolve import opauc_factory
from tests.problems import problem

SMALL = ShardPolicy(min_bytes=2_000)


def score_files(*arguments, **options):
    return files.score_files(*arguments, **options, shard_policy=SMALL)


@pytest.fixture
def judged(tmp_path):
    """A model, a file, and the labels and scores of its rows."""
    rows, labels = problem(9, 800, 3)
    path = tmp_path / "a.csv"
    lines = [f"{a!r},{b!r},{c!r},{'uv'[label]},{label}" for (a, b, c), label in zip(rows.tolist(), labels, strict=True)]
    path.write_text("\n".join(["a,b,c,word,label", *lines]) + "\n")
    reading = OneHotReading(ReadOptions(drop=("word",)))
    model = train_files(
        plan_training(opauc_factory({}), [path], reading, ClassLabels(), SMALL), ThreadScheduler(1)
    ).model
    return model, path, labels, model.scorer.scores(rows)


def test_shards_bound_the_exact_auc(judged):
    model, path, labels, scores = judged
    found = score_files(model, [path], ThreadScheduler(2))
    low, high = found.auc.interval()
    assert low - 1e-12 <= roc_auc_score(labels, scores) <= high + 1e-12
    assert high - low < 1e-3
    assert found.rows == 800
    squared = np.mean((model.scorer.probabilities(scores) - labels) ** 2)
    assert_allclose(found.bins.brier_score(), squared, rtol=1e-9)


def test_bad_rows_are_named_skipped_and_limited(judged):
    model, path, *_ = judged
    path.write_text(path.read_text() + "x,1,2,u,0\n1,2,3,u,5\n")
    with pytest.raises(MalformedRowError, match="line 802, column a"):
        score_files(model, [path], ThreadScheduler(2))
    with pytest.raises(MalformedRowError, match="line 803: label 5 besides 0 and 1"):
        score_files(model, [path], ThreadScheduler(2), bad_rows=BadRows("skip"))
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    found = score_files(model, [path], ThreadScheduler(2), bad_rows=BadRows("skip"))
    assert (found.rows, found.bad_rows) == (800, 1)
    with pytest.raises(TooManyBadRowsError, match="1 bad rows, at most 0"):
        score_files(model, [path], ThreadScheduler(2), bad_rows=BadRows("skip", 0))


def test_unknown_categories_are_counted_over_all_shards(judged):
    _, path, *_ = judged
    reading = OneHotReading(ReadOptions(categorical=("word",)))
    model = train_files(
        plan_training(opauc_factory({}), [path], reading, ClassLabels(), SMALL), ThreadScheduler(1)
    ).model
    path.write_text(path.read_text().replace(",u,", ",new,"))
    unknown = score_files(model, [path], ThreadScheduler(2)).unknown["word"]
    assert unknown.rows == path.read_text().count(",new,")
    assert unknown.examples == ("new",)


def test_columns_that_the_model_does_not_know_are_refused(judged):
    model, path, *_ = judged
    path.write_text("a,b,label\n1,2,0\n")
    with pytest.raises(InputError, match="no column c"):
        score_files(model, [path], ThreadScheduler(2))
