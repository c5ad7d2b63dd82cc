"""Numbers in the fields of comma-separated text."""

from __future__ import annotations

import numpy as np

from opauc.core.kernels.compile import borrowing, kernel
from opauc.data.kernels.decimal_numbers import read_number

NEWLINE, RETURN, QUOTE = 10, 13, 34


@kernel
def find_records(text, delimiter, marks, starts, lines, fields):
    """Write each record's first byte, lines before it and number of fields; return records, lines and the open one.

    A quote at the start of a field opens it, two inside stand for one, and what
    follows the closing one belongs to the field. \\n, \\r and \\r\\n end a line;
    empty lines hold no record. The last number is the line on which a field
    still open at the end began, or -1. `marks` (256,) is true for the bytes
    that may end a field.
    """
    n_records, line, opened = 0, 0, -1
    within, at_start, in_record = False, True, False
    size = len(text)
    i = 0
    while i < size:
        byte = text[i]
        ends = byte == NEWLINE or (byte == RETURN and not (i + 1 < size and text[i + 1] == NEWLINE))
        if within:
            if byte == QUOTE:
                if i + 1 < size and text[i + 1] == QUOTE:
                    i += 1
                else:
                    within = False
            elif ends:
                line += 1
        elif byte in (NEWLINE, RETURN):
            if ends:
                line += 1
            at_start, in_record = True, False
        else:
            if not in_record:
                starts[n_records], lines[n_records], fields[n_records] = i, line, 1
                n_records += 1
                in_record = True
            if byte == delimiter:
                fields[n_records - 1] += 1
                at_start = True
            elif byte == QUOTE and at_start:
                within, at_start, opened = True, False, line
            else:
                at_start = False
        i += 1
        if not at_start:  # inside a field other bytes than these change nothing
            while i < size and not marks[text[i]]:
                i += 1
    if size and text[size - 1] != NEWLINE and text[size - 1] != RETURN:
        line += 1
    return n_records, line, opened if within else -1


TAB, SPACE = 9, 32


@kernel
def find_fields(text, delimiter, starts, begins):
    """Write where each field of each record begins, and one byte beyond what ends the last of them.

    starts has the first byte of records that all have begins.shape[1] - 1
    fields, and the text ends in an end of line. A quote at the start of a field
    opens it and two inside stand for one, as in `find_records`.
    """
    for record in range(starts.size):
        at, field = starts[record], 0
        begins[record, 0] = at
        within = False
        while field < begins.shape[1] - 1:
            byte = text[at]
            if within:
                if byte == QUOTE:
                    within = text[at + 1] == QUOTE
                    at += within
            elif byte in (delimiter, NEWLINE, RETURN):
                field += 1
                begins[record, field] = at + 1
            elif byte == QUOTE and at == begins[record, field]:
                within = True
            at += 1


@borrowing
def skip_blanks(text, at, end):
    """Return the place of the first byte from `at` on, before `end`, that is neither a space nor a tab."""
    while at < end and text[at] in (SPACE, TAB):
        at += 1
    return at


@kernel
def read_fields(text, begins, columns, out, undecided):
    """Write the numbers of some columns into `out`, nan where a field is empty, and mark fields that say else."""
    for record in range(begins.shape[0]):
        for j in range(columns.size):
            end = begins[record, columns[j] + 1] - 1
            at = skip_blanks(text, begins[record, columns[j]], end)
            out[record, j] = np.nan
            if at < end:
                value, stop = read_number(text, at)
                if stop >= 0 and skip_blanks(text, stop, end) == end:
                    out[record, j] = value
                else:
                    undecided[record, j] = True


NEWLINE, RETURN, QUOTE = 10, 13, 34
# Outside of quotes; within them; within, with the second quote of a pair to come.
OUTSIDE, WITHIN, PAIRED = 0, 1, 2


@kernel
def state_after(text, places, delimiter, state):
    """Return the state at the end of `text`, whose first and last byte are its neighbors, from that at its beginning.

    `places` are those of the quotes between the neighbors. A quote at the
    start of a field opens it, two inside stand for one, any other closes it.
    """
    last = len(text) - 2
    passed = 1 if state == PAIRED else -1  # the place of a quote that belongs to the one before it
    within = state != OUTSIDE
    for place in places:
        if place == passed:
            continue
        if not within:
            before = text[place - 1]
            within = before == delimiter or before in (NEWLINE, RETURN)
        elif text[place + 1] == QUOTE:
            passed = place + 1
        else:
            within = False
    if within:
        return PAIRED if passed == last + 1 else WITHIN
    return OUTSIDE
