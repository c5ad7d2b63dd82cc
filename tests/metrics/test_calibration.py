"""Calibration bins: they merge and subtract, match the definitions over rows, and resolve rare events."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest

from opauc.errors import IncompatibleMomentsError
from opauc.metrics.calibration import EDGES, N_BINS, CalibrationBins


def rows_of(seed, n_rows=300, power=1.0):
    rng = np.random.default_rng(seed)
    probabilities = rng.random(n_rows) ** power
    return rng.random(n_rows) < probabilities, probabilities


def literal_groups(probabilities, n_bins):
    """Rows of each bin: distinct probabilities in order, each in the bin where the middle of its rows lies."""
    groups = {}
    for value in np.unique(probabilities):
        here, before = np.sum(probabilities == value), np.sum(probabilities < value)
        group = int(n_bins * (before + here / 2) / probabilities.size)
        groups.setdefault(group, []).extend(np.flatnonzero(probabilities == value))
    return list(groups.values())


@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(0, 300), max_size=4))
def test_bins_do_not_depend_on_the_batches(seed, cuts):
    labels, probabilities = rows_of(seed)
    whole, merged = CalibrationBins.of(labels, probabilities), CalibrationBins.empty()
    for part in np.split(np.arange(300), sorted(cuts)):
        merged = merged.update(labels[part], probabilities[part])
    assert_array_equal(merged.counts, whole.counts)
    assert_array_equal(merged.positives, whole.positives)
    # Sums of at most 300 numbers below one.
    assert_allclose(merged.probability_sums, whole.probability_sums, rtol=1e-13)
    assert merged.squared_error == pytest.approx(whole.squared_error, rel=1e-13)


@given(seed=st.integers(0, 2**32 - 1), power=st.sampled_from([0.3, 1.0, 4.0]))
def test_brier_score_is_the_mean_squared_error_of_the_rows(seed, power):
    labels, probabilities = rows_of(seed, power=power)
    literal = sum((probability - label) ** 2 for probability, label in zip(probabilities, labels, strict=True)) / 300
    assert CalibrationBins.of(labels, probabilities).brier_score() == pytest.approx(literal, rel=1e-12)


@given(seed=st.integers(0, 2**32 - 1), n_values=st.integers(1, 60), n_bins=st.integers(1, 15))
def test_reliability_is_that_of_the_rows_where_no_two_probabilities_share_a_fine_bin(seed, n_values, n_bins):
    rng = np.random.default_rng(seed)
    fine = rng.choice(N_BINS, n_values, replace=False)
    values = EDGES[fine] + 0.5 * (EDGES[fine + 1] - EDGES[fine])
    probabilities = rng.choice(values, 300)
    labels = rng.random(300) < probabilities
    bins, groups = CalibrationBins.of(labels, probabilities), literal_groups(probabilities, n_bins)
    curve = bins.reliability(n_bins)
    assert_array_equal(curve.counts, [len(rows) for rows in groups])
    assert_allclose(curve.predicted, [probabilities[rows].mean() for rows in groups], rtol=1e-12)
    assert_allclose(curve.observed, [labels[rows].mean() for rows in groups], rtol=1e-12)
    error = sum(len(rows) * abs(probabilities[rows].mean() - labels[rows].mean()) for rows in groups) / 300
    assert bins.expected_error(n_bins) == pytest.approx(error, rel=1e-9, abs=1e-14)


def test_limits_are_those_of_wilson():
    labels, probabilities = rows_of(1, power=3.0)
    curve = CalibrationBins.of(labels, probabilities).reliability()
    for share, count, low, high in zip(curve.observed, curve.counts, curve.low, curve.high, strict=True):
        limits = binomtest(round(share * count), count).proportion_ci(method="wilson")
        assert (low, high) == (pytest.approx(limits.low, abs=1e-12), pytest.approx(limits.high, abs=1e-12))


@pytest.mark.parametrize("scale", [1.0, 1e-2, 1e-5])
def test_bins_hold_a_tenth_of_the_rows_each_also_where_positives_are_rare(scale):
    probabilities = scale * np.random.default_rng(2).random(100_000)
    curve = CalibrationBins.of(np.zeros(100_000, bool), probabilities).reliability()
    assert curve.counts.size == 10
    # A fine bin spans at most 1.6 % of the scale: that much may be put into the next bin at either end.
    assert np.all(np.abs(curve.counts - 10_000) < 2000)
    assert np.all(np.diff(curve.predicted) > 0)


def test_the_expected_error_is_that_of_the_probabilities():
    labels, probabilities = rows_of(3, n_rows=100_000)
    # Ten bins of 10,000 rows: an observed share has a standard error of at most 0.005.
    assert CalibrationBins.of(labels, probabilities).expected_error() < 0.01
    # The mean of |0.2 - p / 2| for p even over [0, 1].
    assert CalibrationBins.of(labels, 0.2 + 0.5 * probabilities).expected_error() == pytest.approx(0.13, abs=0.01)


def test_the_ends_of_the_scale_and_every_edge_have_a_bin():
    ends = CalibrationBins.of([0, 1], [0.0, 1.0])
    assert (ends.counts[0], ends.counts[-1], ends.brier_score()) == (1, 1, 0.0)
    counts = CalibrationBins.of(np.zeros(EDGES.size), EDGES).counts
    assert_array_equal(counts, [1] * (N_BINS - 1) + [2])
    curve = CalibrationBins.of([0] * 40 + [1] * 40, [0.0] * 40 + [1.0] * 40).reliability()
    assert curve.low[0] == 0.0
    assert curve.high[-1] == 1.0


@given(seed=st.integers(0, 2**32 - 1), cut=st.integers(0, 300))
def test_subtracting_rows_leaves_the_bins_of_the_others(seed, cut):
    labels, probabilities = rows_of(seed)
    whole, first = CalibrationBins.of(labels, probabilities), CalibrationBins.of(labels[:cut], probabilities[:cut])
    rest, expected = whole.subtract(first), CalibrationBins.of(labels[cut:], probabilities[cut:])
    assert_array_equal(rest.counts, expected.counts)
    assert_array_equal(rest.positives, expected.positives)
    # Sums of at most 300 numbers below one, and one subtraction.
    assert_allclose(rest.probability_sums, expected.probability_sums, atol=1e-12)
    assert rest.squared_error == pytest.approx(expected.squared_error, abs=1e-12)
    assert CalibrationBins.from_arrays(rest.to_arrays()).n_rows == 300 - cut
    assert whole.empty_copy().merge(rest).n_rows == 300 - cut


def test_subtracting_rows_that_were_never_added_raises_an_error():
    bins = CalibrationBins.of([0, 1], [0.2, 0.8])
    for other in (CalibrationBins.of([1], [0.2]), CalibrationBins.of([0], [0.8]), CalibrationBins.of([0], [0.5])):
        with pytest.raises(IncompatibleMomentsError, match="never added"):
            bins.subtract(other)


def test_no_rows_have_no_score():
    empty = CalibrationBins.empty()
    assert np.isnan([empty.brier_score(), empty.expected_error()]).all()
    assert empty.reliability().counts.size == 0
    assert empty.merge(CalibrationBins.of([1], [0.5])).brier_score() == 0.25


def test_arrays_round_trip():
    bins = CalibrationBins.of(*rows_of(4))
    arrays = bins.to_arrays()
    back = CalibrationBins.from_arrays(arrays)
    for key, part in arrays.items():
        assert_array_equal(back.to_arrays()[key], part)
        part[...] = 0
    assert back.n_rows == bins.n_rows == 300


@pytest.mark.parametrize(
    ("key", "change", "message"),
    [
        ("counts", lambda part: part[:-1], r"counts: expected int64 numbers of shape \(2000,\)"),
        ("counts", lambda part: part.astype(float), "counts: expected int64 numbers"),
        ("counts", lambda part: part * 0, "between 0 and the counts"),
        ("positives", lambda part: part - 1, "positives: expected numbers that are not negative"),
        ("probability_sums", lambda part: part + 0.01, "within their bins"),
        ("probability_sums", lambda part: part * np.nan, "probability_sums: expected finite numbers"),
        ("squared_error", lambda part: part + 1000, "between 0 and the 300 rows"),
        ("squared_error", lambda part: part * np.nan, "squared_error: expected finite numbers"),
        ("squared_error", lambda _: "nonsense", "squared_error: expected float64 numbers"),
    ],
)
def test_invalid_arrays_raise_an_error(key, change, message):
    arrays = CalibrationBins.of(*rows_of(5)).to_arrays()
    with pytest.raises(IncompatibleMomentsError, match=message):
        CalibrationBins.from_arrays(arrays | {key: change(arrays[key])})
    with pytest.raises(IncompatibleMomentsError, match="expected arrays counts, positives"):
        CalibrationBins.from_arrays({})


def test_values_that_are_no_probabilities_raise_an_error_with_their_row():
    with pytest.raises(ValueError, match=r"between 0 and 1, got 1\.5 at row 1"):
        CalibrationBins.of([0, 1], [0.5, 1.5])
    with pytest.raises(ValueError, match="NaN at row 0"):
        CalibrationBins.of([0, 1], [np.nan, 0.5])
    with pytest.raises(ValueError, match="n_bins must be at least 1, got 0"):
        CalibrationBins.empty().reliability(0)
