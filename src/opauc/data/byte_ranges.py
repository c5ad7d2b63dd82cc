"""Byte ranges of one source that can be read independently."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.core.kernels.compile import in_python
from opauc.data.kernels.csv import OUTSIDE, QUOTE, state_after
from opauc.data.storage import open_file

PIECE_BYTES = 2**22
# With fewer quotes plain Python is faster than loading the compiled kernel.
MAX_PYTHON_QUOTES = 1000
STATES = range(3)


class Quoting(NamedTuple):
    """The delimiter of CSV text, and its quoting state at both ends of a byte range."""

    delimiter: int
    before: int = OUTSIDE
    after: int = OUTSIDE


class ByteRange(NamedTuple):
    """The records of a source that begin between two offsets: of bytes in plain text, of rows in anything else.

    `quoting` is None where quotes mean nothing.

    Examples
    --------
    >>> from opauc.data.byte_ranges import split_evenly
    >>> [tuple(byte_range[:2]) for byte_range in split_evenly(10, 4)]
    [(0, 4), (4, 8), (8, 10)]
    """

    begin: int
    end: int
    quoting: Quoting | None = None


def split_evenly(size: int, most: int) -> list[ByteRange]:
    """Return ranges of `most` bytes or rows each; the last one may be shorter."""
    return [ByteRange(begin, min(begin + most, size)) for begin in range(0, size, most)]


def join_ranges(sizes: list[int], weights: list[float], least: float) -> list[ByteRange]:
    """Return ranges of consecutive pieces of the given sizes, each of total weight `least` or more.

    >>> from opauc.data.byte_ranges import join_ranges
    >>> [tuple(byte_range[:2]) for byte_range in join_ranges([5, 5, 5], [1.0, 1.0, 1.0], 2.0)]
    [(0, 10), (10, 15)]
    """
    edges, row, weight = [0], 0, 0.0
    for size, piece_weight in zip(sizes, weights, strict=True):
        row, weight = row + size, weight + piece_weight
        if weight >= least:
            edges, weight = [*edges, row], 0.0
    return [ByteRange(begin, end) for begin, end in pairwise([*edges, row]) if begin < end]


def states_after(path: str, delimiter: int, byte_range: ByteRange) -> list[int]:
    """Return the quoting state of CSV text at the end of a byte range, for each state at its beginning."""
    states = list(STATES)
    with open_file(path) as file:
        for begin in range(byte_range.begin, byte_range.end, PIECE_BYTES):
            text = _with_neighbors(file, begin, min(begin + PIECE_BYTES, byte_range.end))
            followed = {state: _state_after(text, delimiter, state) for state in set(states)}
            states = [followed[state] for state in states]
    return states


def with_quoting(byte_ranges: list[ByteRange], delimiter: int, states: list[list[int]]) -> list[ByteRange]:
    """Return the byte ranges of one text with the quoting state at their ends, from the results of `states_after`."""
    ranges, state = [], OUTSIDE
    for byte_range, following in zip(byte_ranges, states, strict=True):
        ranges.append(byte_range._replace(quoting=Quoting(delimiter, state, following[state])))
        state = following[state]
    return ranges


def records_of(stream: IO[bytes], byte_range: ByteRange) -> tuple[int, int]:
    """Return where the first record of a byte range of text begins, and the first after it."""
    delimiter, before, after = byte_range.quoting or (None, OUTSIDE, OUTSIDE)
    return _record_from(stream, byte_range.begin, delimiter, before), _record_from(
        stream, byte_range.end, delimiter, after
    )


def lines_before(path: str, offset: int) -> int:
    """Return how many lines end before `offset` of an uncompressed text."""
    n_lines, left = 0, offset
    with open_file(path) as file:
        while left and (piece := file.read(min(left, PIECE_BYTES))):
            n_lines += piece.count(b"\n")
            left -= len(piece)
    return n_lines


def _record_from(stream: IO[bytes], offset: int, delimiter: int | None, state: int) -> int:
    """Return where the first record begins at `offset` or later: after an end of line that no quotes enclose."""
    size = stream.seek(0, os.SEEK_END)
    if offset == 0 or offset >= size:
        return min(offset, size)
    stream.seek(offset - 1)
    if stream.read(1) == b"\n" and state == OUTSIDE:
        return offset
    while offset < size:
        stream.seek(offset)
        end = offset + len(stream.readline())
        if delimiter is not None:
            state = _state_after(_with_neighbors(stream, offset, end), delimiter, state)
        offset = end
        if state == OUTSIDE:
            break
    return offset


def _with_neighbors(stream: IO[bytes], begin: int, end: int) -> bytes:
    """Return some bytes of a text with the one before and the one after; an end of line where there is none."""
    stream.seek(max(begin - 1, 0))
    text = stream.read(end - max(begin - 1, 0) + 1)
    text = text if begin else b"\n" + text
    return text if len(text) == end - begin + 2 else text + b"\n"


def _state_after(text: bytes, delimiter: int, state: int) -> int:
    """Return the state at the end of a text with neighbors."""
    quotes = text.count(QUOTE, 1, len(text) - 1)
    if not quotes:
        return state
    data = np.frombuffer(text, np.uint8)
    positions: NDArray[np.int64] = 1 + np.flatnonzero(data[1:-1] == QUOTE)
    if quotes < MAX_PYTHON_QUOTES:
        return int(in_python(state_after)(text, positions.tolist(), delimiter, state))
    return int(state_after(data, positions, delimiter, state))
