"""A model from partitions of rows in the memory of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from opauc.engines.learnt_shards import LearntShards
from opauc.errors import InputError
from opauc.rows import Array, Json
from opauc.training.model_file import Model
from opauc.training.recipe import Recipe
from opauc.training.shard_training import ShardPlace, shard_learner

# Rows, labels and weights as users have them.
RawChunk: TypeAlias = tuple[Array, ArrayLike, ArrayLike | None]


class ShardedModel(Protocol):
    """An estimator whose rows can be learnt in shards, as those are that learn by sums alone."""

    def get_params(self, deep: bool = True) -> Json:
        """Return the parameters by their names."""

    def _recipe(self) -> Recipe: ...

    def _shard(self, chunks: Iterable[RawChunk], classes: Array, place: ShardPlace) -> Model: ...

    def _adopt(self, model: Model) -> None: ...


AnyModel = TypeVar("AnyModel", bound=ShardedModel)


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
    key: int
    numbers_rows: bool

    @classmethod
    def of(cls, model: ShardedModel, classes: Array, n_features: int) -> PartitionPlan:
        """Return the plan for rows of two classes and so many features, refused where shards do not add up."""
        learner = shard_learner(model._recipe().choose(n_features, "float64"))
        fresh = type(model)(**model.get_params(deep=False))
        return cls(fresh, classes, learner.shard_key(), learner.numbers_rows)

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
        model = self.model._shard(chain([first], some), self.classes, ShardPlace(number, first_row, self.key))
        return LearntShards(model, rows)


def classes_so_far(known: Array | None, look: Look) -> Array:
    """Return the kinds of label of the partitions looked at, sorted."""
    return np.unique(look.labels if known is None or not known.size else np.concatenate([known, look.labels]))


def published(model: AnyModel, learnt: LearntShards) -> AnyModel:
    """Return the model, fitted to what the partitions have taught."""
    name = type(model).__name__
    if learnt.model is None or not learnt.model.learnt().counts.both:
        raise InputError(f"{name} needs rows of two classes, got {learnt.rows} rows of fewer")
    parameters, solution = model.get_params(deep=False), learnt.model.learnt()
    choice = model._recipe().choose(solution.n_features, "float64")
    model._adopt(replace(learnt.model, parameters=parameters, solution=solution.with_learner(choice)))
    return model
