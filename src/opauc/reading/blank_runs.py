"""Tables whose columns stand below each other: any run of blanks is one delimiter, but at the ends of a line."""

from __future__ import annotations

import re

import numpy as np

from opauc.kernels.text.csv_records import NEWLINE, QUOTE, RETURN

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
    >>> from opauc.reading.blank_runs import has_runs
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
    >>> from opauc.reading.blank_runs import without_runs
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
