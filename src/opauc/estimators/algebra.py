"""Models as sums: `a + b` is the model of the rows of both, `a - b` that of the rows of `a` that are not in `b`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from opauc.estimators.scoring import ScoringClassifier


class SumsAlgebra(ScoringClassifier):
    """A classifier whose fit is a set of sums: models add and subtract, and the operands stay as they are.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> one = OPAUC().partial_fit([[0.0], [2.0]], [0, 1])
    >>> other = OPAUC().partial_fit([[1.0], [5.0]], [0, 1])
    >>> both = one + other
    >>> [sum(model.moments_.counts) for model in (both, both - other, one)]
    [4.0, 2.0, 2.0]
    """

    @abstractmethod
    def merge(self, other: Any) -> Self:
        """Add the rows of another model."""

    @abstractmethod
    def subtract(self, other: Any) -> Self:
        """Remove the rows of another model."""

    def __add__(self, other: object) -> Self:
        return self._copied().merge(other) if isinstance(other, SumsAlgebra) else NotImplemented

    def __sub__(self, other: object) -> Self:
        return self._copied().subtract(other) if isinstance(other, SumsAlgebra) else NotImplemented

    def __radd__(self, other: object) -> Self:
        # The sum of a list of models begins with 0.
        return self._copied() if isinstance(other, int) and other == 0 else NotImplemented
