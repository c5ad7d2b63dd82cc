"""What the beginning of a table tells of itself: that it is one, and a name for each of its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count

from opauc.errors import InputError

# What is no table, by how it begins.
OTHERS = {
    "JSON": rb'\s*(\{\s*"|\[\s*\{)',
    "ARFF": rb"(\s*%[^\n]*\n)*\s*@relation",
    "XML or HTML": rb"\s*<(\?xml|!doctype|html|table)",
    "a workbook": rb"\xd0\xcf\x11\xe0",
    "PDF": rb"%PDF",
    "what is no text": rb"[\s\S]{0,63}\x00",
}
EXCEL_MARK = rb"sep=.\r?\n"


def refuse_others(text: bytes, source: str) -> None:
    """Refuse what is no table, or has a line before it, by its beginning.

    >>> from opauc.reading.header_names import refuse_others
    >>> refuse_others(b'{"age": 31, "y": 0}', "rows.txt")
    Traceback (most recent call last):
        ...
    opauc.errors.InputError: rows.txt: JSON is not read; save it as CSV or Parquet
    """
    for name, begin in OTHERS.items():
        if re.match(begin, text, re.IGNORECASE):
            raise InputError(f"{source}: {name} is not read; save it as CSV or Parquet")
    if re.match(EXCEL_MARK, text, re.IGNORECASE):
        raise InputError(f"{source}: the first line, sep=, is no header; take it out")


def own_names(fields: Sequence[str]) -> list[str]:
    """Return a name for each column, as pandas calls them, so that models know their columns again in its frames.

    >>> from opauc.reading.header_names import own_names
    >>> own_names(["", "age", "sex", "age", "age.1"])
    ['Unnamed: 0', 'age', 'sex', 'age.2', 'age.1']
    """
    given = [field.strip() or f"Unnamed: {at}" for at, field in enumerate(fields)]
    names, numbers = given.copy(), {name: count(1) for name in given}
    free, taken = set(given), set(given)
    for at in sorted(range(len(given)), key=lambda at: not fields[at].strip()):  # those that have a name come first
        if given[at] not in free:
            called = (f"{given[at]}.{number}" for number in numbers[given[at]])
            names[at] = next(name for name in called if name not in taken)
        free.discard(given[at])
        taken.add(names[at])
    return names
