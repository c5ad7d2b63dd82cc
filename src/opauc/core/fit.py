"""The interfaces of every model family: a fit, and the factory that begins one from parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Never, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.core.labels import ClassLabels
from opauc.core.mergeable import FeatureSpread
from opauc.core.packed_sums import SegmentSums
from opauc.core.scorer import Scorer, WeightScorer
from opauc.core.transaction import Rollback
from opauc.errors import Part, UnsupportedOperationError
from opauc.types import (
    Arrays,
    ClassCounts,
    Floats,
    GroupKeys,
    Json,
    Labels,
    NamedArrays,
    RowCounts,
    Rows,
    Settings,
)

if TYPE_CHECKING:
    from opauc.core.batch import ResumePosition
    from opauc.core.model import RowReading
    from opauc.data.table_source import Source


class PenaltyPath(NamedTuple):
    """The choice among penalties, and the weights for each of them, one per row."""

    selection: Any
    weights: Floats


class Fit(ABC):
    """A solver and its state after the rows so far. A value, except for arrays that `rollback` restores.

    Weights are computed when they are first asked for.
    """

    # The family's name in model files.
    family: ClassVar[str]
    # Whether it has what training needs, and not only what scoring needs.
    can_train: ClassVar[bool] = True
    # Whether rows become columns of a basis, with which other fits of the family can begin.
    has_basis: ClassVar[bool] = False
    # Progressive validation computes the weights again when the number of rows has grown by this factor.
    look_growth: ClassVar[float] = 1.5

    @property
    @abstractmethod
    def n_features(self) -> int:
        """Length of a row."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return 2

    @property
    @abstractmethod
    def counts(self) -> RowCounts:
        """Rows of each class so far, each counted with its weight."""

    @property
    @abstractmethod
    def scorer(self) -> Scorer:
        """The scorer of rows."""

    @property
    def removed_initial_rows(self) -> int:
        """Rows removed from the sums that had helped to fix a basis, which stays."""
        return 0

    @property
    def fitted_attributes(self) -> Settings:
        """Resolved parameters and chosen settings, by the names of the estimator's attributes."""
        return {}

    @property
    def chosen_settings(self) -> Mapping[str, float]:
        """Settings that were chosen inside the pass, by name."""
        return {}

    @property
    def feature_spread(self) -> FeatureSpread | None:
        """How much each feature varies among the rows so far; None where that is not known."""
        return None

    @property
    def feature_means(self) -> Floats | None:
        """The mean of each feature over the rows so far; None where it is not known."""
        return None

    @property
    def input_aucs(self) -> Floats | None:
        """AUC of each input by itself on rows of the initial sample; None where it is not known."""
        return None

    def penalty_path(self) -> PenaltyPath | None:
        """Return the choice of the penalty and the weights for each candidate; None where none was chosen."""
        return None

    def auc_by_moments(self, part: Self) -> float | None:  # noqa: ARG002
        """Return the AUC on the rows of another fit, by its class moments as if scores were normal; None without."""
        return None

    @abstractmethod
    def align(self, rows: Rows) -> Rows:
        """Return the rows with the number of features of the fit."""

    @abstractmethod
    def update(self, rows: Rows, labels: Labels, weight: Floats | None = None, groups: GroupKeys | None = None) -> Self:
        """Return the fit after more rows, all of positive weight."""

    @abstractmethod
    def subtract(
        self,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        row_numbers: ArrayLike | None = None,
        groups: GroupKeys | None = None,
    ) -> Self:
        """Return the fit without these rows; `row_numbers` or `groups` are those they were processed with."""

    @abstractmethod
    def merge(self, other: Self, positions: NDArray[np.int64] | None = None) -> Self:
        """Return the fit of the rows of both.

        `positions` has the index of each feature of `other` among the features of both, of which those of this
        fit come first; without it the features are the same.
        """

    @abstractmethod
    def without(self, other: Self, positions: NDArray[np.int64] | None = None) -> Self:
        """Return the fit of the rows that are not in `other`: the inverse of `merge`, with `positions` as there.

        Rows that were never added are refused as far as the sums show it.
        """

    @abstractmethod
    def basis_key(self) -> str:
        """Return a hash of what is fixed before the rows: the sums of fits that have the same one add."""

    @abstractmethod
    def segment_sums(self) -> SegmentSums:
        """Return what the rows have added to the fit, without what is fixed before them."""

    @abstractmethod
    def segment_sizes(self, n_features: int) -> Mapping[str, int]:
        """Return the size of each array that `segment_sums` gives for so many features."""

    @abstractmethod
    def sum_segments(self, segments: Iterable[tuple[SegmentSums, float]]) -> Self:
        """Return the fit of the rows of segments alone, each with a factor on the weight of its rows.

        Raises ValueError where the arrays cannot be sums of rows.
        """

    def rollback(self, rows: Rows) -> Rollback:  # noqa: ARG002
        """Return the rollback of the arrays that `update(rows, ...)` writes into."""
        return Rollback()

    def gather(self, first_row: int) -> Self:  # noqa: ARG002
        """Return the fit of a shard ready to be merged with those of the others."""
        return self

    def finish(self, reading: RowReading) -> tuple[Self, RowReading]:
        """Return the fit after the last row, and how rows are to be read for it."""
        return self, reading

    @abstractmethod
    def look(self, n_rows: int) -> Scorer | None:
        """Return the scorer for the next rows, after `n_rows`; None where it is not worth computing."""

    def new_rows(self, rows: Rows) -> NDArray[np.bool_] | None:  # noqa: ARG002
        """Tell which rows were not in the initial sample; None where there is none."""
        return None

    @abstractmethod
    def scorer_of(self, arrays: NamedArrays) -> Scorer:
        """Return the scorer that gave these arrays; raise ValueError unless one of this fit can have."""

    @abstractmethod
    def to_parts(self) -> tuple[Json, Arrays]:
        """Return the fit as a JSON object and arrays."""

    def scorer_arrays(self) -> Arrays:
        """Return the arrays of the scorer, where these are saved so that it need not be computed to score rows."""
        return {}

    def scoring_only(self) -> Fit:
        """Return what scores and explains rows in the same way, without what only training needs."""
        raise UnsupportedOperationError("only OnePassGAM can be saved for scoring only")

    @classmethod
    @abstractmethod
    def from_parts(cls, header: Settings, arrays: NamedArrays, n_features: int) -> Fit:
        """Return the fit that gave these parts; raise ValueError unless one can have."""

    @classmethod
    def scoring_from_parts(cls, header: Settings, arrays: NamedArrays, n_features: int) -> Fit:
        """Return a fit of these parts that scores rows; it may leave out what only training needs."""
        return cls.from_parts(header, arrays, n_features)

    def check_reading(self, reading: RowReading | None) -> None:
        """Raise ValueError unless rows that are read so are rows of this fit."""
        names = None if reading is None else reading.feature_names()
        if names is not None and len(names) != self.n_features:
            raise ValueError(f"expected columns that become {self.n_features} features, got {len(names)}")


