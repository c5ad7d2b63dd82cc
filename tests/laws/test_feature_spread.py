"""How much features vary: whoever says it says the standard deviation within the classes, whatever the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from opauc.core.mergeable import Statistic
from opauc.core.registry import SOLVERS, STATISTICS
from tests.problems import problem

LEARNERS = SOLVERS
everyone = pytest.mark.parametrize("learner", [make() for make in LEARNERS.values()], ids=list(LEARNERS))
# Those from whose state the spread of a feature cannot be told.
SILENT = {"class_means", "oam", "solam", "spauc", "uni_exp", "uni_squ"}


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


def assert_spread(found, wanted):
    """A sketch of rank 50 estimates a variance to a fifth of it or so."""
    assert_allclose(found.deviations, wanted, rtol=0.5 if "sketch" in found.note else 1e-6, atol=1e-12)


@everyone
@pytest.mark.filterwarnings("ignore::opauc.errors.DivergenceWarning")
def test_the_spread_is_the_pooled_standard_deviation_of_the_rows_seen(learner):
    rows, labels, weight = case()
    found = learner.feature_spread(learner.step(learner.start(6), rows, labels, weight))
    if learner.name in SILENT:
        assert found is None
        return
    if found.note == "of rows at length one":
        rows = rows / np.linalg.norm(rows, axis=1)[:, None]
    assert_spread(found, pooled_deviation(rows, labels, weight))
    assert ("sketch" in found.note) == learner.name.startswith("sketched")


@everyone
def test_before_any_row_nothing_varies(learner):
    found = learner.feature_spread(learner.start(3))
    assert found is None or not found.deviations.any()


@pytest.mark.parametrize("kind", [kind for kind in STATISTICS.values() if issubclass(kind, Statistic)])
def test_every_statistic_says_the_same(kind):
    rows, labels, weight = case(1)
    found = kind.empty(6).update(rows, labels, weight).feature_spread()
    assert_spread(found, pooled_deviation(rows, labels, weight))


def test_the_estimate_of_a_sketch_has_the_right_mean():
    rows, labels, weight = case(2, 300)
    learner = LEARNERS["sketched_exact"]
    squares = [
        make.feature_spread(make.step(make.start(6), rows, labels, weight)).deviations ** 2
        for make in (learner(rank=20, random_state=seed) for seed in range(200))
    ]
    wanted = pooled_deviation(rows, labels, weight) ** 2
    assert_allclose(np.mean(squares, axis=0), wanted, rtol=0.08, atol=1e-24)


def test_a_sketch_without_columns_has_no_estimate():
    learner = LEARNERS["sketched_exact"](rank=0)
    rows, labels, _ = case(3, 50)
    assert learner.feature_spread(learner.step(learner.start(6), rows, labels)) is None
