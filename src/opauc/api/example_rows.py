"""Rows worth explaining, kept while all are scored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from opauc.additive.explain import Terms
from opauc.api.describe_terms import explained_row
from opauc.report import ExplainedRow
from opauc.types import Array, Floats, Labels


@dataclass(frozen=True, eq=False)
class ExampleRow:
    """A row as numbers, which of all it is, from 1 on, its score and its class."""

    row: Floats
    number: int
    score: float
    positive: bool


@dataclass(frozen=True, eq=False)
class ExampleRows:
    """The row of the highest score, and the positive row of the lowest; None before there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.api.example_rows import ExampleRows
    >>> examples = ExampleRows().after(np.eye(3), np.array([0, 1, 1], np.int8), np.array([0.5, 0.1, 0.2]), 0)
    >>> examples.highest.number, examples.lowest_positive.number
    (1, 2)
    """

    highest: ExampleRow | None = None
    lowest_positive: ExampleRow | None = None

    def after(self, rows: Array, labels: Labels, scores: Floats, rows_before: int) -> ExampleRows:
        """Return what is worth noting after more rows; of equal scores the first is kept."""
        highest, lowest = self.highest, self.lowest_positive
        if not scores.size:
            return self
        at = int(np.argmax(scores))
        if highest is None or scores[at] > highest.score:
            highest = _example(rows, labels, scores, at, rows_before)
        positives = np.flatnonzero(labels == 1)
        if positives.size:
            at = int(positives[np.argmin(scores[positives])])
            if lowest is None or scores[at] < lowest.score:
                lowest = _example(rows, labels, scores, at, rows_before)
        return ExampleRows(highest, lowest)

    def explained(self, effects: Terms) -> Iterator[ExplainedRow]:
        """Yield the scores of the rows as sums of effects."""
        if self.highest is not None:
            note = f"Row {self.highest.number:,}, a {'positive' if self.highest.positive else 'negative'}"
            yield explained_row(effects, self.highest.row, "The row that scores highest", note)
        if self.lowest_positive is not None:
            note = f"Row {self.lowest_positive.number:,}"
            yield explained_row(effects, self.lowest_positive.row, "The positive that scores lowest", note)


def _example(rows: Array, labels: Labels, scores: Floats, at: int, rows_before: int) -> ExampleRow:
    return ExampleRow(rows[at].astype(np.float64), rows_before + at + 1, float(scores[at]), bool(labels[at] == 1))
