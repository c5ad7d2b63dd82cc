"""The exact AUC against all pairs, scikit-learn and the golden file; the curves against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn import metrics

from opauc.metrics import exact_auc, precision_recall_curve, roc_curve

SCORED = st.lists(st.tuples(st.booleans(), st.sampled_from([-np.inf, -1e300, -1.0, -0.0, 0.0, 0.5, 2.0, np.inf])))


def both_classes(rows):
    return np.array([*(row[0] for row in rows), False, True]), np.array([*(row[1] for row in rows), 0.5, 1.0])


@given(SCORED)
def test_auc_is_the_share_of_pairs_in_order(rows):
    labels, scores = both_classes(rows)
    above, below = scores[labels][:, None], scores[~labels]
    assert_allclose(exact_auc(labels, scores), ((above > below) + 0.5 * (above == below)).mean(), rtol=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_auc_and_weighted_auc_equal_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    labels, scores, weight = rng.integers(0, 2, 500), rng.normal(size=500).round(1), rng.random(500)
    assert_allclose(exact_auc(labels, scores), metrics.roc_auc_score(labels, scores), rtol=1e-13)
    expected = metrics.roc_auc_score(labels, scores, sample_weight=weight)
    assert_allclose(exact_auc(labels, scores, weight), expected, rtol=1e-12)


def test_auc_equals_the_golden_one(golden):
    case = golden("auc")
    assert_allclose(exact_auc(case["y"] > 0, case["scores"]), case["auc"], rtol=1e-12)
    assert_allclose(exact_auc(case["y"] > 0, case["other_scores"]), case["other_auc"], rtol=1e-12)


@pytest.mark.parametrize(
    ("labels", "scores", "weight", "message"),
    [
        ([0, 1], [0.0, np.nan], None, "NaN at row 1"),
        ([1, 1], [0.0, 1.0], None, "2 positives and 0 negatives"),
        ([], [], None, "0 positives and 0 negatives"),
        ([0, 1], [0.0], None, r"shapes \(2,\) and \(1,\)"),
        ([[0, 1]], [[0, 1]], None, "vectors of one length"),
        ([0, 1, -1], [0, 1, 2], None, "got -1 at row 2"),
        (["a", "b"], [0, 1], None, "got 'a' at row 0"),
        ([0, 1], ["a", "b"], None, "real numbers, got dtype <U1"),
        ([0, 1], [0, 1], [1.0], "each of the 2 rows"),
        ([0, 1], [0, 1], [1.0, -1.0], "got -1.0 at row 1"),
        ([0, 1], [0, 1], [1.0, 0.0], "some weight to both classes"),
    ],
)
def test_invalid_input_raises_an_error_with_its_row(labels, scores, weight, message):
    with pytest.raises(ValueError, match=message):
        exact_auc(labels, scores, weight)


@given(st.lists(st.tuples(st.booleans(), st.integers(-4, 4)), max_size=40))
def test_curves_equal_those_of_scikit_learn(rows):
    labels, scores = both_classes(rows)
    for got, expected in (
        (roc_curve(labels, scores), metrics.roc_curve(labels, scores)),
        (
            precision_recall_curve(labels, scores),
            metrics.precision_recall_curve(labels, scores, drop_intermediate=True),
        ),
    ):
        for one, other in zip(got, expected, strict=True):
            assert_allclose(one, other, rtol=1e-14)


def test_a_constant_score_has_curves_too():
    assert [part.tolist() for part in roc_curve([0, 1], [3, 3])] == [[0, 1], [0, 1], [np.inf, 3]]
    assert [part.tolist() for part in precision_recall_curve([0, 1], [3, 3])] == [[0.5, 1], [1, 0], [3]]
