"""Shapes as inequalities, against scores at many values of all inputs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.main_effects import main_effects
from opauc.additive.basis.pair_columns import Candidates, PairRoom, add_pairs
from opauc.additive.constraints.shape_rows import SHAPES, breakpoints, shape_rows

# A curve, a category, two values, a curve of few values.
CATEGORICAL = np.array([False, True, False, False])


@pytest.fixture(scope="module")
def basis():
    rng = np.random.default_rng(0)
    rows = np.column_stack(
        [rng.normal(size=3000), rng.integers(0, 5, 3000), rng.integers(0, 2, 3000), rng.integers(0, 6, 3000)]
    ).astype(float)
    rows[rng.random(rows.shape) < 0.05] = np.nan
    mass = np.ones(3000) / 3000
    effects = main_effects(rows, mass, np.ones(3000), CATEGORICAL, n_knots=12)
    pairs = np.array([[0, 1], [0, 2], [0, 3], [2, 3], [1, 2]])
    candidates = Candidates(pairs, np.ones(5, bool), np.arange(5.0)[::-1], np.full(4, 6))
    return add_pairs(Basis.of_effects(effects), effects, rows, mass, candidates, PairRoom(400, 5))


def test_the_basis_has_all_pairs(basis):
    assert len(basis.tables.pairs) == 5


def nodes(basis, j):
    """Values of an input at which its functions change, and missing."""
    if CATEGORICAL[j]:
        return np.array([-1.0, *range(7), np.nan])
    return np.append(breakpoints(basis, j), np.nan)


def smallest(basis, weights, j, shape):
    """Return the smallest slope or bend of the score between neighboring breakpoints, over all values of the others."""
    points, others = breakpoints(basis, j), [k for k in range(4) if k != j]
    grid = np.array(np.meshgrid(*(nodes(basis, k) for k in others), indexing="ij")).reshape(3, -1).T
    rows = np.full((grid.shape[0], 4), np.nan)
    rows[:, others] = grid
    scores = []
    for point in points:
        rows[:, j] = point
        scores.append(basis.rows(rows) @ weights)
    changes = np.diff(np.array(scores), axis=0)
    if shape in ("convex", "concave"):
        slopes, lengths = changes / np.diff(points)[:, None], np.diff(points)
        changes = np.diff(slopes, axis=0) * np.minimum(lengths[1:], lengths[:-1])[:, None]
    return (changes if shape in ("increasing", "convex") else -changes).min(axis=1)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("j", [0, 2, 3])
def test_the_smallest_value_is_that_over_all_values_of_the_other_inputs(basis, j, shape):
    weights = np.random.default_rng(1).normal(size=basis.n_columns)
    rows = shape_rows(basis, j, shape)
    lowest = rows.lowest(weights)
    assert_allclose(lowest.values, smallest(basis, weights, j, shape), atol=1e-9)
    cuts = rows.at(np.arange(lowest.values.size), lowest.choices)
    assert_allclose(cuts @ weights, lowest.values, atol=1e-12)


def test_a_category_has_no_shape(basis):
    assert shape_rows(basis, 1, "increasing").base.shape == (0, basis.n_columns)
    assert shape_rows(basis, 1, "convex").base.shape == (0, basis.n_columns)
