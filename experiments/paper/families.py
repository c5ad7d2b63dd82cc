"""Weights of many settings from the same rows, for less than each alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from experiments.paper.column import Family, Setting
from opauc.learners.descent_grid import DescentGrid
from opauc.learners.exact import Exact
from opauc.learners.pairwise_hinge import PairwiseHinge
from opauc.rows import Floats, Labels, Rows

# Newton steps serve so few features better.
FEW_FEATURES = 150


def descent_family(average: bool) -> Family:
    """Algorithm 1 with constant steps, for all pairs of step size and penalty in one pass."""

    def learnt(settings: Sequence[Setting], rows: Rows, labels: Labels) -> Iterator[Floats | None]:
        etas = tuple(dict.fromkeys(setting["eta0"] for setting in settings))
        alphas = tuple(dict.fromkeys(setting["alpha"] for setting in settings))
        grid = DescentGrid(etas, alphas, average)
        found = grid.candidates(grid.step(grid.start(rows.shape[1]), rows, labels))
        pairs = zip(found.etas.tolist(), found.alphas.tolist(), strict=True)
        by_pair = dict(zip(pairs, range(len(settings)), strict=True))
        for setting in settings:
            pair = by_pair[setting["eta0"], setting["alpha"]]
            yield None if found.diverged[pair] else found.weights[pair]

    return learnt


def exact_family(factor: float = 1.0) -> Family:
    """The closed form for all penalties, each times `factor`, from one reduction of the statistics."""

    def learnt(settings: Sequence[Setting], rows: Rows, labels: Labels) -> Iterator[Floats | None]:
        learner = Exact()
        state = learner.step(learner.start(rows.shape[1]), rows, labels)
        yield from learner.path(state, [factor * setting["alpha"] for setting in settings])

    return learnt


def hinge_family(unit: float, gap_of: str) -> Family:
    """The pairwise hinge loss for all penalties; C = unit / alpha."""

    def learnt(settings: Sequence[Setting], rows: Rows, labels: Labels) -> Iterator[Floats | None]:
        Cs = np.array([unit / setting["alpha"] for setting in settings])
        order = np.argsort(Cs)  # planes of a small C are a start for a larger one
        path = PairwiseHinge(gap_of=gap_of).path(rows, labels, Cs[order].tolist())
        by_place = dict(zip(order.tolist(), (found.weights for found in path), strict=True))
        yield from (by_place[place] for place in range(Cs.size))

    return learnt


def logistic_family(settings: Sequence[Setting], rows: Rows, labels: Labels) -> Iterator[Floats | None]:
    """Class-balanced logistic regression for all penalties, each starting where the one before ended.

    The objective is that of `UniLog`.
    """
    solver = "newton-cholesky" if rows.shape[1] <= FEW_FEATURES else "lbfgs"
    model = LogisticRegression(solver=solver, warm_start=True, class_weight="balanced", tol=1e-6, max_iter=1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for setting in settings:
            model.set_params(C=1.0 / (setting["alpha"] * labels.size))
            yield np.array(model.fit(rows, labels).coef_[0])
