"""The keys of groups of rows: the same for the same value, on every machine."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from opauc.types import GroupKeys


def group_keys(groups: object, n_rows: int) -> GroupKeys:
    """Return the key of each row's group, shape (n_rows,): a hash of its value as text.

    Values that look alike are one group: 3, 3.0 and "3". A missing value raises,
    because rows without a group might belong together.

    Examples
    --------
    >>> from opauc.core.group_keys import group_keys
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
        distinct, codes = values.tolist(), None
    else:
        unique, codes = np.unique(values, return_inverse=True)
        distinct = unique.tolist()
        if unique.dtype.kind in "mM":
            distinct = [None if np.isnat(value) else str(value) for value in unique]
    texts = [value if type(value) is str else _text(value) for value in distinct]
    if None in texts:
        at = texts.index(None)
        row = at if codes is None else int(np.argmax(codes == at))
        raise ValueError(f"groups must have no missing values, got one for row {row}")
    keys = {text: _key(text) for text in set(texts) if text is not None}
    each = np.array([keys[text] for text in texts if text is not None], np.uint64)
    return each if codes is None else each[codes]


def group_numbers(groups: object, n_rows: int) -> NDArray[np.int64]:
    """Return the group of each row as a number from 0; raise ValueError if one is missing.

    >>> from opauc.core.group_keys import group_numbers
    >>> ann, bob, again = group_numbers(["ann", "bob", "ann"], 3).tolist()
    >>> ann == again, sorted([ann, bob])
    (True, [0, 1])
    """
    return np.unique(group_keys(groups, n_rows), return_inverse=True)[1].astype(np.int64)


def is_missing(value: object) -> bool:
    """Tell whether a value is None, nan or NA."""
    try:
        return value is None or bool(value != value)  # what is not a number is not itself
    except TypeError:
        return True  # pandas.NA says neither yes nor no


def _text(value: object) -> str | None:
    """Return a value as it would be written to a file, integers of any type alike; None where it is missing."""
    if is_missing(value):
        return None
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float):
        return str(int(plain)) if plain.is_integer() else repr(plain)
    return str(plain)


def _key(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "little")
