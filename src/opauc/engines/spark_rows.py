"""Batches of Spark as rows: plain columns, or one column of vectors of its machine learning library."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from opauc.errors import InputError
from opauc.rows import Array, Floats

DENSE = 1  # what the field `type` of a vector says; a sparse one has 0


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
    >>> from opauc.engines.spark_rows import vector_rows
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
