"""Which label of a stream is the positive one, known as early as can be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from opauc.core.batch import Batch
from opauc.errors import Hint, InputError, MalformedRowError
from opauc.types import Array, Labels

# Booleans as a command line spells them.
TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, eq=False)
class ClassLabels:
    """The two classes of a stream: announced, or the two kinds of label that turn up, the greater one positive.

    With `positive`, rows with that label are positive and all others negative.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.core.labels import ClassLabels
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

    def encoded(self, chunk: Batch) -> Labels:
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
            hint = Hint("positive", second)
            raise MalformedRowError(
                chunk.source,
                chunk.line_of(at),
                f"label {shown_label(labels[at])} besides {first} and {second}; "
                f"name the positive one to take all others as negative {hint}",
                hints=(hint,),
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
    return np.asarray(labels == label)


def shown_label(label: object) -> str:
    """Return a label as it would stand in a file."""
    return f"{label:g}" if isinstance(label, float | np.floating) else str(label)


# Rows of one class only are kept so long, in the hope of the other.
MOST_WAITING = 2**20


@dataclass(frozen=True, eq=False)
class LabelQueue:
    """The classes known so far, and the chunks that wait for the second one. A value."""

    labels: ClassLabels = field(default_factory=ClassLabels)
    waiting: tuple[Batch, ...] = ()

    @property
    def rows(self) -> int:
        """Rows that wait."""
        return sum(chunk.rows.shape[0] for chunk in self.waiting)

    def with_chunk(self, chunk: Batch) -> LabelQueue:
        """Return the queue with one more chunk at its end."""
        if chunk.labels is None:
            raise InputError(f"{chunk.source}: has no labels to learn from")
        after = LabelQueue(self.labels.seen(chunk.labels), (*self.waiting, chunk))
        if not after.labels.known and after.rows > MOST_WAITING:
            only, hint = shown_label(after.labels.classes[0]), Hint("classes")
            raise InputError(
                f"{chunk.source}: all rows up to line {chunk.line_of(-1)} have the label {only}; name both classes "
                f"{hint}", hint
            )  # fmt: skip
        return after

    def ready(self) -> Batch | None:
        """Return the first chunk if both classes are known."""
        return self.waiting[0] if self.waiting and self.labels.known else None

    def without_first(self) -> LabelQueue:
        """Return the queue after its first chunk."""
        return LabelQueue(self.labels, self.waiting[1:])


def chunks_of_known_classes(chunks: Iterable[Batch], labels: ClassLabels) -> Iterator[tuple[Batch, ClassLabels]]:
    """Yield the chunks with the classes, none before both are known; rows of one class only are an error."""
    queue = LabelQueue(labels)
    for chunk in chunks:
        queue = queue.with_chunk(chunk)
        while (first := queue.ready()) is not None:
            yield first, queue.labels
            queue = queue.without_first()
    if not queue.labels.known:
        only = f", all labeled {shown_label(queue.labels.classes[0])}" if queue.labels.classes.size else ""
        raise InputError(f"rows of two classes are needed, got {queue.rows} rows{only}")
