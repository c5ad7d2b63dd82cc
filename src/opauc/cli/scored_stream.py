"""Rows of files with the scores a saved model gives them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opauc.errors import InputError
from opauc.reading.bad_rows import BadRows
from opauc.reading.data_stream import DataStream
from opauc.reading.labelled_chunk import LabelledChunk
from opauc.reading.read_options import ReadOptions
from opauc.statistics.chunk_rows import Rows
from opauc.training.model_file import SavedModel, load_model, refusing
from opauc.training.stream_labels import StreamLabels

Floats = NDArray[np.float64]


class ScoredChunk(NamedTuple):
    """A chunk, its rows as wide as the model, and what the model says of them."""

    chunk: LabelledChunk
    rows: Rows
    scores: Floats


class ScoredStream:
    """Data read as the model's was, and scored chunk by chunk."""

    def __init__(self, path: Path, data: Sequence[str], format_: str | None, bad_rows: BadRows, labelled: bool) -> None:
        self.saved: SavedModel = load_model(path)
        with refusing(path):
            reading = self.saved.reading
            options = ReadOptions.of_json(reading["options"]) if reading else ReadOptions()
            encoding = reading.get("encoding")
        self.options = options.with_format(format_)
        self.stream = DataStream(data, self.options, bad_rows=bad_rows, encoding=encoding, labelled=labelled)
        self.model = self.saved.model

    @property
    def labels(self) -> StreamLabels:
        """The classes of the model."""
        labels = StreamLabels(positive=self.saved.reading.get("positive"))
        labels.classes = self.model.classes_
        return labels

    def scored(self) -> Iterator[ScoredChunk]:
        """Yield the chunks with their scores."""
        scorer = self.model.solution_.scorer
        for chunk in self.stream.chunks():
            rows = as_wide(chunk, self.model.n_features_in_)
            yield ScoredChunk(chunk, rows, scorer.scores(rows))


def as_wide(chunk: LabelledChunk, width: int) -> Rows:
    """Return the rows with as many features as the model: those it never met have no weight."""
    rows: Any = chunk.rows
    if rows.shape[1] == width:
        return rows
    if not sparse.issparse(rows):
        raise InputError(f"{chunk.source}: has {rows.shape[1]} features, the model has {width}")
    if rows.shape[1] > width:
        return rows[:, :width]
    return sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], width))
