"""Binary labels of any kind as 0 and 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from opauc.rows import Array, Labels


def two_classes(classes: ArrayLike) -> Array:
    """Return the `classes` a caller announced, sorted; anything but two distinct ones is an error."""
    found = np.unique(np.asarray(classes))
    if found.size != 2:
        raise ValueError(f"classes must hold two distinct class labels, got {found.size}: {found.tolist()}")
    return found


def encoded_labels(y: Array, classes: Array | None) -> tuple[Labels, Array]:
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
