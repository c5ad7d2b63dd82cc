# ruff: noqa: ARG001, ARG005
"""Methods for tests of the runner."""

import os
import signal
import time

from experiments.methods import weights_method
from experiments.paper.column import ONLINE, Column, Cost
from experiments.paper.data_set import BENCHMARK
from experiments.paper.methods.opauc import LAST

from opauc.metrics import FittedMethod

CHEAP = Cost(lambda shape: 0.001 * shape.n_features)


def weighted(setting, context):
    return weights_method("weighted", lambda rows, labels: rows.mean(axis=0) * setting["alpha"])


def leisurely(setting, context):
    def weights(rows, labels):
        time.sleep(0.01)
        return rows.mean(axis=0) * setting["alpha"]

    return weights_method("leisurely", weights)


def raising(setting, context):
    def fit(rows, labels):
        raise RuntimeError("a bug of somebody")

    return FittedMethod("raising", fit)


def refusing(setting, context):
    def fit(rows, labels):
        raise ValueError("these rows are not for me")

    return FittedMethod("refusing", fit)


def endless(setting, context):
    def fit(rows, labels):
        while True:
            rows.sum()

    return FittedMethod("endless", fit)


def dying(setting, context):
    def fit(rows, labels):
        os.kill(os.getpid(), signal.SIGKILL)

    return FittedMethod("dying", fit)


DESCENT = Column("OPAUC", ONLINE, (BENCHMARK,), LAST.made, CHEAP, {"eta0": (0.001, 0.01), "alpha": (0.1,)}, LAST.family)
WEIGHTED = Column("weighted", ONLINE, (BENCHMARK,), weighted, CHEAP, {"alpha": (1.0, 2.0)})
LEISURELY = Column("leisurely", ONLINE, (BENCHMARK,), leisurely, CHEAP, {"alpha": (1.0, 2.0)})
# So expensive by the model that a setting is chosen once a trial.
DEAR = Column(
    "dear", ONLINE, (BENCHMARK,), weighted, Cost(lambda shape: 1e4 * shape.entries), {"alpha": (1.0, 2.0, 3.0)}
)
RAISING = Column("raising", ONLINE, (BENCHMARK,), raising, CHEAP)
REFUSING = Column("refusing", ONLINE, (BENCHMARK,), refusing, CHEAP)
ENDLESS = Column("endless", ONLINE, (BENCHMARK,), endless, CHEAP)
DYING = Column("dying", ONLINE, (BENCHMARK,), dying, CHEAP)
RAISING_CHOICE = Column(
    "raising choice", ONLINE, (BENCHMARK,), raising, Cost(lambda shape: 1e4 * shape.entries), {"alpha": (1.0, 2.0)}
)
