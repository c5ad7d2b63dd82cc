"""Batch methods of the square loss, LS-SVM over pairs and Uni-Squ over rows: from 8,000 rows as printed, or all."""

from experiments.methods import estimator_method
from experiments.paper.column import BATCH, BATCH_RIDGES, OURS, Column, Context, Cost, Setting
from experiments.paper.data_set import BENCHMARK
from experiments.paper.families import exact_family
from experiments.paper.methods.exact import fit_cost, row_cost
from opauc.baselines import LSSVM, BatchUniSqu
from opauc.metrics import FittedMethod

MOST_ROWS = 8000
GRID = {"alpha": BATCH_RIDGES}
COST = Cost(lambda shape: 3.0 * row_cost(shape), fit_cost, share=0.1, passes=0.4)


def pairs(setting: Setting, context: Context) -> FittedMethod:  # noqa: ARG001
    """LS-SVM with one penalty."""
    return estimator_method("LS-SVM", LSSVM(**setting))


def rows(setting: Setting, context: Context) -> FittedMethod:  # noqa: ARG001
    """Uni-Squ with one penalty: chosen by the closed form at twice its penalty, which ranks alike; fitted by Ridge."""
    return estimator_method("Uni-Squ", BatchUniSqu(**setting))


PAIRS = Column(
    "batch LS-SVM", BATCH, (BENCHMARK,), pairs, COST, GRID, exact_family(), most_rows=MOST_ROWS,
    about="the square loss of all pairs, minimized",
)  # fmt: skip
ROWS = Column(
    "batch Uni-Squ", BATCH, (BENCHMARK,), rows, COST, GRID, exact_family(2.0), most_rows=MOST_ROWS,
    about="the square loss of single rows, both classes of the same weight, minimized",
)  # fmt: skip
ALL_PAIRS = Column(
    "LS-SVM, all rows", OURS, (BENCHMARK,), pairs, COST, GRID, exact_family(), about="the batch method given every row"
)
ALL_ROWS = Column(
    "Uni-Squ, all rows", OURS, (BENCHMARK,), rows, COST, GRID, exact_family(2.0),
    about="the batch method given every row",
)  # fmt: skip
