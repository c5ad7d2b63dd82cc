"""Fitting on a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, repeat
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from opauc.core.extras import needed
from opauc.core.labels import ClassLabels
from opauc.core.registry import READINGS
from opauc.data import ReadOptions
from opauc.data.sample import RowNumbers
from opauc.engines.dask.scheduler import DaskScheduler, engine_errors, scheduler_of
from opauc.engines.files import train_files
from opauc.engines.partitions import (
    Estimator,
    LabeledRows,
    PartitionPlan,
    adopt_shards,
    check_sharded,
    classes_among,
    classes_so_far,
    concat_rows,
    given_classes,
    look_at,
    take_rows,
)
from opauc.engines.shards import SHARD_POLICY, ShardPolicy, TrainedShards, plan_training
from opauc.errors import InputError
from opauc.types import Array

with needed("dask", "dask"):
    import dask.array as da
    from dask.delayed import Delayed, delayed
    from distributed import Client

# Dask arrays, dataframes and series, and whatever partitions of them are.
Collection: TypeAlias = Any


class Partition(NamedTuple):
    """Rows, labels and weights of a partition, each a task or None, and the number of rows where it is known."""

    X: Delayed
    y: Delayed
    sample_weight: Delayed | None = None
    n_rows: int | None = None


def fit_dask(
    model: Estimator,
    X: Collection,
    y: Collection = None,
    *,
    sample_weight: Collection = None,
    classes: Sequence[Any] | None = None,
    reading: ReadOptions | None = None,
    client: Client | None = None,
    shard_policy: ShardPolicy = SHARD_POLICY,
) -> Estimator:
    """Return the model, fitted to rows on a Dask cluster or in files that it can read.

    Every worker sums up its partitions; the workers merge these sums in pairs, in
    an order that depends on the partitions alone. The weights are
    those of one process that trains on all rows, to rounding. Work that is lost
    with a worker is repeated, and no row counts twice.

    Parameters
    ----------
    model : estimator
        `OPAUC` with solver "exact", full or sketched, `OPAUCCV`, or `OnePassGAM`.
    X : dask array, dask dataframe, list of delayed batches, or paths
        Delayed batches give (X, y) or (X, y, sample_weight). Paths are files,
        patterns or folders of any format that the command reads; the workers
        must find them under the same names.
    y : dask array or series, or str
        Labels; the name of the label's column where X is a dataframe.
    sample_weight : dask array or series, default=None
        Weight of each row.
    classes : sequence, default=None
        All classes. By default those of the first partitions up to the first one with a second label; a label that is
        none of them is an error.
    reading : ReadOptions, default=None
        How files are read; by default all is inferred.
    client : distributed.Client, default=None
        The cluster; by default the current client.
    shard_policy : ShardPolicy, default=SHARD_POLICY
        How large the shards of files are.

    Returns
    -------
    model : estimator
        The fitted model, the same object.

    Notes
    -----
    A sketch draws other random signs for each partition, by its number: its
    weights depend on how the rows are cut, but not on the workers. The
    folds of `OPAUCCV` go by row numbers: where those are not known before (text,
    dataframes, delayed batches), rows are counted first, which reads them twice.

    `OnePassGAM` draws its initial sample at random from all rows, by row number with
    `random_state`, before the pass, so that the model does not depend on how rows are
    cut; rows that are not in memory are read twice.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from distributed import Client
    >>> from opauc import OPAUC
    >>> from opauc.engines import fit_dask
    >>> X = da.from_array(np.arange(8.0)[:, None], chunks=(3, 1))
    >>> y = da.from_array(np.array([0, 0, 0, 0, 1, 1, 1, 1]), chunks=3)
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     fit_dask(OPAUC(), X, y).predict([[1.0], [6.0]])
    array([0, 1])
    """
    check_sharded(model)
    named, scheduler = given_classes(classes), scheduler_of(client)
    paths = _paths(X)
    if paths is not None:
        if y is not None or sample_weight is not None:
            raise InputError("the labels of files are in them: y and sample_weight must be None")
        factory, options = model._shard_factory(), reading or ReadOptions()
        labels = ClassLabels(several=True) if named is None else ClassLabels(named, several=True)
        kind = READINGS["ordinal" if type(model).__name__ == "OnePassGAM" else "onehot"]
        plan = plan_training(factory, paths, kind(options), labels, shard_policy)
        return adopt_shards(model, train_files(plan, scheduler))
    return adopt_shards(model, _train_partitions(model, DaskRows(_partitions(X, y, sample_weight), scheduler), named))


@dataclass(frozen=True)
class DaskRows:
    """The rows of all partitions."""

    parts: Sequence[Partition]
    scheduler: DaskScheduler

    @cached_property
    def counts(self) -> list[int]:
        """Rows of each partition; where that is not known, its labels are counted."""
        sizes = [part.n_rows for part in self.parts if part.n_rows is not None]
        if len(sizes) == len(self.parts):
            return sizes
        lengths: list[int] = self._gather([delayed(_length, pure=False)(part.y) for part in self.parts])
        return lengths

    def n_rows(self) -> int:
        """Return how many rows there are."""
        return sum(self.counts)

    def take(self, numbers: RowNumbers) -> LabeledRows:
        """Return the rows of these sorted numbers."""
        take, chosen = delayed(_take_rows, pure=False), []
        for part, begin, count in zip(self.parts, accumulate(self.counts, initial=0), self.counts, strict=False):
            here = numbers[slice(*np.searchsorted(numbers, [begin, begin + count]))]
            if here.size:
                chosen.append(take(part.X, part.y, part.sample_weight, here - begin))
        return concat_rows(self._gather(chosen))

    def _gather(self, tasks: Sequence[Delayed]) -> Collection:
        with engine_errors():
            return self.scheduler.client.gather(self.scheduler.client.compute(tasks))


def _train_partitions(model: Estimator, rows: DaskRows, named: Array | None) -> TrainedShards:
    """Return the merged model of all partitions; the user may have named the classes."""
    plan = _plan(model, rows, named)
    numbered = plan.sharding.numbers_rows
    first_rows = accumulate(rows.counts, initial=0) if numbered else repeat(0)
    train = delayed(plan.train, pure=False)
    tasks = [
        train(number, first_row, [(part.X, part.y, part.sample_weight)])
        for number, (part, first_row) in enumerate(zip(rows.parts, first_rows, strict=False))
    ]
    trained: TrainedShards = rows.scheduler.merge(tasks)
    return trained


def _plan(model: Estimator, rows: DaskRows, named: Array | None) -> PartitionPlan:
    """Look at one partition after another until there are rows of two classes, at the first where they are named."""
    classes, look, width = None, delayed(look_at, pure=False), 0
    for part in rows.parts:
        with engine_errors():
            first = rows.scheduler.client.compute(look(part.X, part.y)).result()
        classes, width = classes_so_far(classes, first), first.n_features
        if named is not None:
            return PartitionPlan.of(model, named, width, rows)
        if classes.size >= 2:
            return PartitionPlan.of(model, classes_among(classes), width, rows)
    found = "no rows" if classes is None or not classes.size else f"one class, {classes.tolist()[0]!r}"
    raise InputError(f"{type(model).__name__} needs rows of two classes, got {found}")


def _paths(X: Collection) -> list[str] | None:
    """Return the paths of files, None where rows are given."""
    if isinstance(X, str | os.PathLike):
        return [os.fspath(X)]
    if isinstance(X, list | tuple) and X and all(isinstance(one, str | os.PathLike) for one in X):
        return [os.fspath(one) for one in X]
    return None


def _partitions(X: Collection, y: Collection, sample_weight: Collection) -> list[Partition]:
    """Return rows, labels and weights, partition by partition."""
    if isinstance(X, da.Array):
        return list(_array_partitions(X, y, sample_weight))
    if isinstance(X, list | tuple) and X and all(isinstance(one, Delayed) for one in X):
        if y is not None or sample_weight is not None:
            raise InputError("delayed batches give their own labels and weights: (X, y) or (X, y, sample_weight)")
        batches = [delayed(_triple, pure=False)(one) for one in X]
        return [Partition(batch[0], batch[1], batch[2]) for batch in batches]
    try:
        frames = X.to_delayed()
    except AttributeError:
        raise InputError(
            f"X must be a dask array, a dask dataframe, delayed batches or paths, got {type(X).__name__}"
        ) from None
    if isinstance(y, str):
        labels = X[y].to_delayed()
        frames = X.drop(columns=[y]).to_delayed()
    else:
        labels = _column(y, len(frames), "y")
    weights = [None] * len(frames) if sample_weight is None else _column(sample_weight, len(frames), "sample_weight")
    return [Partition(*parts) for parts in zip(frames, labels, weights, strict=True)]


def _array_partitions(X: da.Array, y: Collection, sample_weight: Collection) -> Iterator[Partition]:
    """Yield blocks of rows with all columns, their labels and weights."""
    if X.ndim != 2:
        raise InputError(f"X must have rows and columns, its shape is {X.shape}")
    whole = X.rechunk({1: -1})
    sizes = whole.chunks[0]
    sized = all(size == size for size in sizes)  # an unknown size is nan
    columns: list[list[Delayed] | list[None]] = []
    for name, column in (("y", y), ("sample_weight", sample_weight)):
        if name == "sample_weight" and column is None:
            columns.append([None] * len(sizes))
            continue
        if sized and isinstance(column, da.Array) and column.shape != (X.shape[0],):
            raise InputError(
                f"{name} must have one entry for each of the {X.shape[0]} rows, its shape is {column.shape}"
            )
        if sized and isinstance(column, da.Array):
            column = column.rechunk((sizes,))
        columns.append(_column(column, len(sizes), name))
    blocks = whole.to_delayed()[:, 0].tolist()
    for block, labels, weight, size in zip(blocks, *columns, sizes, strict=True):
        yield Partition(block, labels, weight, int(size) if sized else None)


def _column(column: Collection, n_partitions: int, name: str) -> list[Delayed]:
    """Return the partitions of labels or weights; raise unless there are as many as of the rows."""
    try:
        parts = column.to_delayed()
    except AttributeError:
        raise InputError(f"{name} must be a dask array or series, got {type(column).__name__}") from None
    partitions: list[Delayed] = parts.tolist() if isinstance(column, da.Array) else list(parts)
    if len(partitions) != n_partitions:
        raise InputError(f"{name} has {len(partitions)} partitions, X has {n_partitions}")
    return partitions


def _triple(batch: Collection) -> Collection:
    """Return rows, labels and weights of a delayed batch."""
    if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
        raise InputError("a delayed batch must give (X, y) or (X, y, sample_weight)")
    return (*batch, None)[:3]


def _length(y: Collection) -> int:
    return len(y)


def _take_rows(X: Collection, y: Collection, sample_weight: Collection, rows: RowNumbers) -> LabeledRows:
    return take_rows((X, y, sample_weight), rows)
