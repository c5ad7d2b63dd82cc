"""OAM with buffers of 100 rows a class, 50 in high dimension: on the paper's grid, and on one that goes on below it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from experiments.paper.column import BOTH, ONLINE, OURS, STEPS, Column, Context, Cost, Family, Setting
from experiments.paper.data_set import BENCHMARK, HIGH_DIMENSION, Shape
from experiments.paper.traces import convergence
from opauc.baselines.solvers.oam import OAM
from opauc.baselines.solvers.oam_path import oam_path
from opauc.linear.training import SolverMethod
from opauc.types import Floats, Labels, Rows

BUFFERS = {BENCHMARK: 100, HIGH_DIMENSION: 50}
SMALLER = tuple(2.0**k for k in range(-24, -11))


def row_cost(shape: Shape) -> float:
    """Microseconds a row; buffers of long rows do not fit into the cache."""
    if shape.n_features > 10_000:
        return 1.2 + 0.06 * shape.entries
    return 0.8 + 0.012 * shape.entries + 0.001 * shape.n_features + max(0.0, 0.035 * (shape.entries - 60.0))


def learner(update: str, context: Context) -> OAM:
    """OAM with one of its two updates and the reservoirs of a trial."""
    return OAM(update=update, buffer_size=BUFFERS[context.suite], random_state=context.trial)


def from_params(update: str) -> Callable[[Setting, Context], SolverMethod]:
    """OAM with one of its two updates."""

    def method(setting: Setting, context: Context) -> SolverMethod:
        return SolverMethod("OAM", replace(learner(update, context), **setting))

    return method


def path(update: str) -> Family:
    """All step sizes of one of the two updates in one pass."""

    def learned(settings: Sequence[Setting], rows: Rows, labels: Labels, context: Context) -> Iterable[Floats | None]:
        return oam_path(learner(update, context), [setting["C"] for setting in settings], rows, labels)

    return learned


def fit_cost(shape: Shape) -> float:
    """Microseconds of making room for buffers and their products."""
    return 1500.0 + 0.02 * shape.n_features


COST = Cost(row_cost, fit_cost, share=0.3)
SEQUENTIAL = Column(
    "OAM_seq",
    ONLINE,
    BOTH,
    from_params("sequential"),
    COST,
    {"C": STEPS},
    path("sequential"),
    trace=convergence(from_params("sequential")),
)
GRADIENT = Column(
    "OAM_gra",
    ONLINE,
    BOTH,
    from_params("gradient"),
    COST,
    {"C": STEPS},
    path("gradient"),
    trace=convergence(from_params("gradient")),
)
SMALLER_SEQUENTIAL = Column(
    "OAM_seq, smaller C", OURS, (BENCHMARK,), from_params("sequential"), COST, {"C": SMALLER}, path("sequential"),
    about="OAM on step sizes below the paper's grid, where its best ones are",
)  # fmt: skip
SMALLER_GRADIENT = Column(
    "OAM_gra, smaller C", OURS, (BENCHMARK,), from_params("gradient"), COST, {"C": SMALLER}, path("gradient"),
    about="OAM on step sizes below the paper's grid, where its best ones are",
)  # fmt: skip
