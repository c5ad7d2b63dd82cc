"""What a training holds: how it learns, and what it has learnt so far."""

from __future__ import annotations

from typing import Generic, TypeVar

Kind = TypeVar("Kind")
Held = TypeVar("Held")


class HeldSolution(Generic[Kind, Held]):
    """A recipe and its solution, which is not there before the first rows.

    Examples
    --------
    >>> from opauc.training.held_solution import HeldSolution
    >>> HeldSolution("recipe", None).begun, HeldSolution("recipe", 3).solution
    (False, 3)
    """

    def __init__(self, recipe: Kind, solution: Held | None = None) -> None:
        self.recipe = recipe
        self._solution = solution

    @property
    def begun(self) -> bool:
        """Whether there is a solution yet."""
        return self._solution is not None

    @property
    def solution(self) -> Held:
        """What has been learnt so far."""
        if self._solution is None:
            raise ValueError("nothing has been learnt yet")
        return self._solution
