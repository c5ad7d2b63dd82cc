"""Online descent on a weighted loss of single rows: exponential and square."""

from experiments.paper.column import BOTH, ONLINE, STEPS, Column, Context, Cost, Setting
from experiments.paper.data_set import Shape
from opauc.learners.uni_exp import UniExp
from opauc.learners.uni_squ import UniSqu
from opauc.training.learner_method import LearnerMethod


def row_cost(shape: Shape) -> float:
    """Microseconds a row."""
    return 0.08 + 0.005 * shape.entries


def exponential(setting: Setting, context: Context) -> LearnerMethod:  # noqa: ARG001
    """Uni-Exp with one step size."""
    return LearnerMethod("Uni-Exp", UniExp(learning_rate="constant", average=False, **setting))


def square(setting: Setting, context: Context) -> LearnerMethod:  # noqa: ARG001
    """Uni-Squ with one step size."""
    return LearnerMethod("Uni-Squ", UniSqu(learning_rate="constant", average=False, **setting))


EXPONENTIAL = Column("online Uni-Exp", ONLINE, BOTH, exponential, Cost(row_cost), {"eta0": STEPS})
SQUARE = Column("online Uni-Squ", ONLINE, BOTH, square, Cost(row_cost), {"eta0": STEPS})
