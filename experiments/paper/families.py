"""Weights of many settings from the same rows, for less than each alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from experiments.paper.column import Context, Family, Setting
from opauc.baselines.pairwise_hinge import PairwiseHinge
from opauc.linear.exact import Exact
from opauc.linear.grid import GridSGD, GridSolver, State
from opauc.linear.kernels.panel_product import PANEL
from opauc.linear.moments.exact import ExactMoments
from opauc.linear.sketch_grid import SketchedGridSGD
from opauc.types import Floats, Labels, Rows

# Newton steps serve so few features better.
FEW_FEATURES = 150


def descent_family(average: bool) -> Family:
    """Algorithm 1 with constant steps, for all pairs of step size and penalty in one pass."""

    def learned(settings: Sequence[Setting], rows: Rows, labels: Labels, context: Context) -> Iterator[Floats | None]:  # noqa: ARG001
        return _of_grid(GridSGD(*_axes(settings), average), rows, labels)

    return learned


def sketch_family(rank: int) -> Family:
    """OPAUCr with constant steps, for all pairs of step size and penalty in one pass."""

    def learned(settings: Sequence[Setting], rows: Rows, labels: Labels, context: Context) -> Iterator[Floats | None]:
        return _of_grid(SketchedGridSGD(*_axes(settings), rank, context.trial), rows, labels)

    return learned


def _axes(settings: Sequence[Setting]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The step sizes and the penalties whose pairs, in the order of a grid, are the settings."""
    etas, alphas = (tuple(dict.fromkeys(setting[name] for setting in settings)) for name in ("eta0", "alpha"))
    if [(setting["eta0"], setting["alpha"]) for setting in settings] != list(product(etas, alphas)):
        raise ValueError("expected every pair of the step sizes and the penalties, those of the first step size first")
    return etas, alphas


def _of_grid(grid: GridSolver[State], rows: Rows, labels: Labels) -> Iterator[Floats | None]:
    """Yield the weights of each pair of a grid, None for those that diverged, with at most PANEL of them in memory."""
    state = grid.step(grid.start(rows.shape[1]), rows, labels)
    race = state.race
    positions = np.empty(race.order.size, np.intp)
    positions[race.order] = np.arange(positions.size)
    for start in range(0, positions.size, PANEL):
        panel = positions[start : start + PANEL]
        converged = panel < race.active[0]
        weights = iter(grid.columns(state, panel[converged]))
        yield from (next(weights) if is_converged else None for is_converged in converged.tolist())


def exact_family(factor: float = 1.0) -> Family:
    """The closed form for all penalties, each times `factor`, from one reduction of the statistics."""

    def learned(settings: Sequence[Setting], rows: Rows, labels: Labels, context: Context) -> Iterator[Floats | None]:  # noqa: ARG001
        learner = Exact()
        state = learner.step(learner.start(rows.shape[1]), rows, labels)
        yield from learner.path(state, [factor * setting["alpha"] for setting in settings])

    return learned


def hinge_family(unit: float, gap_of: str) -> Family:
    """The pairwise hinge loss for all penalties; C = unit / alpha."""

    def learned(settings: Sequence[Setting], rows: Rows, labels: Labels, context: Context) -> Iterator[Floats | None]:  # noqa: ARG001
        Cs = np.array([unit / setting["alpha"] for setting in settings])
        order = np.argsort(Cs)  # planes of a small C are a start for a larger one
        path = PairwiseHinge(gap_of=gap_of).path(rows, labels, Cs[order].tolist())
        by_place = dict(zip(order.tolist(), (found.weights for found in path), strict=True))
        yield from (by_place[place] for place in range(Cs.size))

    return learned


def unweighted_square_family(
    settings: Sequence[Setting],
    rows: Rows,
    labels: Labels,
    context: Context,  # noqa: ARG001
) -> Iterator[Floats | None]:
    """Least squares with an intercept in which every row weighs the same, for all penalties.

    The rows between the classes change the length of the weights only, so the
    covariances of the classes, each by its share of the rows, are enough.
    """
    negative, positive = (ExactMoments.of(rows[labels == label]) for label in (0, 1))
    share = positive.count / labels.size
    within = share * positive.covariance() + (1.0 - share) * negative.covariance()
    values, vectors = np.linalg.eigh(within)
    along = vectors.T @ (positive.mean - negative.mean)
    for setting in settings:
        yield vectors @ (along / (setting["alpha"] + np.maximum(values, 0.0)))


def logistic_family(balanced: bool = True) -> Family:
    """Logistic regression for all penalties, each starting where the one before ended.

    The objective is that of `UniLog`, or the same with every row of the same weight.
    """

    def learned(settings: Sequence[Setting], rows: Rows, labels: Labels, context: Context) -> Iterator[Floats | None]:  # noqa: ARG001
        solver = "newton-cholesky" if rows.shape[1] <= FEW_FEATURES else "lbfgs"
        weight = "balanced" if balanced else None
        model = LogisticRegression(solver=solver, warm_start=True, class_weight=weight, tol=1e-6, max_iter=1000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for setting in settings:
                model.set_params(C=1.0 / (setting["alpha"] * labels.size))
                yield np.array(model.fit(rows, labels).coef_[0])

    return learned
