"""What has been learned."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.mergeable import FeatureSpread, Statistic
from opauc.core.solver import AnySolver, GroupedSolver, MergeableSolver
from opauc.core.transaction import Rollback
from opauc.errors import IncompatibleMomentsError, UnsupportedOperationError
from opauc.linear.choice import Choice
from opauc.linear.exact_cv import PenaltySelector, Selection
from opauc.linear.maps import LinearMap
from opauc.linear.scorer import LinearScorer
from opauc.types import ClassCounts, Floats, GroupKeys, Labels, NamedArrays, Rows, Settings

# Mapped rows held at a time.
ROWS_PER_BLOCK = 16384
# Weights are looked at again when there are so many times the rows.
NEXT_LOOK = 1.5


@dataclass(frozen=True, eq=False)
class Solution:
    """A learner, its state, and the map its rows go through first; weights are worked out when first asked for.

    A value but for the arrays of its state, which a step of some learners uses
    up: `undo` keeps them.
    """

    learner: AnySolver
    state: Any
    n_features: int
    map: LinearMap | None = None
    published: Settings = field(default_factory=dict)
    known_scorer: LinearScorer | None = None

    @classmethod
    def start(cls, choice: Choice, n_features: int) -> Solution:
        """Return what is known before any row."""
        mapped = None if choice.draw is None else choice.draw()
        width = n_features if mapped is None else mapped.n_features
        return cls(choice.learner, choice.learner.start(width), n_features, mapped, choice.published or {})

    @property
    def counts(self) -> ClassCounts:
        """Rows learned of each class."""
        return self.learner.counts(self.state)

    @cached_property
    def moments(self) -> Statistic:
        """Class statistics of the rows learned from, as the learner sees them."""
        return self.learner.statistics(self.state)

    @cached_property
    def scorer(self) -> LinearScorer:
        """The linear scorer of rows as they are given."""
        if self.known_scorer is not None:
            return self.known_scorer
        weights = self.learner.weights(self.state)
        summary = self.learner.summary(self.state, weights)
        outer = weights if self.map is None else self.map.weights_of(weights)
        outer.flags.writeable = False
        return LinearScorer.of(outer, summary, self.learner.scores_unit_rows(self.state))

    @property
    def look_growth(self) -> float:
        """By which factor the rows should have grown before the weights are looked at again."""
        return NEXT_LOOK

    def look(self, seen: int) -> LinearScorer | None:
        """Return what scores the rows to come, after so many; None where it is not worth working out."""
        return self.scorer if seen >= self.learner.rows_worth_a_solve(self.n_features) else None

    def fresh(self, rows: Rows) -> None:
        """Tell that all rows are new that are about to be learned."""

    def scorer_of(self, arrays: NamedArrays) -> LinearScorer:
        """Return the scorer that gave these arrays, which may know fewer features."""
        found = LinearScorer.of_arrays(arrays["weights"], arrays["numbers"])
        if found.weights.size > self.n_features:
            raise ValueError(f"expected {self.n_features} weights at most, got {found.weights.size}")
        return found

    @property
    def feature_spread(self) -> FeatureSpread | None:
        """How much each feature varies among the rows learned; None where nothing is known of it."""
        return self.learner.feature_spread(self.state) if self.map is None else None

    @property
    def chosen_settings(self) -> dict[str, float]:
        """Settings that were chosen inside the pass, by name."""
        return self.learner.chosen_settings(self.state)

    @property
    def selection(self) -> Selection | None:
        """The choice of the penalty; None where the learner makes none."""
        return self.learner.selection(self.state) if isinstance(self.learner, PenaltySelector) else None

    def rollback(self, rows: Rows) -> Rollback:
        """Return what puts the state back after `after(rows, ...)`."""
        return self.learner.rollback(self.state, rows if self.map is None else np.empty((0, self.map.n_features)))

    def with_learner(self, choice: Choice) -> Solution:
        """Return the same state under the settings chosen now, which must be of the same kind."""
        state = self.state
        if isinstance(choice.learner, MergeableSolver):
            state = choice.learner.convert(state)
        return replace(self, learner=choice.learner, state=state, published=choice.published or {}, known_scorer=None)

    def after(
        self, rows: Rows, labels: Labels, weight: Floats | None = None, groups: GroupKeys | None = None
    ) -> Solution:
        """Return what is known after the rows."""
        if groups is not None:
            return self._with_state(self._grouped_solver().step_groups(self.state, rows, labels, groups, weight))
        if self.map is None:
            return self._with_state(self.learner.step(self.state, rows, labels, weight))
        state = self.state
        for start in range(0, labels.size, ROWS_PER_BLOCK):
            part = slice(start, start + ROWS_PER_BLOCK)
            state = self.learner.step(
                state, self.map.rows(rows[part]), labels[part], None if weight is None else weight[part]
            )
        return self._with_state(state)

    def widen(self, n_features: int) -> Solution:
        """Return what is known with room for more features, which were zero in every row so far."""
        return replace(self._with_state(self.learner.widen(self.state, n_features)), n_features=n_features)

    def reindex(self, places: ArrayLike, n_features: int) -> Solution:
        """Return what is known with each feature at its place among more, which were zero in every row."""
        state = self.mergeable_solver("merge").reindex(self.state, places, n_features)
        return replace(self._with_state(state), n_features=n_features)

    def merged(self, other: Solution) -> Solution:
        """Return what is known of the rows of both."""
        learner = self.mergeable_solver("merge")
        if other.mergeable_solver("merge").name != learner.name:
            raise IncompatibleMomentsError(
                f"cannot merge what {self._solver()} and what {other._solver()} have learned"
            )
        return self._with_state(learner.merge(self.state, learner.convert(other.state)))

    def subtract(
        self,
        rows: Rows,
        labels: Labels,
        weight: Floats | None,
        row_numbers: ArrayLike | None,
        groups: GroupKeys | None = None,
    ) -> Solution:
        """Return what would be known had these rows never been seen."""
        if groups is not None:
            return self._with_state(self._grouped_solver().forget_groups(self.state, rows, labels, groups, weight))
        learner = self.mergeable_solver("forget")
        return self._with_state(learner.forget(self.state, rows, labels, weight, row_numbers))

    def path(self, alphas: list[float]) -> Floats:
        """Return the weights for many penalties, one a row."""
        return self.mergeable_solver("path").path(self.state, alphas)

    def mergeable_solver(self, wanted_by: str) -> MergeableSolver[Any]:
        """Return the learner if it learns by sums alone, as those do that can merge, forget and give a path."""
        if isinstance(self.learner, MergeableSolver) and self.map is None:
            return self.learner
        if self.map is not None:
            raise UnsupportedOperationError(
                f"{wanted_by} is not possible where rows go through a {type(self.map).__name__}"
            )
        if self.published.get("solver_") == "exact":
            raise UnsupportedOperationError(
                f"{wanted_by} needs a given forgetting_factor: with 'auto' the order of rows counts"
            )
        raise UnsupportedOperationError(
            f"{wanted_by} needs solver='exact': what {self._solver()} has learned depends on each row in turn"
        )

    def _grouped_solver(self) -> GroupedSolver[Any]:
        """Return the learner if it can keep the rows of a group together."""
        if isinstance(self.learner, GroupedSolver) and self.map is None:
            return self.learner
        raise UnsupportedOperationError(f"groups are for folds, of which {self._solver()} has none")

    def _solver(self) -> str:
        """Return what learned, by the names of the parameters that asked for it."""
        solver, rank = (self.published.get(name) for name in ("solver_", "rank_"))
        if solver is None:
            return repr(self.learner.name)
        return repr(solver) if rank is None or solver == self.learner.name else f"{solver!r} with rank {rank}"

    def _with_state(self, state: Any) -> Solution:
        return replace(self, state=state, known_scorer=None)


@dataclass(frozen=True, eq=False)
class Solved:
    """The scorer that rows taken all at once have given: nothing can be learned on from there."""

    scorer: LinearScorer
    published: Settings = field(default_factory=dict)


Kind = TypeVar("Kind")
Held = TypeVar("Held")


class HeldSolution(Generic[Kind, Held]):
    """A recipe and its solution, which is not there before the first rows.

    Examples
    --------
    >>> from opauc.linear.fit import HeldSolution
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
        """What has been learned so far."""
        if self._solution is None:
            raise ValueError("nothing has been learned yet")
        return self._solution
