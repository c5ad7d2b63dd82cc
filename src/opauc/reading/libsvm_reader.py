"""LIBSVM text as sparse rows, a block at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.errors import InputError, MalformedRow
from opauc.kernels.text.libsvm_bytes import (
    BYTE,
    ENTRY,
    LINE,
    ROW,
    LineArrays,
    count_marks,
    end_of_line,
    read_plain_lines,
)
from opauc.reading.bad_rows import BadRows
from opauc.reading.byte_source import STANDARD_INPUT, ByteSource, is_small
from opauc.reading.encoder import Hashing
from opauc.reading.labelled_chunk import Part, Place
from opauc.reading.libsvm_line import LibsvmLine, LibsvmRules, UnclearLine, read_line

MOST_COLUMNS = 2**31 - 1  # so that their number, too, is an int32
# What rounds to a finite number: for float32 that is a little more than the largest one.
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

    What is read is read as scikit-learn's `load_svmlight_file(zero_based=False)`
    does: blank lines and comments are passed over, and so is a query number
    (`qid:7`) after the label. Refused, though scikit-learn takes them, are nan and
    infinity, numbers with underscores, and query numbers that are none.

    Parameters
    ----------
    n_features : int, optional
        Number of columns; a larger index is refused. By default a part has as
        many columns as its largest index asks for.
    zero_based : bool or "auto", default=False
        Whether indices start at 0. scikit-learn's "auto" looks at the whole file;
        a stream cannot. Here "auto" looks at the first block: if it has an index
        0, indices start at 0, else at 1, and then a later 0 is refused.
    hashing : Hashing, optional
        Spread features over a fixed number of columns. Entries may then also be
        `name:value`, with names that begin with a letter or an underscore, in any
        order; they are read dozens of times more slowly than indices.
    dtype : {"float64", "float32"}
        Of the values; labels are float64.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.reading.bad_rows import BadRows
    >>> from opauc.reading.byte_source import ByteSource
    >>> from opauc.reading.labelled_chunk import BEGINNING
    >>> from opauc.reading.libsvm_reader import LibsvmReader
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"+1 1:0.5 3:2\\n-1 2:1\\n"), file.flush()
    ...     [part] = LibsvmReader().parts(ByteSource(file.name), BEGINNING, BadRows())
    >>> part.rows.toarray(), part.labels
    (array([[0.5, 0. , 2. ],
           [0. , 1. , 0. ]]), array([ 1., -1.]))
    """

    n_features: int | None = None
    zero_based: bool | Literal["auto"] = False
    hashing: Hashing | None = None
    dtype: Literal["float64", "float32"] = "float64"

    def __post_init__(self) -> None:
        if self.n_features is not None and not 1 <= self.n_features <= MOST_COLUMNS:
            raise ValueError(f"n_features must be between 1 and {MOST_COLUMNS}, got {self.n_features}")
        if self.n_features is not None and self.hashing is not None:
            raise ValueError("with hashing, the number of columns is 2**bits; n_features must be None")
        if self.zero_based not in (True, False, "auto"):
            raise ValueError(f"zero_based must be True, False or 'auto', got {self.zero_based!r}")
        if self.dtype not in LARGEST:
            raise ValueError(f"dtype must be 'float64' or 'float32', got {self.dtype!r}")

    def parts(self, source: ByteSource, place: Place, bad_rows: BadRows) -> Iterator[Part]:
        """Yield the rows of each block of `source` from `place` on."""
        rules = self.rules(self.zero_based is True)
        if self.zero_based == "auto" and place.offset:
            rules = self._guessed_rules(_first_block(source))
        before = place
        for block in source.blocks(place):
            if self.zero_based == "auto" and not before.offset:
                rules = self._guessed_rules(block.data)
            found = read_block(block.data, before.line, rules, self.dtype, source.name, bad_rows)
            after = Place(block.end, before.line + found.n_lines, block.sha256)
            lines = None if found.labels.size == found.n_lines else found.lines
            yield Part(self._rows(found), found.labels, lines, before, after)
            before = after

    def rules(self, zero_based: bool) -> LibsvmRules:
        """Return what lines may contain if indices start at 0, or at 1."""
        least = 0 if zero_based else 1
        # A sum of hashed values must not overflow, and a row has fewer than 2**31 of them.
        largest = LARGEST[self.dtype] / (2.0**31 if self.hashing else 1.0)
        key_of = self.hashing.key_of if self.hashing else None
        return LibsvmRules(least, least + (self.n_features or MOST_COLUMNS), largest, key_of)

    def _guessed_rules(self, first: NDArray[np.uint8]) -> LibsvmRules:
        """Return rules for indices that start at 0 if one in the first block is 0, else for such as start at 1."""
        anything = replace(self.rules(zero_based=True), beyond=MOST_COLUMNS + 1)
        found = read_block(first, 0, anything, "float64", "", BadRows("skip"))
        if not found.columns.all():
            return self.rules(zero_based=True)
        return replace(
            self.rules(zero_based=False), least_is="none stood in the first block, so they are taken to start at 1"
        )

    def _rows(self, found: BlockRows) -> csr_array:
        if self.hashing:
            return self.hashing.hash_entries(found.columns, found.values, found.ends)
        width = self.n_features or int(found.columns.max(initial=-1)) + 1
        rows = csr_array((found.values, found.columns, found.ends), shape=(found.labels.size, width))
        rows.has_canonical_format = True
        return rows


def read_block(
    data: NDArray[np.uint8], lines_before: int, rules: LibsvmRules, dtype: str, name: str, bad_rows: BadRows
) -> BlockRows:
    """Return the rows of whole lines of text that come after `lines_before` others in the source called `name`."""
    if not data.size or data[-1] != ord(NEWLINE):
        data = np.frombuffer(data.tobytes() + NEWLINE, np.uint8)
    # In a short text every line is read with care: the kernel that reads plain ones would take longer to load.
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
            careful = read_line(data[begin:end].tobytes(), rules)
        except UnclearLine as unclear:
            bad_rows.meet(MalformedRow(name, line + 1, str(unclear)))
            continue
        if careful is not None:
            progress[ROW], progress[ENTRY] = row + 1, _write_row(careful, line + 1, row, entry, out)


def _write_row(read: LibsvmLine, line: int, row: int, entry: int, out: LineArrays) -> int:
    """Write a row into `out`; return how many entries are written by then."""
    after = entry + len(read.columns)
    out.labels[row], out.lines[row], out.ends[row + 1] = read.label, line, after
    out.indices[entry:after], out.values[entry:after] = read.columns, read.values
    return after


def _first_block(source: ByteSource) -> NDArray[np.uint8]:
    if source.path == STANDARD_INPUT:
        raise InputError(f"{source.name}: its first block is past; pass zero_based=True or False, not 'auto', to go on")
    for block in source.blocks():
        return block.data
    raise InputError(f"{source.name}: is empty")
