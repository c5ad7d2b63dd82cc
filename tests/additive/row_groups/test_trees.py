"""Trees of rows in groups: what rows of a group have in common is no merit of a split."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from opauc.additive.basis.bins import ValueCodes
from opauc.additive.trees.grow import CodedRows, WithinGroups, grow_ensemble


def simulated(n_groups, size, seed=0):
    """Rows whose first number follows the base rate of their group, labels, and groups; the second one counts."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), size)
    level = rng.normal(size=n_groups)[groups]
    numbers = rng.normal(size=(groups.size, 2))
    numbers[:, 0] += 2.0 * level
    labels = (rng.random(groups.size) < 1.0 / (1.0 + np.exp(-2.0 * level - numbers[:, 1]))).astype(np.int8)
    return numbers, labels, groups


def test_the_residuals_of_a_group_add_up_to_nothing_and_groups_of_one_class_have_none():
    rng = np.random.default_rng(0)
    groups, labels = np.repeat([7, 3, 9], 50), np.r_[rng.integers(0, 2, 100), np.ones(50, int)].astype(np.int8)
    weight, scores = rng.uniform(0.5, 2.0, 150), rng.normal(size=150)
    objective = WithinGroups(CodedRows(np.zeros((150, 1), np.uint8), labels, weight), groups)
    for _ in range(8):  # a step of the levels at each tree
        gradient, curvature = objective(scores, None)
    sums = [gradient[groups == one].sum() for one in (7, 3, 9)]
    assert_allclose(sums, 0.0, atol=1e-2)
    assert not gradient[groups == 9].any()
    assert not curvature[groups == 9].any()
    assert (curvature[groups != 9] > 0.0).all()


@pytest.mark.parametrize(("n_groups", "size"), [(60, 100), (1500, 6)])
def test_trees_do_not_learn_the_base_rates_of_groups(n_groups, size):
    numbers, labels, groups = simulated(n_groups, size)
    held_out, theirs, _ = simulated(n_groups, size, seed=1)
    ones = np.ones(labels.size)
    codes = ValueCodes.of(numbers, labels, ones, np.zeros(2, bool))
    validation = CodedRows(codes.of_rows(held_out), theirs, ones)
    shares = []
    for places in (None, groups):
        rows = CodedRows(codes.of_rows(numbers), labels, ones, None, places)
        grown = grow_ensemble(codes, rows, validation)
        at = np.zeros((200, 2))
        slopes = []
        for j in range(2):
            along = at.copy()
            along[:, j] = np.linspace(-2.0, 2.0, 200)
            slopes.append(np.polyfit(along[:, j], grown.scores(along), 1)[0])
        shares.append(slopes[0] / slopes[1])
    assert shares[0] > 0.6
    assert abs(shares[1]) < 0.3