def no_segments() -> UnsupportedOperationError:
    """Return the error of segments of a model that is not made of sums."""
    return UnsupportedOperationError("segments are sums: they need OnePassGAM, or OPAUC or OPAUCCV with solver='exact'")


def only_two_classes(what: Part, n_classes: int, *works: Part) -> UnsupportedOperationError:
    """Return the error of more than two classes where `what` cannot have them; `works` says what can."""
    return UnsupportedOperationError(
        "Only binary classification is supported by ", what, f", here there are {n_classes} classes; ", *works
    )


def only_scores() -> UnsupportedOperationError:
    """Return the error of training a model that was saved for scoring only."""
    return UnsupportedOperationError(
        "this model was saved for scoring only; use the full model to train, merge or forget"
    )


@dataclass(frozen=True, eq=False)
class BatchFit(Fit):
    """A fit of all rows at once, from which training cannot continue.

    Examples
    --------
    >>> from opauc.baselines import UniLog
    >>> fit = UniLog().fit([[0.0], [1.0]], [0, 1])._fitted
    >>> type(fit).__name__, fit.n_features
    ('BatchFit', 1)
    """

    family: ClassVar[str] = "batch"

    fitted_scorer: WeightScorer
    attributes: Settings = field(default_factory=dict)
    size: int = 2  # number of classes

    @property
    def n_features(self) -> int:
        """Length of a row."""
        return self.fitted_scorer.n_inputs

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.size

    @property
    def counts(self) -> ClassCounts:
        """Not kept."""
        raise self._unsupported()

    @property
    def scorer(self) -> WeightScorer:
        """The scorer of rows."""
        return self.fitted_scorer

    @property
    def fitted_attributes(self) -> Settings:
        """Chosen settings, by the names of the estimator's attributes."""
        return self.attributes

    def align(self, rows: Rows) -> Rows:
        """Return the rows unchanged."""
        return rows

    def update(self, *_: object, **__: object) -> Self:
        """Raise: training cannot continue."""
        raise self._unsupported()

    def look(self, *_: object, **__: object) -> Never:
        """Raise: training cannot continue."""
        raise self._unsupported()

    subtract = merge = without = update
    scorer_of = look

    def basis_key(self, *_: object, **__: object) -> Never:
        """Raise: the fit is no sum."""
        raise no_segments()

    segment_sums = segment_sizes = sum_segments = basis_key

    def to_parts(self) -> tuple[Json, Arrays]:
        """Return the settings; the arrays are those of the scorer."""
        return {"fitted": dict(self.attributes)}, {}

    def scorer_arrays(self) -> Arrays:
        """Return the scorer as arrays."""
        return {f"scorer.{name}": array for name, array in self.fitted_scorer.to_arrays().items()}

    @classmethod
    def from_parts(cls, header: Settings, arrays: NamedArrays, n_features: int) -> Fit:
        """Return the fit of a linear scorer; there are no others."""
        from opauc.core.registry import FITS

        fit: Fit = FITS["linear"].from_parts({**header, "solver": None}, arrays, n_features)
        return fit

    def _unsupported(self) -> UnsupportedOperationError:
        return UnsupportedOperationError("this model is trained on all rows at once; training cannot continue from it")


