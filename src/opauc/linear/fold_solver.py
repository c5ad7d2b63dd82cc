"""Solvers whose state is class statistics of folds: how rows come into their folds, and out of them."""

from __future__ import annotations

from typing import TypeVar

from numpy.typing import ArrayLike

from opauc.core.solver import GroupedSolver
from opauc.linear.moments.folds import ClassFolds
from opauc.types import Floats, GroupKeys, Labels, Rows

Folds = TypeVar("Folds", bound=ClassFolds)


class FoldSolver(GroupedSolver[Folds]):
    """A solver of `cv` folds, by row number or by group; a subclass starts the state and finds the weights."""

    cv: int
    n_jobs: int

    def step(self, state: Folds, rows: Rows, labels: Labels, weight: Floats | None = None) -> Folds:
        """Return the statistics of the earlier rows and these."""
        self._check(state)
        return state.update(rows, labels, weight, n_jobs=self.n_jobs)

    def step_groups(
        self, state: Folds, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None
    ) -> Folds:
        """Return the statistics of the earlier rows and these; rows of one group are in one fold."""
        self._check(state)
        return state.update(rows, labels, weight, groups=groups, n_jobs=self.n_jobs)

    def forget_groups(
        self, state: Folds, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None
    ) -> Folds:
        """Return the statistics without these rows of these groups."""
        return state.forget_groups(rows, labels, groups, weight)

    def forget(
        self,
        state: Folds,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        row_numbers: ArrayLike | None = None,
    ) -> Folds:
        """Return the statistics without these rows, with these row numbers (from 0)."""
        if row_numbers is None:
            needed = "groups" if state.grouped else "row_numbers"
            raise ValueError(f"forget needs {needed} where rows are in folds")
        return state.forget(rows, labels, row_numbers, weight)

    def _check(self, state: Folds) -> None:
        """Raise unless there are so many folds."""
        if state.n_folds != self.cv:
            raise ValueError(f"cv was {state.n_folds} at the start, now it is {self.cv}")
