"""Scores that are linear in the columns of a basis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from scipy.special import expit

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.score_tables import ScoreTables
from opauc.types import Arrays, Floats, Rows


@dataclass(frozen=True, eq=False)
class MappedScorer:
    """The score weights.columns(row): the log-odds of the positive class.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.scorer import MappedScorer
    >>> basis = Basis.of(np.array([[0.0], [1.0], [4.0]]), np.ones(3), np.zeros(1, bool), n_knots=3)
    >>> MappedScorer(basis, np.array([1.0, 0.0, 0.0, 0.0, 2.0])).scores(np.array([[4.0], [2.5]])).tolist()
    [3.0, 2.0]
    """

    map: Basis
    weights: Floats

    @property
    def n_inputs(self) -> int:
        """Length of a row."""
        return self.map.n_inputs

    @cached_property
    def tables(self) -> ScoreTables:
        """The basis and the weights as the kernel takes them."""
        return ScoreTables.of(self.map, self.weights)

    def to_arrays(self) -> Arrays:
        """Return the weights; the map is stored elsewhere."""
        return {"weights": self.weights}

    def scores(self, rows: Rows) -> Floats:
        """Return the score of each row."""
        return self.map.scores(rows, self.tables)

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of the positive class of rows with these scores."""
        probabilities: Floats = expit(scores)
        return probabilities
