"""What the arrays of a file must be, declared, and the one check of arrays against it before anything uses them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from opauc.errors import IncompatibleMomentsError
from opauc.types import Array, Arrays, NamedArrays

Part = TypeVar("Part")


@dataclass(frozen=True)
class ArrayRule:
    """What one array of a file must be.

    The axes of `shape` are separated by blanks: each is a number, or a name that stands for the same length in all
    arrays, such as "inputs", or "inputs+1". A single number has the shape "".
    """

    dtype: str
    shape: str = ""
    low: float = -inf  # smallest number
    high: float = inf  # largest number
    below: str = ""  # a length: the numbers are indices below it
    ends: str = ""  # a length: the numbers cut it into parts, from 0 up to it, and never fall
    rising: bool = False  # each number is above the one before
    missing: bool = False  # NaN stands for a missing value
    infinite: bool = False  # plus and minus infinity are numbers too
    optional: bool = False


ArraySchema: TypeAlias = Mapping[str, ArrayRule]
Sizes: TypeAlias = Mapping[str, int]


def check_arrays(schema: ArraySchema, arrays: NamedArrays, sizes: Sizes | None = None) -> dict[str, int]:
    """Return the lengths that the schema names; raise IncompatibleMomentsError unless all arrays follow their rules.

    `sizes` are lengths that are known already. Names, types and shapes of all arrays are checked before any number.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.core.array_schema import ArrayRule, check_arrays
    >>> schema = {"values": ArrayRule("float64", "n"), "ends": ArrayRule("int64", "parts+1", ends="n")}
    >>> check_arrays(schema, {"values": np.zeros(3), "ends": np.array([0, 2, 3])})
    {'n': 3, 'parts': 2}
    >>> check_arrays(schema, {"values": np.zeros(3), "ends": np.array([0, 9, 3])})
    Traceback (most recent call last):
        ...
    opauc.errors.IncompatibleMomentsError: ends: expected numbers that rise from 0 to 3
    """
    if {name for name, rule in schema.items() if not rule.optional} - arrays.keys() or arrays.keys() - schema.keys():
        raise IncompatibleMomentsError(f"expected arrays {', '.join(schema)}, got {', '.join(sorted(arrays))}")
    lengths = dict(sizes or {})
    present = [(name, rule, arrays[name]) for name, rule in schema.items() if name in arrays]
    for name, rule, array in present:
        shape = _bind(rule.shape, array.shape, lengths)
        if array.dtype != rule.dtype or array.shape != shape:
            layout = f"{rule.dtype} numbers of shape {_shown(rule.shape, lengths)}"
            raise IncompatibleMomentsError(f"{name}: expected {layout}, got {array.dtype} of shape {array.shape}")
    for name, rule, array in present:
        if (expected := _fault(rule, array, lengths)) is not None:
            raise IncompatibleMomentsError(f"{name}: expected {expected}")
    return lengths


def copy_arrays(schema: ArraySchema, arrays: Mapping[str, ArrayLike], sizes: Sizes | None = None) -> Arrays:
    """Return copies of arrays, or of what can be arrays, in the order of the schema, checked as by `check_arrays`."""
    copies = {name: np.array(array) for name, array in arrays.items()}
    check_arrays(schema, copies, sizes)
    return {name: copies[name] for name in schema if name in copies}


def add_prefix(prefix: str, parts: Mapping[str, Part]) -> dict[str, Part]:
    """Return arrays, or their rules, under longer names."""
    return {f"{prefix}{name}": part for name, part in parts.items()}


def with_prefix(prefix: str, arrays: NamedArrays) -> Arrays:
    """Return the arrays whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _bind(axes: str, shape: tuple[int, ...], lengths: dict[str, int]) -> tuple[int, ...] | None:
    """Return the shape that the axes stand for, where unknown lengths become those of `shape`; None if they cannot."""
    names = axes.split()
    if len(names) != len(shape):
        return None
    for axis, size in zip(names, shape, strict=True):
        name, _, more = axis.partition("+")
        if not name.isdigit() and size >= int(more or 0):
            lengths.setdefault(name, size - int(more or 0))
    return tuple(_length(axis, lengths) for axis in names)


def _length(axis: str, lengths: Sizes) -> int:
    name, _, more = axis.partition("+")
    return (int(name) if name.isdigit() else lengths.get(name, 0)) + int(more or 0)


def _shown(axes: str, lengths: Sizes) -> str:
    """Return the axes of a shape as text, with known lengths as numbers."""
    names = axes.split()
    known = (str(_length(axis, lengths)) if axis.partition("+")[0] in lengths else axis for axis in names)
    return f"({', '.join(known)}{',' if len(names) == 1 else ''})"


def _fault(rule: ArrayRule, array: Array, lengths: Sizes) -> str | None:
    """Return what was expected of the numbers of an array, None if they are so. Differences may overflow: none here."""
    high = _length(rule.below, lengths) - 1 if rule.below else rule.high
    if array.dtype.kind == "f" and not rule.missing and np.isnan(array).any():
        return "numbers, not NaN" if rule.infinite else "finite numbers"
    if array.dtype.kind == "f" and not rule.infinite and np.isinf(array).any():
        return "finite numbers"
    if (array < rule.low).any() or (array > high).any():
        return f"numbers {_range(rule.low, high)}"
    if rule.rising and (array[1:] <= array[:-1]).any():
        return "numbers that rise"
    end = _length(rule.ends, lengths) if rule.ends else 0
    if rule.ends and (array[0] != 0 or array[-1] != end or (array[1:] < array[:-1]).any()):
        return f"numbers that rise from 0 to {end}"
    return None


def _range(low: float, high: float) -> str:
    if high == inf:
        return "that are not negative" if low == 0 else f"of at least {low:.16g}"
    return f"of at most {high:.16g}" if low == -inf else f"from {low:.16g} to {high:.16g}"
