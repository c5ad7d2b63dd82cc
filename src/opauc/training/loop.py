"""Learn from a stream of chunks whose classes and features turn up on the way."""

from __future__ import annotations

import numpy as np

from opauc.core.batch import Batch, ResumePosition
from opauc.core.fit import RowTraining
from opauc.core.labels import ClassLabels, LabelQueue, shown_label
from opauc.core.transaction import Transaction
from opauc.errors import Hint, InputError
from opauc.metrics.progressive import ProgressiveValidation
from opauc.training.model_files import AnyModel, StreamRecipe, checkpointed_model, parts_of, stream_recipe_of
from opauc.types import Arrays, Json, NamedArrays, Settings
from opauc.version import __version__


class StreamTraining:
    """A model of `OPAUC`, `OPAUCCV` or `OnePassGAM` in the making, from chunks in order.

    After any exception, Ctrl-C included, it is as it was before the chunk.
    All of it depends on the rows and their chunks alone, so that training
    taken up from `parts` ends in the same bits.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.data.open_stream import stream_of_memory
    >>> from opauc.linear.resolve import OpaucRecipe
    >>> from opauc.training.loop import StreamTraining
    >>> training = StreamTraining(OpaucRecipe({}))
    >>> for chunk in stream_of_memory(np.array([[0.0], [1.0], [2.0], [4.0]]), labels=[0, 0, 1, 1]).chunks():
    ...     training.learn(chunk)
    >>> training.finished().solution.counts
    ClassCounts(negative=2.0, positive=2.0)
    """

    def __init__(self, recipe: StreamRecipe, labels: ClassLabels | None = None) -> None:
        self.recipe = recipe
        self.training: RowTraining = recipe.training(None)
        self.queue = LabelQueue(labels or ClassLabels())
        self.resume_position = ResumePosition()
        self.progress = ProgressiveValidation()

    @property
    def rows(self) -> int:
        """Rows learned so far."""
        return self.resume_position.rows

    @property
    def labels(self) -> ClassLabels:
        """The classes as far as they are known."""
        return self.queue.labels

    @property
    def begun(self) -> bool:
        """Whether anything has been learned."""
        return self.training.begun

    def learn(self, chunk: Batch) -> None:
        """Learn a chunk, or keep it while only one class has been seen."""
        with Transaction(self) as transaction:
            self.queue = self.queue.with_chunk(chunk)
            while (first := self.queue.ready()) is not None:
                try:
                    self._learn_chunk(first, transaction)
                except MemoryError as error:
                    raise too_wide(first) from error
                self.queue = self.queue.without_first()

    def finished(self) -> AnyModel:
        """Return the model; rows of both classes must have come."""
        counts = self.training.solution.counts if self.begun else (0.0, 0.0)
        if min(counts) == 0:
            seen = self.rows + self.queue.rows
            only = "" if seen == 0 else f", all labeled {shown_label(self.labels.classes[int(counts[1] > 0)])}"
            raise InputError(f"learning needs rows of two classes, got {seen} rows{only}")
        return self.model()

    def model(self) -> AnyModel:
        """Return the model as it is now."""
        return self.recipe.model(self.training.solution, self.labels.classes)

    def parts(self) -> tuple[Json, Arrays]:
        """Return all there is, as a header and arrays."""
        header, arrays = parts_of(self.model())
        more, more_arrays = self.progress.to_parts()
        known = {"resume_position": self.resume_position.to_json(), "positive": self.labels.positive}
        return {**header, **more, **known}, {**arrays, **more_arrays}

    @classmethod
    def of_parts(cls, header: Settings, arrays: NamedArrays) -> StreamTraining:
        """Return the training that gave these parts, ready to go on, refused unless one can have."""
        model, resume_position = checkpointed_model(header, arrays), ResumePosition.of_json(header["resume_position"])
        recipe = stream_recipe_of(model.estimator, model.parameters)
        recipe.refuse_other(model.learned(), resume_position)
        training = cls(recipe, ClassLabels(model.classes, header["positive"]))
        training.training = recipe.training(model.learned())
        training.resume_position = resume_position
        training.progress = ProgressiveValidation.of_parts(header, arrays, model.learned())
        return training

    def _learn_chunk(self, chunk: Batch, transaction: Transaction) -> None:
        labels = self.labels.encoded(chunk)
        # A training of its own: what the transaction puts back must not have changed.
        training = self.recipe.training(self.training.solution if self.begun else None)
        training.prepare_chunk(chunk, transaction)
        rows, begin, seen = training.fitted(chunk.rows), 0, chunk.first_row
        while begin < labels.size:
            end = min(labels.size, max(begin + 1, begin + self.progress.next_look - seen))
            part = rows[begin:end] if end - begin < labels.size else rows
            self.progress = self.progress.before(part, labels[begin:end], training.solution)
            groups = None if chunk.groups is None else chunk.groups[begin:end]
            training.step(part, labels[begin:end], groups=groups)
            seen, begin = seen + end - begin, end
            self.progress = self.progress.after(training.solution, seen)
        self.training, self.resume_position = training, chunk.resume_position


def too_wide(chunk: Batch) -> InputError:
    """Return the complaint about a row of more features than there is memory for."""
    rows, says = chunk.rows, f"not enough memory for {chunk.rows.shape[1]:,} features"
    if isinstance(rows, np.ndarray) or not rows.nnz:
        return InputError(f"{chunk.source}: {says}")
    widest = int(np.searchsorted(rows.indptr, rows.indices.argmax(), "right")) - 1
    hint = Hint("hash_bits")
    return InputError(f"{chunk.source}, line {chunk.line_of(widest)}: {says}; hash them into fewer {hint}", hint)


def provenance_of(training: StreamTraining) -> Json:
    """Return what is told in a model file of the rows it was learned from."""
    return {
        "library": __version__,
        "rows": training.rows,
        "skipped_rows": training.resume_position.bad_rows,
        "inputs": list(training.resume_position.records),
        "learning_curve": [list(point) for point in training.progress.curve(training.rows)],
    }
