"""Fitting to Spark frames, and scores as one more column of them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from opauc.core.extras import needed
from opauc.core.labels import MAX_CLASSES
from opauc.core.scorer import Scorer
from opauc.data.arrow_columns import label_values
from opauc.data.sample import RowNumbers
from opauc.data.schema.table import TableSchema
from opauc.engines.partitions import (
    Estimator,
    LabeledRows,
    PartitionPlan,
    adopt_shards,
    check_sharded,
    classes_among,
    concat_rows,
    given_classes,
    take_rows,
)
from opauc.engines.shards import TrainedShards
from opauc.engines.spark.scheduler import SCHEMA, engine_errors, merge_partitions, unwrap, value_batch
from opauc.errors import InputError, nearest_first
from opauc.types import Array, Floats

DENSE = 1  # the field `type` of a dense vector; that of a sparse one is 0


class FrameColumns(NamedTuple):
    """Which columns of a frame are the features, or the one that holds vectors; the label and the weight."""

    features: tuple[str, ...]
    vectors: bool
    label: str | None = None
    weight: str | None = None

    def used(self) -> list[str]:
        """Return the names of all columns that are read."""
        return [*self.features, *(name for name in (self.label, self.weight) if name is not None)]

    def rows(self, batch: pa.RecordBatch) -> pa.Table | Floats | csr_array:
        """Return the features of a batch: a table with their names, or the rows that vectors hold."""
        if self.vectors:
            return vector_rows(batch.column(batch.schema.get_field_index(self.features[0])), self.features[0])
        return pa.Table.from_batches([batch.select(list(self.features))])


def vector_rows(column: pa.StructArray, name: str) -> Floats | csr_array:
    """Return the rows of a column of vectors: an array where all are dense, else sparse.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.engines.spark.training import vector_rows
    >>> kinds = [("type", pa.int8()), ("size", pa.int32()), ("indices", pa.list_(pa.int32())),
    ...          ("values", pa.list_(pa.float64()))]
    >>> column = pa.array([(1, None, None, [1.0, 2.0]), (0, 2, [1], [3.0])], pa.struct(kinds))
    >>> vector_rows(column, "features").toarray()
    array([[1., 2.],
           [0., 3.]])
    """
    if column.null_count:
        raise InputError(f"column {name}: {column.null_count} vectors are missing")
    kinds, values = column.field("type").to_numpy(), column.field("values")
    lengths = _lengths(values)
    data = values.flatten().to_numpy(zero_copy_only=False)
    dense = kinds == DENSE
    sizes = np.where(dense, lengths, column.field("size").fill_null(0).to_numpy())
    if not sizes.size:
        return np.empty((0, 0))
    if (sizes != sizes[0]).any():
        raise InputError(f"column {name}: vectors of {sizes.min()} and of {sizes.max()} entries")
    if dense.all():
        return data.reshape(sizes.size, sizes[0])
    ends = np.concatenate([[0], np.cumsum(lengths)])
    places = np.arange(data.size) - np.repeat(ends[:-1], lengths)
    places[np.repeat(~dense, lengths)] = column.field("indices").filter(pa.array(~dense)).flatten().to_numpy()
    return csr_array((data, places.astype(np.int32), ends.astype(np.int32)), shape=(sizes.size, int(sizes[0])))


def _lengths(lists: pa.ListArray) -> Array:
    """Return how many entries each list has."""
    return np.diff(lists.offsets.to_numpy())


with needed("pyspark", "spark"):
    from pyspark import TaskContext
    from pyspark.ml.linalg import VectorUDT
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as F  # noqa: N812

# The classes are those of so many rows, or of all rows where these are of one class.
FIRST_ROWS = 10_000


class ScoringModel(Protocol):
    """A fitted model, of the columns of a table (`_columns`) or of features."""

    def _scorer(self) -> Scorer: ...

    def _feature_names(self) -> tuple[str, ...] | None: ...

    @property
    def classes_(self) -> Array:
        """The classes."""

    @property
    def _columns(self) -> TableSchema | None: ...


def fit_spark(
    model: Estimator,
    frame: DataFrame,
    label: str = "label",
    *,
    features: Sequence[str] | str | None = None,
    weight: str | None = None,
    classes: Sequence[Any] | None = None,
) -> Estimator:
    """Return the model, fitted to the rows of a Spark frame.

    Tasks sum up every partition in Arrow batches and merge these sums in an order
    that depends on the partitions alone. The weights are those of one process that
    trains on all rows, to rounding. Failed tasks are repeated, and no row counts
    twice.

    Parameters
    ----------
    model : estimator
        `OPAUC` with solver "exact", full or sketched, `OPAUCCV`, or `OnePassGAM`.
    frame : pyspark.sql.DataFrame
        Rows.
    label : str, default="label"
        The column of the labels; of two classes the greater one is the positive class.
    features : str or sequence of str, default=None
        A column of vectors (pyspark.ml.linalg, dense or sparse), or columns of
        numbers, for `OnePassGAM` also of strings, booleans and dates; by default
        all but the label and the weight.
    weight : str, default=None
        The column of the weights of the rows.
    classes : sequence, default=None
        All classes. By default those of the first rows, or of all rows where these are of one class; a label that is
        none of them is an error.

    Returns
    -------
    model : estimator
        The fitted model, the same object.

    Notes
    -----
    The rows of each partition are counted first for `OPAUCCV`, whose folds go by row
    numbers, and for `OnePassGAM`, which draws its initial sample by row number with
    `random_state`. A partition must give its rows in the same order each time.

    Examples
    --------
    >>> from opauc import OPAUC
    >>> from opauc.engines import fit_spark, score_spark
    >>> from pyspark.sql import SparkSession  # doctest: +SKIP
    >>> spark = SparkSession.builder.getOrCreate()  # doctest: +SKIP
    >>> frame = spark.createDataFrame([(0.0, "no"), (1.0, "no"), (4.0, "yes")], ["size", "bought"])  # doctest: +SKIP
    >>> model = fit_spark(OPAUC(), frame, label="bought")  # doctest: +SKIP
    >>> [row.bought for row in score_spark(model, frame).orderBy("score").collect()]  # doctest: +SKIP
    ['no', 'no', 'yes']
    """
    check_sharded(model)
    named = given_classes(classes)
    columns = _columns(frame, features, label, weight)
    rows = frame.select(*columns.used())
    all_rows = SparkRows(rows, columns)
    plan = PartitionPlan.of(model, _classes(rows, label) if named is None else named, _width(rows, columns), all_rows)
    first_rows = all_rows.first_rows if plan.sharding.numbers_rows else {}

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = _partition()
        yield value_batch(
            number, lambda: plan.train(number, first_rows.get(number, 0), _labeled_rows(batches, columns))
        )

    trained = merge_partitions(rows.mapInArrow(task, SCHEMA))
    return adopt_shards(model, TrainedShards(None) if trained is None else trained)


def score_spark(
    model: ScoringModel, frame: DataFrame, *, features: Sequence[str] | str | None = None, output: str = "score"
) -> DataFrame:
    """Return the frame with one more column: the score of each row, the higher, the more likely positive.

    Of a model of more than two classes it is an array, of a score for each class in the order of `classes_`.

    Parameters
    ----------
    model : estimator
        A fitted estimator.
    frame : pyspark.sql.DataFrame
        Rows.
    features : str or sequence of str, default=None
        Columns as in `fit_spark`; by default those of the model by their names, or the one column of vectors.
    output : str, default="score"
        The name of the new column.

    Returns
    -------
    frame : pyspark.sql.DataFrame
        The rows with their scores; nothing is computed before they are asked for.

    Examples
    --------
    >>> from opauc.engines import score_spark
    >>> best = score_spark(model, frame).orderBy("score", ascending=False).limit(10)  # doctest: +SKIP
    >>> best.select("size").collect()  # doctest: +SKIP
    [Row(size=4.0), Row(size=1.0), Row(size=0.0)]
    """
    scorer, raw, several = model._scorer(), model._columns, model.classes_.size > 2
    names = model._feature_names() if raw is None else [column.name for column in raw.columns]
    columns = _columns(frame, names if features is None else features)
    if raw is None and not columns.vectors and len(columns.features) != scorer.n_inputs:
        raise InputError(f"the model has {scorer.n_inputs} features, {len(columns.features)} columns are given")

    def scores(structs: pa.Array) -> pa.Array:
        rows = columns.rows(pa.RecordBatch.from_struct_array(structs))
        if raw is not None:
            rows = raw.read(rows, "the frame").rows
        dense = np.column_stack([one.to_numpy() for one in rows.columns]) if isinstance(rows, pa.Table) else rows
        found = scorer.scores(dense.astype(np.float64, copy=False)) if dense.shape[0] else np.empty(0)
        return pa.array(list(found), pa.list_(pa.float64())) if several else pa.array(found, pa.float64())

    kind = "array<double>" if several else "double"
    return frame.withColumn(output, F.arrow_udf(scores, kind)(F.struct(*columns.features)))


def _columns(
    frame: DataFrame, features: Sequence[str] | str | None, label: str | None = None, weight: str | None = None
) -> FrameColumns:
    """Return the roles of the columns of a frame; raise where one is missing."""
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    if features is None:
        chosen = [name for name in kinds if name not in (label, weight)]
        vectors = [name for name in chosen if isinstance(kinds[name], VectorUDT)]
        if len(vectors) == 1 and label is None:
            chosen = vectors
    else:
        chosen = [features] if isinstance(features, str) else list(features)
    for name in [*chosen, *(one for one in (label, weight) if one is not None)]:
        if name not in kinds:
            raise InputError(f"the frame has no column {name}; it has {', '.join(nearest_first(name, kinds))}")
    vectors = [name for name in chosen if isinstance(kinds[name], VectorUDT)]
    if not chosen or (vectors and len(chosen) > 1):
        raise InputError(
            f"features must be columns of numbers or one column of vectors, got {', '.join(chosen) or 'none'}"
        )
    return FrameColumns(tuple(chosen), bool(vectors), label, weight)


def _classes(rows: DataFrame, label: str) -> Array:
    """Return the labels of the first rows, or of all where these are of one class."""
    with engine_errors():
        found = rows.select(label).limit(FIRST_ROWS).distinct().collect()
        if len(found) < 2:
            found = rows.select(label).distinct().limit(MAX_CLASSES + 1).collect()
    kinds = [row[0] for row in found if row[0] is not None]
    if len(kinds) < 2:
        raise InputError(f"column {label}: rows of two classes are needed, got {kinds or 'none'}")
    return classes_among(np.unique(np.array(kinds)))


def _width(rows: DataFrame, columns: FrameColumns) -> int:
    """Return how many features rows have."""
    if not columns.vectors:
        return len(columns.features)
    with engine_errors():
        first = rows.select(columns.features[0]).head()
    return 0 if first is None or first[0] is None else int(first[0].size)


@dataclass(frozen=True)
class SparkRows:
    """The rows of a frame, in the order of its partitions."""

    rows: DataFrame
    columns: FrameColumns

    @cached_property
    def counts(self) -> dict[int, int]:
        """Rows of each partition, in order; a partition without rows may be absent."""

        def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield pa.record_batch({"number": [_partition()], "rows": [sum(batch.num_rows for batch in batches)]})

        with engine_errors():
            return dict(sorted(tuple(row) for row in self.rows.mapInArrow(count, "number long, rows long").collect()))

    @property
    def first_rows(self) -> dict[int, int]:
        """The number of the first row of each partition."""
        return dict(zip(self.counts, accumulate(self.counts.values(), initial=0), strict=False))

    def n_rows(self) -> int:
        """Return how many rows there are."""
        return sum(self.counts.values())

    def take(self, numbers: RowNumbers) -> LabeledRows:
        """Return the rows of these sorted numbers."""
        columns, first_rows = self.columns, self.first_rows

        def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            part = _partition()
            rows = _labeled_rows(batches, columns)
            yield value_batch(part, lambda: list(_select_rows(rows, numbers, first_rows.get(part, 0))))

        with engine_errors():
            found = self.rows.mapInArrow(task, SCHEMA).collect()
        parts = [unwrap(pickle.loads(row["value"])) for row in sorted(found, key=lambda row: row["number"])]
        return concat_rows([batch for part in parts for batch in part])


def _select_rows(batches: Iterator[LabeledRows], numbers: RowNumbers, first_row: int) -> Iterator[LabeledRows]:
    """Yield the rows of these numbers; the first batch begins at `first_row`."""
    for batch in batches:
        end = first_row + batch[0].shape[0]
        here = numbers[slice(*np.searchsorted(numbers, [first_row, end]))]
        if here.size:
            yield take_rows(batch, here - first_row)
        first_row = end


def _labeled_rows(batches: Iterator[pa.RecordBatch], columns: FrameColumns) -> Iterator[LabeledRows]:
    """Yield rows, labels and weights of each batch."""
    for batch in batches:
        labels, missing = label_values(batch, str(columns.label), "the frame")
        if missing is not None and missing.any():
            raise InputError(f"column {columns.label}: {int(missing.sum())} labels are missing")
        weight = None
        if columns.weight is not None:
            weight = batch.column(batch.schema.get_field_index(columns.weight)).to_numpy(zero_copy_only=False)
        yield columns.rows(batch), labels, weight


def _partition() -> int:
    return int(TaskContext.get().partitionId())
