"""The two class labels as JSON has them, and back."""

from __future__ import annotations

import re
import reprlib
import sys
from typing import TypedDict

import numpy as np

from opauc.core.json_schema import json_as
from opauc.types import Array

# What may stand for a class label: numbers, truth values and text, in the words of NumPy; or text in objects.
LABEL_KINDS = "iufbU"
LABEL_TYPE = re.compile(r"[<>|=]?(?:b1|[iu][1248]|f(?:2|4|8|16)|U([0-9]{1,9}))")
OBJECT = "object"
# Text is kept in arrays of this many characters at most, unless it is longer.
LONGEST = 4096


class SavedLabels(TypedDict):
    """The type and the values of the two class labels."""

    type: str
    values: list[bool | int | float | str]


def labels_out(classes: Array) -> SavedLabels:
    """Return class labels as JSON has them."""
    values = classes.tolist()
    if classes.dtype.kind not in LABEL_KINDS and not all(isinstance(value, str) for value in values):
        raise ValueError(f"class labels must be numbers or text to be saved, got {values}")
    return {"type": classes.dtype.str if classes.dtype.kind in LABEL_KINDS else OBJECT, "values": values}


def labels_in(saved: SavedLabels) -> Array:
    """Return the labels that `labels_out` was given: two that differ, of the type they are said to have.

    Examples
    --------
    >>> from opauc.core.saved_labels import labels_in
    >>> labels_in({"type": "<i8", "values": [-1, 1]})
    array([-1,  1])
    >>> labels_in({"type": "|i1", "values": [0, 1000]})
    Traceback (most recent call last):
        ...
    ValueError: class labels: 1000 is not of type |i1
    """
    kind, values = saved["type"], saved["values"]
    if len(values) != 2 or values[0] == values[1]:
        raise ValueError(f"expected two class labels, got {values[:3]!r}")
    if kind == OBJECT:
        return np.array(json_as(list[str], values, "class labels"), dtype=object)
    found = LABEL_TYPE.fullmatch(kind)
    if found is None:
        raise ValueError(f"class labels cannot be of type {kind[:40]!r}")
    dtype = np.dtype(kind if int(found[1] or 0) <= LONGEST else f"U{max(LONGEST, *map(len, map(str, values)))}")
    for value in values:
        if not _is_of(dtype.kind, dtype.name, value):
            raise ValueError(f"class labels: {reprlib.repr(value)} is not of type {kind}")
    return np.array(values, dtype)


def _is_of(kind: str, name: str, value: object) -> bool:
    """Tell whether a value, as JSON has it, is one of a type: "i" and "int8", say."""
    if kind in "iu":
        limits = np.iinfo(name)
        return isinstance(value, int) and not isinstance(value, bool) and limits.min <= value <= limits.max
    if kind == "f":
        largest = min(float(np.finfo(name).max), sys.float_info.max)
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= largest
    return isinstance(value, bool if kind == "b" else str)
