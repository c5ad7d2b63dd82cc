"""The exact minimizer of the paper's objective, from one pass."""

from experiments.paper.column import OURS, RIDGES, Column, Context, Cost, Setting
from experiments.paper.data_set import BENCHMARK, Shape
from experiments.paper.families import exact_family
from opauc.api.methods import SolverMethod
from opauc.linear.exact import Exact

# Wider than the paper's grid on both sides: penalties cost next to nothing here.
GRID = {"alpha": tuple(2.0**k for k in range(-20, 11))}


def row_cost(shape: Shape) -> float:
    """Microseconds a row."""
    return 0.1 + 0.004 * shape.n_features + 0.00002 * shape.n_features**2


def fit_cost(shape: Shape) -> float:
    """Microseconds of solving for one penalty."""
    return 200.0 + 1e-4 * shape.n_features**3


def exact(setting: Setting, context: Context) -> SolverMethod:  # noqa: ARG001
    """The closed form with one penalty."""
    return SolverMethod("exact", Exact(**setting))


EXACT = Column(
    "exact", OURS, (BENCHMARK,), exact, Cost(row_cost, fit_cost, share=0.1, passes=0.4), GRID, exact_family(),
    about="OPAUC(solver=\"exact\"): the closed form of the paper's objective from one pass; λ from 2^-20 to 2^10",
)  # fmt: skip
SAME_GRID = Column(
    "exact, paper's λ", OURS, (BENCHMARK,), exact, Cost(row_cost, fit_cost, share=0.1, passes=0.4), {"alpha": RIDGES},
    exact_family(), about="the same, λ from 2^-10 to 2^2 as OPAUC has it",
)  # fmt: skip
