"""Online univariate losses in which every row weighs the same: the published results on w8a are those of these."""

from collections.abc import Callable

from experiments.methods import weights_method
from experiments.paper.column import OURS, STEPS, Column, Context, Setting
from experiments.paper.data_set import BENCHMARK
from experiments.paper.methods.univariate import COST, path
from experiments.paper.univariate_path import univariate_path
from opauc.metrics import FittedMethod
from opauc.types import Floats, Labels, Rows

ABOUT = "every row weighs the same, where the paper's text gives both classes the same weight"


def method_of(name: str, is_exponential: bool) -> Callable[[Setting, Context], FittedMethod]:
    """A univariate method without class weights, with one step size."""

    def method(setting: Setting, context: Context) -> FittedMethod:  # noqa: ARG001
        def fit(rows: Rows, labels: Labels) -> Floats:
            (weights,) = univariate_path(is_exponential, [setting["eta0"]], rows, labels, balanced=False)
            if weights is None:
                raise ValueError(f"eta0={setting['eta0']:g} is too large: the weights overflow")
            return weights

        return weights_method(name, fit)

    return method


EXPONENTIAL = Column(
    "online Uni-Exp, unweighted", OURS, (BENCHMARK,), method_of("Uni-Exp", True), COST, {"eta0": STEPS},
    path(True, balanced=False), about=ABOUT,
)  # fmt: skip
SQUARE = Column(
    "online Uni-Squ, unweighted", OURS, (BENCHMARK,), method_of("Uni-Squ", False), COST, {"eta0": STEPS},
    path(False, balanced=False), about=ABOUT,
)  # fmt: skip
