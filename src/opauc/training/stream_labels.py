"""Which label of a stream is the positive one, told as early as can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opauc.errors import InputError, MalformedRow
from opauc.reading.labelled_chunk import LabelledChunk
from opauc.statistics.chunk_rows import Labels


class StreamLabels:
    """The two classes of a stream: announced, or the two kinds of label that turn up, the greater one positive.

    With `positive`, rows with that label are positive and all others negative.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.training.stream_labels import StreamLabels
    >>> StreamLabels(positive="b").classes.tolist()
    ['not b', 'b']
    >>> labels = StreamLabels()
    >>> labels.look_at(np.array([3.0, 3.0])), labels.look_at(np.array([1.0, 3.0]))
    (False, True)
    >>> labels.classes.tolist()
    [1.0, 3.0]
    """

    def __init__(self, classes: Sequence[Any] | None = None, positive: Any = None) -> None:
        self.positive = positive
        self.classes: NDArray[Any] = np.empty(0)
        if positive is not None:
            self.classes = np.array([f"not {positive}", str(positive)])
        elif classes is not None:
            if len(set(classes)) != 2:
                raise ValueError(f"classes must be two distinct labels, got {', '.join(map(str, classes))}")
            self.classes = np.array(sorted(classes))

    @property
    def known(self) -> bool:
        """Whether both classes are known."""
        return self.classes.size == 2

    def look_at(self, labels: NDArray[Any]) -> bool:
        """Take note of labels; return whether both classes are known now."""
        if not self.known and labels.size:
            kinds = [labels[0], *labels[labels != labels[0]][:1]]
            self.classes = np.unique(np.array([*self.classes.tolist(), *kinds]))
        return self.known

    def codes(self, chunk: LabelledChunk) -> Labels:
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
            first, second = self.classes.tolist()
            raise MalformedRow(
                chunk.source,
                chunk.line_of(at),
                f"label {shown_label(labels[at])} besides {shown_label(first)} and {shown_label(second)}; "
                "name the positive one to take all others as negative",
            )
        return positive.astype(np.int8)


def _equal(labels: NDArray[Any], label: Any) -> NDArray[np.bool_]:
    """Compare labels with one that may have come as text from a command line."""
    if labels.dtype.kind in "iufb" and isinstance(label, str):
        try:
            label = float(label)
        except ValueError:
            return np.zeros(labels.size, np.bool_)
    return np.asarray(labels == label)


def shown_label(label: Any) -> str:
    """Return a label as it would stand in a file."""
    return f"{label:g}" if isinstance(label, float | np.floating) else str(label)
