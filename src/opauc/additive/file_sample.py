"""The basis of files that can be sought, from rows drawn all over them before the one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from opauc.additive.factory import ALL_WAIT, AdditiveFactory
from opauc.additive.initial_sample import ENOUGH_OF_BOTH, MOST_BYTES
from opauc.additive.settings import with_init_size
from opauc.core.batch import Batch, ResumePosition
from opauc.core.fit import Opening
from opauc.core.labels import ClassLabels
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.encode.ordinal import OrdinalEncoder
from opauc.data.sample import SampledFiles, sample_rows
from opauc.data.schema.infer import ColumnProfile
from opauc.errors import MalformedRowError
from opauc.types import Floats, Labels

# Of records that lie all over a text a few are cut off; and more are drawn at once where positives are rare.
SPARE, MOST_FACTOR = 1.05, 64.0


@dataclass(frozen=True, eq=False)
class FileInitialSample:
    """What rows drawn beforehand told: how to learn, how to read, the classes, and what each column is."""

    factory: AdditiveFactory
    reading: OrdinalReading
    labels: ClassLabels
    column_profiles: Sequence[ColumnProfile]
    n_rows: int


@dataclass(frozen=True, eq=False)
class _Drawn:
    rows: Floats
    labels: Labels
    classes: ClassLabels
    encoder: OrdinalEncoder

    @property
    def rarer(self) -> int:
        return int(np.bincount(self.labels, minlength=2).min())


def sample_initial_rows(
    files: SampledFiles, reading: OrdinalReading, factory: AdditiveFactory, labels: ClassLabels, seed: int = 0
) -> FileInitialSample | None:
    """Return the basis of a sample; None where the rows are so few, or so strange, that they are best taken in order.

    A third of the rows is drawn, within bounds, and more where one class is rare.
    """
    if files.n_rows <= ALL_WAIT:
        return None
    settings = with_init_size(factory.settings(), files.n_rows)
    wanted = int(settings.init_size)
    drawn = _drawn(files, reading, labels, wanted, seed)
    if drawn is not None and (more := enough_rows(wanted, drawn.rarer, files.n_rows, drawn.rows.shape[1])) > wanted:
        drawn = _drawn(files, reading, labels, more, seed)
    if drawn is None or not drawn.rarer:
        return None
    numbers = drawn.encoder.schema
    width = drawn.rows.shape[1]
    categorical = np.zeros(width, np.bool_) if numbers is None else numbers.categorical
    start = replace(factory, parameters={**factory.parameters, "init_size": wanted}).start(
        categorical, tuple(drawn.encoder.feature_names())
    )
    solution = start.of_sample(drawn.rows, drawn.labels)
    columns = None if numbers is None else numbers.keep_categories(solution.current.basis.kept_numbers())
    label = drawn.encoder.pinned_columns.label
    known = replace(reading, columns=columns, label=None if label is None else str(label))
    column_profiles = tuple(drawn.encoder.column_profiles)
    return FileInitialSample(replace(factory, initial=solution), known, drawn.classes, column_profiles, len(drawn.rows))


def open_files(factory: AdditiveFactory, paths: Sequence[str], reading: OrdinalReading, labels: ClassLabels) -> Opening:
    """Return the basis and the column types of an initial sample of the files; only the options where there is none."""
    if factory.initial is not None:
        return Opening(factory, reading, labels)
    files = SampledFiles.of(paths, reading.options)
    seed = factory.parameters.get("random_state") or 0
    sample = None if files is None else sample_initial_rows(files, reading, factory, labels, seed)
    if sample is None:
        return Opening(factory, reading, labels)
    return Opening(sample.factory, sample.reading, sample.labels, sample.column_profiles)


def enough_rows(wanted: int, rarer: int, n_rows: int, width: int) -> int:
    """Return how many of so many rows should be drawn, where `wanted` had that many of the rarer class among them.

    Examples
    --------
    >>> from opauc.additive.file_sample import enough_rows
    >>> enough_rows(16_384, 4_000, n_rows=10**6, width=5), enough_rows(16_384, 110, n_rows=10**6, width=5)
    (16384, 163840)
    """
    if rarer >= ENOUGH_OF_BOTH:
        return wanted
    room = MOST_BYTES / (8 * max(1, width) * wanted)
    factor = min(MOST_FACTOR, room, n_rows / wanted, 1.1 * ENOUGH_OF_BOTH / max(1, rarer))
    return max(wanted, int(wanted * factor))


def _drawn(files: SampledFiles, reading: OrdinalReading, labels: ClassLabels, n_rows: int, seed: int) -> _Drawn | None:
    """Return about so many rows as numbers; None where some of them will be refused when they are read in order."""
    drawn = sample_rows(files, reading, int(SPARE * n_rows), seed)
    chunks = []
    for (rows, raw, lines, *_), source in zip(drawn.parts, drawn.sources, strict=True):
        if raw is None:
            return None
        labels = labels.seen(raw)
        chunks.append(Batch(rows, raw, 0, source, 1, lines, ResumePosition(), 0))
    if not labels.known or not chunks:
        return None
    try:
        encoded = np.concatenate([labels.encoded(chunk) for chunk in chunks])
    except MalformedRowError:  # a third label, which is told of with its line when it is met
        return None
    return _Drawn(np.concatenate([np.asarray(chunk.rows) for chunk in chunks]), encoded, labels, drawn.encoder)
