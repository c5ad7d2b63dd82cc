"""What readers give: labeled rows, and the place where reading goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from opauc.core.json_schema import json_as
from opauc.types import Array, GroupKeys, Json, Rows, Settings

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from opauc.data.columns import TableColumns
    from opauc.data.encode.encoder import EncoderState, OneHotState, OrdinalState
    from opauc.data.formats.csv.wide import WideTable

# Labels as they stand in a source: numbers or words.
RawLabels: TypeAlias = Array


class Place(NamedTuple):
    """How far a reader got in one source, between two rows.

    `offset` counts bytes of uncompressed content for text and rows for
    everything else; `line` counts lines or rows passed; `sha256` is that of
    the content passed, so that a reader can tell whether it is still there.
    """

    offset: int = 0
    line: int = 0
    sha256: str = ""


BEGINNING = Place()
# Whole numbers beyond this are no longer counted one by one.
MOST = 2**53


class Part(NamedTuple):
    """Some consecutive rows of one source, as its reader gives them.

    `rows` is an array (n, d) of float32 or float64 in row order or a canonical
    scipy CSR array, or a table: a pyarrow RecordBatch or a WideTable. Only those of LIBSVM text are
    checked already; the others may hold missing values until they are encoded.
    `labels` are as they stand in the source, None where it has none or where
    they are a column of the batch. `columns` says by names what the columns of a
    table are, whose source may have more. `kept` are columns to be carried along,
    where they are not to be taken from the table as it is.
    """

    rows: Rows | RecordBatch | WideTable
    labels: RawLabels | None
    lines: NDArray[np.int64] | None  # the line of each row, where rows were skipped; else they follow `before.line`
    before: Place
    after: Place
    columns: TableColumns | None = None
    kept: RecordBatch | None = None


class SourceRecord(TypedDict):
    """What was read of a source: its path, bytes of its content, its rows and its hash."""

    path: str
    bytes: int
    rows: int
    sha256: str


class SavedResumePosition(TypedDict):
    """A resume_position as JSON has it."""

    source: int
    place: list[int | str]
    rows: int
    records: list[SourceRecord]
    bad_rows: int
    first_bad: list[str]
    encoding: Json | None


class ResumePosition(NamedTuple):
    """Where a stream of several sources can be taken up again, and what is known of it up to there."""

    source: int = 0  # the number of the source reading goes on in
    place: Place = BEGINNING
    rows: int = 0
    records: tuple[SourceRecord, ...] = ()  # of the sources met
    bad_rows: int = 0
    first_bad: tuple[str, ...] = ()
    encoding: EncoderState | Callable[[], EncoderState] | None = (
        None  # or a function that gives it; None without a table
    )

    def to_json(self) -> Json:
        """Return the resume_position as JSON has it."""
        return {**self._asdict(), "encoding": self._encoding()}

    def learned(self) -> OneHotState | None:
        """Return what the encoder of tables had learned by then."""
        return cast("OneHotState | None", self._encoding())

    def numbered(self) -> OrdinalState | None:
        """Return what an encoder that leaves rows as numbers had learned by then."""
        return cast("OrdinalState | None", self._encoding())

    def _encoding(self) -> EncoderState | None:
        return self.encoding() if callable(self.encoding) else self.encoding

    @classmethod
    def of_json(cls, saved: Settings) -> ResumePosition:
        """Return the resume_position `to_json` gave, refused unless a stream can have come there."""
        found = json_as(SavedResumePosition, saved, "resume_position")
        offset, line, sha256 = (*found["place"], None, None, None)[:3]
        place = Place(json_as(int, offset, "place"), json_as(int, line, "place"), json_as(str, sha256, "place"))
        counts = place.offset, place.line, found["source"], found["rows"], found["bad_rows"]
        if not all(0 <= count < MOST for count in counts) or found["source"] > len(found["records"]):
            raise ValueError(f"resume_position: expected counts of bytes, lines, rows and sources, got {counts}")
        return cls(
            found["source"], place, found["rows"], tuple(found["records"]), found["bad_rows"],
            tuple(found["first_bad"]), cast("OneHotState | None", found["encoding"]),
        )  # fmt: skip


class Batch(NamedTuple):
    """Consecutive rows of a stream, checked and encoded; rows are numbered from 0 over all sources."""

    rows: Rows
    labels: RawLabels | None
    first_row: int
    source: str
    first_line: int
    lines: NDArray[np.int64] | None
    resume_position: ResumePosition  # of the end of this chunk
    bytes_read: int  # of all files so far, compressed as they are
    kept: RecordBatch | None = None  # columns that were asked to be carried along
    groups: GroupKeys | None = None  # of the rows, where a column says them

    def kept_values(self) -> list[list[object]]:
        """Return the values of each column that was carried along."""
        return [] if self.kept is None else [column.to_pylist() for column in self.kept.columns]

    def line_of(self, row: int) -> int:
        """Return the line, from 1, at which a row of the chunk stands."""
        return self.first_line + row if self.lines is None else int(self.lines[row])
