"""Online univariate losses with an intercept, by a constant feature: the published results on magic04 need one."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array

from experiments.methods import weights_method
from experiments.paper.column import OURS, STEPS, Column, Context, Cost, Family, Setting
from experiments.paper.data_set import BENCHMARK
from experiments.paper.methods.univariate import path as univariate_path
from experiments.paper.methods.univariate import row_cost
from opauc.baselines.uni_exp import UniExpSolver
from opauc.baselines.uni_squ import UniSquSolver
from opauc.metrics import FittedMethod
from opauc.types import Floats, Labels, Rows

ABOUT = "with a constant feature, so that the loss has an intercept, which a ranking does not need but the loss does"


def with_constant(rows: Rows) -> Rows:
    """Rows with one more feature that is always one.

    >>> with_constant(np.array([[3.0], [4.0]])).tolist()
    [[3.0, 1.0], [4.0, 1.0]]
    """
    ones = np.ones((rows.shape[0], 1))
    return csr_array(sparse.hstack([rows, ones], format="csr")) if sparse.issparse(rows) else np.hstack([rows, ones])


def method_of(kind: type[UniExpSolver] | type[UniSquSolver]) -> Callable[[Setting, Context], FittedMethod]:
    """A univariate method with one step size, without its intercept, which changes no ranking."""

    def method(setting: Setting, context: Context) -> FittedMethod:  # noqa: ARG001
        solver = kind(learning_rate="constant", average=False, **setting)

        def fit(rows: Rows, labels: Labels) -> Floats:
            state = solver.start(rows.shape[1] + 1)
            return solver.weights(solver.step(state, with_constant(rows), labels))[:-1]

        return weights_method(kind.name, fit)

    return method


def path(is_exponential: bool) -> Family:
    """All step sizes in one pass."""
    family = univariate_path(is_exponential)

    def learned(settings: Sequence[Setting], rows: Rows, labels: Labels, context: Context) -> Iterable[Floats | None]:
        for weights in family(settings, with_constant(rows), labels, context):
            yield None if weights is None else weights[:-1]

    return learned


# Rows are copied, too.
COST = Cost(lambda shape: 1.3 * row_cost(shape), share=0.2)
EXPONENTIAL = Column(
    "online Uni-Exp, intercept",
    OURS,
    (BENCHMARK,),
    method_of(UniExpSolver),
    COST,
    {"eta0": STEPS},
    path(True),
    about=ABOUT,
)
SQUARE = Column(
    "online Uni-Squ, intercept",
    OURS,
    (BENCHMARK,),
    method_of(UniSquSolver),
    COST,
    {"eta0": STEPS},
    path(False),
    about=ABOUT,
)
