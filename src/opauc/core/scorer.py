"""The interface of scorers."""

from __future__ import annotations

from typing import Protocol

from opauc.types import Arrays, Floats, Rows


class Scorer(Protocol):
    """A score for each row, the greater the likelier positive; above zero is a prediction of the positive class.

    With K > 2 classes each row has K scores, the greater the likelier its class: they rank the rows for each class,
    and the greatest of a row is a prediction of its class.
    """

    @property
    def n_inputs(self) -> int:
        """Length of a row."""

    def scores(self, rows: Rows) -> Floats:
        """Return the score of each row; with K > 2 classes an array (n, K)."""

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of the positive class for rows of these scores.

        With K > 2 classes an array (n, K) of rows that add up to one, each with its probabilities in the order of
        its scores.
        """

    def to_arrays(self) -> Arrays:
        """Return what tells it from others of its kind."""


class WeightScorer(Scorer, Protocol):
    """A scorer that is linear in the features."""

    @property
    def weights(self) -> Floats:
        """The weight of each feature; with K > 2 classes a row for each class."""
