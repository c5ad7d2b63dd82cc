"""The feature spread of solvers and statistics is the standard deviation within the classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from opauc.core.mergeable import Statistic
from opauc.core.registry import SOLVERS, STATISTICS
from tests.problems import problem
from tests.solvers import every_solver

EVERY_SOLVER = every_solver()
everyone = pytest.mark.parametrize("solver", list(EVERY_SOLVER.values()), ids=list(EVERY_SOLVER))
# Solvers whose state does not determine the spread of a feature.
WITHOUT_SPREAD = {"class_means", "fsauc", "oam", "solam", "spauc", "uni_exp", "uni_squ"}


def pooled_deviation(rows, labels, weight):
    squares = np.zeros(rows.shape[1])
    for k in (0, 1):
        mine, share = rows[labels == k], weight[labels == k]
        squares += share @ (mine - np.average(mine, axis=0, weights=share)) ** 2
    return np.sqrt(squares / weight.sum())


def case(seed=0, n_rows=1500):
    rows, labels = problem(seed, n_rows, 6, positives=0.2, offset=0.5)
    units = np.array([1e-6, 1.0, 1e5, 1.0, 0.0, 1.0])
    return rows * units, labels, np.random.default_rng(seed).uniform(0.5, 2.0, n_rows)


def assert_spread(spread, expected):
    """A sketch of rank 50 estimates a variance to a fifth of it or so."""
    assert_allclose(spread.deviations, expected, rtol=0.5 if "sketch" in spread.note else 1e-6, atol=1e-12)


@everyone
@pytest.mark.filterwarnings("ignore::opauc.errors.DivergenceWarning")
def test_the_spread_is_the_pooled_standard_deviation_of_the_training_rows(solver):
    rows, labels, weight = case()
    spread = solver.feature_spread(solver.step(solver.start(6), rows, labels, weight))
    if solver.name in WITHOUT_SPREAD:
        assert spread is None
        return
    if spread.note == "of rows at length one":
        rows = rows / np.linalg.norm(rows, axis=1)[:, None]
    assert_spread(spread, pooled_deviation(rows, labels, weight))
    assert ("sketch" in spread.note) == solver.name.startswith("sketched")


@everyone
def test_the_spread_of_no_rows_is_zero(solver):
    spread = solver.feature_spread(solver.start(3))
    assert spread is None or not spread.deviations.any()


@pytest.mark.parametrize("kind", [kind for kind in STATISTICS.values() if issubclass(kind, Statistic)])
def test_every_statistic_has_the_same_spread(kind):
    rows, labels, weight = case(1)
    spread = kind.empty(6).update(rows, labels, weight).feature_spread()
    assert_spread(spread, pooled_deviation(rows, labels, weight))


def test_the_estimate_of_a_sketch_has_the_right_mean():
    rows, labels, weight = case(2, 300)
    solver = SOLVERS["sketched_exact"]
    squares = [
        make.feature_spread(make.step(make.start(6), rows, labels, weight)).deviations ** 2
        for make in (solver(rank=20, random_state=seed) for seed in range(200))
    ]
    expected = pooled_deviation(rows, labels, weight) ** 2
    assert_allclose(np.mean(squares, axis=0), expected, rtol=0.08, atol=1e-24)


def test_a_sketch_without_columns_has_no_estimate():
    solver = SOLVERS["sketched_exact"](rank=0)
    rows, labels, _ = case(3, 50)
    assert solver.feature_spread(solver.step(solver.start(6), rows, labels)) is None
