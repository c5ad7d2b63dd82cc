"""One-pass methods that came after the paper: SOLAM, FSAUC, SPAUC and AdaOAM."""

from collections.abc import Iterable, Sequence

from experiments.methods import weights_method
from experiments.paper.column import BOTH, OURS, STEPS, Column, Context, Cost, Setting
from experiments.paper.data_set import BENCHMARK, Shape
from experiments.paper.solam_path import solam_path
from opauc.api.methods import SolverMethod
from opauc.baselines.ada_oam import AdaOAMSolver
from opauc.baselines.fsauc import FSAUCSolver
from opauc.baselines.solam import SOLAMSolver
from opauc.baselines.spauc import SPAUCSolver
from opauc.metrics import FittedMethod
from opauc.types import Floats, Labels, Rows


def row_cost(shape: Shape) -> float:
    """Microseconds per row of SOLAM and SPAUC, which update vectors only."""
    return 0.1 + 0.006 * shape.entries


def matrix_cost(shape: Shape) -> float:
    """Microseconds per row of AdaOAM, which updates covariance matrices."""
    return 0.25 + 0.006 * shape.n_features + 0.00015 * shape.n_features**2


def projection_cost(shape: Shape) -> float:
    """Microseconds of a fit of SOLAM, whose projections rescale all features from time to time."""
    return 300.0 + 0.8 * shape.n_features


def solam(setting: Setting, context: Context) -> SolverMethod:  # noqa: ARG001
    """SOLAM with one step size and one radius."""
    return SolverMethod("SOLAM", SOLAMSolver(**setting))


def solam_family(
    settings: Sequence[Setting],
    rows: Rows,
    labels: Labels,
    context: Context,  # noqa: ARG001
) -> Iterable[Floats | None]:
    """All settings of SOLAM in one pass."""
    return solam_path([SOLAMSolver(**setting) for setting in settings], rows, labels)


def staged_cost(shape: Shape) -> float:
    """Microseconds per row of FSAUC, which updates vectors only."""
    return 0.25 + 0.005 * shape.entries


def restart_cost(shape: Shape) -> float:
    """Microseconds of a fit of FSAUC, whose restarts read all features."""
    return 300.0 + 0.1 * shape.n_features


def fsauc(setting: Setting, context: Context) -> FittedMethod:  # noqa: ARG001
    """FSAUC with one step size and one radius; the number of rows, which decides its stages, is known to it."""

    def fit(rows: Rows, labels: Labels) -> Floats:
        solver = FSAUCSolver(n_rows=labels.size, **setting)
        return solver.weights(solver.step(solver.start(rows.shape[1]), rows, labels))

    return weights_method("FSAUC", fit)


def spauc(setting: Setting, context: Context) -> SolverMethod:  # noqa: ARG001
    """SPAUC with steps eta0 / sqrt(t)."""
    return SolverMethod("SPAUC", SPAUCSolver(learning_rate="invsqrt", average=False, **setting))


def ada_oam(setting: Setting, context: Context) -> SolverMethod:  # noqa: ARG001
    """AdaOAM with one step size."""
    return SolverMethod("AdaOAM", AdaOAMSolver(**setting))


SADDLE = Column(
    "SOLAM",
    OURS,
    BOTH,
    solam,
    Cost(row_cost, projection_cost, share=0.25),
    {"eta0": STEPS, "radius": (0.1, 1.0, 10.0)},
    solam_family,
    about="Ying, Wen, Lyu 2016: the square loss of pairs as a saddle point, in vectors only",
)
STAGED = Column(
    "FSAUC", OURS, BOTH, fsauc, Cost(staged_cost, restart_cost),
    {"eta0": tuple(2.0**k for k in range(-12, 5, 2)), "radius": (1.0, 10.0, 100.0)},
    about="Liu, Zhang, Chen, Wang, Yang 2018: the saddle point of SOLAM in stages; knows the number of rows",
)  # fmt: skip
CENTRED = Column(
    "SPAUC",
    OURS,
    BOTH,
    spauc,
    Cost(row_cost),
    {"eta0": STEPS},
    about="Lei, Ying 2021: the square loss of pairs from class means alone",
)
ADAPTIVE = Column(
    "AdaOAM",
    OURS,
    (BENCHMARK,),
    ada_oam,
    Cost(matrix_cost),
    {"eta0": STEPS},
    about="Ding, Zhao, Hoi, Ong 2015: OPAUC with a step size for each feature",
)
