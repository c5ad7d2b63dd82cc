"""The rows that `opauc compare` learns and scores: as features, and of tables as their columns too."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from opauc.additive.factory import schema_at
from opauc.additive.file_sample import read_initial_sample
from opauc.additive.settings import AdditiveSettings, with_init_size
from opauc.api.observer import Observer
from opauc.core.batch import Batch
from opauc.core.labels import ClassLabels, chunks_of_known_classes
from opauc.core.row_blocks import widen_rows
from opauc.data import BadRows, DataStream, OneHotState, ReadOptions
from opauc.data.encode.number_features import NumberFeatures
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.open_stream import open_stream
from opauc.data.sample import RowFiles
from opauc.data.schema.infer import ColumnProfile
from opauc.metrics import NumberedRows
from opauc.metrics.exact_auc import Flags
from opauc.types import Floats, Rows, random_key

LEARNING, SCORING = "training", "scoring"


@dataclass
class Passes(ABC):
    """The same data read several times; the first time shows which classes, features and categories there are."""

    data: Sequence[str]
    options: ReadOptions
    bad_rows: BadRows
    labels: ClassLabels
    observer: Observer
    title: str = field(default=LEARNING, init=False)

    @property
    @abstractmethod
    def categorical(self) -> Flags | None:
        """Which columns of a table are numbers of categories; None where rows are features only."""

    @abstractmethod
    def stream(self, bad_rows: BadRows) -> DataStream:
        """Return the stream of the next pass."""

    @abstractmethod
    def views(self, chunk: Batch) -> tuple[Rows, Floats | None]:
        """Return the features of a chunk, as wide as all before, and the columns of its table if there is one."""

    @abstractmethod
    def keep(self, last: Batch) -> None:
        """Keep what the first pass has shown, of which this was the last chunk."""

    def read(self) -> Iterator[NumberedRows]:
        """Yield the chunks with their labels as 0 and 1."""
        stream = self.stream(self.bad_rows.fresh_copy())
        last = None
        with self.observer.progress(self.title, stream.total_bytes) as show:
            for chunk, labels in chunks_of_known_classes(stream.chunks(), self.labels):
                self.labels, last = labels, chunk
                rows, table = self.views(chunk)
                yield NumberedRows(chunk.first_row, rows, labels.encoded(chunk), table)
                show(chunk.first_row + rows.shape[0], chunk.bytes_read)
        if last is not None and self.title == LEARNING:
            self.keep(last)
        self.title = SCORING


@dataclass
class FeaturePasses(Passes):
    """Rows as linear scorers read them."""

    encoding: OneHotState | None = field(default=None, init=False)
    width: int = field(default=1, init=False)

    @property
    def categorical(self) -> Flags | None:
        """Nothing: all are features."""
        return None

    def stream(self, bad_rows: BadRows) -> DataStream:
        """Return the stream of the next pass; features of the second one are those of the first."""
        return open_stream(self.data, self.options, bad_rows=bad_rows, encoding=self.encoding)

    def views(self, chunk: Batch) -> tuple[Rows, Floats | None]:
        """Return the features of a chunk."""
        self.width = max(self.width, chunk.rows.shape[1])
        return widen_rows(chunk.rows, self.width), None

    def keep(self, last: Batch) -> None:
        """Keep what features there are."""
        self.encoding = last.resume_position.learned()


@dataclass
class TablePasses(Passes):
    """The rows of tables as they come, their columns typed by looking, and the features that linear methods take."""

    of_tables: Sequence[str] = ()  # names of the methods that take columns as they come
    column_profiles: Sequence[ColumnProfile] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self._reading, first = self._looked()
        known = self._reading.columns
        self._categorical = np.zeros(first.shape[1], np.bool_) if known is None else known.categorical
        self._features = NumberFeatures(first, self._categorical)

    @property
    def categorical(self) -> Flags:
        """Which columns are numbers of categories."""
        return self._categorical

    def stream(self, bad_rows: BadRows) -> DataStream:
        """Return the stream of the next pass; categories of the second one are those of the first."""
        encoder = self._reading.encoder(frozen=self.title == SCORING)
        return DataStream(self.data, self.options, encoder, bad_rows=bad_rows)

    def views(self, chunk: Batch) -> tuple[Rows, Floats | None]:
        """Return the features of a chunk, and its columns."""
        table = np.asarray(chunk.rows, np.float64)
        return self._features.rows(table, grow=self.title == LEARNING), table

    def keep(self, last: Batch) -> None:
        """Keep what categories there are, and say what the methods were given."""
        self._reading = replace(self._reading, columns=schema_at(last.resume_position))
        n_columns, n_features = self._categorical.size, self._features.n_features
        takers = ", ".join(self.of_tables)
        self.observer.say(
            "rows",
            (f"{takers}: {_count(n_columns, 'column')} unscaled; the others: " if takers else "")
            + f"{_count(n_features, 'feature')} (numbers scaled, missing ones marked, one for each category)",
            columns=n_columns, features=n_features, of_tables=list(self.of_tables),
        )  # fmt: skip

    def _looked(self) -> tuple[OrdinalReading, Floats]:
        """Return how tables are to be read, once their columns are known, and the rows looked at."""
        reading = OrdinalReading(self.options, positive=self.labels.positive)
        files = RowFiles.of(self.data, reading)
        sample = None
        if files is not None:
            init_size = int(with_init_size(AdditiveSettings(), files.n_rows).init_size)
            sample = read_initial_sample(files, reading, self.labels, init_size, random_key(0))
        if sample is None:
            encoder = reading.encoder()
            stream = DataStream(self.data, self.options, encoder, bad_rows=BadRows("skip"))
            parts = [chunk.rows for chunk in islice(stream.chunks(ahead=False), 1)]
        else:
            encoder, parts = sample.encoder, [sample.rows]
        self.column_profiles = encoder.column_profiles
        label = encoder.pinned_columns.label
        known = replace(reading, columns=encoder.schema, label=None if label is None else str(label))
        return known, np.concatenate([np.empty((0, len(encoder.feature_names()))), *map(np.asarray, parts)])


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
