"""LIBSVM (svmlight) text."""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.core.batch import Position, RawBatch
from opauc.data.bad_rows import BadRows
from opauc.data.encode.encoder import ColumnRequest, Hashing
from opauc.data.formats.format import DataFormat, Reader
from opauc.data.kernels.libsvm_bytes import (
    BYTE,
    ENTRY,
    LINE,
    ROW,
    LineArrays,
    count_marks,
    end_of_line,
    read_plain_lines,
)
from opauc.data.options import ReadOptions
from opauc.data.sources import STANDARD_INPUT, ByteSource, is_small, text_byte_ranges
from opauc.errors import InputError, MalformedRowError

# Possessive, so that a million digits followed by a letter are scanned only once.
NUMBER = re.compile(rb"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?")
INTEGER = re.compile(rb"[+-]?[0-9]++")
QUERY = re.compile(rb"qid:[+-]?[0-9]++")
TOKEN = re.compile(rb"\S++")
MAX_INDEX_DIGITS, MAX_SHOWN = 18, 40
LARGEST_FLOAT = sys.float_info.max


class UnclearLineError(ValueError):
    """A line that cannot be read, with the reason as its message."""


@dataclass(frozen=True)
class LibsvmRules:
    """What a line may contain: indices from `least` to below `beyond`, and values up to `largest` in magnitude."""

    least: int
    beyond: int
    largest: float
    key_of: Callable[[str], int] | None = None  # of a named feature; None where features have no names
    least_is: str = "indices start at 1"


class LibsvmLine(NamedTuple):
    """A label, and the column and value of each entry; columns count from 0, and a named feature has its key."""

    label: float
    columns: array[int]
    values: array[float]


def read_line(text: bytes, rules: LibsvmRules) -> LibsvmLine | None:
    """Return the row of a line, None if it is blank or a comment.

    Examples
    --------
    >>> from opauc.data.formats.libsvm import LibsvmRules, read_line
    >>> rules = LibsvmRules(least=1, beyond=124, largest=1e300)
    >>> read_line(b"-1 3:.5 +11:1e-3  # a comment", rules)
    LibsvmLine(label=-1.0, columns=array('q', [2, 10]), values=array('d', [0.5, 0.001]))
    >>> read_line(b"-1 9:1 3:1", rules)
    Traceback (most recent call last):
        ...
    opauc.data.formats.libsvm.UnclearLineError: feature index 3 follows 9; libsvm indices must increase
    """
    tokens = (match.group() for match in TOKEN.finditer(text.partition(b"#")[0]))
    first = next(tokens, None)
    if first is None:
        return None
    line = LibsvmLine(_number(first, "label", LARGEST_FLOAT), array("q"), array("d"))
    previous = rules.least - 1
    for position, token in enumerate(tokens):
        if position == 0 and token.startswith(b"qid:"):
            if not QUERY.fullmatch(token):
                raise UnclearLineError(
                    f"{shown(token)} stands for a query number; qid: and a whole number were expected"
                )
        elif rules.key_of and (token[:1].isalpha() or token[:1] == b"_" or token[0] > 127):
            name, _, value = token.rpartition(b":")
            line.columns.append(rules.key_of(_name(name, token)))
            line.values.append(_number(value, f"value of feature {shown(name)}", rules.largest))
        else:
            name, colon, value = token.partition(b":")
            if not colon:
                raise UnclearLineError(f"{shown(token)} stands for a feature; index:value was expected")
            previous = _index(name, previous, rules)
            line.columns.append(previous - rules.least)
            line.values.append(_number(value, f"value of feature {previous}", rules.largest))
    return line


def _index(word: bytes, previous: int, rules: LibsvmRules) -> int:
    """Return a feature index, which has to come after `previous`."""
    if not INTEGER.fullmatch(word):
        hint = "" if rules.key_of else "; names need feature hashing"
        raise UnclearLineError(f"feature index is {shown(word)}, a whole number was expected{hint}")
    digits = word.lstrip(b"+-0") or b"0"
    index = int(digits[: MAX_INDEX_DIGITS + 1]) * (-1 if word.startswith(b"-") else 1)
    if index == 0 and rules.least == 1:
        raise UnclearLineError(f"feature index is 0, but {rules.least_is}; pass zero_based=True if they start at 0")
    if not rules.least <= index < rules.beyond:
        raise UnclearLineError(f"feature index is {shown(word)}, expected from {rules.least} to {rules.beyond - 1}")
    if index <= previous:
        raise UnclearLineError(f"feature index {index} follows {previous}; libsvm indices must increase")
    return index


def _name(name: bytes, token: bytes) -> str:
    """Return the name of a feature."""
    try:
        decoded = name.decode()
    except UnicodeDecodeError:
        decoded = ""
    if not decoded or "\0" in decoded:
        raise UnclearLineError(f"{shown(token)} stands for a feature; name:value in UTF-8 was expected")
    return decoded


