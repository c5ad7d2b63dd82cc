"""The difference of the class means, and the statistics behind it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from opauc.baselines.mean_difference import MeanDifferenceSolver
from opauc.errors import IncompatibleMomentsError, UnsupportedOperationError
from opauc.linear.moments.features import FeatureMoments
from tests.problems import problem


def test_rows_are_forgotten_and_shards_merge():
    rows, labels = problem(0, 60, 3)
    solver = MeanDifferenceSolver()
    one, two = (solver.step(solver.start(3), rows[part], labels[part]) for part in (slice(0, 40), slice(40, 60)))
    whole = solver.merge(one, two)
    assert_allclose(solver.weights(whole), rows[labels == 1].mean(0) - rows[labels == 0].mean(0))
    assert_allclose(solver.weights(solver.forget(whole, rows[40:], labels[40:])), solver.weights(one), rtol=1e-9)
    with pytest.raises(UnsupportedOperationError, match="MeanDifferenceSolver has no penalty"):
        solver.path(whole, [1.0])


def test_scatters_are_the_diagonals_of_the_class_scatters():
    rows, labels = problem(1, 60, 3, offset=5.0)
    weight = np.random.default_rng(0).random(60)
    moments = FeatureMoments.of(rows, labels, weight)
    for k in (0, 1):
        mine, w = rows[labels == k], weight[labels == k]
        mean = np.average(mine, axis=0, weights=w)
        assert_allclose(moments.means[k], mean)
        assert_allclose(moments.scatters[k], w @ (mine - mean) ** 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": [-1.0, 0.0]}, "counts: expected numbers that are not negative"),
        ({"scatters": [[-1.0], [0.0]]}, "scatters: expected numbers that are not negative"),
        ({"counts": [1.0]}, r"counts: expected float64 numbers of shape \(2,\)"),
        ({"means": [[np.nan], [0.0]]}, "means: expected finite numbers"),
        ({"means": [[1.0], [2.0]]}, "must be zero when counts are"),
        ({"means": "nonsense"}, "means: expected float64 numbers"),
    ],
)
def test_invalid_statistics_raise(change, message):
    arrays = {"counts": [2.0, 0.0], "means": [[1.0], [0.0]], "scatters": [[1.0], [0.0]]}
    assert_array_equal(FeatureMoments.from_arrays(arrays).totals, [2.0, 0.0])
    with pytest.raises(IncompatibleMomentsError, match=message):
        FeatureMoments.from_arrays(arrays | change)


def test_rows_that_were_never_seen_cannot_be_subtracted():
    rows, labels = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]), np.zeros(3, np.int8)
    seen = FeatureMoments.of(rows, labels)
    with pytest.raises(IncompatibleMomentsError, match="weight 4: only 3 were seen"):
        seen.subtract(FeatureMoments.of(rows[[0, 0, 1, 2]], labels[[0, 0, 1, 2]]))
    with pytest.raises(IncompatibleMomentsError, match="never seen: feature 1"):
        seen.subtract(FeatureMoments.of(np.array([[0.0, 9.0]]), labels[:1]))
