"""The class labels of a stream: two, of which one is positive, or several; and how they are saved."""

from __future__ import annotations

import re
import reprlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from opauc.core.batch import Batch
from opauc.core.json_schema import json_as
from opauc.errors import InputError, MalformedRowError, Parameter, ParameterError, Part, nearest_first
from opauc.types import Array, Labels

# Booleans on a command line.
BOOLEANS = {"true": True, "false": False}
# Labels that are positive to any reader, in lower case.
POSITIVE_NAMES = ("yes", "y", "true", "t", "positive", "pos")
# Classes of a model at most; whole numbers with more distinct values are no classes.
MAX_CLASSES = 100
# Labels that a message lists.
LISTED = 20


@dataclass(frozen=True, eq=False)
class ClassLabels:
    """The classes of a stream: given, or the two distinct labels in it, of which the greater is positive.

    With `positive`, rows with that label are positive and all others negative. With `several`, the classes are all
    labels of the batches up to the first second label, if there are more than two and they can be classes.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.core.labels import ClassLabels
    >>> ClassLabels.announced(positive="b").classes.tolist()
    ['not b', 'b']
    >>> first = ClassLabels().with_labels(np.array([3.0, 3.0]))
    >>> first.known, first.with_labels(np.array([1.0, 3.0])).classes.tolist()
    (False, [1.0, 3.0])
    >>> ClassLabels(several=True).with_labels(np.array([2.0, 1.0, 5.0])).classes.tolist()
    [1.0, 2.0, 5.0]
    """

    classes: Array = field(default_factory=lambda: np.empty(0))
    positive: object = None
    examples: tuple[str, ...] = ()  # labels of the first rows, for the message where none is `positive`
    several: bool = False  # whether there may be more than two classes

    @classmethod
    def announced(
        cls,
        classes: Sequence[str] | Sequence[float] | None = None,
        positive: object = None,
        several: bool = False,
    ) -> ClassLabels:
        """Return the classes that a user gives, none if that is None; more than two only with `several`."""
        if positive is not None:
            return cls(np.array([f"not {positive}", str(positive)]), positive)
        if classes is None:
            return cls(several=several)
        n_distinct = len(set(classes))
        if several and (n_distinct < len(classes) or not 2 <= n_distinct <= MAX_CLASSES):
            raise ValueError(f"classes must be 2 to {MAX_CLASSES} distinct labels, got {listed_labels(classes)}")
        if not several and n_distinct != 2:
            raise ValueError(f"classes must be two distinct labels, got {', '.join(map(str, classes))}")
        return cls(np.unique(np.array(classes)), several=several)

    def limited(self, several: bool, estimator: str) -> ClassLabels:
        """Return these classes for an estimator that takes several, or two only; raise if more are given."""
        if not several and self.classes.size > 2:
            raise ParameterError(
                Parameter("classes"), f": {estimator} takes two, got {listed_labels(self.classes.tolist())}; name the "
                "positive one to take all others as negative (", Parameter("positive", ...), ")",
            )  # fmt: skip
        return replace(self, several=self.several and several)

    @property
    def known(self) -> bool:
        """Whether the classes are known."""
        return self.classes.size >= 2

    @property
    def n_classes(self) -> int:
        """Number of classes: two until more are known."""
        return max(2, int(self.classes.size))

    def with_labels(self, labels: Array) -> ClassLabels:
        """Return the classes after these labels."""
        if self.positive is not None and not self.examples:
            return replace(self, examples=tuple(map(shown_label, np.unique(labels).tolist())))
        if self.known or not labels.size:
            return self
        every = np.unique(np.array([*self.classes.tolist(), *set(labels.tolist())])) if self.several else self.classes
        if _may_be_classes(every):
            return replace(self, classes=every)
        distinct = [labels[0], *labels[labels != labels[0]][:1]]
        return replace(self, classes=np.unique(np.array([*self.classes.tolist(), *distinct])))

    def encode(self, batch: Batch) -> Labels:
        """Return the number of the class of each row of a batch; raise for a label of no class, with its line."""
        labels = batch.labels
        if labels is None:
            raise InputError(f"{batch.source}: has no labels")
        if self.positive is not None:
            return _equal(labels, self.positive).astype(np.int8)
        if self.classes.size > 2:
            return self._encode_several(batch, labels)
        positive = _equal(labels, self.classes[1])
        valid = positive | _equal(labels, self.classes[0])
        if not valid.all():
            at = int(np.argmin(valid))
            names = [*map(shown_label, self.classes.tolist()), shown_label(labels[at])]
            reason = f"label {names[2]} besides {names[0]} and {names[1]}"
            advice = _third_label_advice(labels, names, self.several)
            if not valid.any():
                reason = f"label {names[2]}, where the classes are {names[0]} and {names[1]}"
                advice = ("; none of the labels read is one of them: write them as in the training rows",)
            raise MalformedRowError(batch.source, batch.line_of(at), reason, *advice)
        return positive.astype(np.int8)

    def check_rows_of_all(self, counts: Sequence[float] | None, n_rows: int) -> None:
        """Raise unless there are rows of every class, given the rows of each; None stands for no rows."""
        counts = (0.0,) * self.n_classes if counts is None else counts
        if min(counts) > 0.0:
            return
        if self.n_classes == 2:
            only = self._only_class(counts[1] > 0.0) if n_rows else ()
            raise InputError(f"training needs rows of two classes, got {n_rows} rows", *only)
        lacking = [label for label, count in zip(self.classes.tolist(), counts, strict=True) if count == 0.0]
        raise InputError(
            f"training needs rows of every class, got {n_rows} rows, none labeled {listed_labels(lacking)}"
        )

    def _only_class(self, positive: bool) -> tuple[Part, ...]:
        """Return the end of a message about rows of one class only."""
        if self.positive is None or positive:
            return (f", all labeled {shown_label(self.classes[int(positive)])}",)
        near = nearest_first(self.positive, self.examples)
        more = f" and {len(near) - LISTED} more" if len(near) > LISTED else ""
        return (", none with ", Parameter("positive", self.positive), f"; there are {', '.join(near[:LISTED])}{more}")

    def _encode_several(self, batch: Batch, labels: Array) -> Labels:
        """Return the number of the class of each row, of more than two classes."""
        distinct, inverse = np.unique(labels, return_inverse=True)
        is_class: NDArray[np.bool_] = np.stack([_equal(distinct, label) for label in self.classes.tolist()])
        known: NDArray[np.bool_] = np.asarray(is_class.any(axis=0))
        if not known.all():
            at = int(np.argmin(known[inverse]))
            raise MalformedRowError(
                batch.source, batch.line_of(at),
                f"label {shown_label(labels[at])} is none of the {self.classes.size} classes "
                f"{listed_labels(self.classes.tolist())}; name all classes (", Parameter("classes", ...), ")",
            )  # fmt: skip
        numbers: Array = np.asarray(is_class.argmax(axis=0), np.int8)
        return numbers[inverse]


