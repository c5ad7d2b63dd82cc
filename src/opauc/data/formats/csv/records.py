"""Records of comma-separated text: where they begin, on which line, with how many fields."""

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

# What is put in the place of a run: a byte made to stand between fields, which no text has.
RUN = "\x1f"
SPACE, TAB = 32, 9
HEAD_BYTES = 2**16
# Fields in quotes, which are left as they are, and blanks; what lines must not begin or end with.
IN_QUOTES = re.compile(rb'(?<![^ \t\r\n])"(?:[^"]|"")*"')
RUNS = re.compile(IN_QUOTES.pattern + rb"|[ \t]+")
AT_ENDS = re.compile(rb"\x1f?([\r\n]+)\x1f?")


def has_runs(text: bytes) -> bool:
    """Tell whether blanks stand between the fields of the first two lines, which are several and as many in each.

    Examples
    --------
    >>> from opauc.data.formats.csv.records import has_runs
    >>> has_runs(b"age  city\\n 30  Bern"), has_runs(b"a note\\nnothing more to say")
    (True, False)
    """
    lines = IN_QUOTES.sub(b'""', text[:HEAD_BYTES]).split(b"\n")
    counts = {len(line.split()) for line in [line for line in lines if line.strip()][:2]}
    return len(counts) == 1 and max(counts) > 1


def without_runs(text: bytes) -> bytes:
    """Return text with one delimiter in the place of every run of blanks that no quotes enclose, none at ends of line.

    Examples
    --------
    >>> from opauc.data.formats.csv.records import without_runs
    >>> without_runs(b'age  city\\n 30  "New York"\\n')
    b'age\\x1fcity\\n30\\x1f"New York"\\n'
    """
    if QUOTE in text:
        marked = RUNS.sub(lambda found: found[0] if found[0][0] == QUOTE else RUN.encode(), text)
        return AT_ENDS.sub(rb"\1", marked.strip(RUN.encode()))
    data = np.frombuffer(text, np.uint8)
    blank, ends = (data == SPACE) | (data == TAB), (data == NEWLINE) | (data == RETURN)
    kept = ~(blank & np.concatenate([[True], (blank | ends)[:-1]]))
    data, blank, ends = data[kept], blank[kept], ends[kept]
    kept = ~(blank & np.concatenate([ends[1:], [True]]))
    return bytes(np.where(blank, np.uint8(ord(RUN)), data)[kept])


BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LONGEST_RECORD = 64 * 2**20
DELIMITERS = (",", "\t", ";", "|")
TAB_ENDING = re.compile(r"\.(tsv|tab)(\.(gz|bz2|xz|zst|zip))?$", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class CsvRecords:
    """The records of some text, which are its lines unless a quoted field holds an end of line.

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
        raise MalformedRowError(source.name, line, "a quoted field begins here and does not end")


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
