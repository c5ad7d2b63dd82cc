"""Chunks that wait until it is known which labels the two classes have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from opauc.errors import InputError, Remedy
from opauc.reading.labelled_chunk import LabelledChunk
from opauc.training.class_labels import ClassLabels, shown_label

# Rows of one class only are kept so long, in the hope of the other.
MOST_WAITING = 2**20


@dataclass(frozen=True, eq=False)
class LabelQueue:
    """The classes known so far, and the chunks that wait for the second one. A value."""

    labels: ClassLabels = field(default_factory=ClassLabels)
    waiting: tuple[LabelledChunk, ...] = ()

    @property
    def rows(self) -> int:
        """Rows that wait."""
        return sum(chunk.rows.shape[0] for chunk in self.waiting)

    def with_chunk(self, chunk: LabelledChunk) -> LabelQueue:
        """Return the queue with one more chunk at its end."""
        if chunk.labels is None:
            raise InputError(f"{chunk.source}: has no labels to learn from")
        after = LabelQueue(self.labels.seen(chunk.labels), (*self.waiting, chunk))
        if not after.labels.known and after.rows > MOST_WAITING:
            only, remedy = shown_label(after.labels.classes[0]), Remedy("classes")
            raise InputError(
                f"{chunk.source}: all rows up to line {chunk.line_of(-1)} have the label {only}; name both classes "
                f"{remedy}", remedy
            )  # fmt: skip
        return after

    def ready(self) -> LabelledChunk | None:
        """Return the first chunk if both classes are known."""
        return self.waiting[0] if self.waiting and self.labels.known else None

    def without_first(self) -> LabelQueue:
        """Return the queue after its first chunk."""
        return LabelQueue(self.labels, self.waiting[1:])


def chunks_of_known_classes(
    chunks: Iterable[LabelledChunk], labels: ClassLabels
) -> Iterator[tuple[LabelledChunk, ClassLabels]]:
    """Yield the chunks with the classes, none before both are known; rows of one class only are an error."""
    queue = LabelQueue(labels)
    for chunk in chunks:
        queue = queue.with_chunk(chunk)
        while (first := queue.ready()) is not None:
            yield first, queue.labels
            queue = queue.without_first()
    if not queue.labels.known:
        only = f", all labelled {shown_label(queue.labels.classes[0])}" if queue.labels.classes.size else ""
        raise InputError(f"rows of two classes are needed, got {queue.rows} rows{only}")
