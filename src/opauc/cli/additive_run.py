"""How `opauc train` learns an additive model: a basis from a sample, from the first rows, or from another model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from opauc.additive.file_sample import sample_initial_rows
from opauc.additive.model_file import AdditiveModel
from opauc.additive.training import GAM, GamRecipe, columns_at, read_model
from opauc.core.labels import ClassLabels
from opauc.data import BadRows, DataStream, ReadOptions
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.encode.ordinal import OrdinalEncoder
from opauc.data.find_sources import are_tables
from opauc.data.sample import RowFiles
from opauc.data.schema.infer import ColumnProfile
from opauc.engines.additive_shards import AdditiveShards, additive_shards, shards_like
from opauc.errors import InputError
from opauc.training.loop import StreamTraining, provenance_of

SOLVER = "gam"
# Options that only linear scorers take notice of: whoever gives one asks for a linear scorer.
LINEAR_OPTIONS = (
    "alpha", "rank", "eta0", "learning_rate", "average", "standardize", "forgetting_factor", "horizon", "cv", "criterion",
    "one_standard_error", "groups", "missing", "hash_bits", "n_features", "zero_based",
)  # fmt: skip


def takes_additive(
    solver: str | None, given: Collection[str], data: Sequence[str], reading: ReadOptions, like: Path | None
) -> bool:
    """Tell whether an additive model is to be learned: asked for, or of tables where nothing else is."""
    linear = [name for name in LINEAR_OPTIONS if name in given]
    if linear and (solver == SOLVER or like is not None):
        raise InputError(f"--{linear[0].replace('_', '-')} is for linear scorers; an additive model takes none")
    if like is not None:
        if solver not in (None, SOLVER):
            raise InputError(f"--like is for additive models; --solver {solver} learns a linear scorer")
        return True
    if solver is not None or linear:
        return solver == SOLVER
    if reading.numeric:
        return True
    return are_tables(data, reading.format)


def shards_of(
    data: Sequence[str], options: ReadOptions, labels: ClassLabels, recipe: GamRecipe, like: AdditiveModel | None
) -> AdditiveShards:
    """Return how the shards of files are learned: with a basis of a sample of them, or with that of another model."""
    if like is not None:
        return shards_like(like, data, options)
    return additive_shards(data, options, recipe, labels)


@dataclass
class AdditiveRun:
    """All that an additive model is learned with."""

    training: StreamTraining
    reading: OrdinalReading
    encoder: OrdinalEncoder
    stream: DataStream
    known: Sequence[ColumnProfile]

    @classmethod
    def resumed(
        cls, training: StreamTraining, data: Sequence[str], options: ReadOptions, bad_rows: BadRows
    ) -> AdditiveRun:
        """Return a run that goes on where a checkpoint left it."""
        if training.recipe.owner != GAM:
            raise InputError("the checkpoint is of a linear scorer; resume with the same settings, or start afresh")
        encoding = training.resume_position.numbered() or {"label": None, "table": None}
        reading = OrdinalReading(
            options, encoding["label"], columns_at(training.resume_position), training.labels.positive
        )
        return cls._of(training, reading, data, bad_rows, ())

    @classmethod
    def begun(
        cls, data: Sequence[str], options: ReadOptions, labels: ClassLabels, recipe: GamRecipe, bad_rows: BadRows
    ) -> AdditiveRun:
        """Return a run from the first row, its basis made of a sample of the files, unless they are a pipe."""
        reading = OrdinalReading(options, positive=labels.positive)
        files = RowFiles.of(data, reading)
        sample = None if files is None else sample_initial_rows(files, reading, recipe, labels)
        if sample is None:
            return cls._of(StreamTraining(recipe, labels), reading, data, bad_rows, ())
        training = StreamTraining(sample.recipe, sample.labels)
        return cls._of(training, sample.reading, data, bad_rows, sample.column_profiles)

    @classmethod
    def like(cls, model: AdditiveModel, data: Sequence[str], options: ReadOptions, bad_rows: BadRows) -> AdditiveRun:
        """Return a run with the basis of another model, with which it can be merged."""
        reading = model.row_reading().further(options)
        recipe = GamRecipe(model.parameters, model.solution.empty_copy())
        training = StreamTraining(recipe, ClassLabels(model.classes, reading.positive))
        return cls._of(training, reading, data, bad_rows, ())

    @classmethod
    def _of(
        cls,
        training: StreamTraining,
        reading: OrdinalReading,
        data: Sequence[str],
        bad_rows: BadRows,
        column_profiles: Sequence[ColumnProfile],
    ) -> AdditiveRun:
        encoder = reading.encoder(rows_before=training.resume_position.rows)
        stream = DataStream(data, reading.options, encoder, training.resume_position, bad_rows)
        return cls(training, reading, encoder, stream, column_profiles)

    @property
    def column_profiles(self) -> Sequence[ColumnProfile]:
        """What each column is; nothing before the first rows of a stream have come."""
        return self.known or tuple(self.encoder.column_profiles)

    def finished(self) -> AdditiveModel:
        """Return the model with all that is known of its rows; its basis is fixed."""
        model = self.training.finished()
        assert isinstance(model, AdditiveModel)
        known = read_model(model, self.reading, self.training.resume_position)
        return replace(known, provenance=provenance_of(self.training))
