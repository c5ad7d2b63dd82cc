"""Learners as the runner of comparisons takes them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from opauc.errors import OpaucError, UnsupportedOperation
from opauc.learners.learner import AnyLearner
from opauc.rows import Floats, Labels, Rows
from opauc.scorers import LinearScorer
from opauc.training.recipe import Recipe, SameLearner
from opauc.training.training import Training, as_wide

# A learner whose state would be larger sits this one out.
LARGEST_STATE = 2 * 2**30


@dataclass(eq=False)
class LearnerMethod:
    """A learner with its settings, learning chunk by chunk.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.exact import Exact
    >>> from opauc.training.learner_method import LearnerMethod
    >>> method = LearnerMethod("exact", Exact(alpha=0.5))
    >>> method.learn(np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> method.finish()
    >>> method.scores(np.array([[9.0]])).round(2).tolist()
    [4.0]
    """

    name: str
    learner: AnyLearner
    _scorer: LinearScorer | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._recipe: Recipe = SameLearner(self.learner)
        self._training = Training(self._recipe)

    def fresh(self) -> Self:
        """Return the learner with nothing learnt."""
        return type(self)(self.name, self.learner)

    def warm_up(self, rows: Rows) -> None:
        """Learn two rows of the same kind, work out the weights, and forget them."""
        training = Training(self._recipe)
        training.learn(rows[[0, 0], :1], np.array([0, 1], np.int8))
        _ = training.solution.scorer

    def learn(self, rows: Rows, labels: Labels) -> None:
        """Learn rows in order."""
        width = rows.shape[1]
        if not self._training.begun or width > self._training.solution.n_features:
            size = bytes_of_state(self.learner, width)
            if size > LARGEST_STATE:
                raise UnsupportedOperation(f"would take {size / 2**30:.1f} GiB for {width:,} features")
        self._training.learn(rows, labels)

    def finish(self) -> None:
        """Work out the weights."""
        if not self._training.begun:
            raise OpaucError("there are no rows to learn from")
        self._scorer = replace(self._training.solution.scorer, intercept=0.0)

    def scores(self, rows: Rows) -> Floats:
        """Return the scores of rows, by the weights alone."""
        if self._scorer is None:
            raise OpaucError("there are no weights yet to score rows with")
        return self._scorer.scores(as_wide(rows, self._scorer.weights.size))


def bytes_of_state(learner: AnyLearner, width: int) -> float:
    """Return how large the state would be, from those of narrow ones: a polynomial of second degree in the width."""
    widths = (16, 32, 48)
    sizes = [sum(array.nbytes for array in learner.to_arrays(learner.start(narrow)).values()) for narrow in widths]
    return float(np.polyval(np.polyfit(widths, sizes, 2), width))