def _may_be_classes(distinct: Array) -> bool:
    """Tell whether distinct labels, in order, can be more than two classes."""
    if not 2 < distinct.size <= MAX_CLASSES:
        return False
    if distinct.dtype.kind in "iuf":
        return bool((distinct == np.floor(distinct)).all())
    return len({str(label).casefold() for label in distinct.tolist()}) == distinct.size


def listed_labels(labels: Sequence[object]) -> str:
    """Return labels for a message, the first ones if there are many.

    >>> from opauc.core.labels import listed_labels
    >>> listed_labels(["a", 2.0]), listed_labels(range(30)).endswith("18, 19 and 10 more")
    ('a, 2', True)
    """
    more = f" and {len(labels) - LISTED} more" if len(labels) > LISTED else ""
    return ", ".join(map(shown_label, labels[:LISTED])) + more


def _third_label_advice(labels: Array, names: Sequence[str], several: bool) -> tuple[Part, ...]:
    """Return what to do about labels of which three were found, by their names."""
    if labels.dtype.kind in "iuf":
        distinct = np.unique(labels)
        if distinct.size > MAX_CLASSES or (distinct != np.floor(distinct)).any():
            return (
                f": the label is continuous, {distinct.size:,} distinct numbers in {labels.size:,} rows; two classes "
                "are needed: cut it at a threshold, or name another column (", Parameter("label", ...), ")",
            )  # fmt: skip
    likely = [name for name in names if name.casefold() in POSITIVE_NAMES]
    alike = [name for name in names if sum(name.casefold() == other.casefold() for other in names) > 1]
    return (
        f"; {' and '.join(alike)} differ in case only: write them alike, or" if alike else ";",
        " name the positive one to take all others as negative (",
        Parameter("positive", likely[0] if len(likely) == 1 else ...), ")",
        *((", or name all classes (", Parameter("classes", ...), ")") if several and not alike else ()),
    )  # fmt: skip


def _equal(labels: Array, label: object) -> NDArray[np.bool_]:
    """Compare labels with one that may be a string from a command line."""
    if labels.dtype.kind == "b" and isinstance(label, str) and label.lower() in BOOLEANS:
        label = BOOLEANS[label.lower()]
    if labels.dtype.kind == "U" and isinstance(label, bool | np.bool_):
        label = str(bool(label))
    if labels.dtype.kind in "iufb" and isinstance(label, str):
        try:
            label = float(label)
        except ValueError:
            return np.zeros(labels.size, np.bool_)
    return np.asarray(labels == label)


def shown_label(label: object) -> str:
    """Return a label as in a file, with all its digits.

    >>> from opauc.core.labels import shown_label
    >>> shown_label(1234567.0), shown_label(0.1), shown_label("yes")
    ('1234567', '0.1', 'yes')
    """
    return str(label).removesuffix(".0") if isinstance(label, float | np.floating) else str(label)


# Up to so many rows of one class are kept until a row of the other class appears.
MAX_PENDING_ROWS = 2**20


