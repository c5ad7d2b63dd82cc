"""Rows from all over files, before they are read in order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from opauc.reading.bad_rows import BadRows
from opauc.reading.byte_source import STANDARD_INPUT, ByteSource
from opauc.reading.data_format import DataFormat
from opauc.reading.encoder import Hashing
from opauc.reading.extent import Extent
from opauc.reading.find_sources import find_sources, format_of
from opauc.reading.labelled_chunk import BEGINNING, Part
from opauc.reading.read_options import ReadOptions
from opauc.reading.sampled_text import SampledText, drawn_text, sampled_text
from opauc.reading.table_columns import TableColumns
from opauc.reading.unpacked import packing_of
from opauc.rows import Rows

if TYPE_CHECKING:
    from pyarrow import RecordBatch

# Of very many files so many are looked into, spread evenly over all bytes.
MOST_FILES = 64
# Lines of text are taken a few at a time. Of row groups and the like no more than so many a file are read, unless
# they have few rows: so many times those that are wanted.
LINES_EACH, MOST_GROUPS, ROWS_READ = 8, 32, 2
STRETCHES = 512
ESTIMATED_FROM = 2**16
# Of packed text, whose reader runs ahead, several blocks.
BLOCKS_COUNTED = 8
NEWLINE = 10


class SampledPart(NamedTuple):
    """Some rows of one source, as its reader gives them."""

    part: Part
    source: str


class _Asked:
    """What a reader asks of an encoder, which comes later."""

    hashing: Hashing | None = None

    def __init__(self, columns: TableColumns) -> None:
        self.pinned_columns = columns


@dataclass(frozen=True)
class SampledFiles:
    """Files of which any rows can be read, and about how many rows they have; text that is packed is read twice for it.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.reading.file_sample import SampledFiles
    >>> from opauc.reading.read_options import ReadOptions
    >>> from opauc.reading.table_columns import TableColumns
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n" + b"30,no\\n" * 1000), file.flush()
    ...     files = SampledFiles.of([file.name], ReadOptions())
    ...     [part] = files.sampled(TableColumns(), n_rows=96, seed=0)
    >>> files.n_rows, part.part.rows.num_rows
    (1001, 96)
    """

    paths: tuple[str, ...]
    options: ReadOptions
    n_rows: int
    packed: bool = False  # whether some can only be read in order

    @classmethod
    def of(cls, paths: Sequence[str | os.PathLike[str]], options: ReadOptions) -> SampledFiles | None:
        """Return the files meant; None where one of them can only be read in order."""
        found = find_sources(paths)
        if not found or any(path == STANDARD_INPUT or not os.path.isfile(path) for path in found):
            return None
        sizes = np.array([os.path.getsize(path) for path in found], float)
        looked = [found[at] for at in np.unique(np.linspace(0, len(found) - 1, MOST_FILES).astype(int)).tolist()]
        rows, n_bytes, packed = 0.0, 0.0, False
        for path in looked:
            kind, size = format_of(path, options.format), os.path.getsize(path)
            if _is_packed(path, kind) and kind.delimiter(path, options) is not None:
                rows, packed = rows + _rows_of_packed(path), True
            else:
                extents = kind.extents(path, max(1, size // STRETCHES))
                if not extents and size:
                    return None
                rows += _rows_of_text(path) if kind.is_text else sum(end - begin for begin, end, _ in extents)
            n_bytes += size
        return cls(tuple(found), options, int(rows * sizes.sum() / max(n_bytes, 1.0)), packed)

    def sampled(self, columns: TableColumns, n_rows: int, seed: int) -> Iterator[SampledPart]:
        """Yield about so many rows, evenly spread over all bytes; rows that cannot be read are left out.

        Columns are found in the first file and asked of the others by their names.
        """
        random = np.random.default_rng(seed)
        sizes = np.array([os.path.getsize(path) for path in self.paths], float)
        ends = np.cumsum(sizes)
        n_places = max(1, n_rows // LINES_EACH)
        places = (np.arange(n_places) + random.random(n_places)) * (ends[-1] / n_places)
        files = np.minimum(np.searchsorted(ends, places, "right"), len(sizes) - 1)
        for number in _some(np.unique(files), MOST_FILES, random).tolist():
            path, begin, size = self.paths[number], ends[number] - sizes[number], sizes[number]
            inside = (places[files == number] - begin) / max(size, 1.0)
            kind = format_of(path, self.options.format)
            for part in self._parts(path, kind, inside, columns, random):
                if part.columns is not None:
                    columns = part.columns
                yield SampledPart(part, path)

    def _parts(
        self,
        path: str,
        kind: DataFormat,
        places: NDArray[np.float64],
        columns: TableColumns,
        random: np.random.Generator,
    ) -> Iterator[Part]:
        reader = kind.reader(self.options, _Asked(columns))  # type: ignore[arg-type]
        skipped = BadRows("skip")
        if kind.is_text:
            delimiter = kind.delimiter(path, self.options)
            if _is_packed(path, kind) and delimiter is not None:
                text = drawn_text(ByteSource(path), LINES_EACH * places.size, chr(delimiter), random)
            else:
                text = sampled_text(path, os.path.getsize(path), places, LINES_EACH, delimiter)
            yield from reader.parts(SampledText(path, text), BEGINNING, skipped)
            return
        extents = kind.extents(path, max(1, os.path.getsize(path) // STRETCHES))
        if not extents:
            return
        sizes, wanted = np.array([end - begin for begin, end, _ in extents]), LINES_EACH * places.size
        most = max(MOST_GROUPS, int(ROWS_READ * wanted / max(1.0, sizes.mean())))
        numbers = _some(np.arange(len(extents)), most, random)
        chosen = [extents[at] for at in numbers.tolist()]
        share = min(1.0, wanted / max(1, int(sizes[numbers].sum())))
        for extent in chosen:
            yield from _drawn(reader.parts(ByteSource(path, extent=extent), BEGINNING, skipped), extent, share, random)


def _drawn(parts: Iterator[Part], extent: Extent, share: float, random: np.random.Generator) -> Iterator[Part]:
    """Yield a random share of the rows of an extent."""
    n_rows = extent.end - extent.begin
    wanted = np.sort(random.choice(n_rows, min(n_rows, round(share * n_rows)), replace=False)) + extent.begin
    first = extent.begin
    for part in parts:
        size = part.after.offset - first
        here = wanted[(wanted >= first) & (wanted < first + size)] - first
        first += size
        if here.size:
            yield part._replace(rows=_taken(part, here), labels=None if part.labels is None else part.labels[here])


def _taken(part: Part, rows: NDArray[np.int64]) -> Rows | RecordBatch:
    if part.columns is None:
        return cast(Rows, part.rows)[rows]
    return cast("RecordBatch", part.rows).take(rows)


def _some(numbers: NDArray[np.int64], most: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return so many of the numbers at most, one of each even stretch of them."""
    if numbers.size <= most:
        return numbers
    edges = np.linspace(0, numbers.size, most + 1)
    chosen: NDArray[np.int64] = numbers[np.unique((edges[:-1] + random.random(most) * np.diff(edges)).astype(int))]
    return chosen


def _is_packed(path: str, kind: DataFormat) -> bool:
    """Tell whether a file is text that can only be read in order."""
    if not kind.is_text:
        return False
    with open(path, "rb") as raw:
        return packing_of(raw) is not None


def _rows_of_packed(path: str) -> float:
    """Return how many lines a packed text has, by its first blocks; about, if there are more."""
    source = ByteSource(path)
    blocks = list(islice((np.count_nonzero(block.data == NEWLINE) for block in source.blocks()), BLOCKS_COUNTED + 1))
    if len(blocks) <= BLOCKS_COUNTED:
        return float(sum(blocks))
    return sum(blocks) * source.size / max(source.passed, 1)


def _rows_of_text(path: str) -> float:
    """Return how many lines a text has, about, by those at its beginning, in its middle and at its end."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        pieces = []
        for start in {0, max(0, size // 2 - ESTIMATED_FROM // 2), max(0, size - ESTIMATED_FROM)}:
            file.seek(start)
            pieces.append(file.read(ESTIMATED_FROM))
    looked = sum(map(len, pieces))
    return size * sum(piece.count(b"\n") for piece in pieces) / max(looked, 1)
