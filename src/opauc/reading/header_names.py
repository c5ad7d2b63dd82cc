"""Names of columns from a header as it is: columns without a name get one, and of those with one name each its own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from opauc.errors import InputError

# What is no table, by how its first field begins, and what it is.
NO_TABLES = {'{"': "JSON is not read", "[{": "JSON is not read", "\xd0\xcf\x11": "a workbook is not read"}
EXCEL_MARK = "sep="


def refuse_other(fields: Sequence[str], source: str) -> None:
    """Refuse what is no table, or has a line before it, by the fields of its first line.

    >>> from opauc.reading.header_names import refuse_other
    >>> refuse_other(['{"age": 31', '"y": 0}'], "rows.txt")
    Traceback (most recent call last):
        ...
    opauc.errors.InputError: rows.txt: JSON is not read; save it as CSV or Parquet
    """
    for begin, what in NO_TABLES.items():
        if fields[0].lstrip().startswith(begin):
            raise InputError(f"{source}: {what}; save it as CSV or Parquet")
    if fields[0] == EXCEL_MARK:
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
