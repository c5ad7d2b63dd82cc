"""Results of a comparison of methods on one held-out set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from opauc.metrics.exact_auc import Flags, check_scores
from opauc.metrics.intervals import AucInterval, auc_interval, compare_aucs
from opauc.metrics.ranking import Ranking, stream_interval
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.types import Floats

MAX_EXACT_ROWS = 10**6


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

    def ranking(self) -> Ranking:
        """Return the AUC, curves and operating points of the scores.

        Returns
        -------
        ranking : Ranking
            The summary of the scores.
        """
        return Ranking.of_stream(self.stream) if (rows := self.all_rows) is None else Ranking.of(*rows)


class Compared(NamedTuple):
    """Result of one method; numbers that a failed method did not reach are None.

    `low` and `high` are 95 % confidence limits. `p_value` tests the difference to the
    best method; it is None for the best method itself. `trouble` is the error message of
    a failed method, else empty.

    Attributes
    ----------
    name : str
        The name of the method.
    auc : float
        Its AUC on the held-out rows.
    low, high : float
        The 95 % limits of the AUC.
    p_value : float or None
        Of the paired test against the best method; None for that itself.
    seconds : float
        The time of training.
    trouble : str
        Why the method could not be trained; empty otherwise.

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


def rank_methods(methods: Sequence[tuple[str, float, str]], buffers: Sequence[ScoreBuffer]) -> list[Compared]:
    """Return the results of methods (name, seconds, trouble), best first, failed ones last."""
    lines = []
    for (name, seconds, trouble), scores in zip(methods, buffers, strict=True):
        auc, low, high = (None, None, None) if trouble else scores.interval()[:3]
        lines.append((Compared(name, auc, low, high, None, seconds, trouble), None if trouble else scores.all_rows))
    lines.sort(key=lambda line: -1.0 if line[0].auc is None else line[0].auc, reverse=True)
    best = lines[0][1] if lines else None
    return [
        line if best is None or rows is None or rows is best
        else line._replace(p_value=compare_aucs(best[0], best[1], rows[1]).p_value)
        for line, rows in lines
    ]  # fmt: skip
