"""Scores that are linear in the mapped rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from scipy.special import expit

from opauc.types import Arrays, Floats, Rows


class RowMap(Protocol):
    """A map of rows to features."""

    @property
    def n_inputs(self) -> int:
        """Length of a row."""

    def products(self, rows: Rows, weights: Floats) -> Floats:
        """Return the product of the weights with each mapped row."""


@dataclass(frozen=True, eq=False)
class MappedScorer:
    """The score weights.map(row): the log-odds of the positive class.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.scorer import MappedScorer
    >>> basis = Basis.of(np.array([[0.0], [1.0], [4.0]]), np.ones(3), np.zeros(1, bool), n_knots=3)
    >>> MappedScorer(basis, np.array([1.0, 0.0, 0.0, 0.0, 2.0])).scores(np.array([[4.0], [2.5]])).tolist()
    [3.0, 2.0]
    """

    map: RowMap
    weights: Floats

    @property
    def n_inputs(self) -> int:
        """Length of a row."""
        return self.map.n_inputs

    def to_arrays(self) -> Arrays:
        """Return the weights; the map is stored elsewhere."""
        return {"weights": self.weights}

    def scores(self, rows: Rows) -> Floats:
        """Return the score of each row."""
        return self.map.products(rows, self.weights)

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of the positive class of rows with these scores."""
        probabilities: Floats = expit(scores)
        return probabilities
