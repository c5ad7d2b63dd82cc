"""Batch univariate losses in which every row weighs the same: are the published results those of these?"""

from experiments.methods import weights_method
from experiments.paper.column import BATCH_RIDGES, OURS, Column, Context, Family, Setting
from experiments.paper.data_set import BENCHMARK
from experiments.paper.families import logistic_family, unweighted_square_family
from experiments.paper.methods.logistic_loss import UNI_LOG
from experiments.paper.methods.square_loss import COST, MOST_ROWS
from experiments.paper.methods.univariate_unweighted import ABOUT
from opauc.metrics import FittedMethod
from opauc.types import Floats, Labels, Rows

GRID = {"alpha": BATCH_RIDGES}
# Where the published cells of the weighted columns are more than two standard errors away.
SQUARE_SETS = ("magic04", "a9a", "w8a", "connect-4", "ijcnn1", "covtype")
LOGISTIC_SETS = ("a9a", "w8a", "connect-4", "ijcnn1")


def method_of(name: str, family: Family, setting: Setting, context: Context) -> FittedMethod:
    """A batch method with one penalty."""

    def fit(rows: Rows, labels: Labels) -> Floats:
        (weights,) = family([setting], rows, labels, context)
        assert weights is not None, "it always ends somewhere"
        return weights

    return weights_method(name, fit)


def square(setting: Setting, context: Context) -> FittedMethod:
    """Least squares."""
    return method_of("Uni-Squ", unweighted_square_family, setting, context)


def logistic(setting: Setting, context: Context) -> FittedMethod:
    """Logistic regression."""
    return method_of("Uni-Log", logistic_family(balanced=False), setting, context)


SQUARE = Column(
    "batch Uni-Squ, unweighted", OURS, (BENCHMARK,), square, COST, GRID, unweighted_square_family,
    most_rows=MOST_ROWS, sets=SQUARE_SETS, about=ABOUT,
)  # fmt: skip
LOGISTIC = Column(
    "batch Uni-Log, unweighted", OURS, (BENCHMARK,), logistic, UNI_LOG.cost, GRID, logistic_family(balanced=False),
    most_rows=MOST_ROWS, sets=LOGISTIC_SETS, about=ABOUT,
)  # fmt: skip
