"""Rows of files with the scores a saved model gives them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from opauc.errors import IncompatibleMoments, InputError
from opauc.features import open_stream
from opauc.reading.bad_rows import BadRows
from opauc.reading.labelled_chunk import LabelledChunk
from opauc.reading.read_options import ReadOptions
from opauc.rows import Floats, Rows
from opauc.training.class_labels import ClassLabels
from opauc.training.model_file import load_model, refusing
from opauc.training.training import as_wide


class ScoredChunk(NamedTuple):
    """A chunk, its rows as wide as the model, and what the model says of them."""

    chunk: LabelledChunk
    rows: Rows
    scores: Floats


class ScoredStream:
    """Data read as the model's was, and scored chunk by chunk."""

    def __init__(
        self,
        path: Path,
        data: Sequence[str],
        format_: str | None,
        bad_rows: BadRows,
        labelled: bool,
        to_learn: bool = False,
    ) -> None:
        self.model = load_model(path, to_learn)
        with refusing(path):
            reading = self.model.reading
            options = ReadOptions.of_json(reading["options"]) if reading else ReadOptions()
            encoding = reading.get("encoding")
        self.options = options.with_format(format_)
        self.stream = open_stream(data, self.options, bad_rows=bad_rows, encoding=encoding, labelled=labelled)

    @property
    def labels(self) -> ClassLabels:
        """The classes of the model."""
        return ClassLabels(self.model.classes, self.model.reading.get("positive"))

    def chunks(self) -> Iterator[tuple[LabelledChunk, Rows]]:
        """Yield the chunks, and their rows as wide as the model."""
        for chunk in self.stream.chunks():
            try:
                yield chunk, as_wide(chunk.rows, self.model.n_features)
            except IncompatibleMoments as error:
                raise InputError(f"{chunk.source}: {error}") from error

    def scored(self) -> Iterator[ScoredChunk]:
        """Yield the chunks with their scores."""
        scorer = self.model.scorer
        for chunk, rows in self.chunks():
            yield ScoredChunk(chunk, rows, scorer.scores(rows))
