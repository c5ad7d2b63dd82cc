"""The initial sample of files, drawn and read before their rows are processed in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from opauc.additive.initial_sample import draw_initial_sample
from opauc.additive.settings import AdditiveSettings, fitted_whole, with_init_size
from opauc.additive.training import GamRecipe
from opauc.core.batch import Batch, ResumePosition
from opauc.core.labels import ClassLabels
from opauc.core.parameters import from_params
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.encode.ordinal import OrdinalEncoder
from opauc.data.sample import RowFiles, RowNumbers, read_sample
from opauc.data.schema.infer import ColumnProfile
from opauc.errors import MalformedRowError
from opauc.types import Floats, Labels, random_key


@dataclass(frozen=True, eq=False)
class FileInitialSample:
    """What the initial sample of files gives: where training starts, how to read, the classes and the column types."""

    recipe: GamRecipe
    reading: OrdinalReading
    labels: ClassLabels
    column_profiles: Sequence[ColumnProfile]
    n_rows: int

    @property
    def has_basis(self) -> bool:
        """Whether there is a basis: without one all rows are few and are fitted at once."""
        return self.recipe.beginning is not None and self.recipe.beginning.fixed is not None


@dataclass(frozen=True, eq=False)
class EncodedSample:
    """Rows of files as numbers, their labels, and the classes and the encoder inferred from them."""

    rows: Floats
    labels: Labels
    classes: ClassLabels
    encoder: OrdinalEncoder


def sample_initial_rows(
    files: RowFiles, reading: OrdinalReading, recipe: GamRecipe, labels: ClassLabels
) -> FileInitialSample | None:
    """Return what the initial sample of files gives; None where it cannot serve: one class, or three kinds of label.

    Where the rows are few, all of them are fitted at once: the sample fixes the
    column types, and the basis comes after the last row.
    """
    n_rows, state_seed = files.n_rows, random_key(recipe.parameters.get("random_state"))
    settings = with_init_size(from_params(recipe.owner, AdditiveSettings, dict(recipe.parameters)), n_rows)
    init_size = int(settings.init_size)
    sample = read_initial_sample(files, reading, labels, init_size, state_seed)
    if sample is None or np.bincount(sample.labels, minlength=2).min() == 0:
        return None
    schema, width = sample.encoder.numbers, sample.rows.shape[1]
    categorical = np.zeros(width, np.bool_) if schema is None else schema.categorical
    sized = replace(recipe, parameters={**recipe.parameters, "init_size": init_size})
    start = replace(sized.start(categorical, tuple(sample.encoder.feature_names())), seed=state_seed)
    if n_rows > fitted_whole(init_size):
        start = start.of_sample(sample.rows, sample.labels)
        schema = None if schema is None else schema.kept(start.current.basis.kept_numbers())
    label = sample.encoder.pinned_columns.label
    typed = replace(reading, columns=schema, label=None if label is None else str(label))
    profiles = tuple(sample.encoder.column_profiles)
    return FileInitialSample(replace(recipe, beginning=start), typed, sample.classes, profiles, len(sample.rows))


def read_initial_sample(
    files: RowFiles, reading: OrdinalReading, labels: ClassLabels, init_size: int, seed: int
) -> EncodedSample | None:
    """Return the initial sample of files as numbers; None where some of its rows are errors when read in order."""

    def take(numbers: RowNumbers) -> EncodedSample | None:
        sample, classes, batches = read_sample(files, reading, numbers), labels, list[Batch]()
        for (rows, raw, lines, *_), source in zip(sample.parts, sample.sources, strict=True):
            if raw is None:
                return None
            classes = classes.seen(raw)
            batches.append(Batch(rows, raw, 0, source, 1, lines, ResumePosition(), 0))
        if not classes.known or not batches:
            return None
        try:
            encoded = np.concatenate([classes.encoded(batch) for batch in batches])
        except MalformedRowError:  # a third label, an error with its line when it is read in order
            return None
        return EncodedSample(
            np.concatenate([np.asarray(batch.rows) for batch in batches]), encoded, classes, sample.encoder
        )

    return draw_initial_sample(files.n_rows, init_size, seed, take)
