"""How `opauc train` learns a linear scorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from opauc.data import BadRows, DataStream, ReadOptions
from opauc.data.encode.table_features import OneHotReading
from opauc.data.open_stream import open_stream
from opauc.data.schema.infer import ColumnProfile
from opauc.errors import InputError
from opauc.linear.model_file import Model
from opauc.linear.resolve import LinearRecipe
from opauc.training.loop import StreamTraining, provenance_of
from opauc.training.model_files import AnyModel


class Run(Protocol):
    """A training and the stream that it learns."""

    @property
    def training(self) -> StreamTraining:
        """What learns."""

    @property
    def stream(self) -> DataStream:
        """What is learned."""

    @property
    def column_profiles(self) -> Sequence[ColumnProfile]:
        """What each column of a table is, where that was found by looking."""

    def finished(self) -> AnyModel:
        """Return the model with all that is known of its rows."""


@dataclass
class LinearRun:
    """All that a linear scorer is learned with."""

    training: StreamTraining
    stream: DataStream
    reading: ReadOptions

    @classmethod
    def of(
        cls,
        training: StreamTraining,
        recipe: LinearRecipe,
        data: Sequence[str],
        reading: ReadOptions,
        bad_rows: BadRows,
    ) -> LinearRun:
        """Return the run of a training, from its resume_position on."""
        if training.recipe.owner != recipe.owner:
            raise InputError("the checkpoint is of another estimator; resume with the same settings, or start afresh")
        stream = open_stream(data, reading, training.resume_position, bad_rows)
        if reading.groups is not None and not stream.has_columns:
            raise InputError(f"{', '.join(data)}: only tables have columns, of which --groups could be one")
        return cls(training, stream, reading)

    @property
    def column_profiles(self) -> Sequence[ColumnProfile]:
        """Nothing: columns are what the user says."""
        return ()

    def finished(self) -> Model:
        """Return the model with all that is known of its rows."""
        model, names = self.training.finished(), self.stream.feature_names
        assert isinstance(model, Model)
        tables = OneHotReading(self.reading, self.training.resume_position.learned(), self.training.labels.positive)
        return replace(
            model,
            feature_names=None if names is None else tuple(names),
            reading=tables.to_json(),
            provenance=provenance_of(self.training),
        )
