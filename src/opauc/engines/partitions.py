"""A model from partitions of rows in the memory of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from scipy import sparse

from opauc.core.fit import RowTraining
from opauc.data import ReadOptions
from opauc.data.sample import RowNumbers
from opauc.engines.shards import ShardLearning
from opauc.engines.trained_shards import TrainedShards
from opauc.errors import InputError, UnsupportedOperationError
from opauc.linear.training import ShardPlace
from opauc.training.model_files import AnyModel
from opauc.types import Array

# Rows, labels and weights as users have them.
RawChunk: TypeAlias = tuple[Array, ArrayLike, ArrayLike | None]


class RemoteRows(Protocol):
    """Labeled rows in partitions, numbered from 0 over all of them."""

    def n_rows(self) -> int:
        """Return how many there are; they may have to be read for that."""

    def take(self, numbers: RowNumbers) -> RawChunk:
        """Return the rows of these sorted numbers."""


def taken(chunk: RawChunk, rows: RowNumbers) -> RawChunk:
    """Return some rows of a chunk, and what belongs to them.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.engines.partitions import taken
    >>> taken((np.eye(3), ["a", "b", "c"], None), np.array([2]))
    (array([[0., 0., 1.]]), array(['c'], dtype='<U1'), None)
    """
    X, y, weight = chunk
    return _rows_at(X, rows), np.asarray(y)[rows], None if weight is None else np.asarray(weight)[rows]


def joined_chunks(chunks: Sequence[RawChunk]) -> RawChunk:
    """Return the rows of all chunks, of which there is at least one and which must be of one kind."""
    rows, labels, weights = zip(*chunks, strict=True)
    weight = None if weights[0] is None else np.concatenate([np.asarray(part) for part in weights])
    return _joined_rows(rows), np.concatenate([np.asarray(part) for part in labels]), weight


def _rows_at(X: Any, rows: RowNumbers) -> Any:
    if hasattr(X, "iloc"):  # pandas
        return X.iloc[rows]
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return X[rows]
    return pa.table(X).take(rows)  # polars and pyarrow


def _joined_rows(parts: Sequence[Any]) -> Any:
    first = parts[0]
    if any(type(part) is not type(first) for part in parts):
        kinds = ", ".join(sorted({type(part).__name__ for part in parts}))
        raise InputError(f"partitions must be of one kind, got {kinds}")
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    if sparse.issparse(first):
        return sparse.vstack(parts, format="csr")
    if isinstance(first, pa.Table):
        return pa.concat_tables(parts, promote_options="default")
    import pandas as pd  # whose frames they are

    return pd.concat(parts, ignore_index=True)


class Sharding(NamedTuple):
    """What all shards draw random numbers from, and whether one must know the number of its first row."""

    key: int = 0
    numbers_rows: bool = False


@runtime_checkable
class ShardedModel(Protocol):
    """An estimator whose rows can be learned in shards, as those are that learn by sums alone."""

    def _file_shards(self, paths: Sequence[str], options: ReadOptions) -> ShardLearning[RowTraining]: ...

    def _sharding(self, n_features: int) -> Sharding: ...

    def _begun_with(self, rows: RemoteRows, classes: Array) -> ShardedModel: ...

    def _shard(self, chunks: Iterable[RawChunk], classes: Array, place: ShardPlace) -> AnyModel: ...

    def _adopt_shards(self, model: AnyModel) -> None: ...


Estimator = TypeVar("Estimator", bound=ShardedModel)


def refuse_unsharded(model: object) -> None:
    """Raise unless a model learns in shards.

    >>> from opauc.baselines import OAM
    >>> from opauc.engines.partitions import refuse_unsharded
    >>> refuse_unsharded(OAM())
    Traceback (most recent call last):
        ...
    opauc.errors.UnsupportedOperationError: OAM does not learn in shards; OPAUC(solver='exact'), OPAUCCV and OnePassGAM do
    """
    if not isinstance(model, ShardedModel):
        name = type(model).__name__
        raise UnsupportedOperationError(
            f"{name} does not learn in shards; OPAUC(solver='exact'), OPAUCCV and OnePassGAM do"
        )


class Look(NamedTuple):
    """What the first rows of a partition show: one label of each kind, two at most, and the number of features."""

    labels: Array
    n_features: int


def look_at(X: Array, y: ArrayLike) -> Look:
    """Return what a partition shows, at the price of a glance at its labels."""
    labels = np.asarray(y)
    if not labels.size:
        return Look(labels, X.shape[1])
    return Look(np.array([labels[0], *labels[labels != labels[0]][:1]], dtype=labels.dtype), X.shape[1])


@dataclass(frozen=True, eq=False)
class PartitionPlan:
    """All that a machine must know to learn any partition."""

    model: ShardedModel
    classes: Array
    sharding: Sharding

    @classmethod
    def of(cls, model: ShardedModel, classes: Array, n_features: int, rows: RemoteRows) -> PartitionPlan:
        """Return the plan for rows of two classes and so many features, refused where shards do not add up."""
        sharding = model._sharding(n_features)
        return cls(model._begun_with(rows, classes), classes, sharding)

    def learned(self, number: int, first_row: int, chunks: Iterable[RawChunk]) -> TrainedShards:
        """Return what the chunks of a partition teach: the same whenever and wherever it is asked for."""
        rows = 0

        def counted() -> Iterator[RawChunk]:
            nonlocal rows
            for chunk in chunks:
                if chunk[0].shape[0]:
                    rows += chunk[0].shape[0]
                    yield chunk

        some = counted()
        first = next(some, None)
        if first is None:
            return TrainedShards(None)
        model = self.model._shard(chain([first], some), self.classes, ShardPlace(number, first_row, self.sharding.key))
        return TrainedShards(model, rows)


def classes_so_far(known: Array | None, look: Look) -> Array:
    """Return the kinds of label of the partitions looked at, sorted."""
    return np.unique(look.labels if known is None or not known.size else np.concatenate([known, look.labels]))


def published(model: Estimator, learned: TrainedShards) -> Estimator:
    """Return the model, fitted to what the partitions have taught."""
    name = type(model).__name__
    if learned.model is None or not learned.model.learned().counts.both:
        raise InputError(f"{name} needs rows of two classes, got {learned.rows} rows of fewer")
    model._adopt_shards(learned.model)
    return model
