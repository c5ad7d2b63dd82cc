"""The recipe for Kafka in docs/how-to/data-sources.md, with messages of its own in place of a broker's."""

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import opauc
from opauc import OnePassGAM

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "data-sources.md"
RECIPE = re.search(r"## Kafka\n.*?```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)[1]
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"age": RNG.normal(40, 9, 30_000).round(1), "city": RNG.choice(["a", "b", "c"], 30_000)})
FRAME["bought"] = np.where(FRAME["age"] / 9 + (FRAME["city"] == "b") + RNG.logistic(size=30_000) > 5, "yes", "no")


class Message:
    """A message as the client of Kafka gives it, or what it gives at the end of a partition."""

    def __init__(self, row=None):
        self.row = row

    def error(self):
        return None if self.row is not None else "end of partition"

    def value(self):
        return None if self.row is None else json.dumps(self.row).encode()


class Topic:
    """Rows and the place that was committed; a consumer begins there."""

    def __init__(self, frame):
        self.rows, self.committed, self.stops_at = frame.to_dict("records"), 0, None

    def consumer(self, settings):
        assert settings["enable.auto.commit"] is False
        return Consumer(self)


class Consumer:
    """A consumer of a topic, which can be stopped before a commit."""

    def __init__(self, topic):
        self.topic, self.at = topic, topic.committed

    def subscribe(self, names):
        assert names == ["sales"]

    def consume(self, size, timeout):
        assert timeout > 0
        taken = [Message(row) for row in self.topic.rows[self.at : self.at + size]]
        self.at += len(taken)
        return [*taken, Message()] if taken else []

    def commit(self, asynchronous):
        assert asynchronous is False
        if self.topic.stops_at is not None and self.at >= self.topic.stops_at:
            raise KeyboardInterrupt
        self.topic.committed = self.at


def run_recipe(topic, monkeypatch):
    client = ModuleType("confluent_kafka")
    client.Consumer = topic.consumer
    monkeypatch.setitem(sys.modules, "confluent_kafka", client)
    exec(compile(RECIPE, str(PAGE), "exec"), {})


def test_it_learns_what_partial_fit_learns_and_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    topic = Topic(FRAME[:20_000])
    run_recipe(topic, monkeypatch)
    topic.rows += FRAME[20_000:].to_dict("records")
    run_recipe(topic, monkeypatch)
    assert topic.committed == 30_000
    expected = OnePassGAM()
    for start in range(0, 30_000, 10_000):
        part = FRAME[start : start + 10_000]
        expected.partial_fit(part.drop(columns="bought"), part["bought"], classes=["no", "yes"])
    learned = opauc.load("sales.opauc")
    rows = FRAME.drop(columns="bought")
    assert_allclose(learned.decision_function(rows), expected.decision_function(rows), atol=1e-8)


def test_stopped_before_the_commit_it_learns_one_batch_twice_and_loses_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    topic = Topic(FRAME)
    topic.stops_at = 20_000
    with pytest.raises(KeyboardInterrupt):
        run_recipe(topic, monkeypatch)
    assert topic.committed == 10_000
    topic.stops_at = None
    run_recipe(topic, monkeypatch)
    assert sum(opauc.load("sales.opauc")._fitted.counts) == 40_000
