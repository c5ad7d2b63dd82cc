"""Checks of labels, weights and sparse rows that every estimator makes of its input."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, assert_all_finite, check_consistent_length, column_or_1d

from opauc.core.group_keys import group_keys
from opauc.core.labels import LISTED, MAX_CLASSES
from opauc.errors import Parameter, ParameterError
from opauc.types import Array, Floats, GroupKeys, Labels, Rows


def given_classes(classes: ArrayLike, several: bool = False) -> Array:
    """Return the given `classes`, sorted; raise unless there are two distinct ones, or more with `several`."""
    distinct = np.unique(np.asarray(classes))
    if several and 2 < distinct.size <= MAX_CLASSES:
        return distinct
    if distinct.size != 2:
        expected = f"2 to {MAX_CLASSES}" if several else "two"
        raise ValueError(
            f"classes must hold {expected} distinct class labels, got {distinct.size}: {_first_names(distinct)}"
        )
    return distinct


def encode_labels(y: Array, classes: Array | None, several: bool = False) -> tuple[Labels, Array]:
    """Return the number of the class of each row, from 0, and the sorted classes.

    Where `classes` is None they are taken from `y`, which may then hold one
    class only, or more than two with `several`. Two classes take two comparisons
    per row: sorting y would take longer than training on it.
    """
    if classes is not None and classes.size > 2:
        return _encode_several(y, classes), classes
    first = y[0]
    other = np.asarray(y != first)
    asked = classes
    if classes is None:
        distinct = [first, y[int(np.argmax(other))]] if other.any() else [first]
        classes = np.unique(np.array(distinct, dtype=y.dtype))
        check_classification_targets(classes)
    positive = np.asarray(y == classes[-1])
    valid = positive | np.asarray(y == classes[0])
    if not valid.all():
        assert_all_finite(y, input_name="y")
        if several and asked is None:
            every = _several_classes(y)
            return _encode_several(y, every), every
        check_classification_targets(y)
        third = y[int(np.argmin(valid))]
        kind = type_of_target(y) if len(set(y.tolist())) > 2 else "multiclass"
        if several and classes.size == 2:
            raise ValueError(
                f"y contains label {third!s}, besides the classes {_names(classes)}; where there are more than two, "
                "give all of them at the start (classes=...)"
            )
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}: "
            f"besides {_names(classes)} there is {third!s}."
        )
    labels = positive.astype(np.int8) if classes.size == 2 else np.zeros(y.shape[0], np.int8)
    return labels, classes


def _several_classes(y: Array) -> Array:
    """Return the distinct labels, which are more than two; raise unless they can be classes."""
    check_classification_targets(y)
    distinct = np.unique(y)
    if distinct.size > MAX_CLASSES:
        raise ValueError(
            f"y must have at most {MAX_CLASSES} classes, got {distinct.size:,} labels: {_first_names(distinct)}"
        )
    return distinct


def _encode_several(y: Array, classes: Array) -> Labels:
    """Return the number of the class of each row; raise for a label of no class."""
    distinct, inverse = np.unique(y, return_inverse=True)
    numbers = {label: number for number, label in enumerate(classes.tolist())}
    unknown = [label for label in distinct.tolist() if label not in numbers]
    if unknown:
        raise ValueError(f"y contains label {unknown[0]!s}, which is none of the classes {_first_names(classes)}")
    codes: Labels = np.array([numbers[label] for label in distinct.tolist()], np.int8)[inverse]
    return codes


def _first_names(labels: Array) -> str:
    """Return labels for a message, the first ones of many."""
    more = f" and {labels.size - LISTED} more" if labels.size > LISTED else ""
    return f"{labels[:LISTED].tolist()}{more}"


def _names(classes: Array) -> str:
    return " and ".join(str(label) for label in classes)


class CheckedBatch(NamedTuple):
    """Finite rows, the numbers of their `classes` from 0, weights and groups where there are any."""

    rows: Rows
    labels: Labels
    classes: Array
    sample_weight: Floats | None
    groups: GroupKeys | None = None

    def with_groups(self, groups: object) -> CheckedBatch:
        """Return the batch with the checked groups of its rows, if there are any."""
        return self if groups is None else self._replace(groups=group_keys(groups, self.labels.size))

    def sorted_by_group(self) -> CheckedBatch:
        """Return the batch with the rows of each group next to each other, in their order; as it is without groups."""
        if self.groups is None:
            return self
        together = np.argsort(self.groups, kind="stable")
        weight = None if self.sample_weight is None else self.sample_weight[together]
        return CheckedBatch(self.rows[together], self.labels[together], self.classes, weight, self.groups[together])


def check_labels(
    rows: Rows, y: ArrayLike, sample_weight: ArrayLike | None, classes: Array | None, several: bool = False
) -> CheckedBatch:
    """Return checked rows with the numbers of their classes, more than two only with `several`, and weights."""
    given = column_or_1d(y, warn=True)
    check_consistent_length(rows, given)
    labels, classes = encode_labels(given, classes, several)
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
    return CheckedBatch(rows, labels, classes, weight)


def check_not_exchanged(X: Any, y: Any) -> None:
    """Raise where X has the shape of labels and y that of rows."""
    if getattr(X, "ndim", None) == 1 and getattr(y, "ndim", None) == 2:
        raise ValueError(
            f"X and y are exchanged: X has one dimension and y has two, of shape {np.shape(y)}; rows come before labels"
        )


def check_labels_given(estimator: str, X: Any, y: Any, label: str | int | None, sample_weight: Any) -> bool:
    """Raise unless labels are given in one way: as y, not in place of X, or as a column, then without weights.

    Return whether they are given as y for rows that are certainly no stream.
    """
    check_not_exchanged(X, y)
    if y is None and label is None:
        raise ValueError(
            f"{estimator} requires y to be passed, but the target y is None; or name a column of the table (label=...)"
        )
    if label is not None and y is not None:
        raise ParameterError(Parameter("label", label), " names a column of the table; leave y out")
    if label is not None and sample_weight is not None:
        raise ParameterError("weights are for labels given as y; ", Parameter("label", label), " has none")
    return label is None and is_in_memory(X)


def is_in_memory(X: Any) -> bool:
    """Tell whether rows are certainly no stream: an array, a list, a path, or a data frame of pandas."""
    return isinstance(X, np.ndarray | list | str) or sparse.issparse(X) or hasattr(X, "iloc")


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
    # A new matrix of its arrays: the caller's may have wrong flags about its order.
    checked = sparse.csr_array((rows.data, rows.indices, ends), shape=rows.shape)
    if not checked.has_canonical_format:
        checked = checked.copy()
        checked.sum_duplicates()
    return checked


def check_classes(earlier: Array | None, classes: ArrayLike | None, several: bool = False) -> Array | None:
    """Return the classes of earlier calls, or those given now; they must not change between calls."""
    if classes is None:
        return earlier
    given = given_classes(classes, several)
    if earlier is not None and not np.array_equal(earlier, given):
        raise ValueError(
            f"`classes={given.tolist()}` is not the same as on last call to partial_fit, was: {earlier.tolist()}"
        )
    return given
