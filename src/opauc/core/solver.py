"""What every learner promises, and what it says of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar, cast

from numpy.typing import ArrayLike

from opauc.core.mergeable import FeatureSpread, ScoreSummary, Statistic
from opauc.core.state_arrays import check_array_shapes, restore_state, state_arrays
from opauc.core.transaction import Rollback
from opauc.errors import IncompatibleMomentsError, UnsupportedOperationError
from opauc.types import Arrays, ClassCounts, Floats, GroupKeys, Json, Labels, NamedArrays, Rows

State = TypeVar("State")
Sums = TypeVar("Sums", bound=Statistic)


class Solver(ABC, Generic[State]):
    """One algorithm: weights from chunks of labeled rows.

    A learner is a frozen dataclass of hyper-parameters, all with defaults,
    registered by its `name` in `opauc.core.registry`. What it can do beyond
    learning is said by the class attributes.

    A step may write into the arrays of the state it is given where `undo`
    keeps what it writes over; any other state is a value and stays as it is.
    """

    # The name in model files, in messages and in `opauc compare`.
    name: ClassVar[str]
    # Class statistics can be had of a state.
    has_statistics: ClassVar[bool] = False
    # The state holds covariance matrices, n_features x n_features each.
    keeps_covariances: ClassVar[bool] = False
    # Takes so long with its default settings that a comparison leaves it out unless it is asked for by name.
    is_slow: ClassVar[bool] = False

    @property
    def n_covariances(self) -> int:
        """How many covariance matrices the state holds: unless said otherwise, one of each class."""
        return 2 if self.keeps_covariances else 0

    @property
    def order_matters(self) -> bool:
        """Whether rows in another order give other weights; then a weight of two is not the row twice."""
        return True

    def settings(self) -> Json:
        """Return the hyper-parameters by their names, as files have them."""
        return {part.name: getattr(self, part.name) for part in fields(self)}  # type: ignore[arg-type]

    @abstractmethod
    def start(self, n_features: int) -> State:
        """Return the state before any row."""

    @abstractmethod
    def step(self, state: State, rows: Rows, labels: Labels, weight: Floats | None = None) -> State:
        """Return the state after the rows, in order; weights are positive and not all rows need be of both classes."""

    @abstractmethod
    def weights(self, state: State) -> Floats:
        """Return the weights of the scorer, shape (n_features,), an array of their own; zero without both classes."""

    @abstractmethod
    def counts(self, state: State) -> ClassCounts:
        """Return how many rows of each class were seen."""

    @abstractmethod
    def summary(self, state: State, weights: Floats) -> ScoreSummary:
        """Return counts, means and variances of the scores that `weights` give to the rows seen."""

    def scores_unit_rows(self, state: State) -> bool:  # noqa: ARG002
        """Tell whether the weights are for rows scaled to length one."""
        return False

    def rollback(self, state: State, rows: Rows) -> Rollback:  # noqa: ARG002
        """Return what puts `state` back after a step on `rows`."""
        return Rollback()

    def rows_worth_a_solve(self, n_features: int) -> int:  # noqa: ARG002
        """Return how many rows cost about as much to learn as the weights cost to work out."""
        return 0

    def statistics(self, state: State) -> Statistic:  # noqa: ARG002
        """Return the class statistics of the rows seen."""
        raise UnsupportedOperationError(f"{type(self).__name__} keeps no class statistics")

    def feature_spread(self, state: State) -> FeatureSpread | None:
        """Return how much each feature varies among the rows seen; None where nothing is known of it."""
        return self.statistics(state).feature_spread() if self.has_statistics else None

    def chosen_settings(self, state: State) -> dict[str, float]:  # noqa: ARG002
        """Return the settings that were chosen inside the pass, by name."""
        return {}

    def to_arrays(self, state: State) -> Arrays:
        """Return the arrays a state is made of, by name."""
        return state_arrays(state)

    def from_arrays(self, n_features: int, arrays: NamedArrays) -> State:
        """Return the state of so many features that gave these arrays, checked before room is made for it."""
        check_array_shapes(n_features, arrays, *(self.to_arrays(self.start(few)) for few in (1, 2)))
        state = restore_state(self.start(n_features), arrays)
        self.check(state)
        return state

    def widen(self, state: State, n_features: int) -> State:
        """Return the state with room for more features, which were zero in every row so far."""
        return restore_state(self.start(n_features), self.to_arrays(state))

    def check(self, state: State) -> None:
        """Refuse a state from a file that would lead the kernels astray."""


# A learner, whatever its state is.
AnySolver: TypeAlias = Solver[Any]


class MergeableSolver(Solver[Sums]):
    """A learner whose state is a statistic: any order of rows, merging and forgetting come free."""

    has_statistics: ClassVar[bool] = True
    # What becomes of a row depends on its number in the stream: shards must know that of their first.
    numbers_rows: ClassVar[bool] = False

    @property
    def order_matters(self) -> bool:
        """Whether rows in another order give other weights: sums do not."""
        return False

    @property
    def shards_merge(self) -> bool:
        """Whether shards learned apart from each other merge to what one learner of all rows has."""
        return True

    def shard_key(self) -> int:
        """Return a number from which all shards of a run take their random numbers."""
        return 0

    def of_shard(self, key: int, shard: int) -> Self:  # noqa: ARG002
        """Return the learner of one of several shards, by its number; `key` stands for all of them."""
        return self

    def convert(self, state: Statistic) -> Sums:
        """Return the state of another learner of the same name as this one keeps it: elsewhere, it may be."""
        return cast(Sums, state)

    def forget(
        self,
        state: Sums,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        row_numbers: ArrayLike | None = None,  # noqa: ARG002
    ) -> Sums:
        """Return the state as if these rows, learned under these numbers (from 0), had never been seen."""
        return state.subtract(state.empty_copy().update(rows, labels, weight))

    def merge(self, state: Sums, other: Sums) -> Sums:
        """Return the state of the rows of both."""
        return state.merge(other)

    def reindex(self, state: Sums, places: ArrayLike, n_features: int) -> Sums:
        """Return the state with each feature at its place among more, which were zero in every row."""
        return state.reindex(places, n_features)

    def path(self, state: Sums, alphas: Sequence[float]) -> Floats:  # noqa: ARG002
        """Return the weights for many penalties, one a row."""
        raise UnsupportedOperationError(f"{type(self).__name__} has no penalty")

    def counts(self, state: Sums) -> ClassCounts:
        """Return how many rows of each class were seen."""
        return state.counts

    def statistics(self, state: Sums) -> Sums:
        """Return the statistics, which are the state."""
        return state

    def summary(self, state: Sums, weights: Floats) -> ScoreSummary:
        """Return what the statistics say of the scores."""
        return state.summary(weights)

    def to_arrays(self, state: Sums) -> Arrays:
        """Return the arrays the statistic is made of, by name."""
        return state.to_arrays()

    def from_arrays(self, n_features: int, arrays: NamedArrays) -> Sums:
        """Return the statistic of so many features that gave these arrays, checked; no other room is made for it."""
        narrow = self.start(1)
        optional = type(narrow).optional_arrays
        needed = {name: part for name, part in arrays.items() if name.rpartition(".")[-1] not in optional}
        wanted, found = (_kinds(parts) for parts in (narrow.to_arrays(), needed))
        if wanted != found:
            raise IncompatibleMomentsError(f"expected arrays {', '.join(wanted)}, got {', '.join(found)}")
        state = type(narrow).from_arrays(arrays)
        if state.n_features != n_features:
            raise IncompatibleMomentsError(f"expected statistics of {n_features} features, got {state.n_features}")
        return state

    def widen(self, state: Sums, n_features: int) -> Sums:
        """Return the state with room for more features, which were zero in every row so far."""
        return state.widen(n_features)


class GroupedSolver(MergeableSolver[Sums]):
    """A learner by sums that can keep the rows of one group together."""

    @abstractmethod
    def step_groups(
        self, state: Sums, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None
    ) -> Sums:
        """Return the state after rows of the given groups, which all rows must have or none."""

    @abstractmethod
    def forget_groups(
        self, state: Sums, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None
    ) -> Sums:
        """Return the state as if these rows, learned with these groups, had never been seen."""


def _kinds(arrays: NamedArrays) -> list[str]:
    """Return names and types of arrays."""
    return sorted(f"{name} ({array.dtype})" for name, array in arrays.items())
