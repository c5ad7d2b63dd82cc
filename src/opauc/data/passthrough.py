"""Columns that go along with the rows of a table: those to be kept as they are, and that of the groups."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, cast

import numpy as np

from opauc.core.batch import Part
from opauc.data.columns import TableColumns
from opauc.data.row_faults import RowFaults
from opauc.types import GroupKeys

if TYPE_CHECKING:
    from pyarrow import RecordBatch

    from opauc.data.formats.csv.wide import WideTable


def group_keys(groups: object, n_rows: int) -> GroupKeys:
    """Return the key of each row's group, shape (n_rows,): a hash of its value as text.

    Values that read alike are one group: 3, 3.0 and "3". A missing value is no
    group and refused, for rows without one might belong together.

    Examples
    --------
    >>> from opauc.data.passthrough import group_keys
    >>> ann, bob, again = group_keys(["ann", "bob", "ann"], 3).tolist()
    >>> ann == again != bob, group_keys([3], 1) == group_keys([3.0], 1) == group_keys(["3"], 1)
    (True, array([ True]))
    >>> group_keys([1, 2], 3)
    Traceback (most recent call last):
        ...
    ValueError: groups must hold one value for each of the 3 rows, got shape (2,)
    """
    values = np.asarray(groups)
    if values.shape != (n_rows,):
        raise ValueError(f"groups must hold one value for each of the {n_rows} rows, got shape {values.shape}")
    if values.dtype.kind == "O":
        kinds, places = values.tolist(), None
    else:
        found, places = np.unique(values, return_inverse=True)
        kinds = found.tolist() if found.dtype.kind not in "mM" else [None if np.isnat(v) else str(v) for v in found]
    texts = [kind if type(kind) is str else _text(kind) for kind in kinds]
    if None in texts:
        at = texts.index(None)
        row = at if places is None else int(np.argmax(places == at))
        raise ValueError(f"groups must have no missing values, got one for row {row}")
    keys = {text: _key(text) for text in set(texts) if text is not None}
    each = np.array([keys[text] for text in texts if text is not None], np.uint64)
    return each if places is None else each[places]


def is_missing(value: object) -> bool:
    """Tell whether a value says that there is none."""
    try:
        return value is None or bool(value != value)  # what is not a number is not itself
    except TypeError:
        return True  # pandas.NA says neither yes nor no


def _text(value: object) -> str | None:
    """Return a value as it would stand in a file, whole numbers of any type alike; None where it is missing."""
    if is_missing(value):
        return None
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float):
        return str(int(plain)) if plain.is_integer() else repr(plain)
    return str(plain)


def _key(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def carried_columns(part: Part, columns: TableColumns, faults: RowFaults) -> RecordBatch | None:
    """Return the columns of a table that are carried along, None without any; a missing group is a fault."""
    if not columns.carried:
        return None
    carried = part.kept
    if carried is None:
        from opauc.data.arrow_columns import kept_columns

        carried = kept_columns(cast("RecordBatch | WideTable", part.rows), columns.carried)
    if columns.groups is not None:
        groups = carried.column(columns.groups).to_pylist()
        missing = np.array([group == "" or is_missing(group) for group in groups], bool)
        faults.add(missing, "the group is missing", columns.groups)
    return carried


def carried_groups(carried: RecordBatch | None, columns: TableColumns) -> GroupKeys | None:
    """Return the keys of the groups of rows that all have one, None where no column says them."""
    if carried is None or columns.groups is None:
        return None
    groups = carried.column(columns.groups).to_pylist()
    return group_keys(np.fromiter(groups, object, len(groups)), len(groups))
