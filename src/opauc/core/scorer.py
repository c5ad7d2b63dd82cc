"""The interface of scorers."""

from __future__ import annotations

from typing import Protocol

from opauc.types import Arrays, Floats, Rows


class Scorer(Protocol):
    """A score for each row, the greater the likelier positive; above zero is a prediction of the positive class."""

    @property
    def n_inputs(self) -> int:
        """Length of a row."""

    def scores(self, rows: Rows) -> Floats:
        """Return the score of each row."""

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of the positive class for rows of these scores."""

    def to_arrays(self) -> Arrays:
        """Return what tells it from others of its kind."""
