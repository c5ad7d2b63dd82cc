"""Thresholds chosen by a rule: as by trying every threshold, with intervals that cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import beta, binom

from opauc.errors import InputError, ParameterError
from opauc.metrics import Rate, StreamingAuc, ThresholdRule, choose_threshold
from opauc.metrics.thresholds import choose_stream_threshold


def rates(labels, scores, threshold):
    """False positive rate, recall and precision if scores above the threshold are positive; precision 0 of no rows."""
    positive = scores > threshold
    right = (positive & (labels == 1)).sum()
    return (positive & (labels == 0)).sum() / (labels == 0).sum(), right / labels.sum(), right / max(1, positive.sum())


def draw(seed, n_rows=40):
    rng = np.random.default_rng(seed)
    labels = np.append(rng.integers(0, 2, n_rows - 2), [0, 1])
    return labels, np.round(rng.normal(size=n_rows) + labels, 1)


def every_cut(scores):
    values = np.unique(scores)
    return [values[0] - 1.0, *(values[:-1] / 2 + values[1:] / 2), values[-1]]


rules = st.one_of(
    st.builds(lambda share: ThresholdRule(at_fpr=share), st.floats(0.0, 1.0)),
    st.builds(lambda share: ThresholdRule(at_recall=share), st.floats(0.0, 1.0)),
    st.builds(lambda share: ThresholdRule(at_precision=share), st.floats(0.0, 0.4)),
    st.builds(lambda one, two: ThresholdRule(cost_fp=one, cost_fn=two), st.floats(0.1, 9.0), st.floats(0.1, 9.0)),
)


@given(seed=st.integers(0, 2**32 - 1), rule=rules)
def test_the_threshold_is_the_best_of_all_cuts(seed, rule):
    labels, scores = draw(seed)
    cuts = {cut: rates(labels, scores, cut) for cut in every_cut(scores)}
    if rule.at_fpr is not None:
        best = min(cut for cut, (false, _, _) in cuts.items() if false <= rule.at_fpr)
    elif rule.at_recall is not None:
        best = max(cut for cut, (_, recall, _) in cuts.items() if recall >= rule.at_recall)
    elif rule.at_precision is not None:
        allowed = [cut for cut, (_, _, precision) in cuts.items() if precision >= rule.at_precision]
        best = min(cut for cut in allowed if (scores > cut).any())
    else:

        def cost(cut):
            positive = scores > cut
            return rule.cost_fp * (positive & (labels == 0)).sum() + rule.cost_fn * (~positive & (labels == 1)).sum()

        best = min(cuts, key=lambda cut: (round(cost(cut), 9), -cut))
    for found in (
        choose_threshold(labels, scores, rule), choose_stream_threshold(StreamingAuc.of(labels, scores), rule),
    ):  # fmt: skip
        assert np.array_equal(scores > found.score, scores > best)
        got = found.false_positive_rate.value, found.recall.value, found.precision.value
        assert_allclose(got, cuts[best])
        assert (found.n_negatives, found.n_positives) == ((labels == 0).sum(), labels.sum())
        if rule.cost_fp is not None:
            assert_allclose(found.cost(rule.cost_fp, rule.cost_fn) * labels.size, cost(best))


@given(count=st.integers(0, 30), more=st.integers(0, 30))
def test_intervals_are_those_of_clopper_and_pearson(count, more):
    total = count + more
    low = beta.ppf(0.025, count, more + 1) if count else 0.0
    high = beta.ppf(0.975, count + 1, more) if more else 1.0
    assert_allclose(Rate.of(count, total)[1:], (low, high), atol=1e-12)


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5])
def test_intervals_cover(share):
    counts = np.arange(41)
    covered = [low <= share <= high for _, low, high in (Rate.of(int(count), 40) for count in counts)]
    assert binom.pmf(counts, 40, share)[covered].sum() >= 0.95


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "one rule: give at_fpr, at_precision, at_recall, or both cost_fp and cost_fn"),
        ({"at_fpr": 0.1, "at_recall": 0.5}, "one rule"),
        ({"cost_fp": 1.0}, "both cost_fp and cost_fn"),
        ({"cost_fp": 1.0, "cost_fn": -2.0}, "cost_fn=-2.0: expected a cost above zero"),
        ({"at_fpr": 1.5}, "at_fpr=1.5: expected a share between 0 and 1"),
        ({"at_recall": float("nan")}, "at_recall=nan: expected a share"),
    ],
)
def test_rules_that_cannot_be_are_refused(given, message):
    with pytest.raises(ParameterError, match=message):
        ThresholdRule(**given)


def test_a_precision_out_of_reach_and_rows_of_one_class_are_refused():
    with pytest.raises(ParameterError, match=r"at_precision=0.9: no threshold reaches it .* is 0.5"):
        choose_threshold([0, 1, 0], [0.9, 0.8, 0.1], ThresholdRule(at_precision=0.9))
    with pytest.raises(InputError, match="both classes, got 2 positive and 0 negative rows"):
        choose_threshold([1, 1], [0.9, 0.8], ThresholdRule(at_fpr=0.5))
