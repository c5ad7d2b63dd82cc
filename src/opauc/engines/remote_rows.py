"""Rows that lie in many places, of which some can be fetched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opauc.errors import InputError
from opauc.rows import Array

# Rows, labels and weights as users have them.
RawChunk: TypeAlias = tuple[Array, ArrayLike, ArrayLike | None]
Numbers: TypeAlias = NDArray[np.int64]


class RemoteRows(Protocol):
    """Labelled rows in partitions, numbered from 0 over all of them."""

    def n_rows(self) -> int:
        """Return how many there are; they may have to be read for that."""

    def drawn(self, numbers: Numbers) -> RawChunk:
        """Return the rows of these numbers, which rise."""


def spread_numbers(n_rows: int, wanted: int, seed: int) -> Numbers:
    """Return the numbers of so many of the rows, one of each even stretch of them; all where they are few.

    Examples
    --------
    >>> from opauc.engines.remote_rows import spread_numbers
    >>> spread_numbers(3, 5, seed=0).tolist(), (spread_numbers(100, 4, seed=0) // 25).tolist()
    ([0, 1, 2], [0, 1, 2, 3])
    """
    if n_rows <= wanted:
        return np.arange(n_rows)
    edges = np.arange(wanted + 1) * n_rows // wanted
    numbers: Numbers = np.random.default_rng(seed).integers(edges[:-1], edges[1:])
    return numbers


def taken(chunk: RawChunk, rows: Numbers) -> RawChunk:
    """Return some rows of a chunk, and what belongs to them.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.engines.remote_rows import taken
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


def _rows_at(X: Any, rows: Numbers) -> Any:
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
