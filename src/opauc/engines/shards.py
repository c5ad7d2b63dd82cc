"""Files cut into shards that machines read and train on separately, and the model of several shards."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from opauc.core.batch import Batch, ResumePosition, SourceRecord
from opauc.core.fit import FitFactory, Opening, Sharding
from opauc.core.labels import ClassLabels, batches_with_classes
from opauc.core.model import Model, RowReading
from opauc.data import BadRows, DataStream, ReadOptions
from opauc.data.bad_rows import LISTED
from opauc.data.byte_ranges import ByteRange, lines_before, records_of, states_after, with_quoting
from opauc.data.encode.encoder import Encoder
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.find_sources import find_sources, format_of, name_of
from opauc.data.sample import RowFiles
from opauc.data.sources import STANDARD_INPUT
from opauc.data.storage import file_size, is_file, open_file
from opauc.data.table_source import Source, TableSource
from opauc.engines.scheduler import Scheduler
from opauc.errors import InputError, MalformedRowError, TooManyBadRowsError, UnsupportedOperationError
from opauc.types import Json
from opauc.version import __version__


@dataclass(frozen=True)
class ShardPolicy:
    """How large the shards of files are; `benchmarks/engines.py` measures what they cost.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.engines.shards import ShardPolicy
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"1,0\\n" * 1000), file.flush()
    ...     ShardPolicy().shard_bytes([file.name]), ShardPolicy(min_bytes=100).shard_bytes([file.name])
    (33554432, 250)
    """

    # Bytes. The first row groups of a shard cost half as much again as those that follow.
    min_bytes: int = 2**25
    # Bytes, unless there would be more than `max_shards`.
    max_bytes: int = 2**27
    # Number of shards of files between these sizes: enough to keep a few cores busy to the end.
    n_shards: int = 16
    # Number of shards of very many bytes.
    max_shards: int = 10_000
    # Bytes of a shard for each byte of its sums, at least, so that merging costs less than training.
    bytes_per_sum: float = 4.0

    def shard_bytes(self, paths: Sequence[str], min_bytes: int | None = None) -> int:
        """Return how many bytes a shard of these files should have: the same on every engine."""
        total, least = sum(map(file_size, paths)), self.min_bytes if min_bytes is None else min_bytes
        return max(least, min(total // self.n_shards, self.max_bytes), total // self.max_shards)


SHARD_POLICY = ShardPolicy()


class Cut(NamedTuple):
    """How many bytes a shard of some files should have, and how many shards one row group may be cut into.

    No shard has fewer than `floor` bytes, whatever size is asked for.
    """

    size: int
    floor: int = 0
    pieces: int = 1


class FileShard(NamedTuple):
    """A byte range of a file, or all of it; `rows` where the file says how many there are.

    `first_row` is the number of its first row among all rows, where that matters.
    """

    number: int
    path: str
    byte_range: ByteRange | None
    rows: int | None = None
    first_row: int = 0


def whole_files(paths: Sequence[Source]) -> list[str]:
    """Return the files of paths, patterns and folders; raise where one is a table, or can be read only once."""
    files = list[str]()
    for source in find_sources(paths):
        if isinstance(source, TableSource) or not is_file(source):
            name = "standard input" if source == STANDARD_INPUT else name_of(source)
            raise UnsupportedOperationError(f"{name}: shards are read from files, several at a time")
        files.append(source)
    return files


def file_shards(
    paths: Sequence[str | os.PathLike[str]], options: ReadOptions, size: int, scheduler: Scheduler, pieces: int = 1
) -> list[FileShard]:
    """Return the shards of files, patterns and folders, in order: a row group, a byte range or a whole file each.

    Comma-separated text is followed from quote to quote first, by the
    scheduler: an end of line within quotes ends no record. A row group that has
    the bytes of several shards may be cut into some `pieces`, each of which costs
    its reader the rows before it.
    """
    shards: list[FileShard] = []
    for path in whole_files(paths):
        kind = format_of(path, options.format)
        byte_ranges = kind.byte_ranges(path, size)
        delimiter = kind.delimiter(path, options) if len(byte_ranges) > 1 else None
        if delimiter is not None:
            states = scheduler.map(partial(states_after, path, delimiter), byte_ranges)
            byte_ranges = with_quoting(byte_ranges, delimiter, states)
        if not kind.is_text and pieces > 1:
            byte_ranges = finer_byte_ranges(byte_ranges, file_size(path), size, pieces)
        for byte_range in byte_ranges:
            rows = None if kind.is_text else byte_range.end - byte_range.begin
            shards.append(FileShard(len(shards), path, byte_range, rows))
        if not byte_ranges:
            shards.append(FileShard(len(shards), path, None))
    return shards


def finer_byte_ranges(byte_ranges: Sequence[ByteRange], n_bytes: int, size: int, pieces: int) -> list[ByteRange]:
    """Return byte_ranges of rows, those that have the bytes of several shards in up to so many pieces.

    >>> from opauc.engines.shards import finer_byte_ranges
    >>> from opauc.data.byte_ranges import ByteRange
    >>> [tuple(byte_range[:2]) for byte_range in finer_byte_ranges([ByteRange(0, 9), ByteRange(9, 12)], 1200, 300, 4)]
    [(0, 3), (3, 6), (6, 9), (9, 12)]
    """
    n_rows, finer = sum(byte_range.end - byte_range.begin for byte_range in byte_ranges), list[ByteRange]()
    for begin, end, _ in byte_ranges:
        n_pieces = min(pieces, max(1, round((end - begin) * n_bytes / max(1, n_rows) / size)))
        edges = [begin + (end - begin) * piece // n_pieces for piece in range(n_pieces + 1)]
        finer += [ByteRange(*pair) for pair in pairwise(edges)]
    return finer


@dataclass(frozen=True)
class ShardReader:
    """How every shard is read; the encoder has what is known of the columns beforehand."""

    options: ReadOptions
    encoder: Callable[[], Encoder]
    skip_bad_rows: bool = False
    drop_unlabeled: bool = False

    def bad_rows(self, shard: FileShard) -> BadRows:
        """Return the policy for bad rows of a shard."""
        return _ShardBadRows("skip" if self.skip_bad_rows else "error", shard, self.drop_unlabeled)

    def stream(self, shard: FileShard, bad_rows: BadRows) -> DataStream:
        """Return the rows of a shard."""
        return DataStream.of_byte_range(shard.path, shard.byte_range, self.options, self.encoder(), bad_rows)

    def batches(self, shard: FileShard, stream: DataStream) -> Iterator[Batch]:
        """Yield the batches of a shard; errors name lines of the file."""
        with lines_of_file(shard):
            yield from stream.batches(ahead=False)

    def n_rows(self, shard: FileShard) -> int:
        """Return how many rows a shard has; it is read where the file does not say."""
        if shard.rows is not None and not (self.skip_bad_rows or self.drop_unlabeled):
            return shard.rows
        stream = self.stream(shard, self.bad_rows(shard))
        return sum(batch.rows.shape[0] for batch in self.batches(shard, stream))


@contextmanager
def lines_of_file(shard: FileShard) -> Iterator[None]:
    """Make errors of the body name lines of the file, not of the shard."""
    try:
        yield
    except MalformedRowError as error:
        raise _in_file(error, shard) from error


class _ShardBadRows(BadRows):
    """Bad rows of a shard, by their lines in the file."""

    def __init__(self, policy: str, shard: FileShard, drop_unlabeled: bool = False) -> None:
        super().__init__(policy, drop_unlabeled=drop_unlabeled)
        self._shard = shard

    def handle(self, row: MalformedRowError) -> None:
        """Count a bad row; raise unless bad rows are skipped."""
        remembered = self.policy == "skip" and len(self.first) < LISTED
        super().handle(_in_file(row, self._shard) if remembered else row)


def _in_file(row: MalformedRowError, shard: FileShard) -> MalformedRowError:
    """Return a bad row with its line counted from the beginning of the file; those of binary tables already are."""
    byte_range = shard.byte_range
    if byte_range is None or not byte_range.begin or shard.rows is not None:
        return row
    with open_file(shard.path) as file:
        begin, _ = records_of(file, byte_range)
    before = lines_before(shard.path, begin)
    return MalformedRowError(row.source, row.line + before, row.reason, *row.advice, column=row.column)


@dataclass(frozen=True, eq=False)
class TrainingPlan:
    """How to train on any shard of some files; a value that is sent to machines."""

    paths: Sequence[str]
    factory: FitFactory
    reading: RowReading
    labels: ClassLabels
    sharding: Sharding
    cut: Cut
    dtype: str
    column_profiles: Sequence[Any] = ()

    @property
    def options(self) -> ReadOptions:
        """How the files are read."""
        options: ReadOptions = self.reading.options
        return options


def plan_training(
    factory: FitFactory,
    paths: Sequence[Source],
    reading: RowReading,
    labels: ClassLabels,
    policy: ShardPolicy = SHARD_POLICY,
) -> TrainingPlan:
    """Return how every shard of some files is trained on.

    Raises UnsupportedOperationError where the sums of shards do not add up to those of all rows.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.core.labels import ClassLabels
    >>> from opauc.data import ReadOptions
    >>> from opauc.data.encode.table_features import OneHotReading
    >>> from opauc.engines.shards import plan_training
    >>> from opauc.linear.resolve import opauc_factory
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n30,no\\n40,yes\\n50,yes\\n"), file.flush()
    ...     plan_training(opauc_factory({}), [file.name], OneHotReading(ReadOptions()), ClassLabels()).labels.classes
    array(['no', 'yes'], dtype='<U3')
    """
    if reading.options.missing == "mean":
        raise UnsupportedOperationError("missing='mean' takes the mean of the rows before: they must be read in order")
    files = whole_files(paths)
    opening = factory.open_files(files, reading, labels)
    first, labels = _first_batch(files, opening)
    opening = replace(opening, factory=opening.factory.for_classes(labels.n_classes))
    sharding = opening.factory.sharding(first.rows)
    floor, least = int(policy.bytes_per_sum * sharding.state_bytes), None
    if sharding.min_rows:
        floor = least = _bytes_of_rows(files, opening.reading, sharding.min_rows)
    cut = Cut(max(floor, policy.shard_bytes(files, least)), floor, sharding.pieces)
    sharding = sharding._replace(numbers_rows=sharding.numbers_rows and reading.options.groups is None)
    row_reading = opening.reading.at(first.resume_position, labels)
    return TrainingPlan(
        files, opening.factory, row_reading, labels, sharding, cut, str(first.rows.dtype), opening.column_profiles
    )  # fmt: skip


def _first_batch(paths: Sequence[str], opening: Opening) -> tuple[Batch, ClassLabels]:
    """Return the first batch, which shows the number of features and the column types, and the classes.

    Batches are read until there are rows of both classes, as one process does.
    """
    stream = opening.reading.training_stream(paths, ResumePosition(), BadRows("skip"))
    for batch, labels in batches_with_classes(stream.batches(ahead=False), opening.labels):
        return batch, labels
    raise InputError(f"{', '.join(paths)}: training needs rows of two classes, got 0 rows")


def _bytes_of_rows(paths: Sequence[str], reading: RowReading, n_rows: int) -> int:
    """Return about how many bytes so many rows of the files have; 0 where that is unknown."""
    assert isinstance(reading, OrdinalReading), "the only reading that asks for it"
    files = RowFiles.of(paths, reading)
    if files is None or files.compressed:
        return 0
    return int(n_rows * sum(map(file_size, whole_files(paths))) / max(1, files.n_rows))


@dataclass(frozen=True, eq=False)
class TrainedShards:
    """The model of adjacent shards, None where they have no rows. A value that merges."""

    model: Model | None
    rows: int = 0
    records: tuple[SourceRecord, ...] = ()
    bad_rows: int = 0
    first_bad: tuple[str, ...] = ()
    unreadable: Mapping[str, int] = field(default_factory=dict)  # values per column that could not be read
    shards: int = 1
    unlabeled: int = 0  # rows without a label that were left out

    def merge(self, other: TrainedShards) -> TrainedShards:
        """Return the model of the rows of both; the shards of `other` come after these."""
        model = self.model or other.model
        if self.model is not None and other.model is not None:
            model = self.model.merge(other.model)
        return TrainedShards(
            model,
            self.rows + other.rows,
            self.records + other.records,
            self.bad_rows + other.bad_rows,
            (self.first_bad + other.first_bad)[:LISTED],
            add_counts(self.unreadable, other.unreadable),
            self.shards + other.shards,
            self.unlabeled + other.unlabeled,
        )

    def provenance(self) -> Json:
        """Return where the rows come from, as a model file has it."""
        return {
            "library": __version__,
            "rows": self.rows,
            "skipped_rows": self.bad_rows,
            "inputs": [
                join_records(list(records)) for _, records in groupby(self.records, lambda record: record["path"])
            ],
            "learning_curve": [],
        }


def add_counts(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    """Return the counts of two sets of rows, by their columns.

    >>> from opauc.engines.shards import add_counts
    >>> dict(add_counts({"age": 1}, {"age": 2, "size": 1}))
    {'age': 3, 'size': 1}
    """
    return Counter(one) + Counter(other)


def check_bad_rows(bad_rows: int, first: Sequence[str], policy: BadRows) -> None:
    """Raise where more rows were skipped than allowed."""
    if policy.most is not None and bad_rows > policy.most:
        listed = "; ".join(first[:1])
        raise TooManyBadRowsError(f"{bad_rows} bad rows, at most {policy.most} may be skipped; the first: {listed}")


def join_records(records: list[SourceRecord]) -> SourceRecord:
    """Return the record of a file from those of its shards; the hash of several is that of their hashes."""
    if len({record["sha256"] for record in records}) == 1:  # that of a footer, or there is one shard only
        sha256 = records[0]["sha256"]
    else:
        sha256 = hashlib.sha256("\n".join(record["sha256"] for record in records).encode()).hexdigest()
    return SourceRecord(
        path=records[0]["path"],
        bytes=max(record["bytes"] for record in records),
        rows=sum(record["rows"] for record in records),
        sha256=sha256,
    )
