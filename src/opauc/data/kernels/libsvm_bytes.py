"""Lines of LIBSVM text as the arrays of sparse rows, as long as nothing about them is unusual."""

from typing import NamedTuple

import numpy as np

from opauc.core.kernels.compile import borrowing, kernel
from opauc.data.kernels.decimal_numbers import read_digits, read_number

TAB, NEWLINE, RETURN, SPACE, HASH, COLON = 9, 10, 13, 32, 35, 58
SMALL_Q, SMALL_I, SMALL_D = 113, 105, 100
# Digits that fit a signed word, whether or not the index is one that is allowed.
LONGEST_INDEX = 18
# Places in the array that says how far reading is.
BYTE, LINE, ROW, ENTRY = range(4)


class LineArrays(NamedTuple):
    """Where lines are read into: room for a row per end of line and an entry per colon.

    `ends` is the indptr of a CSR array and starts with a zero; `lines` has the
    line each row stands in.
    """

    labels: np.ndarray
    values: np.ndarray
    indices: np.ndarray
    ends: np.ndarray
    lines: np.ndarray


@kernel
def count_marks(data):
    """Return the number of ends of line and of colons in a text."""
    newlines = colons = 0
    for byte in data:
        newlines += byte == NEWLINE
        colons += byte == COLON
    return newlines, colons


@borrowing
def is_space(byte):
    """Tell whether a byte parts words within a line, as usual."""
    return byte in (SPACE, TAB, RETURN)


@borrowing
def skip_spaces(data, at):
    """Return the place of the first byte from `at` on that is not a space."""
    while is_space(data[at]):
        at += 1
    return at


@borrowing
def end_of_line(data, at):
    """Return the place of the end of line at or after `at`."""
    while data[at] != NEWLINE:
        at += 1
    return at


@borrowing
def skip_query(data, at):
    """Return the place after a query number and spaces, if one stands at `at`; -1 if it is no number."""
    if data[at] != SMALL_Q or data[at + 1] != SMALL_I or data[at + 2] != SMALL_D or data[at + 3] != COLON:
        return at
    _, end = read_digits(data, at + 4, np.uint64(0))
    return skip_spaces(data, end) if end > at + 4 else -1


@borrowing
def read_entries(data, at, entry, out, least, beyond, largest):
    """Write the entries of a line from `at` on into `out`; return where the line ends, or -1, and the entries by then.

    What goes on after a number does so with something else than a digit, and is
    found out because no index begins with it.
    """
    previous = least - 1
    while data[at] not in (NEWLINE, HASH):
        digits, end = read_digits(data, at, np.uint64(0))
        index = np.int64(digits)
        if end == at or end - at > LONGEST_INDEX or data[end] != COLON or not previous < index < beyond:
            return -1, entry
        value, at = read_number(data, end + 1)
        if at < 0 or abs(value) > largest:
            return -1, entry
        out.indices[entry] = index - least
        out.values[entry] = value
        entry += 1
        previous = index
        at = skip_spaces(data, at)
    return end_of_line(data, at), entry


@kernel
def read_plain_lines(data, progress, out, least, beyond, largest):
    """Read lines into `out` up to the first that is unusual, and note in `progress` how far that is.

    data ends in an end of line. progress holds BYTE, LINE, ROW and ENTRY to
    begin with and to go on from. Indices are from `least` to below `beyond`, values
    not larger than `largest`. A line that is wrong, or right in a way seen too
    rarely to be read fast, is left for someone else to read.
    """
    at, line, row, entry = progress[BYTE], progress[LINE], progress[ROW], progress[ENTRY]
    while at < data.size:
        word = skip_spaces(data, at)
        if data[word] not in (NEWLINE, HASH):
            label, end = read_number(data, word)
            if end < 0 or data[end] == SMALL_Q:  # the label runs into a query number
                break
            word = skip_query(data, skip_spaces(data, end))
            if word < 0:
                break
            word, entries = read_entries(data, word, entry, out, least, beyond, largest)
            if word < 0:
                break
            entry = entries
            out.labels[row] = label
            out.lines[row] = line + 1
            row += 1
            out.ends[row] = entry
        at = end_of_line(data, word) + 1
        line += 1
    progress[BYTE], progress[LINE], progress[ROW], progress[ENTRY] = at, line, row, entry
