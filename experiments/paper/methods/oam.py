"""OAM with buffers of 100 rows per class, 50 in high dimension, on the paper's grid and on one of smaller values."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from experiments.paper.column import BOTH, ONLINE, OURS, STEPS, Column, Context, Cost, Family, Setting
from experiments.paper.data_set import BENCHMARK, HIGH_DIMENSION, Shape
from experiments.paper.oam_path import oam_path
from experiments.paper.traces import convergence
from opauc.api.methods import SolverMethod
from opauc.baselines.oam import OAMSolver
from opauc.types import Floats, Labels, Rows

BUFFERS = {BENCHMARK: 100, HIGH_DIMENSION: 50}
SMALLER = tuple(2.0**k for k in range(-24, -11))
# Our steps have C/2, as OAM's publication has; on this grid they are those of a program without the 2.
DOUBLED = tuple(2.0 * step for step in STEPS)
ABOUT_DOUBLED = "steps of C where OAM's publication has C/2, on the sets on which OAM is far from print"


def row_cost(shape: Shape) -> float:
    """Microseconds per row; buffers of long rows do not fit into the cache."""
    if shape.n_features > 10_000:
        return 1.2 + 0.06 * shape.entries
    return 0.8 + 0.012 * shape.entries + 0.001 * shape.n_features + max(0.0, 0.035 * (shape.entries - 60.0))


def solver(update: str, context: Context) -> OAMSolver:
    """OAM with one of its two updates and the seed of a trial."""
    return OAMSolver(update=update, buffer_size=BUFFERS[context.suite], random_state=context.trial)


def method_of(update: str) -> Callable[[Setting, Context], SolverMethod]:
    """OAM with one of its two updates."""

    def method(setting: Setting, context: Context) -> SolverMethod:
        return SolverMethod("OAM", replace(solver(update, context), **setting))

    return method


def path(update: str) -> Family:
    """All step sizes of one of the two updates in one pass."""

    def learned(settings: Sequence[Setting], rows: Rows, labels: Labels, context: Context) -> Iterable[Floats | None]:
        return oam_path(solver(update, context), [setting["C"] for setting in settings], rows, labels)

    return learned


def fit_cost(shape: Shape) -> float:
    """Microseconds of allocating the buffers and their products."""
    return 1500.0 + 0.02 * shape.n_features


COST = Cost(row_cost, fit_cost, share=0.3)
SEQUENTIAL = Column(
    "OAM_seq",
    ONLINE,
    BOTH,
    method_of("sequential"),
    COST,
    {"C": STEPS},
    path("sequential"),
    trace=convergence(method_of("sequential")),
    about="Zhao, Hoi, Jin, Yang 2011: hinge loss of pairs with buffered rows, one step after the other",
)
GRADIENT = Column(
    "OAM_gra",
    ONLINE,
    BOTH,
    method_of("gradient"),
    COST,
    {"C": STEPS},
    path("gradient"),
    trace=convergence(method_of("gradient")),
    about="the same, one step down the gradient of all pairs of a row",
)
SMALLER_SEQUENTIAL = Column(
    "OAM_seq, smaller C", OURS, (BENCHMARK,), method_of("sequential"), COST, {"C": SMALLER}, path("sequential"),
    about="OAM on step sizes below the paper's grid, where its best ones are",
)  # fmt: skip
DOUBLED_SEQUENTIAL = Column(
    "OAM_seq, twice C", OURS, (BENCHMARK,), method_of("sequential"), COST, {"C": DOUBLED}, path("sequential"),
    sets=("splice", "a9a", "w8a", "connect-4", "ijcnn1", "covtype"), about=ABOUT_DOUBLED,
)  # fmt: skip
DOUBLED_GRADIENT = Column(
    "OAM_gra, twice C", OURS, (BENCHMARK,), method_of("gradient"), COST, {"C": DOUBLED}, path("gradient"),
    sets=("splice", "ijcnn1"), about=ABOUT_DOUBLED,
)  # fmt: skip
SMALLER_GRADIENT = Column(
    "OAM_gra, smaller C", OURS, (BENCHMARK,), method_of("gradient"), COST, {"C": SMALLER}, path("gradient"),
    about="OAM on step sizes below the paper's grid, where its best ones are",
)  # fmt: skip
