"""Sums and effects of crossed codes, against the formula written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.additive.basis.crossed_codes import CrossedCode, CrossedCodes
from opauc.additive.crossed.sums import CrossedSums
from opauc.errors import IncompatibleMomentsError

SIZES = (8, 16)
CODES = CrossedCodes(tuple(CrossedCode((), size, 0.3 + size, 0.5, np.empty((0, 2))) for size in SIZES))
seeds = st.integers(0, 2**32 - 1)


def rows_of(seed, n_rows=60):
    rng = np.random.default_rng(seed)
    levels = np.column_stack([rng.integers(0, 8, (n_rows, 2)), 8 + rng.integers(0, 16, (n_rows, 2))])
    return levels, rng.normal(size=n_rows), rng.uniform(0.01, 0.25, n_rows)


@given(seeds)
def test_effects_are_shrunken_means_of_centered_residuals(seed):
    levels, residuals, curvature = rows_of(seed)
    effects = CrossedSums.empty(24).update(levels, residuals, curvature).effects(CODES)
    for code, of_code in zip(CODES.codes, (levels[:, :2], levels[:, 2:]), strict=True):
        mean = residuals.sum() / curvature.sum()
        for level in np.unique(of_code).tolist():
            count = (of_code == level).sum(axis=1)
            total = count @ (residuals - mean * curvature) / (count @ curvature + code.lambda_)
            assert_allclose(effects[level], code.factor * total, rtol=1e-9, atol=1e-12)


def test_levels_without_rows_have_no_effect():
    sums = CrossedSums.empty(24).update(np.array([[0, 1, 8, 9]]), np.array([0.5]), np.array([0.25]))
    effects = sums.update(np.array([[2, 3, 10, 11]]), np.array([-0.5]), np.array([0.25])).effects(CODES)
    assert_array_equal(np.flatnonzero(effects), [0, 1, 2, 3, 8, 9, 10, 11])


def test_rows_that_are_taken_out_leave_levels_of_zero():
    one, other = rows_of(0), rows_of(1)
    both = CrossedSums.empty(24).update(*one).update(*other)
    alone, rest = CrossedSums.empty(24).update(*one), both.subtract(CrossedSums.empty(24).update(*other))
    assert_allclose(rest.residuals, alone.residuals, atol=1e-12)
    nothing = rest.subtract(alone)
    assert not nothing.residuals.any()
    assert not nothing.curvature.any()


def test_updating_leaves_the_sums_before_as_they_were():
    sums = CrossedSums.empty(24)
    sums.update(*rows_of(0))
    assert not sums.residuals.any()


def test_files_have_the_levels_with_rows_only():
    sums = CrossedSums.empty(24).update(np.array([[0, 1, 8, 9]]), np.array([0.5]), np.array([0.25]))
    arrays = sums.to_arrays()
    assert arrays["levels"].tolist() == [0, 1, 8, 9]
    for name, array in (
        ("levels", np.array([0, 1, 8, 24])), ("levels", np.array([0, 8, 1, 9])),
        ("n_levels", np.array(2**40)), ("curvature", -arrays["curvature"]),
    ):  # fmt: skip
        with pytest.raises(IncompatibleMomentsError):
            CrossedSums.from_arrays(arrays | {name: array})
