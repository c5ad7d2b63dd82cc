"""The cutting planes against minimizers that look at every pair."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.baselines.pairwise_hinge import MAX_IDLE_ROUNDS, PairwiseHinge, write_pair_counts
from opauc.errors import MissingEngineError, StatisticsOverflowError
from tests import literal
from tests.problems import problem, problems


@pytest.mark.parametrize("C", [1e-8, 1e-2, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("positives", [0.1, 0.5])
def test_the_objective_is_that_of_a_direct_minimization_over_all_pairs(C, positives):
    rows, labels = problem(3, 60, 5, positives=positives)
    found = PairwiseHinge(C=C, tol=1e-6).minimize(rows, labels)
    least = literal.hinge_minimum(rows, labels, C)
    assert_allclose(found.objective, literal.hinge_objective(found.weights, rows, labels, C), rtol=1e-10)
    # 2e-5 for the direct method, which stops there at the largest C.
    assert_allclose(found.objective, least, rtol=2e-5)
    assert found.bound <= found.objective <= found.bound * (1 + 1.1e-6)


@given(problems(), st.sampled_from([1e-3, 1.0, 1e2]))
def test_the_bound_lies_below_what_any_weights_reach_and_zero_weights_are_beaten(case, C):
    rows, labels = case
    found = PairwiseHinge(C=C / max(1.0, rows.var()), tol=1e-4).minimize(rows, labels)
    scale = C / max(1.0, rows.var())
    assert_allclose(found.objective, literal.hinge_objective(found.weights, rows, labels, scale), rtol=1e-6)
    assert found.objective <= scale * (1 + 1e-9)
    for factor in (0.0, 0.5, 0.99, 1.01, 2.0):
        assert found.bound <= literal.hinge_objective(factor * found.weights, rows, labels, scale) * (1 + 1e-6)


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2])
def test_the_gap_reaches_tol_and_bounds_the_true_gap(C):
    rows, labels = problem(5, 300, 20)
    exact = PairwiseHinge(C=C, tol=1e-7).minimize(rows, labels).objective
    for tol in (1e-1, 1e-3):
        solver = PairwiseHinge(C=C, tol=tol)
        found = solver.minimize(rows, labels)
        assert solver.gap(found.objective, found.bound) <= tol
        assert found.bound <= exact * (1 + 1e-9)
        assert found.objective <= exact * (1 + tol)


def test_a_gap_of_the_loss_is_a_share_of_the_largest_loss():
    rows, labels = problem(5, 300, 20)
    of_loss = PairwiseHinge(C=50.0, tol=1e-3, gap_of="loss")
    found = of_loss.minimize(rows, labels)
    assert found.objective - found.bound <= 1e-3 * 50.0
    assert found.n_iter < PairwiseHinge(C=50.0, tol=1e-3).minimize(rows, labels).n_iter


def test_separable_rows_with_a_huge_penalty_get_the_widest_margin():
    rows, labels = np.array([[0.0, 0.0], [-1.0, 5.0], [4.0, 0.0], [5.0, -3.0]]), np.array([0, 0, 1, 1], np.int8)
    found = PairwiseHinge(C=1e8, tol=1e-6).minimize(rows, labels)
    # The pair (4, 0) - (0, 0) alone decides.
    assert_allclose(found.weights, [0.25, 0.0], atol=1e-5)


def test_a_huge_penalty_on_rows_that_cannot_be_separated_converges():
    rows, labels = problem(8, 400, 8)
    found = PairwiseHinge(C=1e8).minimize(rows, labels)
    assert found.objective - found.bound <= 1e-3 * found.objective


def test_with_a_tiny_penalty_the_weights_are_that_many_mean_differences():
    rows, labels = problem(8, 400, 8)
    difference = rows[labels == 1].mean(0) - rows[labels == 0].mean(0)
    assert_allclose(PairwiseHinge(C=1e-8).minimize(rows, labels).weights, 1e-8 * difference, rtol=1e-9)


def test_constant_features_give_zero_weights_at_once():
    found = PairwiseHinge().minimize(np.full((6, 3), 7.0), np.array([0, 1, 0, 1, 1, 0], np.int8))
    assert not found.weights.any()
    assert found.objective == 1.0
    assert_allclose(found.bound, 1.0, rtol=1e-10)


def test_sparse_rows_give_the_weights_of_dense_ones():
    rows, labels = problem(1, 200, 30)
    rows[np.random.default_rng(1).random(rows.shape) < 0.8] = 0.0
    dense = PairwiseHinge(C=10.0, tol=1e-6).minimize(rows, labels)
    from_sparse = PairwiseHinge(C=10.0, tol=1e-6).minimize(sparse.csr_array(rows), labels)
    assert_allclose(from_sparse.weights, dense.weights, rtol=1e-5, atol=1e-8)


def test_a_translation_of_the_rows_changes_nothing():
    rows, labels = problem(2, 100, 4)
    here, there = (PairwiseHinge(C=5.0, tol=1e-8).minimize(rows + shift, labels) for shift in (0.0, 1e4))
    assert_allclose(there.objective, here.objective, rtol=1e-7)
    assert_allclose(there.weights, here.weights, atol=1e-4)


def test_swapping_the_classes_negates_the_weights():
    rows, labels = problem(2, 100, 4)
    one, other = (PairwiseHinge(C=5.0, tol=1e-8).minimize(rows, part) for part in (labels, 1 - labels))
    assert_allclose(other.weights, -one.weights, atol=1e-4)


def test_dropping_idle_planes_does_not_stop_convergence():
    """More rounds than an idle plane is kept for."""
    rows, labels = problem(4, 200, 30)
    solver = PairwiseHinge(C=300.0, tol=1e-5)
    found = solver.minimize(rows, labels)
    assert found.n_iter > 3 * MAX_IDLE_ROUNDS
    assert solver.gap(found.objective, found.bound) <= 1e-5


def test_rounds_are_limited_and_the_best_weights_so_far_returned():
    rows, labels = problem(4, 300, 60)
    objectives = [PairwiseHinge(C=1e3, max_iter=rounds).minimize(rows, labels).objective for rounds in (1, 2, 5, 20)]
    assert objectives == sorted(objectives, reverse=True)
    assert objectives[0] == 1e3
    assert PairwiseHinge(C=1e3, max_iter=20).minimize(rows, labels).n_iter == 20


def test_rows_whose_squares_overflow_raise():
    with pytest.raises(StatisticsOverflowError, match="scale the features down"):
        PairwiseHinge().minimize(np.array([[0.0], [1e200]]), np.array([0, 1], np.int8))


def test_without_the_quadratic_solver_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(
        MissingEngineError, match=r"clarabel is not installed; install opauc with its extra: opauc\[baselines\]"
    ):
        PairwiseHinge().minimize(np.array([[0.0], [1.0]]), np.array([0, 1], np.int8))


@pytest.mark.parametrize("Cs", [(0.01, 1.0, 100.0, 1e4), (1e4, 100.0, 1.0, 0.01)])
def test_every_minimum_of_a_path_is_as_near_to_the_best_as_one_found_alone(Cs):
    rows, labels = problem(0, 80, 4)
    path = list(PairwiseHinge(tol=1e-6).path(rows, labels, Cs))
    for C, found in zip(Cs, path, strict=True):
        alone = PairwiseHinge(C=C, tol=1e-6).minimize(rows, labels)
        assert found.objective == pytest.approx(alone.objective, rel=3e-6)
        assert found.bound <= alone.objective * (1 + 1e-12)
        assert_allclose(found.scores, rows @ found.weights, atol=1e-9)


def test_a_path_takes_fewer_planes_than_its_ends_alone():
    rows, labels = problem(0, 300, 8)
    Cs = [2.0**k for k in range(-4, 12)]
    alone = [PairwiseHinge(C=C).minimize(rows, labels).n_iter for C in Cs]
    assert sum(found.n_iter for found in PairwiseHinge().path(rows, labels, Cs)) < 0.7 * sum(alone)


def count_pairs(scores, labels):
    """Signed counts of all rows, by the kernel."""
    reach, out = scores + (labels == 0), np.full(scores.size, np.nan)
    orders = [np.flatnonzero(labels == k)[np.argsort(reach[labels == k])] for k in (1, 0)]
    write_pair_counts(reach, *orders, out)
    return out


def count_pairs_one_by_one(scores, labels):
    """Signed counts of all rows, one pair after the other."""
    out = np.zeros(scores.size)
    for i in np.flatnonzero(labels == 1):
        for j in np.flatnonzero(labels == 0):
            if scores[j] + 1 > scores[i]:
                out[i] -= 1
                out[j] += 1
    return out


@given(
    st.lists(st.tuples(st.integers(-4, 4), st.integers(0, 1)), min_size=1, max_size=40),
    st.sampled_from([0.5, 1.0, 1 / 3, 1e-9]),
)
def test_counts_are_those_of_every_pair_ties_and_margins_of_exactly_one_included(drawn, unit):
    scores, labels = np.array([s * unit for s, _ in drawn]), np.array([k for _, k in drawn])
    assert_array_equal(count_pairs(scores, labels), count_pairs_one_by_one(scores, labels))


@pytest.mark.parametrize(
    ("positive", "negative", "lacks"), [(1.0, 0.0, 0), (np.nextafter(1.0, 0.0), 0.0, 1), (0.0, 0.0, 1), (-1.0, 0.0, 1)]
)
def test_a_margin_of_one_is_enough_and_any_less_is_not(positive, negative, lacks):
    assert_array_equal(count_pairs(np.array([positive, negative]), np.array([1, 0])), [-lacks, lacks])


def test_the_order_of_equal_scores_does_not_matter():
    labels, reach = np.array([1, 1, 0, 0, 1]), np.array([2.0, 2.0, 2.0, 2.0, 1.0])
    for positive in ([4, 0, 1], [4, 1, 0]):
        for negative in ([2, 3], [3, 2]):
            out = np.empty(5)
            write_pair_counts(reach, np.array(positive), np.array(negative), out)
            assert_array_equal(out, count_pairs_one_by_one(reach - (labels == 0), labels))


def test_the_product_with_the_reach_is_the_hinge_summed_over_pairs():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=300), rng.integers(0, 2, size=300)
    lacking = np.maximum(0.0, 1.0 - (scores[labels == 1][:, None] - scores[labels == 0]))
    out = count_pairs(scores, labels)
    assert_allclose(out @ (scores + (labels == 0)), lacking.sum(), rtol=1e-12)
    assert out.sum() == 0.0
