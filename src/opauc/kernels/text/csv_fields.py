"""Numbers in the fields of comma-separated text."""

import numpy as np

from opauc.kernels.compile_kernel import borrowing, kernel
from opauc.kernels.text.csv_records import NEWLINE, QUOTE, RETURN
from opauc.kernels.text.decimal_numbers import read_number

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
