"""The only validation: what a caller hands over becomes a chunk the rest can trust."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d, validate_data

from opauc.data.passthrough import group_keys
from opauc.linear.table_input import known_rows, learned_rows
from opauc.types import Array, Floats, GroupKeys, Labels, Rows


def two_classes(classes: ArrayLike) -> Array:
    """Return the `classes` a caller announced, sorted; anything but two distinct ones is an error."""
    found = np.unique(np.asarray(classes))
    if found.size != 2:
        raise ValueError(f"classes must hold two distinct class labels, got {found.size}: {found.tolist()}")
    return found


def encode_labels(y: Array, classes: Array | None) -> tuple[Labels, Array]:
    """Return the labels as 0 and 1 and the sorted classes they stand for.

    Where `classes` is None they are taken from `y`, which may then hold one
    class only. Two comparisons a row: sorting y would take longer than
    learning from it.
    """
    first = y[0]
    other = np.asarray(y != first)
    if classes is None:
        found = [first, y[int(np.argmax(other))]] if other.any() else [first]
        classes = np.unique(np.array(found, dtype=y.dtype))
        check_classification_targets(classes)
    positive = np.asarray(y == classes[-1])
    known = positive | np.asarray(y == classes[0])
    if not known.all():
        check_classification_targets(y)
        stranger = y[int(np.argmin(known))]
        kind = type_of_target(y) if len(set(y.tolist())) > 2 else "multiclass"
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}: "
            f"besides {_names(classes)} there is {stranger!s}."
        )
    labels = positive.astype(np.int8) if classes.size == 2 else np.zeros(y.shape[0], np.int8)
    return labels, classes


def _names(classes: Array) -> str:
    return " and ".join(str(label) for label in classes)


Values = TypeVar("Values")


def tensor_rows(estimator: BaseEstimator, X: object, first: bool) -> Rows | None:
    """Return a tensor as rows, wherever it lies, checked as other rows are; None where X is none."""
    from opauc.engines.torch.rows import checked_tensor

    rows = checked_tensor(X)
    if rows is None:
        return None
    if first:
        estimator.n_features_in_ = rows.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
    elif rows.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {rows.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )
    return rows


def host_array(values: Values) -> Values:
    """Return a tensor as an array in the memory of this machine, anything else as it is."""
    from opauc.engines.torch.rows import on_host

    return on_host(values)


REAL = (np.float64, np.float32)


class Chunk(NamedTuple):
    """Finite rows, labels 0 and 1 standing for `classes`, weights and groups where there are any."""

    rows: Rows
    labels: Labels
    classes: Array
    sample_weight: Floats | None
    groups: GroupKeys | None = None

    def with_groups(self, groups: object) -> Chunk:
        """Return the chunk with the groups of its rows, checked; as it is where there are none."""
        return self if groups is None else self._replace(groups=group_keys(groups, self.labels.size))


def check_batch(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    classes: Array | None,
    first: bool,
) -> Chunk:
    """Check a labeled chunk; the first one fixes the number and names of the features.

    Tables like those of the command that trained a model are taken as they come.
    """
    if first and estimator._reading_features is not None:
        estimator._reading_features = None
    rows = learned_rows(estimator, X)
    if rows is None and estimator.device is not None:
        rows, y, sample_weight = tensor_rows(estimator, X, first), host_array(y), host_array(sample_weight)
    return _chunk(estimator, rows, (X, y), sample_weight, classes, first)


def check_known_batch(estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Chunk:
    """Check a labeled chunk of rows that were learned before: nothing new is learned of their columns."""
    return _chunk(estimator, known_rows(estimator, X), (X, y), sample_weight, estimator.classes_, first=False)


def checked_rows(estimator: BaseEstimator, X: ArrayLike) -> Rows:
    """Check rows to be scored against the features learned from; raw ones become those features first."""
    rows = known_rows(estimator, X)
    if rows is not None:
        return rows
    if estimator.device is not None:
        X = host_array(X)
    return canonical(validate_data(estimator, X, reset=False, accept_sparse="csr", dtype=REAL))


def _chunk(
    estimator: BaseEstimator,
    rows: Rows | None,
    given: tuple[ArrayLike, ArrayLike],
    sample_weight: ArrayLike | None,
    classes: Array | None,
    first: bool,
) -> Chunk:
    """Check what was given, or only its labels where the rows are known already."""
    if rows is None:
        X, y = validate_data(estimator, *given, reset=first, accept_sparse="csr", dtype=REAL)
        rows = canonical(X)
    else:
        y = column_or_1d(given[1], warn=True)
        check_consistent_length(rows, y)
    labels, known = encode_labels(y, classes)
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
    return Chunk(rows, labels, known, weight)


def canonical(rows: Rows) -> Rows:
    """Return dense rows as they are and sparse ones sorted, without duplicates and within bounds.

    The caller's matrix is never changed: what must be sorted is copied first.
    """
    if isinstance(rows, np.ndarray):
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


def check_classes(known: Array | None, classes: ArrayLike | None) -> Array | None:
    """Return the classes of earlier calls, or those announced now; they must not change between calls."""
    if classes is None:
        return known
    announced = two_classes(classes)
    if known is not None and not np.array_equal(known, announced):
        raise ValueError(
            f"`classes={announced.tolist()}` is not the same as on last call to partial_fit, was: {known.tolist()}"
        )
    return announced
