"""OAM with buffers of 100 rows a class, 50 in high dimension: on the paper's grid, and on one that goes on below it."""

from collections.abc import Callable

from experiments.paper.column import BOTH, ONLINE, OURS, STEPS, Column, Context, Cost, Setting
from experiments.paper.data_set import BENCHMARK, HIGH_DIMENSION, Shape
from experiments.paper.traces import convergence
from opauc.learners.oam import OAM
from opauc.training.learner_method import LearnerMethod

BUFFERS = {BENCHMARK: 100, HIGH_DIMENSION: 50}
SMALLER = tuple(2.0**k for k in range(-24, -11))


def row_cost(shape: Shape) -> float:
    """Microseconds a row."""
    if shape.n_features > 10_000:
        return 1.2 + 0.06 * shape.entries
    return 0.8 + 0.012 * shape.entries + 0.001 * shape.n_features


def made(update: str) -> Callable[[Setting, Context], LearnerMethod]:
    """OAM with one of its two updates."""

    def method(setting: Setting, context: Context) -> LearnerMethod:
        learner = OAM(update=update, buffer_size=BUFFERS[context.suite], random_state=context.trial, **setting)
        return LearnerMethod("OAM", learner)

    return method


def fit_cost(shape: Shape) -> float:
    """Microseconds of making room for buffers and their products."""
    return 1500.0 + 0.02 * shape.n_features


COST = Cost(row_cost, fit_cost)
SEQUENTIAL = Column(
    "OAM_seq", ONLINE, BOTH, made("sequential"), COST, {"C": STEPS}, trace=convergence(made("sequential"))
)
GRADIENT = Column("OAM_gra", ONLINE, BOTH, made("gradient"), COST, {"C": STEPS}, trace=convergence(made("gradient")))
SMALLER_SEQUENTIAL = Column(
    "OAM_seq, smaller C", OURS, (BENCHMARK,), made("sequential"), COST, {"C": SMALLER},
    about="OAM on step sizes below the paper's grid, where its best ones are",
)  # fmt: skip
SMALLER_GRADIENT = Column(
    "OAM_gra, smaller C", OURS, (BENCHMARK,), made("gradient"), COST, {"C": SMALLER},
    about="OAM on step sizes below the paper's grid, where its best ones are",
)  # fmt: skip