class ShardPosition(NamedTuple):
    """The number of a shard, the number of its first row among all rows, and the random key of all shards."""

    number: int
    first_row: int = 0
    key: int = 0


class Sharding(NamedTuple):
    """The random key of all shards, whether a shard must know the number of its first row, and their sizes."""

    key: int = 0
    numbers_rows: bool = False
    state_bytes: float = 0.0  # of a fit: a shard should have several times as many
    min_rows: int = 0  # that a shard should have
    pieces: int = 1  # a row group may be cut into so many shards


@dataclass(frozen=True, eq=False)
class Opening:
    """The start of a pass over files: how to train, how to read, the classes, the column types."""

    factory: FitFactory
    reading: RowReading
    labels: ClassLabels
    column_profiles: Sequence[Any] = ()


class FitFactory(Protocol):
    """Begins fits from the parameters of an estimator, which it checks.

    It begins fits of two classes, unless `for_classes` returned it.
    """

    @property
    def estimator(self) -> str:
        """Name of the estimator."""

    @property
    def parameters(self) -> Settings:
        """Its parameters, at least those that are not defaults."""

    @property
    def several_classes(self) -> bool:
        """Whether files may have more than two classes."""

    def prepare(self, fit: Fit | None, rows: Rows, position: ResumePosition | None = None) -> Fit:
        """Return the fit to train on these rows: a first one, or `fit` with the current parameters and enough features.

        `position` is the end of the batch of rows where they come from a stream.
        """

    def check_resumed(self, fit: Fit, position: ResumePosition) -> None:
        """Raise ValueError where a fit up to that position cannot have been trained with these parameters."""

    def open_files(self, paths: Sequence[Source], reading: RowReading, labels: ClassLabels) -> Opening:
        """Return the start of a pass over files."""

    def sharding(self, rows: Rows) -> Sharding:
        """Return how shards are cut and numbered; raise UnsupportedOperationError where they do not merge."""

    def for_shard(self, shard: ShardPosition) -> FitFactory:
        """Return the factory of one of several shards."""

    def for_classes(self, n_classes: int) -> FitFactory:
        """Return the factory of fits of so many classes; raise UnsupportedOperationError where there are none."""

    def for_segments(self) -> FitFactory:
        """Return the factory of fits of segments, which merge: files fix before the pass what the fits share."""

    @property
    def begins_fixed(self) -> bool:
        """Whether all that its fits share is fixed before their first row."""


class IncompatibleSolverError(ValueError):
    """The parameters ask for another solver than that of the fit so far."""

    def __init__(self, before: Fit, now: Settings) -> None:
        self.before = before
        was = before.fitted_attributes
        super().__init__(
            f"solver was {was.get('solver_')!r} with rank {was.get('rank_')} on the last "
            f"call to partial_fit, now it is {now.get('solver_')!r} with rank {now.get('rank_')}"
        )
