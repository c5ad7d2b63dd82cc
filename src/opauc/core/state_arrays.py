"""Conversion of a solver's state to named arrays and back, for files and for states that gain features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np

from opauc.errors import IncompatibleMomentsError
from opauc.types import Array, Arrays, NamedArrays

State = TypeVar("State")


def state_arrays(state: object) -> Arrays:
    """Return the arrays of a state by dotted name.

    A state is a nested named tuple or dataclass of arrays and numbers. Arrays are not copied.

    Examples
    --------
    >>> from opauc.linear.sgd import SGD
    >>> from opauc.core.state_arrays import state_arrays
    >>> sorted(state_arrays(SGD().start(2)))[:3]
    ['counts', 'filled', 'lowers']
    """
    return dict(_leaves("", state))


def restore_state(template: State, arrays: NamedArrays) -> State:
    """Return the state that these arrays were taken from, with as many features as `template`.

    `template` is a state before any row. It may have more features than the
    arrays: a new feature was zero in every row so far, so its entries stay as
    they are in `template`. The arrays of `template` are overwritten. Raises
    where names, shapes or types do not match.
    """
    targets = state_arrays(template)
    check_array_names(targets, arrays)
    # Checks the arrays given, not the targets: memory of the targets that is unused must stay uncommitted.
    check_finite(arrays)
    targets = {name: array if array.flags.writeable else array.copy() for name, array in targets.items()}
    for name, array in targets.items():
        _fill_corner(name, array, arrays[name])
    state: State = _rebuild("", template, targets)
    return state


def check_array_shapes(n_features: int, arrays: NamedArrays, of_one: NamedArrays, of_two: NamedArrays) -> None:
    """Raise unless the arrays have the shapes of a state of `n_features` features, before one is allocated.

    `of_one` and `of_two` are the arrays of states of one and of two features.
    An axis in which they differ counts features; on any other axis the length
    must be at least that in `of_one`.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.core.state_arrays import check_array_shapes
    >>> check_array_shapes(9, {"a": np.zeros((3, 2))}, {"a": np.zeros((1, 2))}, {"a": np.zeros((2, 2))})
    Traceback (most recent call last):
        ...
    opauc.errors.IncompatibleMomentsError: array a: expected shape (9, 2) for 9 features, got (3, 2)
    """
    check_array_names(of_one, arrays)
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


def check_array_names(expected: Mapping[str, object], arrays: Mapping[str, object]) -> None:
    """Raise unless both have the same names."""
    if set(expected) != set(arrays):
        raise IncompatibleMomentsError(
            f"expected arrays {', '.join(sorted(expected))}, got {', '.join(sorted(arrays))}"
        )


def check_finite(arrays: NamedArrays) -> None:
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


def _rebuild(name: str, part: Any, arrays: NamedArrays) -> Any:
    """Return a copy of a part of a state with its arrays and numbers taken from `arrays`."""
    if isinstance(part, np.ndarray):
        return arrays[name]
    if isinstance(part, bool | int | float):
        return type(part)(arrays[name][0])
    if part is None:
        return None
    inner = _parts(name, part).items()
    return type(part)(**{key: _rebuild(f"{name}.{key}" if name else key, value, arrays) for key, value in inner})


def _parts(name: str, part: object) -> dict[str, object]:
    """Return the fields of a named tuple or dataclass."""
    if is_dataclass(part):
        return {field.name: getattr(part, field.name) for field in fields(part)}
    if isinstance(part, tuple) and hasattr(part, "_asdict"):
        return dict(part._asdict())
    raise TypeError(f"cannot save {name or 'a state'}: {type(part).__name__} is no array, number or tuple of them")


def _number_type(number: bool | int | float) -> str:
    """Return the dtype of a number in a file; keys of random streams use all 64 bits."""
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
