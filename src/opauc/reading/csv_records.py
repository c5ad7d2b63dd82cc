"""Records of comma-separated text: where they begin, on which line, with how many fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.errors import MalformedRow
from opauc.kernels.compile_kernel import in_python
from opauc.kernels.text.csv_records import NEWLINE, QUOTE, RETURN, find_records
from opauc.reading.blank_runs import RUN, has_runs, without_runs
from opauc.reading.byte_source import Block, ByteSource, is_small

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LONGEST_RECORD = 64 * 2**20
DELIMITERS = (",", "\t", ";", "|")
TAB_ENDING = re.compile(r"\.(tsv|tab)(\.(gz|bz2|xz|zst|zip))?$", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class CsvRecords:
    """The records of some text, which are its lines unless a quoted field holds an end of line.

    Examples
    --------
    >>> from opauc.reading.csv_records import CsvRecords
    >>> records = CsvRecords.of(b'a,b\\n\\n1,"2\\n3"\\n4\\n', ",")
    >>> records.lines.tolist(), records.fields.tolist(), records.n_lines
    ([0, 2, 4], [2, 2, 1], 5)
    """

    edges: NDArray[np.int64]  # of n records, n + 1 offsets
    lines: NDArray[np.int64]  # how many stand before each record
    fields: NDArray[np.int64]
    n_lines: int
    open_line: int  # lines before the field that is still open at the end; -1 where none is

    @classmethod
    def of(cls, text: bytes, delimiter: str) -> CsvRecords:
        """Find the records of `text`."""
        data = np.frombuffer(text, np.uint8)
        most = int(np.count_nonzero((data == NEWLINE) | (data == RETURN))) + 2
        edges, lines, fields = (np.empty(most, np.int64) for _ in range(3))
        marks = np.zeros(256, np.bool_)
        marks[[NEWLINE, RETURN, QUOTE, ord(delimiter)]] = True
        if is_small(len(text)):
            counted = in_python(find_records)(text, ord(delimiter), marks.tolist(), edges, lines, fields)
        else:
            counted = find_records(data, ord(delimiter), marks, edges, lines, fields)
        found, n_lines, open_line = counted
        edges[found] = len(text)
        return cls(edges[: found + 1], lines[:found], fields[:found], n_lines, open_line)

    @property
    def size(self) -> int:
        """Number of records."""
        return int(self.lines.size)

    def between(self, first: int, beyond: int) -> CsvRecords:
        """Return some of the records, in the same text."""
        part = slice(first, beyond)
        return CsvRecords(
            self.edges[first : beyond + 1], self.lines[part], self.fields[part], self.n_lines, self.open_line
        )

    def text_of(self, text: bytes, record: int) -> bytes:
        """Return the bytes of one record, its end of line and empty lines after it among them."""
        return text[self.edges[record] : self.edges[record + 1]]


class Stretch(NamedTuple):
    """Blocks of a source that end where a record ends; `records` is None where no quote is."""

    text: bytes
    delimiter: str
    records: CsvRecords | None
    n_lines: int
    end: int
    sha256: str

    @property
    def open_line(self) -> int:
        """Lines before the field that is still open at the end; -1 where none is."""
        return -1 if self.records is None else self.records.open_line


def whole_records(source: ByteSource, delimiter: str | None, decimal: str = ".") -> Iterator[Stretch]:
    """Yield the text of a source from its beginning, a block at a time, or several where quotes reach over their ends.

    So every stretch begins and ends where a block does, whose hash is known.
    What stands before the decimals of a number is not taken for a delimiter.
    """
    held, kept, lines_before = None, b"", 0
    for block in source.blocks():
        text = block.data.tobytes()
        if not block.begin:
            text = text.removeprefix(BYTE_ORDER_MARK)
        if delimiter is None and text.strip(b"\r\n"):
            delimiter = delimiter_of(text, source.path, decimal)
        kept += text
        held = _stretch(kept, delimiter or DELIMITERS[0], block)
        if held.open_line < 0:
            yield held
            lines_before += held.n_lines
            held, kept = None, b""
        elif len(kept) > LONGEST_RECORD:
            break
    if held:
        line = lines_before + held.open_line + 1
        raise MalformedRow(source.name, line, "a quoted field begins here and does not end")


def _stretch(text: bytes, delimiter: str, block: Block) -> Stretch:
    if delimiter == RUN:
        text = without_runs(text)
    if QUOTE not in text:
        return Stretch(text, delimiter, None, count_lines(text), block.end, block.sha256)
    records = CsvRecords.of(text, delimiter)
    return Stretch(text, delimiter, records, records.n_lines, block.end, block.sha256)


def delimiter_of(text: bytes, path: str, decimal: str = ".") -> str:
    """Return tab for tab-separated files by their names, else the delimiter the first line has most of, or blanks."""
    if TAB_ENDING.search(path):
        return "\t"
    first = re.sub(rb'"[^"]*"', b"", text.lstrip(b"\r\n").split(b"\n", 1)[0])
    found = max((mark for mark in DELIMITERS if mark != decimal), key=lambda mark: first.count(mark.encode()))
    return found if found.encode() in first or not has_runs(text) else RUN


def delimiter_in(path: str, decimal: str = ".") -> str:
    """Return the delimiter of a file, by its name or its first line that is not empty."""
    for block in ByteSource(path).blocks():
        text = block.data.tobytes().removeprefix(BYTE_ORDER_MARK)
        if text.strip(b"\r\n"):
            return delimiter_of(text, path, decimal)
    return DELIMITERS[0]


def count_lines(text: bytes) -> int:
    """Return how many lines a text has, ended by \\n, \\r or \\r\\n; the last may lack its end."""
    ends = int(np.count_nonzero(np.frombuffer(text, np.uint8) == NEWLINE))
    if RETURN in text:
        ends += text.count(b"\r") - text.count(b"\r\n")
    return ends + (not text.endswith((b"\n", b"\r")))
