"""What a choice among penalties by cross-validation comes to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from opauc.rows import Floats

State = TypeVar("State", contravariant=True)


class Selection(NamedTuple):
    """The penalties, what each scored on every fold held out (the higher the better), and the one chosen.

    `scores` has a row for each penalty and a column for each fold that could be
    judged, which takes rows of both classes in it and outside it.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.penalty_selection import Selection
    >>> scores = np.array([[0.6, 0.8], [0.7, 0.8], [0.7, 0.75]])
    >>> found = Selection.of(np.array([0.01, 0.1, 1.0]), scores)
    >>> found.alpha, found.alphas[found.within_one_error()].item()
    (0.1, 1.0)
    """

    alphas: Floats
    scores: Floats
    chosen: int
    criterion: str = "pair_loss"  # what is judged; a pair loss is negated

    @classmethod
    def of(
        cls, alphas: Floats, scores: Floats, one_standard_error: bool = False, criterion: str = "pair_loss"
    ) -> Selection:
        """Return the choice of the best penalty, or of the largest that is within one standard error of it.

        Of equal penalties the largest is taken; the middle one where none can be judged.
        """
        found = cls(alphas, scores, alphas.size // 2, criterion)
        return found._replace(chosen=found.within_one_error() if one_standard_error else found.best())

    @property
    def alpha(self) -> float:
        """The penalty chosen."""
        return float(self.alphas[self.chosen])

    @property
    def n_folds(self) -> int:
        """How many folds could be judged."""
        return int(self.scores.shape[1])

    def means(self) -> Floats:
        """Return the mean score of each penalty; nan where no fold could be judged."""
        if not self.n_folds:
            return np.full(self.alphas.size, np.nan)
        means: Floats = self.scores.mean(axis=1)
        return means

    def deviations(self) -> Floats:
        """Return the standard deviation of the scores of each penalty; nan where no fold could be judged."""
        if not self.n_folds:
            return np.full(self.alphas.size, np.nan)
        deviations: Floats = self.scores.std(axis=1)
        return deviations

    def errors(self) -> Floats:
        """Return the standard error of each mean; zero of one fold alone."""
        if self.n_folds < 2:
            return np.zeros(self.alphas.size)
        errors: Floats = self.scores.std(axis=1, ddof=1) / np.sqrt(self.n_folds)
        return errors

    def best(self) -> int:
        """Return the number of the best penalty, of equal ones the largest."""
        return self._largest(0.0)

    def within_one_error(self) -> int:
        """Return the number of the largest penalty whose mean is within one standard error of the best."""
        return self._largest(1.0)

    def _largest(self, errors: float) -> int:
        if not self.scores.size:
            return self.chosen
        means = self.means()
        best = int(means.argmax())
        enough = np.flatnonzero(means >= means[best] - errors * self.errors()[best])
        return int(enough[self.alphas[enough].argmax()])


class PenaltySelector(ABC, Generic[State]):
    """A learner that chooses its penalty by cross-validation."""

    @abstractmethod
    def selection(self, state: State) -> Selection:
        """Return the penalties, what they scored on each fold, and the choice."""
