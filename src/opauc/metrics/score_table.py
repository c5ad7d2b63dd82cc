"""Rows of two classes summarized by distinct score: what every metric of a ranking is a function of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opauc.metrics.exact_auc import Flags
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.types import Floats

Indices: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable:
    """Weight of the negatives and of the positives at each distinct score, by decreasing score.

    Rows of one entry are ties. No entry is empty.

    Attributes
    ----------
    negatives, positives : ndarray of shape (n_scores,)
        The weight of the rows of each class at each score.
    """

    negatives: Floats  # (n,)
    positives: Floats  # (n,)

    @classmethod
    def of_scores(cls, scores: Floats, negatives: Floats, positives: Floats) -> tuple[ScoreTable, Indices]:
        """Return the table of scores with the weights of both classes, and the entry of each score."""
        distinct, entries = np.unique(-scores, return_inverse=True)
        table = cls(
            np.bincount(entries, negatives, minlength=distinct.size).astype(np.float64, copy=False),
            np.bincount(entries, positives, minlength=distinct.size).astype(np.float64, copy=False),
        )
        filled = table.rows > 0
        if not filled.all():
            return cls(table.negatives[filled], table.positives[filled]), (np.cumsum(filled) - 1)[entries]
        return table, entries

    @classmethod
    def of_rows(cls, positive: Flags, score: Floats, weight: Floats | None = None) -> tuple[ScoreTable, Indices]:
        """Return the table of rows, and the entry of each row."""
        weight = np.ones(score.size) if weight is None else weight
        return cls.of_scores(score, np.where(positive, 0.0, weight), np.where(positive, weight, 0.0))

    @classmethod
    def of_stream(cls, stream: StreamingAuc) -> ScoreTable:
        """Return the table of a stream, in which the scores of one interval are ties."""
        negatives, positives = stream.by_decreasing_score()[1].T.astype(np.float64)
        return cls(negatives, positives)

    @classmethod
    def worst_of_stream(cls, stream: StreamingAuc) -> ScoreTable:
        """Return the table with the positives at the low and the negatives at the high end of their intervals."""
        return cls._at(stream, stream.highs, stream.lows)

    @classmethod
    def best_of_stream(cls, stream: StreamingAuc) -> ScoreTable:
        """Return the table with the positives at the high and the negatives at the low end of their intervals."""
        return cls._at(stream, stream.lows, stream.highs)

    @classmethod
    def _at(cls, stream: StreamingAuc, of_negatives: Floats, of_positives: Floats) -> ScoreTable:
        negatives, positives = stream.class_counts.T.astype(np.float64)
        nothing = np.zeros(negatives.size)
        table, _ = cls.of_scores(
            np.concatenate([of_negatives, of_positives]),
            np.concatenate([negatives, nothing]),
            np.concatenate([nothing, positives]),
        )
        return table

    @property
    def rows(self) -> Floats:
        """Weight of all rows at each score."""
        return self.negatives + self.positives

    @property
    def n_negatives(self) -> float:
        """Weight of all negatives."""
        return float(self.negatives.sum())

    @property
    def n_positives(self) -> float:
        """Weight of all positives."""
        return float(self.positives.sum())

    @property
    def n_rows(self) -> float:
        """Weight of all rows."""
        return self.n_negatives + self.n_positives

    def corners(self) -> tuple[Floats, Floats]:
        """Return the weight of the negatives and of the positives down to each score, both from zero on."""
        return np.append(0.0, np.cumsum(self.negatives)), np.append(0.0, np.cumsum(self.positives))
