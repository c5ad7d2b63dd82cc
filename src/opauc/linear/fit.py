"""A linear solver with its state: the fit of `OPAUC`, `OPAUCCV` and the baselines that train on streams."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.core.array_schema import with_prefix
from opauc.core.fit import BatchFit, Fit, PenaltyPath, no_segments
from opauc.core.json_schema import json_as
from opauc.core.mergeable import FeatureSpread, LabeledSums
from opauc.core.model import never_added, plain
from opauc.core.packed_sums import PackedArray, SegmentSums, hash_arrays
from opauc.core.parameters import from_saved
from opauc.core.registry import MAPS, SEVERAL_SOLVERS, SOLVERS
from opauc.core.row_blocks import widen_rows
from opauc.core.solver import AnySolver, GroupedSolver, MergeableSolver
from opauc.core.transaction import Rollback
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError, UnsupportedOperationError
from opauc.linear.exact_cv import PenaltySelector, Selection
from opauc.linear.maps import LinearMap
from opauc.linear.moments.classes import ClassMoments, GroupMoments
from opauc.linear.moments.folds import FoldMoments
from opauc.linear.multiclass.scorer import MulticlassScorer
from opauc.linear.multiclass.solver import MulticlassSolution, MulticlassSolver
from opauc.linear.scorer import LinearScorer
from opauc.types import Arrays, Floats, GroupKeys, Json, Labels, NamedArrays, RowCounts, Rows, Settings

# Mapped rows held at a time.
ROWS_PER_BLOCK = 16384


class Resolved(NamedTuple):
    """The solver that parameters ask for, what draws a map of the rows before it, and what "auto" became."""

    solver: AnySolver
    draw: Callable[[], LinearMap] | None = None
    attributes: Settings | None = None


class LinearHeader(TypedDict, total=False):
    """A linear fit in the header of a file."""

    solver: str | None
    settings: dict[str, bool | int | float | str | list[float] | None]
    map: str
    fitted: dict[str, bool | int | float | str | list[float] | None]


@dataclass(frozen=True, eq=False)
class LinearFit(Fit):
    """A solver, its state, and the linear map its rows go through first.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.exact import Exact
    >>> from opauc.linear.fit import LinearFit, Resolved
    >>> fit = LinearFit.start(Resolved(Exact(alpha=0.5)), n_features=1)
    >>> fit.update(np.array([[0.0], [2.0]]), np.array([0, 1], np.int8)).scorer.weights.round(4).tolist()
    [0.4444]
    """

    family: ClassVar[str] = "linear"

    solver: AnySolver
    state: Any
    width: int
    map: LinearMap | None = None
    attributes: Settings = field(default_factory=dict)
    fitted_scorer: LinearScorer | MulticlassScorer | None = None

    @classmethod
    def start(cls, resolved: Resolved, n_features: int) -> LinearFit:
        """Return the fit before any row."""
        mapped = None if resolved.draw is None else resolved.draw()
        width = n_features if mapped is None else mapped.n_features
        return cls(resolved.solver, resolved.solver.start(width), n_features, mapped, resolved.attributes or {})

    @property
    def n_features(self) -> int:
        """Length of a row."""
        return self.width

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.solver.n_classes

    @property
    def counts(self) -> RowCounts:
        """Rows of each class so far."""
        return self.solver.counts(self.state)

    @property
    def fitted_attributes(self) -> Settings:
        """What "auto" became."""
        return self.attributes

    @cached_property
    def moments(self) -> LabeledSums:
        """Class statistics of the rows so far, as the solver sees them."""
        return self.solver.statistics(self.state)

    @cached_property
    def scorer(self) -> LinearScorer | MulticlassScorer:
        """The linear scorer of rows as they are given."""
        if self.fitted_scorer is not None:
            return self.fitted_scorer
        if isinstance(self.solver, MulticlassSolver):
            return self._several.scorer
        weights = self.solver.weights(self.state)
        summary = self.solver.summary(self.state, weights)
        outer = weights if self.map is None else self.map.weights_of(weights)
        outer.flags.writeable = False
        scorer = LinearScorer.of(outer, summary, self.solver.scores_unit_rows(self.state))
        if not (np.isfinite(outer).all() and np.isfinite(scorer.intercept)):
            raise overflows()
        return scorer

    @property
    def feature_spread(self) -> FeatureSpread | None:
        """How much each feature varies among the rows so far; None where that is not known."""
        return self.solver.feature_spread(self.state) if self.map is None else None

    @property
    def feature_means(self) -> Floats | None:
        """The mean of each feature over the rows so far; None where the moments are not those of rows."""
        if self.map is not None or not self.solver.has_statistics:
            return None
        moments = self._whole_moments
        return moments.total().mean if isinstance(moments, GroupMoments) else None

    def auc_by_moments(self, part: LinearFit) -> float | None:
        """Return the AUC on the rows of another fit, by its moments as if scores were normal; None without moments."""
        moments = part._whole_moments if part.counts.all_seen else None
        return moments.binormal_auc(self.scorer.weights) if isinstance(moments, ClassMoments) else None

    @property
    def chosen_settings(self) -> dict[str, float]:
        """Settings that were chosen inside the pass, by name."""
        if isinstance(self.solver, MulticlassSolver):
            return {} if self.selection is None else {"alpha": self.selection.alpha}
        return self.solver.chosen_settings(self.state)

    @cached_property
    def selection(self) -> Selection | None:
        """The choice of the penalty; None where the solver makes none."""
        if isinstance(self.solver, MulticlassSolver):
            return self._several.selection
        return self.solver.selection(self.state) if isinstance(self.solver, PenaltySelector) else None

    def penalty_path(self) -> PenaltyPath | None:
        """Return the choice of the penalty and the weights for each candidate; None where none was chosen."""
        chosen = self.selection
        return None if chosen is None else PenaltyPath(chosen, self.path(chosen.alphas.tolist()))

    def basis_key(self) -> str:
        """Return a hash of the solver and its settings; features may be added."""
        solver = self.mergeable_solver("a cube")
        text = json.dumps(
            [solver.name, {name: plain(value) for name, value in solver.settings().items() if name != "n_jobs"}]
        )
        return hash_arrays({text: np.empty(0)})

    def segment_sums(self) -> SegmentSums:
        """Return the arrays of the moments."""
        arrays = self._moments_solver().to_arrays(self.state)
        return SegmentSums(self.n_features, {name: PackedArray.of(array) for name, array in arrays.items()})

    def segment_sizes(self, n_features: int) -> Mapping[str, int]:
        """Return the size of each array of the moments."""
        solver = self._moments_solver()
        if not 0 <= n_features <= self.n_features:
            raise ValueError(f"expected at most {self.n_features} features, got {n_features}")
        return {name: array.size for name, array in solver.to_arrays(solver.start(n_features)).items()}

    def sum_segments(self, segments: Iterable[tuple[SegmentSums, float]]) -> LinearFit:
        """Return the fit of the rows of segments; those that came before some features have fewer of them."""
        solver = self._moments_solver()
        total = solver.start(self.n_features)
        for (n_features, packed), factor in segments:
            shapes = solver.to_arrays(solver.start(n_features))
            arrays = {name: packed[name].dense().reshape(old.shape).astype(old.dtype) for name, old in shapes.items()}
            state = solver.widen(solver.from_arrays(n_features, arrays), self.n_features)
            total = solver.merge(total, state.decay(factor))
        return self._with_state(total)

    def align(self, rows: Rows) -> Rows:
        """Return the rows as wide as the fit: sparse rows may lack or add features, which have no weight."""
        return widen_rows(rows, self.n_features)

    def rollback(self, rows: Rows) -> Rollback:
        """Return what restores the state after `update(rows, ...)`."""
        return self.solver.rollback(self.state, rows if self.map is None else np.empty((0, self.map.n_features)))

    def with_solver(self, resolved: Resolved) -> LinearFit:
        """Return the same state under the parameters of now, which must be of the same solver."""
        state = self.state
        if isinstance(resolved.solver, MergeableSolver):
            state = resolved.solver.convert(state)
        attributes = resolved.attributes or {}
        return replace(self, solver=resolved.solver, state=state, attributes=attributes, fitted_scorer=None)

    def update(
        self, rows: Rows, labels: Labels, weight: Floats | None = None, groups: GroupKeys | None = None
    ) -> LinearFit:
        """Return the fit after more rows."""
        if groups is not None:
            return self._with_state(self._grouped_solver().step_groups(self.state, rows, labels, groups, weight))
        if self.map is None:
            return self._with_state(self.solver.step(self.state, rows, labels, weight))
        state = self.state
        for start in range(0, labels.size, ROWS_PER_BLOCK):
            part = slice(start, start + ROWS_PER_BLOCK)
            state = self.solver.step(
                state, self.map.rows(rows[part]), labels[part], None if weight is None else weight[part]
            )
        return self._with_state(state)

    def widen(self, n_features: int) -> LinearFit:
        """Return the fit with room for more features, which were zero in every row so far."""
        return replace(self._with_state(self.solver.widen(self.state, n_features)), width=n_features)

    def merge(self, other: LinearFit, positions: NDArray[np.int64] | None = None) -> LinearFit:
        """Return the fit of the rows of both."""
        if positions is not None:
            width = max(self.n_features, int(positions.max(initial=-1)) + 1)
            return self.widen(width).merge(other._reindex(positions, width))
        solver = self.mergeable_solver("merge")
        if other.mergeable_solver("merge").name != solver.name:
            raise IncompatibleMomentsError(f"cannot merge models of {self._described()} and of {other._described()}")
        return self._with_state(solver.merge(self.state, solver.convert(other.state)))

    def without(self, other: LinearFit, positions: NDArray[np.int64] | None = None) -> LinearFit:
        """Return the fit of the rows that are not in `other`."""
        solver = self.mergeable_solver("subtract")
        if other.mergeable_solver("subtract").name != solver.name:
            raise IncompatibleMomentsError(f"cannot subtract a model of {other._described()} from {self._described()}")
        if positions is not None:
            other = other._reindex(positions, self.n_features)
        try:
            left = self.state.subtract(solver.convert(other.state))
            solver.from_arrays(self.n_features, solver.to_arrays(left))  # which checks what is left
        except IncompatibleMomentsError as error:
            raise never_added(str(error)) from error
        return self._with_state(left)

    def subtract(
        self,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        row_numbers: ArrayLike | None = None,
        groups: GroupKeys | None = None,
    ) -> LinearFit:
        """Return the fit without these rows."""
        rows = self.align(rows)
        if groups is not None:
            return self._with_state(self._grouped_solver().forget_groups(self.state, rows, labels, groups, weight))
        solver = self.mergeable_solver("forget")
        return self._with_state(solver.forget(self.state, rows, labels, weight, row_numbers))

    def empty_copy(self) -> LinearFit:
        """Return the fit of no rows that merges with this one."""
        return self._with_state(self.mergeable_solver("empty_copy").empty_copy(self.state))

    def path(self, alphas: list[float]) -> Floats:
        """Return the weights for many penalties, one per row."""
        return self.mergeable_solver("path").path(self.state, alphas)

    def shard(self, first_row: int) -> LinearFit:
        """Return the empty fit of a shard whose first row has this number."""
        return replace(self, state=self.state.numbered_from(first_row))

    def gather(self, first_row: int) -> LinearFit:
        """Return the fit of a shard, ready to be merged with the others.

        Row numbers add up when shards merge, so those of the rows before are subtracted.
        """
        return replace(self, state=self.state.subtract(self.state.empty_copy().numbered_from(first_row)))

    def look(self, n_rows: int) -> LinearScorer | MulticlassScorer | None:
        """Return the scorer of the rows to come; None where it costs more than the rows so far."""
        return self.scorer if n_rows >= self.solver.rows_worth_a_solve(self.n_features) else None

    def scorer_of(self, arrays: NamedArrays) -> LinearScorer | MulticlassScorer:
        """Return the scorer that gave these arrays, which may have fewer features."""
        scorer = _scorer_of(arrays, self.n_classes)
        if scorer.n_inputs > self.n_features:
            raise ValueError(f"expected {self.n_features} weights at most, got {scorer.n_inputs}")
        return scorer

    def mergeable_solver(self, operation: str) -> MergeableSolver[Any]:
        """Return the solver if it keeps sums alone, as those do that can merge, forget and give a path."""
        if isinstance(self.solver, MergeableSolver) and self.map is None:
            return self.solver
        if self.map is not None:
            raise UnsupportedOperationError(
                f"{operation} is not possible where rows go through a {type(self.map).__name__}"
            )
        if self.attributes.get("solver_") == "exact":
            raise UnsupportedOperationError(
                f"{operation} needs a given forgetting_factor: with 'auto' the order of rows counts"
            )
        raise UnsupportedOperationError(
            f"{operation} needs solver='exact': the state of {self._described()} depends on each row in turn"
        )

    def to_parts(self) -> tuple[Json, Arrays]:
        """Return the solver's settings, and the arrays of its state and its map."""
        settings = {name: plain(value) for name, value in self.solver.settings().items()}
        header: Json = {"solver": self.solver.name, "settings": settings, "fitted": dict(self.attributes)}
        arrays: Arrays = {f"state.{name}": array for name, array in self.solver.to_arrays(self.state).items()}
        if self.map is not None:
            header["map"] = type(self.map).__name__
            arrays |= {f"map.{name}": array for name, array in self.map.to_arrays().items()}
        return header, arrays

    def scorer_arrays(self) -> Arrays:
        """Return the weights: scoring needs no statistics."""
        return {f"scorer.{name}": array for name, array in self.scorer.to_arrays().items()}

    @classmethod
    def scoring_from_parts(cls, header: Settings, arrays: NamedArrays, n_features: int) -> Fit:
        """Return the scorer of these parts; raise ValueError unless a fit can have them."""
        return cls._from_parts(header, arrays, n_features, can_train=False)

    @classmethod
    def from_parts(cls, header: Settings, arrays: NamedArrays, n_features: int) -> Fit:
        """Return the fit that gave these parts; raise ValueError unless one can have."""
        return cls._from_parts(header, arrays, n_features, can_train=True)

    @classmethod
    def _from_parts(cls, header: Settings, arrays: NamedArrays, n_features: int, can_train: bool) -> Fit:
        checked = json_as(LinearHeader, header, "fit")
        attributes, name, solver = checked["fitted"], checked["solver"], None
        if name is not None:
            kind: type[AnySolver] = SEVERAL_SOLVERS[name] if name in SEVERAL_SOLVERS else SOLVERS[name]
            solver = from_saved(name, kind, checked["settings"])
        n_classes = 2 if solver is None else solver.n_classes
        scorer = _scorer(arrays, n_features, n_classes) if "scorer.weights" in arrays else None
        if solver is None or not can_train:
            if scorer is None:
                raise ValueError("expected the weights of a scorer")
            return BatchFit(scorer, attributes, n_classes)
        mapped: LinearMap | None = None
        if "map" in checked:
            mapped = MAPS[checked["map"]].from_arrays(with_prefix("map.", arrays))
            if mapped.n_inputs != n_features or scorer is None:  # nothing else in the file is as long as a row
                raise ValueError(f"expected a map and weights of {n_features} features, got one of {mapped.n_inputs}")
        width = n_features if mapped is None else mapped.n_features
        state = solver.from_arrays(width, with_prefix("state.", arrays))
        # The scorer is not computed again: scoring needs no statistics.
        return cls(solver, state, n_features, mapped, attributes, scorer)

    @cached_property
    def _several(self) -> MulticlassSolution:
        """The scorer of several classes and the choice of its penalty."""
        assert isinstance(self.solver, MulticlassSolver), "asked for by its kind"
        solution = self.solver.solve(self.state)
        if not np.isfinite(solution.scorer.weights).all():
            raise overflows()
        return solution

    @property
    def _whole_moments(self) -> LabeledSums:
        """The moments of all folds together."""
        return self.moments.whole() if isinstance(self.moments, FoldMoments) else self.moments

    def _moments_solver(self) -> MergeableSolver[Any]:
        """Return the solver, which keeps exact moments of classes or of folds."""
        solver = self.mergeable_solver("a cube")
        if not solver.keeps_covariances or not solver.shards_merge:
            raise no_segments()
        return solver

    def _reindex(self, positions: ArrayLike, n_features: int) -> LinearFit:
        """Return the fit with each feature at its position among more, which were zero in every row."""
        state = self.mergeable_solver("merge").reindex(self.state, positions, n_features)
        return replace(self._with_state(state), width=n_features)

    def _grouped_solver(self) -> GroupedSolver[Any]:
        """Return the solver if it can keep the rows of a group together."""
        if isinstance(self.solver, GroupedSolver) and self.map is None:
            return self.solver
        raise UnsupportedOperationError(f"groups are for folds, of which {self._described()} has none")

    def _described(self) -> str:
        """Return the solver by the names of the parameters that asked for it."""
        solver, rank = (self.attributes.get(name) for name in ("solver_", "rank_"))
        if solver is None:
            return repr(self.solver.name)
        return repr(solver) if rank is None or solver == self.solver.name else f"{solver!r} with rank {rank}"

    def _with_state(self, state: Any) -> LinearFit:
        return replace(self, state=state, fitted_scorer=None)


def overflows() -> StatisticsOverflowError:
    """Return the error of weights or scores that are not finite."""
    return StatisticsOverflowError("the weights or the scores overflow float64; scale the features down")


def _scorer(arrays: NamedArrays, n_features: int, n_classes: int) -> LinearScorer | MulticlassScorer:
    """Return the scorer of a file, of so many features and classes."""
    weights, shape = arrays["scorer.weights"], (n_features,) if n_classes == 2 else (n_classes, n_features)
    if weights.shape != shape or weights.dtype != np.float64:
        raise ValueError(f"expected weights of shape {shape}, got shape {weights.shape}")
    return _scorer_of(with_prefix("scorer.", arrays), n_classes)


def _scorer_of(arrays: NamedArrays, n_classes: int) -> LinearScorer | MulticlassScorer:
    """Return the scorer of so many classes that gave these arrays."""
    if n_classes == 2:
        return LinearScorer.of_arrays(arrays["weights"], arrays["numbers"])
    scorer = MulticlassScorer.of_arrays(arrays)
    if scorer.n_classes != n_classes:
        raise ValueError(f"expected weights of {n_classes} classes, got {scorer.n_classes}")
    return scorer
