"""Online descent on a weighted loss of single rows: exponential and square."""

from collections.abc import Iterable, Sequence

from experiments.paper.column import BOTH, ONLINE, STEPS, Column, Context, Cost, Family, Setting
from experiments.paper.data_set import Shape
from experiments.paper.univariate_path import univariate_path
from opauc.api.methods import SolverMethod
from opauc.baselines.uni_exp import UniExpSolver
from opauc.baselines.uni_squ import UniSquSolver
from opauc.types import Floats, Labels, Rows


def row_cost(shape: Shape) -> float:
    """Microseconds per row."""
    return 0.08 + 0.005 * shape.entries


def exponential(setting: Setting, context: Context) -> SolverMethod:  # noqa: ARG001
    """Uni-Exp with one step size."""
    return SolverMethod("Uni-Exp", UniExpSolver(learning_rate="constant", average=False, **setting))


def square(setting: Setting, context: Context) -> SolverMethod:  # noqa: ARG001
    """Uni-Squ with one step size."""
    return SolverMethod("Uni-Squ", UniSquSolver(learning_rate="constant", average=False, **setting))


def path(is_exponential: bool, balanced: bool = True) -> Family:
    """All step sizes in one pass."""

    def learned(settings: Sequence[Setting], rows: Rows, labels: Labels, context: Context) -> Iterable[Floats | None]:  # noqa: ARG001
        return univariate_path(is_exponential, [setting["eta0"] for setting in settings], rows, labels, balanced)

    return learned


COST = Cost(row_cost, share=0.15)
EXPONENTIAL = Column(
    "online Uni-Exp", ONLINE, BOTH, exponential, COST, {"eta0": STEPS}, path(True),
    about="descent on the exponential loss of single rows, both classes of the same weight",
)  # fmt: skip
SQUARE = Column(
    "online Uni-Squ", ONLINE, BOTH, square, COST, {"eta0": STEPS}, path(False),
    about="descent on the square loss of single rows, both classes of the same weight",
)  # fmt: skip
