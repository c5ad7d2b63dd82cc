"""Results of a comparison of methods on one held-out set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from opauc.errors import Parameter, ParameterError
from opauc.metrics.exact_auc import Flags, check_scores
from opauc.metrics.influence import MetricInterval
from opauc.metrics.intervals import AucDifference, AucInterval, auc_interval, compare_aucs
from opauc.metrics.ranking import Ranking, stream_interval
from opauc.metrics.ranking_metric import RankingMetric
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.types import Floats

MAX_EXACT_ROWS = 10**6
NO_METRICS: Mapping[str, MetricInterval] = MappingProxyType({})


class ScoreBuffer:
    """Labels and scores of rows: all of them up to `exact_rows`, beyond that a streaming AUC in fixed memory.

    Parameters
    ----------
    exact_rows : int
        Rows up to which the scores themselves are kept.

    Examples
    --------
    >>> from opauc.metrics import ScoreBuffer
    >>> buffer = ScoreBuffer()
    >>> buffer.add([0, 0, 1], [0.1, 0.4, 0.8])
    >>> buffer.add([1], [0.3])
    >>> buffer.interval().auc, buffer.all_rows is not None
    (0.75, True)
    """

    def __init__(self, exact_rows: int = MAX_EXACT_ROWS) -> None:
        self.stream: StreamingAuc = StreamingAuc.empty()
        self.n_rows: int = 0
        self._exact_rows = exact_rows
        self._batches: list[tuple[Flags, Floats]] = []

    def add(self, labels: ArrayLike, scores: ArrayLike) -> None:
        """Add rows: labels of 0 and 1 or booleans, scores that are not NaN.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Labels of 0 and 1, or booleans.
        scores : array-like of shape (n_rows,)
            Scores, the higher the more positive; none is NaN.
        """
        positive, score = check_scores(labels, scores)
        self.stream = self.stream.update(positive, score)
        self.n_rows += score.size
        self._batches.append((positive, score))
        if self.n_rows > self._exact_rows:
            self._batches.clear()

    @property
    def all_rows(self) -> tuple[Flags, Floats] | None:
        """Which rows are positive, and their scores; None if there are more than `exact_rows`."""
        if not self._batches or self.n_rows > self._exact_rows:
            return None
        positive, scores = zip(*self._batches, strict=True)
        return np.concatenate(positive), np.concatenate(scores)

    def interval(self) -> AucInterval:
        """Return the AUC with its 95 % interval.

        Returns
        -------
        interval : AucInterval
            The AUC with its limits.
        """
        return stream_interval(self.stream) if (rows := self.all_rows) is None else auc_interval(*rows)

    def metrics(self, metrics: Sequence[RankingMetric]) -> dict[str, MetricInterval]:
        """Return the values of metrics with their 95 % intervals, by name.

        Parameters
        ----------
        metrics : sequence of RankingMetric
            The metrics.

        Returns
        -------
        intervals : dict of str to MetricInterval
            The interval of each metric, by its name.

        Raises
        ------
        ParameterError
            If a metric is not defined for these rows.
        """
        if (rows := self.all_rows) is None:
            return metrics_of_stream(self.stream, metrics)
        return {metric.name: _named(metric, partial(metric.interval, *rows)) for metric in metrics}

    def compare(self, other: ScoreBuffer, metric: RankingMetric | None = None) -> AucDifference | None:
        """Return the difference to the scores of another method for the same rows; None with too many rows.

        Parameters
        ----------
        other : ScoreBuffer
            The scores of another method for the same rows.
        metric : RankingMetric, optional
            What is compared; by default the AUC.

        Returns
        -------
        difference : AucDifference or None
            The difference and its paired test; None where either has too many rows to keep.
        """
        if (mine := self.all_rows) is None or (theirs := other.all_rows) is None:
            return None
        test = compare_aucs if metric is None else metric.compare
        return test(mine[0], mine[1], theirs[1])

    def ranking(self) -> Ranking:
        """Return the AUC, curves and operating points of the scores.

        Returns
        -------
        ranking : Ranking
            The summary of the scores.
        """
        return Ranking.of_stream(self.stream) if (rows := self.all_rows) is None else Ranking.of(*rows)


def metrics_of_stream(stream: StreamingAuc, metrics: Sequence[RankingMetric]) -> dict[str, MetricInterval]:
    """Return the values of metrics for the rows of a streaming AUC, by name, with intervals widened by their bounds."""
    return {metric.name: _named(metric, partial(metric.stream_interval, stream)) for metric in metrics}


def _named(metric: RankingMetric, interval: Callable[[], MetricInterval]) -> MetricInterval:
    """Return the interval of a metric; errors about its parameters name the metric."""
    try:
        return interval()
    except ParameterError as error:
        raise ParameterError(Parameter("metrics"), f": {metric.name}: {error}") from error


class Scores(Protocol):
    """The labels of rows and the scores of a method for them, of two classes or several."""

    def interval(self) -> AucInterval | MetricInterval:
        """Return the AUC, of several classes the mean over pairs of classes, with its 95 % interval."""
        ...

    def metrics(self, metrics: Sequence[RankingMetric]) -> dict[str, MetricInterval]:
        """Return the values of metrics with their 95 % intervals, by name."""
        ...

    def compare(self, other: Self, metric: RankingMetric | None = None) -> AucDifference | None:
        """Return the difference to the scores of another method for the same rows; None with too many rows."""
        ...


S = TypeVar("S", bound=Scores)


class Compared(NamedTuple):
    """Result of one method; numbers that a failed method did not reach are None.

    `low` and `high` are 95 % confidence limits. `p_value` tests the difference to the
    best method; it is None for the best method itself. `trouble` is the error message of
    a failed method, else empty. `metrics` has further metrics by name; where there are any,
    the first of them says which method is best, and is tested.

    Attributes
    ----------
    name : str
        The name of the method.
    auc : float
        Its AUC on the held-out rows; of several classes the mean over pairs of classes (Hand and Till's M).
    low, high : float
        The 95 % limits of the AUC.
    p_value : float or None
        Of the paired test against the best method; None for that itself.
    seconds : float
        The time of training.
    trouble : str
        Why the method could not be trained; empty otherwise.
    metrics : mapping of str to MetricInterval
        Further metrics by name.

    Examples
    --------
    >>> from opauc.metrics import Compared
    >>> Compared("mine", 0.9, 0.88, 0.92, None, 1.5, "").auc
    0.9
    """

    name: str
    auc: float | None
    low: float | None
    high: float | None
    p_value: float | None
    seconds: float
    trouble: str
    metrics: Mapping[str, MetricInterval] = NO_METRICS


def rank_methods(
    methods: Sequence[tuple[str, float, str]], buffers: Sequence[S], metrics: Sequence[RankingMetric] = ()
) -> list[Compared]:
    """Return the results of methods (name, seconds, trouble), best first, failed ones last.

    The first of the metrics, or without any the AUC, orders the methods and is tested.
    """
    lines = []
    for (name, seconds, trouble), scores in zip(methods, buffers, strict=True):
        auc, low, high = (None, None, None) if trouble else scores.interval()[:3]
        values = {} if trouble else scores.metrics(metrics)
        lines.append((Compared(name, auc, low, high, None, seconds, trouble, values), scores))
    first = metrics[0] if metrics else None
    lines.sort(key=lambda line: _rank_value(line[0], first), reverse=True)
    tested: list[Compared] = []
    for line, scores in lines:
        is_best = not tested or line.trouble
        difference = None if is_best else lines[0][1].compare(scores, first)
        tested.append(line if difference is None else line._replace(p_value=difference.p_value))
    return tested


def _rank_value(line: Compared, metric: RankingMetric | None) -> float:
    """Return the number that orders a method, minus one where it failed."""
    if line.auc is None:
        return -1.0
    return line.auc if metric is None else line.metrics[metric.name].value
