"""Bin counts: sums that merge, and the drift that they show."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from opauc import OnePassGAM
from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
from opauc.additive.drift import BinCounts, FeatureDrift
from opauc.errors import IncompatibleMomentsError

GROUPS = ColumnGroups.of(
    [Group(GroupKind.INTERCEPT, 0, 1), Group(GroupKind.CATEGORICAL, 1, 4), Group(GroupKind.BINARY, 5, 1)]
)


def sample(rng, n_rows, shares, binary):
    levels = np.eye(4)[rng.choice(4, n_rows, p=shares)]
    return csr_array(np.column_stack([np.ones(n_rows), levels, rng.random(n_rows) < binary]))


@pytest.mark.parametrize("n_rows", [600, 20_000])
def test_rows_of_one_distribution_do_not_drift_and_others_do(n_rows):
    rng = np.random.default_rng(0)
    even = [0.25] * 4
    for _ in range(20):
        counts = BinCounts.of(sample(rng, n_rows, even, 0.3))
        assert counts.update(sample(rng, n_rows, even, 0.3)).find_drift(GROUPS) == []
    levels = counts.update(sample(rng, n_rows, [0.7, 0.1, 0.1, 0.1], 0.3)).find_drift(GROUPS)
    assert [drift.group for drift in levels] == [1]
    binary = counts.update(sample(rng, n_rows, even, 0.8)).find_drift(GROUPS)
    assert [drift.group for drift in binary] == [2]


def test_bin_counts_merge_and_subtract():
    rng = np.random.default_rng(1)
    counts, more = BinCounts.of(sample(rng, 50, [0.25] * 4, 0.5)), sample(rng, 80, [0.4, 0.3, 0.2, 0.1], 0.5)
    whole = counts.update(more)
    parts = counts.update(more[:30]).merge(counts.update(more[30:]))
    assert_allclose(parts.later, whole.later)
    assert_allclose(whole.subtract(counts.update(more[30:])).later, counts.update(more[:30]).later)
    assert_array_equal(BinCounts.from_arrays(whole.to_arrays()).later, whole.later)


def test_bin_counts_of_different_bases_and_invalid_arrays_raise():
    rows = sample(np.random.default_rng(2), 500, [0.25] * 4, 0.5)
    with pytest.raises(IncompatibleMomentsError, match="different bases"):
        BinCounts.of(rows).merge(BinCounts.of(rows[:10]))
    with pytest.raises(IncompatibleMomentsError, match=r"later: expected float64 numbers of shape \(3,\)"):
        BinCounts.from_arrays({"first": np.zeros(3), "later": np.zeros(2)})


@pytest.mark.parametrize(("shift", "advice"), [(5.0, "drop the column"), (-5.0, "drop the column"), (0.8, "shuffle")])
def test_the_warning_says_what_to_do_about_values_that_move_on_and_about_others(shift, advice):
    random = np.random.default_rng(0)
    rows = random.normal(size=(4000, 2))
    labels = (rows[:, 1] + random.logistic(size=4000) > 0).astype(int)
    rows[2000:, 0] += shift
    model = OnePassGAM(init_size=2000).partial_fit(rows[:2000], labels[:2000])
    with pytest.warns(FeatureDrift, match=rf"x0: later rows do not look like those of the basis .*{advice}"):
        model.partial_fit(rows[2000:], labels[2000:])
    assert [drift.moves_on for drift in model.drift_] == [abs(shift) == 5.0]
