"""Which label of a stream is the positive one, known as early as can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from opauc.errors import InputError, MalformedRow, Remedy
from opauc.reading.labelled_chunk import LabelledChunk
from opauc.rows import Array, Labels

# Truth values as they come as words: from a command line, or in a model of an earlier version.
TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, eq=False)
class ClassLabels:
    """The two classes of a stream: announced, or the two kinds of label that turn up, the greater one positive.

    With `positive`, rows with that label are positive and all others negative.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.training.class_labels import ClassLabels
    >>> ClassLabels.announced(positive="b").classes.tolist()
    ['not b', 'b']
    >>> first = ClassLabels().seen(np.array([3.0, 3.0]))
    >>> first.known, first.seen(np.array([1.0, 3.0])).classes.tolist()
    (False, [1.0, 3.0])
    """

    classes: Array = field(default_factory=lambda: np.empty(0))
    positive: object = None

    @classmethod
    def announced(cls, classes: Sequence[str] | Sequence[float] | None = None, positive: object = None) -> ClassLabels:
        """Return the classes that a user names, none if that is None."""
        if positive is not None:
            return cls(np.array([f"not {positive}", str(positive)]), positive)
        if classes is None:
            return cls()
        if len(set(classes)) != 2:
            raise ValueError(f"classes must be two distinct labels, got {', '.join(map(str, classes))}")
        return cls(np.array(sorted(classes)))

    @property
    def known(self) -> bool:
        """Whether both classes are known."""
        return self.classes.size == 2

    def seen(self, labels: Array) -> ClassLabels:
        """Return the classes after these labels."""
        if self.known or not labels.size:
            return self
        kinds = [labels[0], *labels[labels != labels[0]][:1]]
        return replace(self, classes=np.unique(np.array([*self.classes.tolist(), *kinds])))

    def encoded(self, chunk: LabelledChunk) -> Labels:
        """Return the labels of a chunk as 0 and 1; a third kind of label is refused with its line."""
        labels = chunk.labels
        if labels is None:
            raise InputError(f"{chunk.source}: has no labels")
        if self.positive is not None:
            return _equal(labels, self.positive).astype(np.int8)
        positive = _equal(labels, self.classes[1])
        known = positive | _equal(labels, self.classes[0])
        if not known.all():
            at = int(np.argmin(known))
            first, second = map(shown_label, self.classes.tolist())
            remedy = Remedy("positive", second)
            raise MalformedRow(
                chunk.source,
                chunk.line_of(at),
                f"label {shown_label(labels[at])} besides {first} and {second}; "
                f"name the positive one to take all others as negative {remedy}",
                remedies=(remedy,),
            )
        return positive.astype(np.int8)


def _equal(labels: Array, label: object) -> NDArray[np.bool_]:
    """Compare labels with one that may have come as text from a command line."""
    if labels.dtype.kind == "b" and isinstance(label, str) and label.lower() in TRUTHS:
        label = TRUTHS[label.lower()]
    if labels.dtype.kind == "U" and isinstance(label, bool | np.bool_):
        label = str(bool(label))
    if labels.dtype.kind in "iufb" and isinstance(label, str):
        try:
            label = float(label)
        except ValueError:
            return np.zeros(labels.size, np.bool_)
    found = np.asarray(labels == label)
    if isinstance(label, str) and label != label.strip():  # of an earlier version, which left spaces around labels
        found |= labels == label.strip()
    return found


def shown_label(label: object) -> str:
    """Return a label as it would stand in a file."""
    return f"{label:g}" if isinstance(label, float | np.floating) else str(label)