def _number(word: bytes, what: str, largest: float) -> float:
    """Return a number; messages say `what` it is."""
    if not NUMBER.fullmatch(word):
        raise UnclearLineError(f"{what} is {shown(word)}, one finite number was expected")
    number = float(word)
    if abs(number) > largest:
        raise UnclearLineError(f"{what} is {shown(word)}, at most {largest:.4g} was expected")
    return number


def shown(word: bytes) -> str:
    """Return bytes as messages quote them: on one line, cut, with escapes for what is not text.

    >>> from opauc.data.formats.libsvm import shown
    >>> shown(b"caf\\xc3\\xa9"), shown(b"\\xff1"), shown(b"9" * 50)
    ("'café'", "'\\\\xff1'", "'9999999999999999999999999999999999999999'...")
    """
    text: str | bytes
    try:
        text = word.decode()
    except UnicodeDecodeError:
        text = word
    return repr(text[:MAX_SHOWN]).removeprefix("b") + "..." * (len(text) > MAX_SHOWN)


MAX_COLUMNS = 2**31 - 1  # so that their number, too, is an int32
# The largest values that round to a finite number: for float32 a little more than its maximum.
LARGEST = {"float64": sys.float_info.max, "float32": float(np.nextafter(2.0**128 - 2.0**103, 0.0))}
NEWLINE = b"\n"


class BlockRows(NamedTuple):
    """The entries of the rows of a block, how many lines it has, and which of them the rows are."""

    labels: NDArray[np.float64]
    values: NDArray[np.floating]
    columns: NDArray[np.signedinteger]
    ends: NDArray[np.int32]
    lines: NDArray[np.int64]
    n_lines: int


@dataclass(frozen=True)
class LibsvmReader:
    """Rows of LIBSVM (svmlight) text: `label index:value index:value ...` with indices that increase.

    Rows are those of scikit-learn's `load_svmlight_file(zero_based=False)`: blank
    lines, comments and a query number (`qid:7`) after the label are skipped.
    Unlike there, nan, infinity, numbers with underscores and malformed query
    numbers are errors.

    Parameters
    ----------
    n_features : int, optional
        Number of columns; a larger index is an error. By default a batch has as
        many columns as its largest index needs.
    zero_based : bool or "auto", default=False
        Whether indices start at 0. scikit-learn's "auto" looks at the whole file;
        a stream cannot. Here "auto" looks at the first block: if it has an index
        0, indices start at 0, else at 1, and then a later 0 is an error.
    hashing : Hashing, optional
        Spread features over a fixed number of columns. Entries may then also be
        `name:value`, with names that begin with a letter or an underscore, in any
        order; they are read dozens of times more slowly than indices.
    dtype : {"float64", "float32"}
        Of the values; labels are float64.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.data.bad_rows import BadRows
    >>> from opauc.data.sources import ByteSource
    >>> from opauc.core.batch import BEGINNING
    >>> from opauc.data.formats.libsvm import LibsvmReader
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"+1 1:0.5 3:2\\n-1 2:1\\n"), file.flush()
    ...     [batch] = LibsvmReader().batches(ByteSource(file.name), BEGINNING, BadRows())
    >>> batch.rows.toarray(), batch.labels
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]]), array([ 1., -1.]))
    """

    n_features: int | None = None
    zero_based: bool | Literal["auto"] = False
    hashing: Hashing | None = None
    dtype: Literal["float64", "float32"] = "float64"

    def __post_init__(self) -> None:
        if self.n_features is not None and not 1 <= self.n_features <= MAX_COLUMNS:
            raise ValueError(f"n_features must be between 1 and {MAX_COLUMNS}, got {self.n_features}")
        if self.n_features is not None and self.hashing is not None:
            raise ValueError("with hashing, the number of columns is 2**bits; n_features must be None")
        if self.zero_based not in (True, False, "auto"):
            raise ValueError(f"zero_based must be True, False or 'auto', got {self.zero_based!r}")
        if self.dtype not in LARGEST:
            raise ValueError(f"dtype must be 'float64' or 'float32', got {self.dtype!r}")

    def batches(self, source: ByteSource, position: Position, bad_rows: BadRows) -> Iterator[RawBatch]:
        """Yield the rows of each block of `source` from `position` on."""
        rules = self.rules(self.zero_based is True)
        if self.zero_based == "auto" and position.offset:
            rules = self._guessed_rules(_first_block(source))
        before = position
        for block in source.blocks(position):
            if self.zero_based == "auto" and not before.offset:
                rules = self._guessed_rules(block.data)
            rows = read_block(block.data, before.line, rules, self.dtype, source.name, bad_rows)
            after = Position(block.end, before.line + rows.n_lines, block.sha256)
            lines = None if rows.labels.size == rows.n_lines else rows.lines
            yield RawBatch(self._csr_rows(rows), rows.labels, lines, before, after)
            before = after

    def rules(self, zero_based: bool) -> LibsvmRules:
        """Return what lines may contain if indices start at 0, or at 1."""
        least = 0 if zero_based else 1
        # A sum of hashed values must not overflow, and a row has fewer than 2**31 of them.
        largest = LARGEST[self.dtype] / (2.0**31 if self.hashing else 1.0)
        key_of = self.hashing.key_of if self.hashing else None
        return LibsvmRules(least, least + (self.n_features or MAX_COLUMNS), largest, key_of)

    def _guessed_rules(self, first: NDArray[np.uint8]) -> LibsvmRules:
        """Return rules for indices that start at 0 if one in the first block is 0, else for such as start at 1."""
        any_index = replace(self.rules(zero_based=True), beyond=MAX_COLUMNS + 1)
        rows = read_block(first, 0, any_index, "float64", "", BadRows("skip"))
        if not rows.columns.all():
            return self.rules(zero_based=True)
        return replace(
            self.rules(zero_based=False), least_is="none stood in the first block, so they are taken to start at 1"
        )

    def _csr_rows(self, block: BlockRows) -> csr_array:
        if self.hashing:
            return self.hashing.hash_entries(block.columns, block.values, block.ends)
        width = self.n_features or int(block.columns.max(initial=-1)) + 1
        rows = csr_array((block.values, block.columns, block.ends), shape=(block.labels.size, width))
        rows.has_canonical_format = True
        return rows


