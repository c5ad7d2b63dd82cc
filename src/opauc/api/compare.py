"""Compare methods: train them on the same rows and score the same held-out rows."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np

from opauc.additive.factory import schema_at
from opauc.additive.file_sample import read_initial_sample
from opauc.additive.settings import AdditiveSettings, with_init_size
from opauc.api.methods import MethodNames
from opauc.api.observer import CallbackObserver, Observer, Progress
from opauc.api.train import report_columns
from opauc.core.batch import Batch
from opauc.core.labels import ClassLabels, batches_with_classes, listed_labels, shown_label
from opauc.core.row_blocks import widen_rows
from opauc.data import BadRows, DataStream, OneHotState, ReadOptions
from opauc.data.encode.number_features import NumberFeatures
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.find_sources import are_tables, paths_of
from opauc.data.open_stream import open_stream
from opauc.data.sample import RowFiles
from opauc.data.schema.infer import ColumnProfile
from opauc.data.sources import STANDARD_INPUT
from opauc.errors import InputError, Parameter, ParameterError
from opauc.metrics import Compared, HeldOut, NumberedRows, RankingMetric, compare_on_stream
from opauc.metrics.class_runner import compare_classes_on_stream
from opauc.metrics.exact_auc import Flags
from opauc.metrics.metric_names import ranking_metrics
from opauc.types import Floats, Rows, random_key

# Options of reading for linear solvers: with one of them every method trains on the same features.
FEATURE_OPTIONS = {"missing", "hash_bits", "n_features", "zero_based"}
TRAINING, SCORING = "training", "scoring"


def compare(
    data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    label: str | int | None = None,
    *,
    methods: Sequence[str] | None = None,
    held_out: float = 0.2,
    random_state: int = 0,
    positive: str | None = None,
    bad_rows: BadRows | None = None,
    metrics: Sequence[str | RankingMetric] = (),
    on_progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> list[Compared]:
    """Train methods with default settings on the same rows of files and score the same held-out rows.

    Parameters
    ----------
    data : path or sequence of paths
        Files, glob patterns or folders.
    label : str or int, optional
        The label column, by name or by position. By default the one named label, target, class or y.
    methods : sequence of str, optional
        Names of methods; by default all that are installed and not slow.
    held_out : float, default=0.2
        Share of the rows held out for scoring.
    random_state : int, default=0
        Seed of the random split.
    positive : str, optional
        Label of the positive rows; all others are negative.
    bad_rows : BadRows, optional
        What to do with rows that cannot be read; by default the first one is an error.
    metrics : sequence of str, optional
        Further metrics, as for `evaluate`; methods are ordered and tested by the first.
    on_progress : callable, optional
        Called with a `Progress` after every batch.
    **options
        Fields of `ReadOptions`.

    Returns
    -------
    compared : list of Compared
        AUC, interval, p-value against the best and seconds of each method, the best first. Of more than two classes
        the AUC is the mean over pairs of classes, and metrics are means over the classes.

    Examples
    --------
    >>> import tempfile
    >>> import opauc
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,bought\\n" + b"30,no\\n45,yes\\n50,yes\\n25,no\\n" * 50), file.flush()
    ...     [one] = opauc.compare(file.name, label="bought", methods=["exact"])
    >>> one.name, one.auc
    ('exact', 1.0)
    """
    paths = paths_of(data)
    reading = ReadOptions(**{**options, **({} if label is None else {"label": label})})
    labels = ClassLabels.announced(positive=positive, several=True)
    return run_comparison(
        paths, reading, methods, HeldOut(held_out, random_state), labels,
        bad_rows or BadRows(), CallbackObserver(on_progress), features_only=bool(FEATURE_OPTIONS & set(options)),
        metrics=ranking_metrics(metrics),
    )  # fmt: skip


def run_comparison(
    paths: Sequence[str],
    reading: ReadOptions,
    methods: Sequence[str] | None,
    split: HeldOut,
    labels: ClassLabels,
    bad_rows: BadRows,
    observer: Observer,
    features_only: bool = False,
    on_columns: Callable[[Sequence[ColumnProfile]], None] | None = None,
    metrics: Sequence[RankingMetric] = (),
) -> list[Compared]:
    """Compare methods on files, for `compare` and the command.

    `on_columns` is called with the inferred column types of tables.
    """
    if STANDARD_INPUT in paths:
        raise InputError("comparing reads the data twice, which standard input does not allow; name a file")
    if not 0.0 < split.share < 1.0:
        raise ParameterError(Parameter("held_out"), f" must lie between 0 and 1, got {split.share}")
    names = MethodNames.of(methods)
    passes: Passes
    if features_only or not are_tables(paths, reading.format):
        passes = FeaturePasses(paths, reading, bad_rows, labels, observer)
    else:
        passes = TablePasses(paths, reading, bad_rows, labels, observer, names.of_tables)
        report_columns(passes.column_profiles, observer)
        if on_columns is not None:
            on_columns(passes.column_profiles)
    classes = passes.find_classes()
    names = names.taking(len(classes), asked=methods is not None)
    of_tables = names.table_methods(passes.categorical, len(classes))
    if len(classes) == 2:
        return list(
            compare_on_stream(names.feature_methods(), passes.read, split, of_tables=of_tables, metrics=metrics)
        )
    observer.say(
        "classes", f"{len(classes)} classes: {listed_labels(classes)}; AUC is the mean over pairs of classes",
        classes=list(classes),
    )  # fmt: skip
    of_features = names.feature_methods(len(classes))
    return compare_classes_on_stream(of_features, passes.read, split, classes, of_tables=of_tables, metrics=metrics)


@dataclass
class Passes(ABC):
    """The same data read twice; the first pass finds the classes, features and categories."""

    data: Sequence[str]
    options: ReadOptions
    bad_rows: BadRows
    labels: ClassLabels
    observer: Observer
    title: str = field(default=TRAINING, init=False)

    @property
    @abstractmethod
    def categorical(self) -> Flags | None:
        """Which columns of a table are categorical; None where rows are features only."""

    @abstractmethod
    def stream(self, bad_rows: BadRows) -> DataStream:
        """Return the stream of the next pass."""

    @abstractmethod
    def views(self, batch: Batch) -> tuple[Rows, Floats | None]:
        """Return the features of a batch, and the columns of its table if there is one."""

    @abstractmethod
    def end_first_pass(self, last: Batch) -> None:
        """Keep the encoder's state after the first pass, of which this was the last batch."""

    def find_classes(self) -> Sequence[str]:
        """Return the names of the classes, from the first rows where they are not given."""
        if not self.labels.known:
            stream = self.stream(self.bad_rows.fresh_copy())
            _, self.labels = next(iter(batches_with_classes(stream.batches(ahead=False), self.labels)))
        return list(map(shown_label, self.labels.classes.tolist()))

    def read(self) -> Iterator[NumberedRows]:
        """Yield the batches with the numbers of their classes as labels."""
        stream = self.stream(self.bad_rows.fresh_copy())
        last = None
        with self.observer.progress(self.title, stream.total_bytes) as show:
            for batch, labels in batches_with_classes(stream.batches(), self.labels):
                self.labels, last = labels, batch
                rows, table = self.views(batch)
                yield NumberedRows(batch.first_row, rows, labels.encode(batch), table)
                show(batch.first_row + rows.shape[0], batch.bytes_read)
        if last is not None and self.title == TRAINING:
            self.end_first_pass(last)
        self.title = SCORING


