"""OPAUC: Algorithm 1 with constant steps, its last iterate as the paper has it, and the mean of its iterates."""

from experiments.paper.column import ONLINE, OURS, RIDGES, STEPS, STUDY, Column, Context, Cost, Setting
from experiments.paper.data_set import BENCHMARK, Shape
from experiments.paper.families import descent_family
from experiments.paper.traces import convergence, influence
from opauc.api.methods import SolverMethod
from opauc.linear.sgd import SGD

GRID = {"eta0": STEPS, "alpha": RIDGES}
SMALL_STEPS = tuple(2.0**k for k in range(-12, -3))
SMALLER_RIDGES = tuple(2.0**k for k in range(-20, -9, 2))
# The sets on which most choices of OPAUC are the smallest λ of the paper's grid, but for mnist, which would take as
# long as half of them together; the smallest step is chosen there, too.
AT_THE_EDGE = (
    "magic04", "a9a", "connect-4", "ijcnn1", "covtype", "usps", "letter", "digits", "nomao", "rialto", "kddcup04_bio",
)  # fmt: skip


def row_cost(shape: Shape) -> float:
    """Microseconds a row of one pass alone."""
    return 0.15 + 0.0032 * shape.n_features + 0.0001 * shape.n_features**2


def method(setting: Setting, average: bool) -> SolverMethod:
    """Algorithm 1 with one step size and one penalty."""
    return SolverMethod("OPAUC", SGD(learning_rate="constant", average=average, **setting))


def last(setting: Setting, context: Context) -> SolverMethod:  # noqa: ARG001
    """The last iterate."""
    return method(setting, average=False)


def averaged(setting: Setting, context: Context) -> SolverMethod:  # noqa: ARG001
    """The mean of the iterates."""
    return method(setting, average=True)


LAST = Column(
    "OPAUC",
    ONLINE,
    (BENCHMARK,),
    last,
    Cost(row_cost, share=0.35, passes=0.5),
    GRID,
    descent_family(average=False),
    trace=convergence(last),
    worth=2.5,
    about="the paper's Algorithm 1: one step a row down the square loss of its pairs, from means and covariances",
)
AVERAGED = Column(
    "OPAUC averaged", OURS, (BENCHMARK,), averaged, Cost(row_cost, share=0.4, passes=0.5), GRID,
    descent_family(average=True), about="the mean of Algorithm 1's iterates",
)  # fmt: skip
SMALLER = Column(
    "OPAUC, smaller λ", OURS, (BENCHMARK,), last, Cost(row_cost, share=0.35, passes=0.9),
    {"eta0": SMALL_STEPS, "alpha": SMALLER_RIDGES}, descent_family(average=False), worth=2.5, sets=AT_THE_EDGE,
    about="λ from 2^-20 to 2^-10 and η up to 2^-4, where OPAUC's choice is the smallest λ of the paper's grid",
)  # fmt: skip
INFLUENCE = Column(
    "influence of η and λ", STUDY, (BENCHMARK,), last, Cost(lambda shape: 50.0 * row_cost(shape)), most_rows=8000,
    trace=influence(GRID, descent_family(average=False)), about="every pair of the grid, one pass over 8,000 rows",
)  # fmt: skip