def read_block(
    data: NDArray[np.uint8], lines_before: int, rules: LibsvmRules, dtype: str, name: str, bad_rows: BadRows
) -> BlockRows:
    """Return the rows of whole lines of text that come after `lines_before` others in the source called `name`."""
    if not data.size or data[-1] != ord(NEWLINE):
        data = np.frombuffer(data.tobytes() + NEWLINE, np.uint8)
    # A short text is read line by line in Python, which is faster than loading the kernel.
    text = data.tobytes() if is_small(data.size) else b""
    newlines, colons = (text.count(mark) for mark in (NEWLINE, b":")) if text else count_marks(data)
    out = LineArrays(
        labels=np.empty(newlines),
        values=np.empty(colons, dtype),
        indices=np.empty(colons, np.int64 if rules.key_of else np.int32),
        ends=np.zeros(newlines + 1, np.int32),
        lines=np.empty(newlines, np.int64),
    )
    progress = np.array([0, lines_before, 0, 0])
    while True:
        if not text:
            read_plain_lines(data, progress, out, rules.least, rules.beyond, rules.largest)
        begin, line, row, entry = progress.tolist()
        if begin >= data.size:
            entries = out.values[:entry], out.indices[:entry], out.ends[: row + 1]
            return BlockRows(out.labels[:row], *entries, out.lines[:row], newlines)
        end = text.index(NEWLINE, begin) if text else int(end_of_line(data, begin))
        progress[BYTE], progress[LINE] = end + 1, line + 1
        try:
            row_read = read_line(data[begin:end].tobytes(), rules)
        except UnclearLineError as unclear:
            bad_rows.handle(MalformedRowError(name, line + 1, str(unclear)))
            continue
        if row_read is not None:
            progress[ROW], progress[ENTRY] = row + 1, _write_row(row_read, line + 1, row, entry, out)


def _write_row(read: LibsvmLine, line: int, row: int, entry: int, out: LineArrays) -> int:
    """Write a row into `out`; return how many entries are written by then."""
    after = entry + len(read.columns)
    out.labels[row], out.lines[row], out.ends[row + 1] = read.label, line, after
    out.indices[entry:after], out.values[entry:after] = read.columns, read.values
    return after


def _first_block(source: ByteSource) -> NDArray[np.uint8]:
    if source.path == STANDARD_INPUT:
        raise InputError(f"{source.name}: its first block is gone; pass zero_based=True or False, not 'auto', to go on")
    for block in source.blocks():
        return block.data
    raise InputError(f"{source.name}: is empty")


def _reader(options: ReadOptions, request: ColumnRequest) -> Reader:
    return LibsvmReader(options.n_features, options.zero_based, request.hashing)


def _likeness(line: bytes) -> int:
    """All that follows the label are entries index:value; a label without entries is a number."""
    label, *entries = line.split() or [b"0"]
    if entries:
        return 3 if all(b":" in entry for entry in entries) and b"," not in line else 0
    try:
        float(label)
    except ValueError:
        return 0
    return 3


LIBSVM = DataFormat(
    "libsvm",
    (".libsvm", ".svm", ".svmlight"),
    _reader,
    is_text=True,
    has_names=False,
    is_encoded=True,
    likeness=_likeness,
    byte_ranges=text_byte_ranges,
    is_sparse=lambda _: True,
)
