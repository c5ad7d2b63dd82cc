"""Thresholds of scores: chosen on rows that a model was not trained on, with what they give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.core.threshold import Rate, Threshold
from opauc.errors import InputError, Parameter, ParameterError
from opauc.metrics.exact_auc import check_scores
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.types import Floats

# Share of the largest cost by which rounding may tell equal costs apart: the highest threshold of them is chosen.
ROUNDING = 1e-12


@dataclass(frozen=True)
class ThresholdRule:
    """What a threshold is chosen for: one of four.

    Parameters
    ----------
    cost_fp, cost_fn : float, optional
        What a negative row above the threshold and a positive row below it cost; both or neither. The threshold has
        the lowest cost.
    at_fpr : float, optional
        The false positive rate is at most this: the lowest such threshold.
    at_precision : float, optional
        The precision is at least this: the lowest such threshold.
    at_recall : float, optional
        The recall is at least this: the highest such threshold.

    Examples
    --------
    >>> from opauc.metrics import ThresholdRule
    >>> ThresholdRule(at_fpr=0.01)
    ThresholdRule(cost_fp=None, cost_fn=None, at_fpr=0.01, at_precision=None, at_recall=None)
    >>> str(ThresholdRule(cost_fp=1, cost_fn=20))
    'cost_fp=1, cost_fn=20'
    """

    cost_fp: float | None = None
    cost_fn: float | None = None
    at_fpr: float | None = None
    at_precision: float | None = None
    at_recall: float | None = None

    def __post_init__(self) -> None:
        for name in ("cost_fp", "cost_fn"):
            cost = getattr(self, name)
            if cost is not None and not 0.0 < cost < np.inf:
                raise ParameterError(Parameter(name, cost), ": expected a cost above zero")
        for name in ("at_fpr", "at_precision", "at_recall"):
            share = getattr(self, name)
            if share is not None and not 0.0 <= share <= 1.0:
                raise ParameterError(Parameter(name, share), ": expected a share between 0 and 1")
        shares = sum(share is not None for share in (self.at_fpr, self.at_precision, self.at_recall))
        costs = sum(cost is not None for cost in (self.cost_fp, self.cost_fn))
        if (shares, costs) not in ((1, 0), (0, 2)):
            raise ParameterError(
                "a threshold is chosen by one rule: give ", Parameter("at_fpr"), ", ", Parameter("at_precision"), ", ",
                Parameter("at_recall"), ", or both ", Parameter("cost_fp"), " and ", Parameter("cost_fn"),
            )  # fmt: skip

    def __str__(self) -> str:
        given = {name: value for name, value in vars(self).items() if value is not None}
        return ", ".join(f"{name}={value:g}" for name, value in given.items())


def choose_threshold(labels: ArrayLike, scores: ArrayLike, rule: ThresholdRule) -> Threshold:
    """Return the threshold that a rule chooses on labeled scores.

    It lies halfway between two scores that occur, so that rounding moves no row across it.

    Parameters
    ----------
    labels : array-like of shape (n_rows,)
        Labels of 0 and 1, or booleans, of both classes.
    scores : array-like of shape (n_rows,)
        Scores of rows that the model was not trained on.
    rule : ThresholdRule
        What the threshold is for.

    Returns
    -------
    threshold : Threshold
        The threshold with its rates.

    Raises
    ------
    InputError
        If all rows are of one class.
    ParameterError
        If no threshold has the precision asked for.

    Examples
    --------
    >>> from opauc.metrics import ThresholdRule, choose_threshold
    >>> labels, scores = [0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.8, 0.9]
    >>> threshold = choose_threshold(labels, scores, ThresholdRule(cost_fp=1, cost_fn=5))
    >>> round(threshold.score, 2), threshold.false_positive_rate.value
    (0.35, 0.3333333333333333)
    """
    positive, score = check_scores(labels, scores)
    values, places = np.unique(-score, return_inverse=True)
    counts = np.zeros((values.size, 2), np.int64)
    np.add.at(counts, (places, positive.astype(np.intp)), 1)
    return _choose(-values, -values, counts, rule)


def choose_stream_threshold(stream: StreamingAuc, rule: ThresholdRule) -> Threshold:
    """Return the threshold that a rule chooses on the rows of a streaming AUC, between two of its intervals of scores.

    Examples
    --------
    >>> from opauc.metrics import StreamingAuc, ThresholdRule
    >>> from opauc.metrics.thresholds import choose_stream_threshold
    >>> stream = StreamingAuc.of([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.8, 0.9])
    >>> choose_stream_threshold(stream, ThresholdRule(at_recall=1.0)).score
    0.35
    """
    largest = np.finfo(float).max
    lows, highs = (np.clip(bound, -largest, largest) for bound in (stream.lows, stream.highs))
    order = np.argsort(-(lows / 2 + highs / 2), kind="stable")
    return _choose(np.minimum.accumulate(lows[order]), highs[order], stream.class_counts[order], rule)


def _choose(lows: Floats, highs: Floats, counts: NDArray[np.int64], rule: ThresholdRule) -> Threshold:
    """Return the threshold after some of the intervals of scores, which fall, with their class counts."""
    false, true = np.vstack([np.zeros(2, np.int64), np.cumsum(counts, axis=0)]).T
    if not (false[-1] and true[-1]):
        raise InputError(
            f"a threshold is chosen on rows of both classes, got {true[-1]:,} positive and {false[-1]:,} negative rows"
        )
    at = _place(false, true, rule)
    if at == 0:
        score = float(highs[0])  # no score is higher
    elif at == lows.size:
        score = float(np.nextafter(lows[-1], -np.inf))
    else:
        middle = lows[at - 1] / 2 + highs[at] / 2
        score = float(middle if middle < lows[at - 1] else highs[at])
    n_false, n_true = int(false[at]), int(true[at])
    n_negatives, n_positives = int(false[-1]), int(true[-1])
    return Threshold(
        score, Rate.of(n_false, n_negatives), Rate.of(n_true, n_positives), Rate.of(n_true, n_true + n_false),
        n_negatives, n_positives, str(rule),
    )  # fmt: skip


def _place(false: NDArray[np.int64], true: NDArray[np.int64], rule: ThresholdRule) -> int:
    """Return how many intervals of scores are above the threshold of a rule."""
    if rule.at_fpr is not None:
        return int(np.searchsorted(false / false[-1], rule.at_fpr, side="right")) - 1
    if rule.at_recall is not None:
        return int(np.searchsorted(true / true[-1], rule.at_recall, side="left"))
    if rule.at_precision is not None:
        precision = true[1:] / (true[1:] + false[1:])
        reached = np.flatnonzero(precision >= rule.at_precision)
        if not reached.size:
            raise ParameterError(
                Parameter("at_precision", rule.at_precision),
                f": no threshold reaches it on these rows; the highest precision is {precision.max():.4g}",
            )
        return int(reached[-1]) + 1
    assert rule.cost_fp is not None, "one of the rules was given"
    assert rule.cost_fn is not None, "with both costs"
    costs = rule.cost_fp * false + rule.cost_fn * (true[-1] - true)
    return int(np.flatnonzero(costs <= costs.min() + ROUNDING * costs.max())[0])
