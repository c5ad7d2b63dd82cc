"""The only validation: what a caller hands over becomes a chunk the rest can trust."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, validate_data

from opauc.estimators.label_codes import encode_labels, two_classes
from opauc.statistics.chunk_rows import Labels, Rows

REAL = (np.float64, np.float32)


class Chunk(NamedTuple):
    """Finite rows, labels 0 and 1 standing for `classes`, and weights where there are any."""

    rows: Rows
    labels: Labels
    classes: NDArray[Any]
    sample_weight: NDArray[np.float64] | None


def checked_chunk(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    classes: NDArray[Any] | None,
    first: bool,
) -> Chunk:
    """Check a labelled chunk; the first one fixes the number and names of the features."""
    rows, given = validate_data(estimator, X, y, reset=first, accept_sparse="csr", dtype=REAL)
    labels, known = encode_labels(given, classes)
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
    return Chunk(canonical(rows), labels, known, weight)


def checked_rows(estimator: BaseEstimator, X: ArrayLike) -> Rows:
    """Check rows to be scored against the features learnt from."""
    return canonical(validate_data(estimator, X, reset=False, accept_sparse="csr", dtype=REAL))


def canonical(rows: Any) -> Rows:
    """Return dense rows as they are and sparse ones sorted, without duplicates and within bounds.

    The caller's matrix is never changed: what must be sorted is copied first.
    """
    if not sparse.issparse(rows):
        return rows
    if rows.nnz and not (rows.indices.min() >= 0 and rows.indices.max() < rows.shape[1]):
        raise ValueError(
            f"column indices of the sparse matrix must lie between 0 and {rows.shape[1] - 1}, "
            f"got {rows.indices.min()} to {rows.indices.max()}"
        )
    ends = rows.indptr
    if ends[0] != 0 or ends[-1] > min(rows.indices.size, rows.data.size) or (np.diff(ends) < 0).any():
        raise ValueError("row ends (indptr) of the sparse matrix must start at 0 and grow up to the number of entries")
    # Made anew of its arrays: what the caller's matrix believes of its own order may be wrong.
    tidy = sparse.csr_array((rows.data, rows.indices, ends), shape=rows.shape)
    if not tidy.has_canonical_format:
        tidy = tidy.copy()
        tidy.sum_duplicates()
    return tidy


def announced_classes(estimator: Any, classes: ArrayLike | None) -> NDArray[Any] | None:
    """Return the classes of earlier calls, or those announced now; they must not change between calls."""
    known: NDArray[Any] | None = getattr(estimator, "classes_", None)
    if classes is None:
        return known
    announced = two_classes(classes)
    if known is not None and not np.array_equal(known, announced):
        raise ValueError(
            f"`classes={announced.tolist()}` is not the same as on last call to partial_fit, was: {known.tolist()}"
        )
    return announced


@contextmanager
def unchanged_on_error(estimator: Any) -> Iterator[None]:
    """Put every attribute back if the body raises: states are values, so a shallow copy is enough."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