@dataclass
class FeaturePasses(Passes):
    """Rows as linear models read them."""

    encoding: OneHotState | None = field(default=None, init=False)
    width: int = field(default=1, init=False)

    @property
    def categorical(self) -> Flags | None:
        """None: all are features."""
        return None

    def stream(self, bad_rows: BadRows) -> DataStream:
        """Return the stream of the next pass; features of the second one are those of the first."""
        return open_stream(self.data, self.options, bad_rows=bad_rows, encoding=self.encoding)

    def views(self, batch: Batch) -> tuple[Rows, Floats | None]:
        """Return the features of a batch."""
        self.width = max(self.width, batch.rows.shape[1])
        return widen_rows(batch.rows, self.width), None

    def end_first_pass(self, last: Batch) -> None:
        """Keep the state of the encoder."""
        self.encoding = last.resume_position.onehot_state()


@dataclass
class TablePasses(Passes):
    """The columns of tables with inferred types, and the features made of them for methods that take features."""

    of_tables: Sequence[str] = ()  # names of the methods that take columns
    column_profiles: Sequence[ColumnProfile] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self._reading, first = self._infer_columns()
        schema = self._reading.columns
        self._categorical = np.zeros(first.shape[1], np.bool_) if schema is None else schema.categorical
        self._features = NumberFeatures(first, self._categorical)

    @property
    def categorical(self) -> Flags:
        """Which columns are categorical."""
        return self._categorical

    def stream(self, bad_rows: BadRows) -> DataStream:
        """Return the stream of the next pass; categories of the second one are those of the first."""
        encoder = self._reading.encoder(frozen=self.title == SCORING)
        return DataStream(self.data, self.options, encoder, bad_rows=bad_rows)

    def views(self, batch: Batch) -> tuple[Rows, Floats | None]:
        """Return the features of a batch, and its columns."""
        table = np.asarray(batch.rows, np.float64)
        return self._features.rows(table, grow=self.title == TRAINING), table

    def end_first_pass(self, last: Batch) -> None:
        """Keep the categories, and report what the methods were given."""
        self._reading = replace(self._reading, columns=schema_at(last.resume_position))
        n_columns, n_features = self._categorical.size, self._features.n_features
        takers = ", ".join(self.of_tables)
        self.observer.say(
            "rows",
            (f"{takers}: {_count(n_columns, 'column')} unscaled; the others: " if takers else "")
            + f"{_count(n_features, 'feature')} (numbers scaled, missing values marked, one for each category)",
            columns=n_columns, features=n_features, of_tables=list(self.of_tables),
        )  # fmt: skip

    def _infer_columns(self) -> tuple[OrdinalReading, Floats]:
        """Return how tables are read, with the inferred schema, and the rows it was inferred from."""
        reading = OrdinalReading(self.options, positive=self.labels.positive)
        files = RowFiles.of(self.data, reading)
        sample = None
        if files is not None:
            width = files.count_columns(reading.requested_columns())
            init_size = int(with_init_size(AdditiveSettings(), files.n_rows, width=width).init_size)
            sample = read_initial_sample(files, reading, self.labels, init_size, random_key(0))
        if sample is None:
            encoder = reading.encoder()
            stream = DataStream(self.data, self.options, encoder, bad_rows=BadRows("skip"))
            parts = [batch.rows for batch in islice(stream.batches(ahead=False), 1)]
        else:
            encoder, parts = sample.encoder, [sample.rows]
        self.column_profiles = encoder.column_profiles
        label = encoder.pinned_columns.label
        reading = replace(reading, columns=encoder.schema, label=None if label is None else str(label))
        return reading, np.concatenate([np.empty((0, len(encoder.feature_names()))), *map(np.asarray, parts)])


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
