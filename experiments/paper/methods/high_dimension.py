"""OPAUCr of rank 50, and what the library takes by default for many sparse features."""

from experiments.paper.column import ONLINE, OURS, RIDGES, STEPS, Column, Context, Cost, Setting
from experiments.paper.data_set import HIGH_DIMENSION, Shape
from experiments.paper.families import sketch_family
from experiments.paper.traces import influence_of_rank
from opauc.api.methods import SolverMethod
from opauc.linear.progressive_selection import ProgressiveSelection
from opauc.linear.sketch_sgd import SketchedSGD

RANK = 50
MIDDLE_STEPS = tuple(2.0**k for k in range(-6, 2))
SMALLER_RIDGES = tuple(2.0**k for k in range(-20, -9, 2))
RANKS = (1, 5, 10, 25, 50, 100, 200)


def row_cost(shape: Shape) -> float:
    """Microseconds a row of OPAUCr."""
    return 3.0 + 0.04 * shape.entries


def fit_cost(shape: Shape) -> float:
    """Microseconds of making room and of working out the weights."""
    return 500.0 + 0.2 * shape.n_features


def sketched(setting: Setting, context: Context, rank: int = RANK) -> SolverMethod:
    """OPAUCr with one step size and one penalty, the last iterate."""
    learner = SketchedSGD(learning_rate="constant", average=False, rank=rank, random_state=context.trial, **setting)
    return SolverMethod("OPAUCr", learner)


def as_printed(setting: Setting, context: Context) -> SolverMethod:
    """OPAUCr with Gaussian numbers and the covariance as the paper prints it, the last iterate."""
    solver = SketchedSGD(
        learning_rate="constant", average=False, rank=RANK, random_state=context.trial, gaussian=True,
        centering="printed", **setting,
    )  # fmt: skip
    return SolverMethod("OPAUCr as printed", solver)


def selected(setting: Setting, context: Context) -> SolverMethod:  # noqa: ARG001
    """The default of high dimension, which has nothing to set."""
    return SolverMethod("default", ProgressiveSelection(**setting))


SKETCHED = Column(
    "OPAUCr",
    ONLINE,
    (HIGH_DIMENSION,),
    sketched,
    Cost(row_cost, fit_cost, share=0.12, passes=0.35),
    {"eta0": STEPS, "alpha": RIDGES},
    sketch_family(RANK),
    trace=influence_of_rank(sketched, RANKS),
    worth=3.0,
    about="the paper's OPAUCr with random signs and the sketch centered, which is better than the printed form",
)
SMALLER = Column(
    "OPAUCr, smaller λ", OURS, (HIGH_DIMENSION,), sketched, Cost(row_cost, fit_cost, share=0.12, passes=0.8),
    {"eta0": MIDDLE_STEPS, "alpha": SMALLER_RIDGES}, sketch_family(RANK), worth=3.0,
    about="λ from 2^-20 to 2^-10 and η from 2^-6 to 2: OPAUCr's choice is the smallest λ of the paper's grid",
)  # fmt: skip
PRINTED = Column(
    "OPAUCr as printed", OURS, (HIGH_DIMENSION,), as_printed, Cost(lambda shape: 6.0 * row_cost(shape), fit_cost),
    {"eta0": (0.25, 0.5, 1.0, 2.0), "alpha": (2.0**-10,)}, sets=("sector_part", "news20", "webkb", "reuters21578"),
    about="Gaussian codes and the covariance as printed; λ = 2^-10, OPAUCr's choice on these sets, η from 2^-2 to 2",
)  # fmt: skip
DEFAULT = Column(
    "high-dimensional default", OURS, (HIGH_DIMENSION,), selected,
    Cost(lambda shape: 0.3 + 0.02 * shape.entries, fit_cost), about="what OPAUC() takes for many sparse features",
)  # fmt: skip
