"""Batches of rows, and the positions from which reading can resume."""

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

# Labels as in the source: numbers or strings.
RawLabels: TypeAlias = Array


class Position(NamedTuple):
    """A position in one source, between two rows.

    `offset` counts bytes of uncompressed content for text and rows for
    everything else; `line` counts lines or rows before it; `sha256` is the hash
    of the content before it, by which a reader checks that it did not change.
    """

    offset: int = 0
    line: int = 0
    sha256: str = ""


BEGINNING = Position()
# Counts beyond this are not exact in float64.
MAX_COUNT = 2**53


class RawBatch(NamedTuple):
    """Consecutive rows of one source as its reader returns them, before encoding.

    `rows` is an array (n, d) of float32 or float64 in C order, a canonical scipy
    CSR array, or a table: a pyarrow RecordBatch or a WideTable. Rows of LIBSVM
    text are checked already; others may contain missing values. `labels` are as
    in the source, None where it has none or where they are a column of the table.
    `columns` names the roles of the columns of a table. `passthrough` has the
    passthrough columns where they differ from those of the table. `typed` says
    that the source declares which columns are strings: CSV files do not.
    """

    rows: Rows | RecordBatch | WideTable
    labels: RawLabels | None
    lines: NDArray[np.int64] | None  # the line of each row, where rows were skipped; else they follow `before.line`
    before: Position
    after: Position
    columns: TableColumns | None = None
    passthrough: RecordBatch | None = None
    typed: bool = False


class SourceRecord(TypedDict):
    """What was read of a source: its `path`, the `bytes` and `rows` of its content, and its `sha256`."""

    path: str
    bytes: int
    rows: int
    sha256: str


class SavedResumePosition(TypedDict):
    """A resume position in JSON."""

    source: int
    position: list[int | str]
    rows: int
    records: list[SourceRecord]
    bad_rows: int
    first_bad: list[str]
    encoding: Json | None


class ResumePosition(NamedTuple):
    """Where a stream of several sources can resume, and what was read up to there."""

    source: int = 0  # index of the source to resume in
    position: Position = BEGINNING
    rows: int = 0
    records: tuple[SourceRecord, ...] = ()  # of the sources read
    bad_rows: int = 0
    first_bad: tuple[str, ...] = ()
    encoding: EncoderState | Callable[[], EncoderState] | None = (
        None  # or a function that gives it; None without a table
    )

    def to_json(self) -> Json:
        """Return the resume position as JSON."""
        return {**self._asdict(), "encoding": self._encoding()}

    def onehot_state(self) -> OneHotState | None:
        """Return the state of the one-hot encoder at this position."""
        return cast("OneHotState | None", self._encoding())

    def ordinal_state(self) -> OrdinalState | None:
        """Return the state of the ordinal encoder at this position."""
        return cast("OrdinalState | None", self._encoding())

    def _encoding(self) -> EncoderState | None:
        return self.encoding() if callable(self.encoding) else self.encoding

    @classmethod
    def of_json(cls, saved: Settings) -> ResumePosition:
        """Return the resume position that `to_json` wrote, checked."""
        given = json_as(SavedResumePosition, saved, "resume_position")
        offset, line, sha256 = (*given["position"], None, None, None)[:3]
        position = Position(
            json_as(int, offset, "position"), json_as(int, line, "position"), json_as(str, sha256, "position")
        )
        counts = position.offset, position.line, given["source"], given["rows"], given["bad_rows"]
        if not all(0 <= count < MAX_COUNT for count in counts) or given["source"] > len(given["records"]):
            raise ValueError(f"resume_position: expected counts of bytes, lines, rows and sources, got {counts}")
        return cls(
            given["source"], position, given["rows"], tuple(given["records"]), given["bad_rows"],
            tuple(given["first_bad"]), cast("OneHotState | None", given["encoding"]),
        )  # fmt: skip


class Batch(NamedTuple):
    """Consecutive rows of a stream, checked and encoded; rows are numbered from 0 over all sources."""

    rows: Rows
    labels: RawLabels | None
    first_row: int
    source: str
    first_line: int
    lines: NDArray[np.int64] | None
    resume_position: ResumePosition  # of the end of this batch
    bytes_read: int  # of all files so far, as stored on disk
    passthrough: RecordBatch | None = None  # columns passed through unchanged
    groups: GroupKeys | None = None  # of the rows, where a column of groups is read

    def passthrough_values(self) -> list[list[object]]:
        """Return the values of each passthrough column."""
        return [] if self.passthrough is None else [column.to_pylist() for column in self.passthrough.columns]

    def line_of(self, row: int) -> int:
        """Return the line, from 1, of a row of the batch."""
        return self.first_line + row if self.lines is None else int(self.lines[row])
