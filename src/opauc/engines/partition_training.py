"""A model from partitions of rows in the memory of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from opauc.engines.learnt_shards import LearntShards
from opauc.engines.remote_rows import RawChunk, RemoteRows
from opauc.engines.shard_learning import ShardLearning
from opauc.errors import InputError, UnsupportedOperation
from opauc.reading import ReadOptions
from opauc.rows import Array
from opauc.training.learnt import RowTraining
from opauc.training.saved_model import AnyModel
from opauc.training.shard_training import ShardPlace


class Sharding(NamedTuple):
    """What all shards draw random numbers from, and whether one must know the number of its first row."""

    key: int = 0
    numbers_rows: bool = False


@runtime_checkable
class ShardedModel(Protocol):
    """An estimator whose rows can be learnt in shards, as those are that learn by sums alone."""

    def _file_shards(self, paths: Sequence[str], options: ReadOptions) -> ShardLearning[RowTraining]: ...

    def _sharding(self, n_features: int) -> Sharding: ...

    def _begun_with(self, rows: RemoteRows, classes: Array) -> ShardedModel: ...

    def _shard(self, chunks: Iterable[RawChunk], classes: Array, place: ShardPlace) -> AnyModel: ...

    def _adopt_shards(self, model: AnyModel) -> None: ...


Estimator = TypeVar("Estimator", bound=ShardedModel)


def refuse_unsharded(model: object) -> None:
    """Raise unless a model learns in shards.

    >>> from opauc.baselines import OAM
    >>> from opauc.engines.partition_training import refuse_unsharded
    >>> refuse_unsharded(OAM())
    Traceback (most recent call last):
        ...
    opauc.errors.UnsupportedOperation: OAM does not learn in shards; OPAUC(solver='exact'), OPAUCCV and OnePassGAM do
    """
    if not isinstance(model, ShardedModel):
        name = type(model).__name__
        raise UnsupportedOperation(f"{name} does not learn in shards; OPAUC(solver='exact'), OPAUCCV and OnePassGAM do")


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

    def learnt(self, number: int, first_row: int, chunks: Iterable[RawChunk]) -> LearntShards:
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
            return LearntShards(None)
        model = self.model._shard(chain([first], some), self.classes, ShardPlace(number, first_row, self.sharding.key))
        return LearntShards(model, rows)


def classes_so_far(known: Array | None, look: Look) -> Array:
    """Return the kinds of label of the partitions looked at, sorted."""
    return np.unique(look.labels if known is None or not known.size else np.concatenate([known, look.labels]))


def published(model: Estimator, learnt: LearntShards) -> Estimator:
    """Return the model, fitted to what the partitions have taught."""
    name = type(model).__name__
    if learnt.model is None or not learnt.model.learnt().counts.both:
        raise InputError(f"{name} needs rows of two classes, got {learnt.rows} rows of fewer")
    model._adopt_shards(learnt.model)
    return model
