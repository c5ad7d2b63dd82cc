"""The interface of solvers, and what each declares of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar, cast

from numpy.typing import ArrayLike

from opauc.core.mergeable import FeatureSpread, LabeledSums, ScoreSummary, Statistic
from opauc.core.state_arrays import check_array_shapes, restore_state, state_arrays
from opauc.core.transaction import Rollback
from opauc.errors import IncompatibleMomentsError, UnsupportedOperationError
from opauc.types import Arrays, Floats, GroupKeys, Json, Labels, NamedArrays, RowCounts, Rows

State = TypeVar("State")
Sums = TypeVar("Sums", bound=LabeledSums)


class Solver(ABC, Generic[State]):
    """One algorithm: weights from batches of labeled rows.

    A solver is a frozen dataclass of hyper-parameters, all with defaults,
    registered by its `name` in `opauc.core.registry`. Class attributes declare
    what it can do beyond training.

    A step may write into the arrays of the state it is given if `rollback`
    restores them; any other state is a value and never changes.
    """

    # The name in model files, in messages and in `opauc compare`.
    name: ClassVar[str]
    # Classes of the rows; a solver of several classes has a field of this name.
    n_classes: int = 2
    # A state has class statistics.
    has_statistics: ClassVar[bool] = False
    # The state holds covariance matrices, n_features x n_features each.
    keeps_covariances: ClassVar[bool] = False
    # Is so slow with default settings that a comparison leaves it out unless its name is given.
    is_slow: ClassVar[bool] = False

    @property
    def n_covariances(self) -> int:
        """How many covariance matrices the state holds: by default one of each class."""
        return 2 if self.keeps_covariances else 0

    @property
    def order_matters(self) -> bool:
        """Whether rows in another order give other weights; then a weight of two differs from the row twice."""
        return True

    def settings(self) -> Json:
        """Return the hyper-parameters by their names, as files have them."""
        return {part.name: getattr(self, part.name) for part in fields(self)}  # type: ignore[arg-type]

    @abstractmethod
    def start(self, n_features: int) -> State:
        """Return the state before any row."""

    @abstractmethod
    def step(self, state: State, rows: Rows, labels: Labels, weight: Floats | None = None) -> State:
        """Return the state after the rows, in order; weights are positive, and all rows may be of one class."""

    @abstractmethod
    def weights(self, state: State) -> Floats:
        """Return the weights of the scorer, shape (n_features,), a new array; zero without rows of both classes.

        Of several classes the shape is (n_classes, n_features).
        """

    @abstractmethod
    def counts(self, state: State) -> RowCounts:
        """Return how many rows of each class were seen."""

    def summary(self, state: State, weights: Floats) -> ScoreSummary:
        """Return counts, means and variances of the scores that `weights` give to the rows seen."""
        moments = self.statistics(state)
        assert isinstance(moments, Statistic), "solvers of several classes have no scores of one column"
        return moments.summary(weights)

    def scores_unit_rows(self, state: State) -> bool:  # noqa: ARG002
        """Tell whether the weights are for rows scaled to length one."""
        return False

    def rollback(self, state: State, rows: Rows) -> Rollback:  # noqa: ARG002
        """Return what restores `state` after a step on `rows`."""
        return Rollback()

    def rows_worth_a_solve(self, n_features: int) -> int:  # noqa: ARG002
        """Return how many rows take about as long to train on as computing the weights."""
        return 0

    def statistics(self, state: State) -> LabeledSums:  # noqa: ARG002
        """Return the class statistics of the rows seen."""
        raise UnsupportedOperationError(f"{type(self).__name__} keeps no class statistics")

    def feature_spread(self, state: State) -> FeatureSpread | None:
        """Return how much each feature varies among the rows seen; None where that is unknown."""
        return self.statistics(state).feature_spread() if self.has_statistics else None

    def chosen_settings(self, state: State) -> dict[str, float]:  # noqa: ARG002
        """Return the settings that were chosen inside the pass, by name."""
        return {}

    def to_arrays(self, state: State) -> Arrays:
        """Return the arrays a state is made of, by name."""
        return state_arrays(state)

    def from_arrays(self, n_features: int, arrays: NamedArrays) -> State:
        """Return the state of so many features that gave these arrays, checked before memory is allocated for it."""
        check_array_shapes(n_features, arrays, *(self.to_arrays(self.start(width)) for width in (1, 2)))
        state = restore_state(self.start(n_features), arrays)
        self.check(state)
        return state

    def widen(self, state: State, n_features: int) -> State:
        """Return the state with more features, which were zero in every row so far."""
        return restore_state(self.start(n_features), self.to_arrays(state))

    def check(self, state: State) -> None:
        """Raise for a state from a file that kernels cannot work on."""


# A solver with any state.
AnySolver: TypeAlias = Solver[Any]


class MergeableSolver(Solver[Sums]):
    """A solver whose state is a statistic: rows in any order, states that merge, rows that can be subtracted."""

    has_statistics: ClassVar[bool] = True
    # Why shards do not merge, where they do not.
    shards_refusal: ClassVar[str] = "rows processed in shards cannot fade: forgetting_factor must be 1.0"
    # The effect of a row depends on its number in the stream: shards must know the number of their first row.
    numbers_rows: ClassVar[bool] = False

    @property
    def order_matters(self) -> bool:
        """Whether rows in another order give other weights: sums do not."""
        return False

    @property
    def shards_merge(self) -> bool:
        """Whether the states of shards merge to the state of all rows."""
        return True

    def shard_key(self) -> int:
        """Return a number from which all shards of a run take their random numbers."""
        return 0

    def of_shard(self, key: int, shard: int) -> Self:  # noqa: ARG002
        """Return the solver of one of several shards, by its number; all shards have the same `key`."""
        return self.in_one_thread()

    def in_one_thread(self) -> Self:
        """Return the solver with one thread, as each shard has."""
        return self

    def convert(self, state: LabeledSums) -> Sums:
        """Return the state of another solver of the same name in the form of this one, on another device perhaps."""
        return cast(Sums, state)

    def forget(
        self,
        state: Sums,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        row_numbers: ArrayLike | None = None,  # noqa: ARG002
    ) -> Sums:
        """Return the state without these rows, which were processed under these numbers, from 0."""
        return state.subtract(state.empty_copy().update(rows, labels, weight))

    def empty_copy(self, state: Sums) -> Sums:
        """Return the state of no rows that merges with this one."""
        return state.empty_copy()

    def merge(self, state: Sums, other: Sums) -> Sums:
        """Return the state of the rows of both."""
        return state.merge(other)

    def reindex(self, state: Sums, places: ArrayLike, n_features: int) -> Sums:
        """Return the state with each feature at its place among more, which were zero in every row."""
        return state.reindex(places, n_features)

    def path(self, state: Sums, alphas: Sequence[float]) -> Floats:  # noqa: ARG002
        """Return the weights for many penalties, one row per penalty."""
        raise UnsupportedOperationError(f"{type(self).__name__} has no penalty")

    def counts(self, state: Sums) -> RowCounts:
        """Return how many rows of each class were seen."""
        return state.counts

    def statistics(self, state: Sums) -> Sums:
        """Return the statistics, which are the state."""
        return state

    def to_arrays(self, state: Sums) -> Arrays:
        """Return the arrays the statistic is made of, by name."""
        return state.to_arrays()

    def from_arrays(self, n_features: int, arrays: NamedArrays) -> Sums:
        """Return the statistic of so many features that gave these arrays, checked; nothing else is allocated."""
        narrow = self.start(1)
        optional = type(narrow).optional_arrays
        needed = {name: part for name, part in arrays.items() if name.rpartition(".")[-1] not in optional}
        expected, given = (_names_and_types(parts) for parts in (narrow.to_arrays(), needed))
        if expected != given:
            raise IncompatibleMomentsError(f"expected arrays {', '.join(expected)}, got {', '.join(given)}")
        state = type(narrow).from_arrays(arrays)
        if state.n_features != n_features:
            raise IncompatibleMomentsError(f"expected statistics of {n_features} features, got {state.n_features}")
        return state

    def widen(self, state: Sums, n_features: int) -> Sums:
        """Return the state with more features, which were zero in every row so far."""
        return state.widen(n_features)


class GroupedSolver(MergeableSolver[Sums]):
    """A mergeable solver that can keep the rows of one group together."""

    @abstractmethod
    def step_groups(
        self, state: Sums, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None
    ) -> Sums:
        """Return the state after rows of the given groups, which all rows must have or none."""

    @abstractmethod
    def forget_groups(
        self, state: Sums, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None
    ) -> Sums:
        """Return the state without these rows, which were processed with these groups."""


def _names_and_types(arrays: NamedArrays) -> list[str]:
    """Return names and types of arrays."""
    return sorted(f"{name} ({array.dtype})" for name, array in arrays.items())
