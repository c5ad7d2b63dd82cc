import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.baselines.pairwise_hinge import write_pair_counts


def counted(scores, labels):
    """Signed counts of all rows, by the kernel."""
    reach, out = scores + (labels == 0), np.full(scores.size, np.nan)
    orders = [np.flatnonzero(labels == k)[np.argsort(reach[labels == k])] for k in (1, 0)]
    write_pair_counts(reach, *orders, out)
    return out


def literal(scores, labels):
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
    assert_array_equal(counted(scores, labels), literal(scores, labels))


@pytest.mark.parametrize(
    ("positive", "negative", "lacks"), [(1.0, 0.0, 0), (np.nextafter(1.0, 0.0), 0.0, 1), (0.0, 0.0, 1), (-1.0, 0.0, 1)]
)
def test_a_margin_of_one_is_enough_and_any_less_is_not(positive, negative, lacks):
    assert_array_equal(counted(np.array([positive, negative]), np.array([1, 0])), [-lacks, lacks])


def test_the_order_of_equal_scores_does_not_matter():
    labels, reach = np.array([1, 1, 0, 0, 1]), np.array([2.0, 2.0, 2.0, 2.0, 1.0])
    for positive in ([4, 0, 1], [4, 1, 0]):
        for negative in ([2, 3], [3, 2]):
            out = np.empty(5)
            write_pair_counts(reach, np.array(positive), np.array(negative), out)
            assert_array_equal(out, literal(reach - (labels == 0), labels))


def test_the_product_with_the_reach_is_the_hinge_summed_over_pairs():
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=300), rng.integers(0, 2, size=300)
    lacking = np.maximum(0.0, 1.0 - (scores[labels == 1][:, None] - scores[labels == 0]))
    out = counted(scores, labels)
    assert_allclose(out @ (scores + (labels == 0)), lacking.sum(), rtol=1e-12)
    assert out.sum() == 0.0