@dataclass(frozen=True, eq=False)
class PendingBatches:
    """The classes known so far, and the batches read before they were known. A value."""

    labels: ClassLabels = field(default_factory=ClassLabels)
    batches: tuple[Batch, ...] = ()

    @property
    def rows(self) -> int:
        """Rows of the batches."""
        return sum(batch.rows.shape[0] for batch in self.batches)

    def with_batch(self, batch: Batch) -> PendingBatches:
        """Return the batches with one more at the end."""
        if batch.labels is None:
            raise InputError(f"{batch.source}: has no labels to train on")
        after = PendingBatches(self.labels.with_labels(batch.labels), (*self.batches, batch))
        if not after.labels.known and after.rows > MAX_PENDING_ROWS:
            only = shown_label(after.labels.classes[0])
            raise InputError(
                f"{batch.source}: all rows up to line {batch.line_of(-1)} have the label {only}; name both classes (",
                Parameter("classes", ...), ")",
            )  # fmt: skip
        return after

    def ready(self) -> Batch | None:
        """Return the first batch if the classes are known."""
        return self.batches[0] if self.batches and self.labels.known else None

    def without_first(self) -> PendingBatches:
        """Return the batches but the first."""
        return PendingBatches(self.labels, self.batches[1:])


def batches_with_classes(batches: Iterable[Batch], labels: ClassLabels) -> Iterator[tuple[Batch, ClassLabels]]:
    """Yield the batches with the classes, none before they are known; rows of one class only are an error."""
    pending = PendingBatches(labels)
    for batch in batches:
        pending = pending.with_batch(batch)
        while (first := pending.ready()) is not None:
            yield first, pending.labels
            pending = pending.without_first()
    if not pending.labels.known:
        only = f", all labeled {shown_label(pending.labels.classes[0])}" if pending.labels.classes.size else ""
        raise InputError(f"rows of two classes are needed, got {pending.rows} rows{only}")


# NumPy's codes of the types that a class label may have: numbers, booleans and strings; or strings as objects.
LABEL_KINDS = "iufbU"
LABEL_TYPE = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f(?:2|4|8|16)|U([0-9]{1,9}))")
OBJECT = "object"
# Strings are in arrays of at most this many characters, unless they are longer.
MAX_LABEL_LENGTH = 4096


class SavedLabels(TypedDict):
    """The type and the values of the class labels."""

    type: str
    values: list[bool | int | float | str]


def labels_to_json(classes: Array) -> SavedLabels:
    """Return class labels as JSON."""
    values = classes.tolist()
    if classes.dtype.kind not in LABEL_KINDS and not all(isinstance(value, str) for value in values):
        raise ValueError(f"class labels must be numbers or strings to be saved, got {values}")
    return {"type": classes.dtype.str if classes.dtype.kind in LABEL_KINDS else OBJECT, "values": values}


def labels_from_json(saved: SavedLabels) -> Array:
    """Return the labels that `labels_to_json` was given: two that differ, or more in order, of their declared type.

    Examples
    --------
    >>> from opauc.core.labels import labels_from_json
    >>> labels_from_json({"type": "<i8", "values": [-1, 1]})
    array([-1,  1])
    >>> labels_from_json({"type": "|i1", "values": [0, 1000]})
    Traceback (most recent call last):
        ...
    ValueError: class labels: 1000 is not of type |i1
    """
    kind, values = saved["type"], saved["values"]
    if len(values) < 2 or values[0] == values[1]:
        raise ValueError(f"expected two class labels, got {values[:3]!r}")
    if len(values) > MAX_CLASSES:
        raise ValueError(f"expected at most {MAX_CLASSES} class labels, got {len(values)}")
    if kind == OBJECT:
        return _in_order(np.array(json_as(list[str], values, "class labels"), dtype=object))
    declared = LABEL_TYPE.fullmatch(kind)
    if declared is None:
        raise ValueError(f"class labels cannot be of type {kind[:40]!r}")
    dtype = np.dtype(
        kind if int(declared[1] or 0) <= MAX_LABEL_LENGTH else f"U{max(MAX_LABEL_LENGTH, *map(len, map(str, values)))}"
    )
    for value in values:
        if not _is_of(dtype.kind, dtype.name, value):
            raise ValueError(f"class labels: {reprlib.repr(value)} is not of type {kind}")
    return _in_order(np.array(values, dtype))


def _in_order(classes: Array) -> Array:
    """Return class labels from a file; raise ValueError unless more than two rise."""
    labels = classes.tolist()
    if len(labels) > 2 and any(not one < other for one, other in pairwise(labels)):
        raise ValueError(f"expected distinct class labels in order, got {listed_labels(labels)[:200]}")
    return classes


def _is_of(kind: str, name: str, value: object) -> bool:
    """Tell whether a value from JSON is one of a type, of kind "i" and name "int8" say."""
    if kind in "iu":
        limits = np.iinfo(name)
        return isinstance(value, int) and not isinstance(value, bool) and limits.min <= value <= limits.max
    if kind == "f":
        largest = min(float(np.finfo(name).max), sys.float_info.max)
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= largest
    return isinstance(value, bool if kind == "b" else str)
