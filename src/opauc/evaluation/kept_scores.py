"""Labels and scores of rows as they come: whole up to a limit, beyond it as a streaming AUC."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from opauc.evaluation.auc_limits import AucInterval
from opauc.evaluation.delong import auc_interval
from opauc.evaluation.exact_auc import Flags, checked_scores
from opauc.evaluation.ranking import Ranking, stream_interval
from opauc.evaluation.streaming_auc import StreamingAuc
from opauc.rows import Floats

EXACT_ROWS = 10**6


class KeptScores:
    """What is known of scored rows, exactly while they are few enough, in fixed memory however many they are.

    Examples
    --------
    >>> from opauc.evaluation import KeptScores
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
