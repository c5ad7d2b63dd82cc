"""The state of any learner as named arrays, and back: for files, and for features that turn up late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from opauc.errors import IncompatibleMomentsError
from opauc.types import Array, Arrays, NamedArrays

State = TypeVar("State")


def state_arrays(state: object) -> Arrays:
    """Return the arrays a state is made of, by name: nested named tuples or dataclasses of arrays and numbers.

    Nothing is copied that need not be.

    Examples
    --------
    >>> from opauc.linear.sgd import SGD
    >>> from opauc.core.state_arrays import state_arrays
    >>> sorted(state_arrays(SGD().start(2)))[:3]
    ['counts', 'filled', 'lowers']
    """
    return dict(_leaves("", state))


def restored(template: State, arrays: NamedArrays) -> State:
    """Return the state that gave these arrays, perhaps when it knew fewer features.

    Whatever the arrays do not cover is as in `template`, the state before any
    row, which is used up: a feature not met yet was zero in every row. Arrays
    that do not fit are refused.
    """
    wanted = state_arrays(template)
    refuse_other_names(wanted, arrays)
    # Of the arrays given, not of those filled: room that is not used yet is never touched.
    refuse_not_finite(arrays)
    filled = {name: array if array.flags.writeable else array.copy() for name, array in wanted.items()}
    for name, array in filled.items():
        _fill_corner(name, array, arrays[name])
    state: State = _rebuilt("", template, filled)
    return state


def refuse_other_width(n_features: int, arrays: NamedArrays, of_one: NamedArrays, of_two: NamedArrays) -> None:
    """Raise unless the arrays are as long as those of a state of so many features, before room is made for one.

    What counts features is told from the states of one and of two features:
    an axis in which they differ. One in which both have nothing grows with the
    rows; any other is at least as long in every state.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.core.state_arrays import refuse_other_width
    >>> refuse_other_width(9, {"a": np.zeros((3, 2))}, {"a": np.zeros((1, 2))}, {"a": np.zeros((2, 2))})
    Traceback (most recent call last):
        ...
    opauc.errors.IncompatibleMomentsError: array a: expected shape (9, 2) for 9 features, got (3, 2)
    """
    refuse_other_names(of_one, arrays)
    for name, array in arrays.items():
        pairs = list(zip(of_one[name].shape, of_two[name].shape, strict=True))
        least = tuple(one if one == two else n_features for one, two in pairs)
        fits = array.ndim == len(pairs) and all(
            (size == n_features if one != two else size >= one)
            for size, (one, two) in zip(array.shape, pairs, strict=True)
        )
        if not fits:
            raise IncompatibleMomentsError(
                f"array {name}: expected shape {least} for {n_features} features, got {array.shape}"
            )


def refuse_other_names(wanted: Mapping[str, object], found: Mapping[str, object]) -> None:
    """Raise unless both have the same names."""
    if set(wanted) != set(found):
        raise IncompatibleMomentsError(f"expected arrays {', '.join(sorted(wanted))}, got {', '.join(sorted(found))}")


def refuse_not_finite(arrays: NamedArrays) -> None:
    """Raise unless all numbers are finite."""
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise IncompatibleMomentsError(f"array {name}: expected finite numbers")


def _leaves(name: str, part: object) -> Iterator[tuple[str, Array]]:
    """Yield every array and number of a state with its dotted name."""
    if isinstance(part, np.ndarray):
        yield name, part
    elif isinstance(part, bool | int | float):
        yield name, np.array([part], _number_type(part))
    elif part is not None:
        for key, value in _parts(name, part).items():
            yield from _leaves(f"{name}.{key}" if name else key, value)


def _rebuilt(name: str, part: Any, arrays: NamedArrays) -> Any:
    """Return a part like the given one, with its arrays and numbers taken from `arrays`."""
    if isinstance(part, np.ndarray):
        return arrays[name]
    if isinstance(part, bool | int | float):
        return type(part)(arrays[name][0])
    if part is None:
        return None
    inner = _parts(name, part).items()
    return type(part)(**{key: _rebuilt(f"{name}.{key}" if name else key, value, arrays) for key, value in inner})


def _parts(name: str, part: object) -> dict[str, object]:
    """Return what a named tuple or a dataclass is made of."""
    if is_dataclass(part):
        return {field.name: getattr(part, field.name) for field in fields(part)}
    if isinstance(part, tuple) and hasattr(part, "_asdict"):
        return dict(part._asdict())
    raise TypeError(f"cannot save {name or 'a state'}: {type(part).__name__} is no array, number or tuple of them")


def _number_type(number: bool | int | float) -> str:
    """Return the type that holds the number; keys of codes use all 64 bits."""
    if isinstance(number, bool):
        return "bool"
    return "float64" if isinstance(number, float) else "uint64" if number >= 0 else "int64"


def _fill_corner(name: str, target: Array, source: Array) -> None:
    """Write the source into the leading corner of the target."""
    fits = source.ndim == target.ndim and all(s <= t for s, t in zip(source.shape, target.shape, strict=True))
    if not fits or source.dtype != target.dtype:
        raise IncompatibleMomentsError(
            f"array {name}: expected {target.dtype} of shape {target.shape} at most, "
            f"got {source.dtype} of shape {source.shape}"
        )
    target[tuple(slice(size) for size in source.shape)] = source
