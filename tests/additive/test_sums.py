"""The logistic likelihood as sums, against a few lines of NumPy."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.additive.sums import LabeledRows, LinearizedSums
from opauc.core.logistic import linearize
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from tests.problems import cuts, problem

seeds = st.integers(0, 2**32 - 1)


def literal(rows, labels, point, weight):
    """A = sum D z z^T and b = sum (D z.w + y p) z, one row after the other."""
    size = rows.shape[1]
    gram, rhs = np.zeros((size, size)), np.zeros(size)
    for row, label, factor in zip(rows, labels, weight, strict=True):
        sign, score = (1.0 if label else -1.0), float(row @ point)
        margin = sign * score
        error_probability = 1.0 / (1.0 + np.exp(margin))
        if margin >= 0:
            curvature = error_probability * (1.0 - error_probability)
        else:  # the secant of the gradient between the margin and zero
            curvature = (error_probability - 0.5) / -margin
        gram += factor * curvature * np.outer(row, row)
        rhs += factor * (curvature * score + sign * error_probability) * row
    return gram, rhs


def sums_of(seed, n_rows=40, n_features=4, density=1.0):
    rows, labels = problem(seed, n_rows, n_features)
    rng = np.random.default_rng(seed)
    rows[rng.random(rows.shape) > density] = 0.0
    return rows, labels, rng.normal(size=n_features), rng.uniform(0.1, 3.0, n_rows)


@given(seeds, st.sampled_from([0.1, 0.5, 1.0]), st.sampled_from([np.asarray, sparse.csr_array]))
def test_the_sums_are_those_of_the_formula(seed, density, form):
    rows, labels, point, weight = sums_of(seed, density=density)
    gram, rhs = literal(rows, labels, point, weight)
    found = LinearizedSums.at(point).update(form(rows), labels, weight)
    assert_allclose(found.full_gram(), gram, rtol=1e-10, atol=1e-10)
    assert_allclose(found.rhs, rhs, rtol=1e-10, atol=1e-10)
    assert not np.triu(found.gram, 1).any()


@given(seeds)
def test_sparse_products_and_blas_give_the_same(seed):
    rng = np.random.default_rng(seed)
    few = sparse.random(50, 80, density=0.03, rng=rng, format="csr", dtype=np.float64)
    rows, labels = sparse.csr_array(few), rng.integers(0, 2, 50).astype(np.int8)
    point = rng.normal(size=80)
    by_entries = LinearizedSums.at(point).update(rows, labels)
    gram, rhs = literal(rows.toarray(), labels, point, np.ones(50))
    assert_allclose(by_entries.full_gram(), gram, atol=1e-10)
    assert_allclose(by_entries.rhs, rhs, atol=1e-10)


def test_the_curvature_is_continuous_and_never_small_on_the_wrong_side():
    margins = np.linspace(-30, 30, 6001)
    curvature, residual = linearize(margins, np.ones(margins.size, np.int8))
    assert np.abs(np.diff(curvature)).max() < 0.01
    assert curvature[margins == 0] == 0.25
    wrong = margins < -1e-3
    assert_allclose(curvature[wrong], (residual[wrong] - 0.5) / -margins[wrong], rtol=1e-9)
    mirrored, away = linearize(-margins, np.zeros(margins.size, np.int8))
    assert_allclose(mirrored, curvature, rtol=1e-12)
    assert_allclose(away, -residual, rtol=1e-12)


@given(seeds, cuts(40))
def test_any_cut_and_any_merge_give_the_whole(seed, at):
    rows, labels, point, weight = sums_of(seed)
    whole = LinearizedSums.at(point).update(rows, labels, weight)
    merged = LinearizedSums.at(point)
    for part in np.split(np.arange(40), at):
        merged = merged.merge(LinearizedSums.at(point).update(rows[part], labels[part], weight[part]))
    for name, array in whole.to_arrays().items():
        assert_allclose(merged.to_arrays()[name], array, rtol=1e-10, atol=1e-10)


@given(seeds)
def test_subtract_undoes_merge(seed):
    rows, labels, point, weight = sums_of(seed)
    one = LinearizedSums.at(point).update(rows[:25], labels[:25], weight[:25])
    two = one.empty_copy().update(rows[25:], labels[25:], weight[25:])
    left = one.merge(two).subtract(two)
    for name, array in one.to_arrays().items():
        assert_allclose(left.to_arrays()[name], array, rtol=1e-9, atol=1e-9)
    assert one.subtract(one).counts == (0.0, 0.0)


def test_a_weight_of_two_is_the_row_twice():
    rows, labels, point, _ = sums_of(1)
    twice = LinearizedSums.at(point).update(np.repeat(rows, 2, axis=0), np.repeat(labels, 2))
    weighed = LinearizedSums.at(point).update(rows, labels, np.full(40, 2.0))
    for name, array in twice.to_arrays().items():
        assert_allclose(weighed.to_arrays()[name], array, rtol=1e-12)


def test_update_leaves_the_sums_it_was_given_as_they_were_and_arrays_are_copies():
    rows, labels, point, _ = sums_of(2)
    before = LinearizedSums.at(point).update(rows[:20], labels[:20])
    kept = before.to_arrays()
    before.update(rows, labels)
    again = LinearizedSums.from_arrays(kept)
    for name, array in before.to_arrays().items():
        assert_array_equal(array, kept[name])
        assert_array_equal(again.to_arrays()[name], array)
    kept["gram"][...] = 0.0
    assert before.gram.any()


def test_widen_adds_zero_features_and_restrict_keeps_the_others():
    rows, labels, point, _ = sums_of(3)
    wide = LinearizedSums.at(point).update(rows, labels).widen(6)
    known = LinearizedSums.at(np.pad(point, (0, 2))).update(np.pad(rows, ((0, 0), (0, 2))), labels)
    for name, array in known.to_arrays().items():
        assert_allclose(wide.to_arrays()[name], array, rtol=1e-12)
    swapped = known.restrict([3, 1])
    assert_allclose(swapped.full_gram(), known.full_gram()[np.ix_([3, 1], [3, 1])])
    assert_array_equal(swapped.rhs, known.rhs[[3, 1]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gram": np.full((4, 4), -1.0)}, "positive semi-definite"),
        ({"gram": np.tril(np.full((4, 4), 9.0)) + np.diag(np.full(4, -8.0))}, "positive semi-definite"),
        ({"rhs": np.zeros(3)}, r"rhs: expected float64 numbers of shape \(4,\)"),
        ({"rhs": np.full(4, np.nan)}, "finite"),
        ({"class_counts": np.array([-1.0, 2.0])}, "class_counts: expected numbers that are not negative"),
        ({"expansion_point": np.zeros(4, np.float32)}, "expansion_point: expected float64"),
    ],
)
def test_arrays_that_are_no_sums_of_rows_raise(change, message):
    rows, labels, point, _ = sums_of(4)
    arrays = LinearizedSums.at(point).update(rows, labels).to_arrays()
    with pytest.raises(IncompatibleMomentsError, match=message):
        LinearizedSums.from_arrays(arrays | change)
    with pytest.raises(IncompatibleMomentsError, match="expected arrays"):
        LinearizedSums.from_arrays({name: array for name, array in arrays.items() if name not in change})


def test_incompatible_sums_and_rows_raise():
    rows, labels, point, _ = sums_of(5)
    one = LinearizedSums.at(point).update(rows, labels)
    with pytest.raises(IncompatibleMomentsError, match="4 features and of 5"):
        one.merge(LinearizedSums.empty(5))
    with pytest.raises(IncompatibleMomentsError, match="different expansion points"):
        one.merge(LinearizedSums.empty(4))
    with pytest.raises(IncompatibleMomentsError, match="cannot take out"):
        one.subtract(one.merge(one))
    with pytest.raises(IncompatibleMomentsError, match="cannot take rows of 5"):
        one.update(np.ones((1, 5)), np.ones(1, np.int8))
    with pytest.raises(StatisticsOverflowError, match="overflow"), np.errstate(over="ignore", invalid="ignore"):
        one.update(np.full((1, 4), 1.7e308) * np.sign(one.expansion_point), np.ones(1, np.int8))


@given(seeds, cuts(40))
def test_batches_at_once_are_batches_one_by_one(seed, places):
    rows, labels, point, weight = sums_of(seed)
    parts = [(rows[at], labels[at], weight[at]) for at in np.split(np.arange(40), places)]
    one_by_one = LinearizedSums.at(point)
    for part in parts:
        one_by_one = one_by_one.update(*part)
    at_once = LinearizedSums.at(point).update_all(LabeledRows(*part) for part in parts)
    assert_allclose(at_once.gram, one_by_one.gram, rtol=1e-12, atol=1e-12)
    assert_allclose(at_once.rhs, one_by_one.rhs, rtol=1e-12, atol=1e-12)
    assert at_once.counts == one_by_one.counts


def test_an_error_in_a_later_batch_leaves_the_sums():
    rows, labels, point, weight = sums_of(0)
    sums = LinearizedSums.at(point).update(rows, labels, weight)
    before = sums.gram.copy()

    def parts():
        yield LabeledRows(rows, labels, weight)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sums.update_all(parts())
    assert_array_equal(sums.gram, before)


@given(seeds, st.integers(0, 12))
def test_sums_are_pickled_at_half_the_size(seed, n_rows):
    rows, labels, point, weight = sums_of(seed, n_features=40)
    sums = LinearizedSums.at(np.resize(point, 40)).update(rows[:n_rows], labels[:n_rows], weight[:n_rows])
    sent = pickle.dumps(sums, 5)
    for name, array in pickle.loads(sent).to_arrays().items():
        assert_array_equal(array, getattr(sums, name))
    assert len(sent) < (0.7 if n_rows else 0.2) * sums.gram.nbytes
