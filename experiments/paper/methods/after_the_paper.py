"""One-pass methods that came after the paper: SOLAM, SPAUC and AdaOAM."""

from collections.abc import Iterable, Sequence

from experiments.paper.column import BOTH, OURS, STEPS, Column, Context, Cost, Setting
from experiments.paper.data_set import BENCHMARK, Shape
from opauc.baselines.solvers.ada_oam import AdaOAM
from opauc.baselines.solvers.solam import SOLAM
from opauc.baselines.solvers.solam_path import solam_path
from opauc.baselines.solvers.spauc import SPAUC
from opauc.linear.training import SolverMethod
from opauc.types import Floats, Labels, Rows


def row_cost(shape: Shape) -> float:
    """Microseconds a row of the two that keep vectors only."""
    return 0.1 + 0.006 * shape.entries


def matrix_cost(shape: Shape) -> float:
    """Microseconds a row of AdaOAM, which keeps covariances."""
    return 0.25 + 0.006 * shape.n_features + 0.00015 * shape.n_features**2


def projection_cost(shape: Shape) -> float:
    """Microseconds of a fit of SOLAM, whose projections remove_stale_files over all features now and then."""
    return 300.0 + 0.8 * shape.n_features


def solam(setting: Setting, context: Context) -> SolverMethod:  # noqa: ARG001
    """SOLAM with one step size and one radius."""
    return SolverMethod("SOLAM", SOLAM(**setting))


def solam_family(
    settings: Sequence[Setting],
    rows: Rows,
    labels: Labels,
    context: Context,  # noqa: ARG001
) -> Iterable[Floats | None]:
    """All settings of SOLAM in one pass."""
    return solam_path([SOLAM(**setting) for setting in settings], rows, labels)


def spauc(setting: Setting, context: Context) -> SolverMethod:  # noqa: ARG001
    """SPAUC with steps eta0 / sqrt(t)."""
    return SolverMethod("SPAUC", SPAUC(learning_rate="invsqrt", average=False, **setting))


def ada_oam(setting: Setting, context: Context) -> SolverMethod:  # noqa: ARG001
    """AdaOAM with one step size."""
    return SolverMethod("AdaOAM", AdaOAM(**setting))


SADDLE = Column(
    "SOLAM",
    OURS,
    BOTH,
    solam,
    Cost(row_cost, projection_cost, share=0.25),
    {"eta0": STEPS, "radius": (0.1, 1.0, 10.0)},
    solam_family,
    about="Ying, Wen, Lyu 2016",
)
CENTRED = Column("SPAUC", OURS, BOTH, spauc, Cost(row_cost), {"eta0": STEPS}, about="Lei, Ying 2021")
ADAPTIVE = Column(
    "AdaOAM", OURS, (BENCHMARK,), ada_oam, Cost(matrix_cost), {"eta0": STEPS}, about="Ding, Zhao, Hoi, Ong 2015"
)
