"""Train on partitions of rows in the memory of a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from scipy import sparse

from opauc.core.fit import FitFactory, Sharding, ShardPosition
from opauc.core.labels import MAX_CLASSES, ClassLabels
from opauc.core.loop import Trainer
from opauc.core.model import Model
from opauc.data.sample import RowNumbers
from opauc.engines.shards import TrainedShards
from opauc.errors import InputError, Parameter, ParameterError, UnsupportedOperationError
from opauc.estimators.input_checks import CheckedBatch
from opauc.types import Array

# Rows, labels and weights as a user gives them.
LabeledRows: TypeAlias = tuple[Array, ArrayLike, ArrayLike | None]


class RemoteRows(Protocol):
    """Labeled rows in partitions, numbered from 0 over all of them."""

    def n_rows(self) -> int:
        """Return how many there are; they may have to be read for that."""

    def take(self, numbers: RowNumbers) -> LabeledRows:
        """Return the rows of these sorted numbers."""


def take_rows(batch: LabeledRows, rows: RowNumbers) -> LabeledRows:
    """Return the rows at these positions with their labels and weights.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.engines.partitions import take_rows
    >>> take_rows((np.eye(3), ["a", "b", "c"], None), np.array([2]))
    (array([[0., 0., 1.]]), array(['c'], dtype='<U1'), None)
    """
    X, y, weight = batch
    return _rows_at(X, rows), np.asarray(y)[rows], None if weight is None else np.asarray(weight)[rows]


def concat_rows(batches: Sequence[LabeledRows]) -> LabeledRows:
    """Return the rows of all batches; there is at least one, and all are of one type."""
    rows, labels, weights = zip(*batches, strict=True)
    weight = None if weights[0] is None else np.concatenate([np.asarray(part) for part in weights])
    return _concat(rows), np.concatenate([np.asarray(part) for part in labels]), weight


def _rows_at(X: Any, rows: RowNumbers) -> Any:
    if hasattr(X, "iloc"):  # pandas
        return X.iloc[rows]
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return X[rows]
    return pa.table(X).take(rows)  # polars and pyarrow


def _concat(parts: Sequence[Any]) -> Any:
    first = parts[0]
    if any(type(part) is not type(first) for part in parts):
        types = ", ".join(sorted({type(part).__name__ for part in parts}))
        raise InputError(f"partitions must be of one type, got {types}")
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    if sparse.issparse(first):
        return sparse.vstack(parts, format="csr")
    if isinstance(first, pa.Table):
        return pa.concat_tables(parts, promote_options="default")
    import pandas as pd  # whose frames they are

    return pd.concat(parts, ignore_index=True)


@runtime_checkable
class ShardedEstimator(Protocol):
    """An estimator that can be trained in shards: its state merges exactly.

    These methods are the estimator's side of distributed training; users never call them.
    """

    def _shard_factory(self) -> FitFactory:
        """Return the factory that shards are trained by."""

    def _begin_shards(self, rows: RemoteRows, classes: Array) -> ShardedEstimator:
        """Return an estimator of these parameters with what must be fixed before the shards."""

    def _encode_shard(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, classes: Array, first: bool
    ) -> CheckedBatch:
        """Check rows of a shard."""

    def _to_model(self) -> Model:
        """Return the model of the fitted estimator."""

    def _adopt_shards(self, model: Model) -> None:
        """Take over the model of all shards."""


Estimator = TypeVar("Estimator", bound=ShardedEstimator)


def check_sharded(model: object) -> None:
    """Raise unless a model can be trained in shards.

    >>> from opauc.baselines import OAM
    >>> from opauc.engines.partitions import check_sharded
    >>> check_sharded(OAM())
    Traceback (most recent call last):
        ...
    opauc.errors.UnsupportedOperationError: OAM cannot train in shards; OPAUC(solver='exact'), OPAUCCV and OnePassGAM can
    """  # noqa: E501
    if not isinstance(model, ShardedEstimator):
        name = type(model).__name__
        raise UnsupportedOperationError(
            f"{name} cannot train in shards; OPAUC(solver='exact'), OPAUCCV and OnePassGAM can"
        )


class Look(NamedTuple):
    """The distinct labels of a partition, and its number of features."""

    labels: Array
    n_features: int


def look_at(X: Array, y: ArrayLike) -> Look:
    """Return the distinct labels, of many those that say that there are too many, and the number of features."""
    return Look(np.unique(np.asarray(y))[: MAX_CLASSES + 1], X.shape[1])


@dataclass(frozen=True, eq=False)
class PartitionPlan:
    """How to train on any partition; a machine needs nothing else."""

    model: ShardedEstimator
    classes: Array
    sharding: Sharding

    @classmethod
    def of(cls, model: ShardedEstimator, classes: Array, n_features: int, rows: RemoteRows) -> PartitionPlan:
        """Return the plan for rows of these classes and so many features; raise where shards do not merge."""
        begun = model._begin_shards(rows, classes)
        factory = begun._shard_factory().for_classes(classes.size)
        return cls(begun, classes, factory.sharding(np.empty((0, n_features))))

    def train(self, number: int, first_row: int, batches: Iterable[LabeledRows]) -> TrainedShards:
        """Return the model of the batches of a partition, which depends on these alone."""
        shard: Any = copy(self.model)
        position = ShardPosition(number, first_row, self.sharding.key)
        factory = shard._shard_factory().for_classes(self.classes.size)
        trainer, n_rows = Trainer(factory.for_shard(position)), 0
        for X, y, sample_weight in batches:
            if not X.shape[0]:
                continue
            batch = shard._encode_shard(X, y, sample_weight, self.classes, not n_rows)
            trainer.train_rows(batch.rows, batch.labels, batch.sample_weight)
            n_rows += X.shape[0]
        if not n_rows:
            return TrainedShards(None)
        shard.classes_, shard._fitted = self.classes, trainer.fit.gather(first_row)
        return TrainedShards(shard._to_model(), n_rows)


def classes_so_far(classes: Array | None, look: Look) -> Array:
    """Return the sorted distinct labels of the partitions so far."""
    return np.unique(look.labels if classes is None or not classes.size else np.concatenate([classes, look.labels]))


def given_classes(classes: Sequence[Any] | None) -> Array | None:
    """Return the classes that a user names, sorted; None where that is None.

    >>> from opauc.engines.partitions import given_classes
    >>> given_classes(["b", "a", "c"])
    array(['a', 'b', 'c'], dtype='<U1')
    """
    if classes is None:
        return None
    try:
        return ClassLabels.announced(list(classes), several=True).classes
    except ValueError as error:
        raise ParameterError(Parameter("classes"), f": {error}") from error


def classes_among(labels: Array) -> Array:
    """Return the classes, given two or more distinct labels: all of them, or two where more cannot be classes.

    >>> import numpy as np
    >>> from opauc.engines.partitions import classes_among
    >>> classes_among(np.array([1, 2, 5])), classes_among(np.array([0.1, 0.2, 0.5]))
    (array([1, 2, 5]), array([0.1, 0.2]))
    """
    return ClassLabels(several=True).with_labels(labels).classes


def adopt_shards(model: Estimator, trained: TrainedShards) -> Estimator:
    """Return the model, fitted to the rows of all partitions."""
    name = type(model).__name__
    if trained.model is None or not trained.model.fit.counts.all_seen:
        every = "two classes" if trained.model is None or not trained.model.several_classes else "every class"
        raise InputError(f"{name} needs rows of {every}, got {trained.rows} rows of fewer")
    model._adopt_shards(trained.model)
    return model
