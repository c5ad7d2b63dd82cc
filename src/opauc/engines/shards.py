"""Files cut into shards, each of which can be read on a machine of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from opauc.core.batch import Batch, ResumePosition
from opauc.core.fit import FitFactory, Opening, Sharding
from opauc.core.labels import ClassLabels, chunks_of_known_classes
from opauc.core.model import RowReading
from opauc.data import BadRows, DataStream, ReadOptions
from opauc.data.bad_rows import LISTED
from opauc.data.byte_ranges import ByteRange, lines_before, records_of, states_after, with_quoting
from opauc.data.encode.encoder import Encoder
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.find_sources import find_sources, format_of
from opauc.data.sample import RowFiles
from opauc.data.sources import STANDARD_INPUT
from opauc.engines.scheduler import Scheduler
from opauc.errors import InputError, MalformedRowError, UnsupportedOperationError

# A shard has a sixteenth of all bytes, to keep a few cores busy to the end, but no fewer and no more than these: the
# first row groups of a shard cost half as much again as those that follow. Of very many bytes there are so many shards.
LEAST_BYTES, USUAL_BYTES, FEW_SHARDS, MOST_SHARDS = 2**25, 2**27, 16, 10_000


class Cut(NamedTuple):
    """How finely files may be cut: bytes that a shard has at least, and how many shards of one row group there may be.

    `floor` holds whoever asks for less.
    """

    floor: int = 0
    least: int | None = None
    pieces: int = 1

    def size(self, paths: Sequence[str]) -> int:
        """Return how many bytes a shard of these files should have: the same wherever they are learned."""
        total, least = sum(map(os.path.getsize, paths)), LEAST_BYTES if self.least is None else self.least
        return max(least, self.floor, min(total // FEW_SHARDS, USUAL_BYTES), total // MOST_SHARDS)


class FileShard(NamedTuple):
    """A stretch of a file, or all of it; `rows` where the file tells how many there are.

    `first_row` is the number of its first row among all, where that plays a part.
    """

    number: int
    path: str
    byte_range: ByteRange | None
    rows: int | None = None
    first_row: int = 0


def whole_files(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return the files meant, refused where one is a stream that can be read once only; nothing is read of it."""
    found = find_sources(paths)
    for path in found:
        if path == STANDARD_INPUT or not os.path.isfile(path):
            name = "standard input" if path == STANDARD_INPUT else path
            raise UnsupportedOperationError(f"{name}: shards are read from files, several at a time")
    return found


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
            states = scheduler.mapped(partial(states_after, path, delimiter), byte_ranges)
            byte_ranges = with_quoting(byte_ranges, delimiter, states)
        if not kind.is_text and pieces > 1:
            byte_ranges = finer_byte_ranges(byte_ranges, os.path.getsize(path), size, pieces)
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
    """How every shard is read: what is known of the columns beforehand, the encoder knows."""

    options: ReadOptions
    encoder: Callable[[], Encoder]
    skip_bad_rows: bool = False

    def bad_rows(self, shard: FileShard) -> BadRows:
        """Return what becomes of bad rows of a shard."""
        return _ShardBadRows("skip" if self.skip_bad_rows else "error", shard)

    def stream(self, shard: FileShard, bad_rows: BadRows) -> DataStream:
        """Return the rows of a shard."""
        return DataStream.of_byte_range(shard.path, shard.byte_range, self.options, self.encoder(), bad_rows)

    def chunks(self, shard: FileShard, stream: DataStream) -> Iterator[Batch]:
        """Yield the chunks of a shard; what cannot be read is named by its line in the file."""
        with lines_of_file(shard):
            yield from stream.chunks(ahead=False)

    def n_rows(self, shard: FileShard) -> int:
        """Return how many rows a shard has; it is read for that where the file does not tell."""
        if shard.rows is not None and not self.skip_bad_rows:
            return shard.rows
        stream = self.stream(shard, self.bad_rows(shard))
        return sum(chunk.rows.shape[0] for chunk in self.chunks(shard, stream))


@contextmanager
def lines_of_file(shard: FileShard) -> Iterator[None]:
    """Name rows that the body cannot read by their line in the file, not in the shard."""
    try:
        yield
    except MalformedRowError as error:
        raise _in_file(error, shard) from error


class _ShardBadRows(BadRows):
    """Bad rows of a shard: where they are skipped, they are remembered by their lines in the file."""

    def __init__(self, policy: str, shard: FileShard) -> None:
        super().__init__(policy)
        self._shard = shard

    def handle(self, row: MalformedRowError) -> None:
        """Take note of a bad row."""
        remembered = self.policy == "skip" and len(self.first) < LISTED
        super().handle(_in_file(row, self._shard) if remembered else row)


def _in_file(row: MalformedRowError, shard: FileShard) -> MalformedRowError:
    """Return a bad row with its line counted from the beginning of the file; rows of tables are so already."""
    byte_range = shard.byte_range
    if byte_range is None or not byte_range.begin or shard.rows is not None:
        return row
    with open(shard.path, "rb") as file:
        begin, _ = records_of(file, byte_range)
    before = lines_before(shard.path, begin)
    return MalformedRowError(row.source, row.line + before, row.reason, row.column, row.hints)


# A shard has this many times the bytes of its sums at least, lest merging costs more than training.
SUMS_PER_SHARD = 4


@dataclass(frozen=True, eq=False)
class TrainingPlan:
    """All that a machine must know to train on any shard of some files; a value that travels."""

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
    factory: FitFactory, paths: Sequence[str | os.PathLike[str]], reading: RowReading, labels: ClassLabels
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
    sharding = opening.factory.sharding(first.rows)
    floor = int(SUMS_PER_SHARD * sharding.state_bytes)
    if sharding.min_rows:
        floor = _bytes_of_rows(files, opening.reading, sharding.min_rows)
    cut = Cut(floor, floor if sharding.min_rows else None, sharding.pieces)
    sharding = sharding._replace(numbers_rows=sharding.numbers_rows and reading.options.groups is None)
    known = opening.reading.at(first.resume_position, labels)
    return TrainingPlan(
        files, opening.factory, known, labels, sharding, cut, str(first.rows.dtype), opening.column_profiles
    )  # fmt: skip


def _first_batch(paths: Sequence[str], opening: Opening) -> tuple[Batch, ClassLabels]:
    """Return the first rows, which tell how wide rows are and what columns mean, and the classes.

    They are read on until there are rows of both classes, as one process would.
    """
    stream = opening.reading.training_stream(paths, ResumePosition(), BadRows("skip"))
    for found in chunks_of_known_classes(stream.chunks(ahead=False), opening.labels):
        return found
    raise InputError(f"{', '.join(paths)}: training needs rows of two classes, got 0 rows")


def _bytes_of_rows(paths: Sequence[str], reading: RowReading, n_rows: int) -> int:
    """Return about how many bytes so many rows of the files have; 0 where that cannot be told."""
    assert isinstance(reading, OrdinalReading), "the only reading that asks for it"
    files = RowFiles.of(paths, reading)
    if files is None or files.compressed:
        return 0
    return int(n_rows * sum(map(os.path.getsize, files.paths)) / max(1, files.n_rows))
