"""Records of CSV text: where they begin, on which line, with how many fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.core.kernels.compile import in_python
from opauc.data.kernels.csv import NEWLINE, QUOTE, RETURN, find_records
from opauc.data.sources import Block, ByteSource, is_small
from opauc.errors import MalformedRowError

# Replaces each run of blanks: the ASCII unit separator, which texts do not have.
BLANK_RUN = "\x1f"
SPACE, TAB = 32, 9
HEAD_BYTES = 2**16
# Quoted fields, which stay as they are; runs of blanks; separators at the ends of lines.
IN_QUOTES = re.compile(rb'(?<![^ \t\r\n])"(?:[^"]|"")*"')
RUNS = re.compile(IN_QUOTES.pattern + rb"|[ \t]+")
AT_ENDS = re.compile(rb"\x1f?([\r\n]+)\x1f?")


def has_blank_runs(text: bytes) -> bool:
    """Tell whether blanks separate the fields of the first two lines: several fields, and as many in each.

    Examples
    --------
    >>> from opauc.data.formats.csv.records import has_blank_runs
    >>> has_blank_runs(b"age  city\\n 30  Bern"), has_blank_runs(b"a note\\nnothing more to say")
    (True, False)
    """
    lines = IN_QUOTES.sub(b'""', text[:HEAD_BYTES]).split(b"\n")
    counts = {len(line.split()) for line in [line for line in lines if line.strip()][:2]}
    return len(counts) == 1 and max(counts) > 1


def join_blanks(text: bytes) -> bytes:
    """Return text with each run of blanks outside of quotes replaced by one delimiter, and none at ends of lines.

    Examples
    --------
    >>> from opauc.data.formats.csv.records import join_blanks
    >>> join_blanks(b'age  city\\n 30  "New York"\\n')
    b'age\\x1fcity\\n30\\x1f"New York"\\n'
    """
    if QUOTE in text:
        marked = RUNS.sub(lambda match: match[0] if match[0][0] == QUOTE else BLANK_RUN.encode(), text)
        return AT_ENDS.sub(rb"\1", marked.strip(BLANK_RUN.encode()))
    data = np.frombuffer(text, np.uint8)
    blank, ends = (data == SPACE) | (data == TAB), (data == NEWLINE) | (data == RETURN)
    kept = ~(blank & np.concatenate([[True], (blank | ends)[:-1]]))
    data, blank, ends = data[kept], blank[kept], ends[kept]
    kept = ~(blank & np.concatenate([ends[1:], [True]]))
    return bytes(np.where(blank, np.uint8(ord(BLANK_RUN)), data)[kept])


BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LONGEST_RECORD = 64 * 2**20
DELIMITERS = (",", "\t", ";", "|")
DECIMAL_COMMA = re.compile(rb"(?<=\d),(?=\d)")
TAB_ENDING = re.compile(r"\.(tsv|tab)(\.(gz|bz2|xz|zst|zip))?$", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class CsvRecords:
    """The records of a text: its lines, unless a quoted field contains an end of line.

    Examples
    --------
    >>> from opauc.data.formats.csv.records import CsvRecords
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
        ends_field = np.zeros(256, np.bool_)
        ends_field[[NEWLINE, RETURN, QUOTE, ord(delimiter)]] = True
        if is_small(len(text)):
            counted = in_python(find_records)(text, ord(delimiter), ends_field.tolist(), edges, lines, fields)
        else:
            counted = find_records(data, ord(delimiter), ends_field, edges, lines, fields)
        size, n_lines, open_line = counted
        edges[size] = len(text)
        return cls(edges[: size + 1], lines[:size], fields[:size], n_lines, open_line)

    @property
    def size(self) -> int:
        """Number of records."""
        return int(self.lines.size)

    def between(self, first: int, beyond: int) -> CsvRecords:
        """Return some of the records, in the same text."""
        rows = slice(first, beyond)
        return CsvRecords(
            self.edges[first : beyond + 1], self.lines[rows], self.fields[rows], self.n_lines, self.open_line
        )

    def text_of(self, text: bytes, record: int) -> bytes:
        """Return the bytes of one record, its end of line and empty lines after it among them."""
        return text[self.edges[record] : self.edges[record + 1]]


class CsvBlock(NamedTuple):
    """One or more blocks of a source that end where a record ends; `records` is None where there are no quotes."""

    text: bytes
    delimiter: str
    records: CsvRecords | None
    n_lines: int
    end: int
    sha256: str
    header_bytes: int = 0  # before the first row
    header_lines: int = 0

    @property
    def open_line(self) -> int:
        """Lines before the field that is still open at the end; -1 where none is."""
        return -1 if self.records is None else self.records.open_line

    def after_header(self, records: CsvRecords) -> CsvBlock:
        """Return the block without its first record, which is the header."""
        if records.size > 1:
            return self._replace(header_bytes=int(records.edges[1]), header_lines=int(records.lines[1]))
        return self._replace(header_bytes=len(self.text), header_lines=self.n_lines)


def whole_records(source: ByteSource, delimiter: str | None, decimal: str | None = None) -> Iterator[CsvBlock]:
    """Yield the text of a source from its beginning, a block at a time, or several where a quoted field spans them.

    So each one begins and ends where a block of the source does, whose hash is
    known. The decimal separator is never taken for the delimiter.
    """
    pending, text, lines_before = None, b"", 0
    for block in source.blocks():
        more = block.data.tobytes()
        if not block.begin:
            more = more.removeprefix(BYTE_ORDER_MARK)
        if delimiter is None and more.strip(b"\r\n"):
            delimiter = delimiter_of(more, source.path, decimal)
        text += more
        pending = _csv_block(text, delimiter or DELIMITERS[0], block)
        if pending.open_line < 0:
            yield pending
            lines_before += pending.n_lines
            pending, text = None, b""
        elif len(text) > LONGEST_RECORD:
            break
    if pending:
        line = lines_before + pending.open_line + 1
        raise MalformedRowError(source.name, line, "a quoted field begins here and does not end")


def _csv_block(text: bytes, delimiter: str, block: Block) -> CsvBlock:
    if delimiter == BLANK_RUN:
        text = join_blanks(text)
    if QUOTE not in text:
        return CsvBlock(text, delimiter, None, count_lines(text), block.end, block.sha256)
    records = CsvRecords.of(text, delimiter)
    return CsvBlock(text, delimiter, records, records.n_lines, block.end, block.sha256)


def delimiter_of(text: bytes, path: str, decimal: str | None = None) -> str:
    """Return tab for tab-separated files by their names, else the delimiter the first line has most of, or blanks.

    Where all commas are between digits and there is another delimiter, they are decimal commas.

    >>> from opauc.data.formats.csv.records import delimiter_of
    >>> delimiter_of(b"0,5;1,25;3", "a.csv"), delimiter_of(b"0,5,1,25,3", "a.csv")
    (';', ',')
    """
    if TAB_ENDING.search(path):
        return "\t"
    first = re.sub(rb'"[^"]*"', b"", text.lstrip(b"\r\n").split(b"\n", 1)[0])
    all_decimal = b"," not in DECIMAL_COMMA.sub(b"", first)
    if re.search(rb"[;\t|]", first) and all_decimal:
        decimal = ","
    others = [mark for mark in DELIMITERS if mark.encode() in first and mark != decimal]
    if others:
        return max(others, key=lambda mark: first.count(mark.encode()))
    # Quoted numbers may have decimal commas between commas.
    return BLANK_RUN if all_decimal and has_blank_runs(text) else DELIMITERS[0]


def delimiter_in(path: str, decimal: str | None = None) -> str:
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
