"""Results of a comparison of methods on one held-out set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from opauc.metrics.exact_auc import Flags, checked_scores
from opauc.metrics.intervals import AucInterval, auc_interval, compare_aucs
from opauc.metrics.ranking import Ranking, stream_interval
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.types import Floats

EXACT_ROWS = 10**6


class KeptScores:
    """What is known of scored rows, exactly while they are few enough, in fixed memory however many they are.

    Examples
    --------
    >>> from opauc.metrics import KeptScores
    >>> kept = KeptScores()
    >>> kept.add([0, 0, 1], [0.1, 0.4, 0.8])
    >>> kept.add([1], [0.3])
    >>> kept.interval().auc, kept.whole is not None
    (0.75, True)
    """

    def __init__(self, exact_rows: int = EXACT_ROWS) -> None:
        self.stream = StreamingAuc.empty()
        self.n_rows = 0
        self._exact_rows = exact_rows
        self._parts: list[tuple[Flags, Floats]] = []

    def add(self, labels: ArrayLike, scores: ArrayLike) -> None:
        """Take in more rows: labels of 0 and 1 or booleans, scores of any size but NaN."""
        positive, score = checked_scores(labels, scores)
        self.stream = self.stream.update(positive, score)
        self.n_rows += score.size
        self._parts.append((positive, score))
        if self.n_rows > self._exact_rows:
            self._parts.clear()

    @property
    def whole(self) -> tuple[Flags, Floats] | None:
        """Which rows are positive and the scores of all, None where they were too many to keep."""
        if not self._parts or self.n_rows > self._exact_rows:
            return None
        positive, scores = zip(*self._parts, strict=True)
        return np.concatenate(positive), np.concatenate(scores)

    def interval(self) -> AucInterval:
        """Return the AUC with its 95 % interval."""
        return stream_interval(self.stream) if (whole := self.whole) is None else auc_interval(*whole)

    def ranking(self) -> Ranking:
        """Return all that the report page shows of the scores."""
        return Ranking.of_stream(self.stream) if (whole := self.whole) is None else Ranking.of(*whole)


class Compared(NamedTuple):
    """A line of the table; what a method in trouble did not reach is None.

    `low` and `high` are 95 % limits, `p_value` is that of no difference to the best method, None for that itself.
    """

    name: str
    auc: float | None
    low: float | None
    high: float | None
    p_value: float | None
    seconds: float
    trouble: str


def ranked(methods: Sequence[tuple[str, float, str]], found: Sequence[KeptScores]) -> list[Compared]:
    """Return the lines of methods (name, seconds, trouble), best first, those in trouble last."""
    lines = []
    for (name, seconds, trouble), scores in zip(methods, found, strict=True):
        auc, low, high = (None, None, None) if trouble else scores.interval()[:3]
        lines.append((Compared(name, auc, low, high, None, seconds, trouble), None if trouble else scores.whole))
    lines.sort(key=lambda line: -1.0 if line[0].auc is None else line[0].auc, reverse=True)
    best = lines[0][1] if lines else None
    return [
        line if best is None or whole is None or whole is best
        else line._replace(p_value=compare_aucs(best[0], best[1], whole[1]).p_value)
        for line, whole in lines
    ]  # fmt: skip
