"""Batch methods of the hinge loss over pairs: SVM-perf and SVM-OR, one optimizer with two scales of C."""

from experiments.methods import estimator_method
from experiments.paper.column import BATCH, BATCH_RIDGES, Column, Context, Cost, Setting
from experiments.paper.data_set import BENCHMARK, Shape
from experiments.paper.families import hinge_family
from experiments.paper.methods.square_loss import MOST_ROWS
from opauc.baselines import SVMOR, SVMPerf
from opauc.baselines.svm_perf import PERCENT
from opauc.metrics import FittedMethod

GRID = {"alpha": BATCH_RIDGES}


def row_cost(shape: Shape) -> float:
    """Microseconds a row: some thirty planes, each a few products with the row and a sort."""
    return 30.0 + 0.06 * shape.entries


def perf(setting: Setting, context: Context) -> FittedMethod:  # noqa: ARG001
    """SVM-perf with C = 1 / alpha on the percentage scale of its program."""
    return estimator_method("SVM-perf", SVMPerf(C=1.0 / setting["alpha"]))


def ordinal(setting: Setting, context: Context) -> FittedMethod:  # noqa: ARG001
    """SVM-OR with C = 1 / alpha."""
    return estimator_method("SVM-OR", SVMOR(C=1.0 / setting["alpha"]))


COST = Cost(row_cost, share=0.5)
PERF = Column(
    "SVM-perf", BATCH, (BENCHMARK,), perf, COST, GRID, hinge_family(PERCENT, "loss"), most_rows=MOST_ROWS,
    about="Joachims 2005: the hinge loss of all pairs by cutting planes",
)  # fmt: skip
ORDINAL = Column(
    "batch SVM-OR", BATCH, (BENCHMARK,), ordinal, COST, GRID, hinge_family(1.0, "objective"), most_rows=MOST_ROWS,
    about="Joachims 2006: the same loss with another scale of C and another rule for stopping",
)  # fmt: skip
