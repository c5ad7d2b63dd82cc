"""The state of any learner as named arrays, and back: for files, and for features that turn up late."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opauc.errors import IncompatibleMoments

Arrays = dict[str, NDArray[Any]]


def state_arrays(state: Any) -> Arrays:
    """Return the arrays a state is made of, by name; nothing is copied that need not be.

    Statistics say themselves what they are made of (`to_arrays`); any other
    state is nested named tuples or dataclasses of arrays and numbers. A part
    with a method `compact` is taken as that gives it.

    Examples
    --------
    >>> from opauc.learners.sgd import SGD
    >>> from opauc.learners.state_arrays import state_arrays
    >>> sorted(state_arrays(SGD().start(2)))[:3]
    ['counts', 'filled', 'lowers']
    """
    if hasattr(state, "to_arrays"):
        return dict(state.to_arrays())
    return dict(_leaves("", state))


def restored(learner: Any, n_features: int, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return the state of `learner` that gave these arrays, perhaps when it knew fewer features.

    Whatever the arrays do not cover is as in `learner.start(n_features)`: a
    feature not met yet was zero in every row. Arrays that do not fit are refused.
    """
    template = learner.start(n_features)
    if hasattr(template, "to_arrays"):
        wanted = template.to_arrays()
        _same_names(wanted, arrays)
        state = type(template).from_arrays({name: _widened(arrays[name], wanted[name]) for name in wanted})
        if state.n_features != n_features:
            raise IncompatibleMoments(f"expected statistics of {n_features} features, got {state.n_features}")
        return state
    wanted = dict(_leaves("", template, compact=False))
    _same_names(wanted, arrays)
    filled = {name: array if array.flags.writeable else array.copy() for name, array in wanted.items()}
    for name, array in filled.items():
        _fill_corner(name, array, arrays[name])
        if not np.isfinite(array).all():
            raise IncompatibleMoments(f"array {name}: expected finite numbers")
    state = _rebuilt("", template, filled)
    if hasattr(learner, "check_state"):
        learner.check_state(state)
    return state


def grown(learner: Any, state: Any, n_features: int) -> Any:
    """Return the state with room for more features, which were zero in every row so far.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.learners.exact import Exact
    >>> from opauc.learners.state_arrays import grown
    >>> learner = Exact()
    >>> state = learner.step(learner.start(1), np.array([[0.0], [2.0]]), np.array([0, 1], np.int8))
    >>> grown(learner, state, 2).positive.mean.tolist()
    [2.0, 0.0]
    """
    return restored(learner, n_features, state_arrays(state))


def _leaves(name: str, part: Any, compact: bool = True) -> list[tuple[str, NDArray[Any]]]:
    """Return every array and number of a state with its dotted name."""
    if compact and hasattr(part, "compact"):
        part = part.compact()
    if isinstance(part, np.ndarray):
        return [(name, part)]
    if isinstance(part, bool | int | float):
        return [(name, np.array([part], _number_type(part)))]
    found: list[tuple[str, NDArray[Any]]] = []
    for key in _names(name, part):
        value = getattr(part, key)
        if value is not None:
            found += _leaves(f"{name}.{key}" if name else key, value, compact)
    return found


def _rebuilt(name: str, part: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return a part like the given one, with its arrays and numbers taken from `arrays`."""
    if isinstance(part, np.ndarray):
        return arrays[name]
    if isinstance(part, bool | int | float):
        return type(part)(arrays[name][0])
    inner = {
        key: None if value is None else _rebuilt(f"{name}.{key}" if name else key, value, arrays)
        for key, value in ((key, getattr(part, key)) for key in _names(name, part))
    }
    return type(part)(**inner)


def _names(name: str, part: Any) -> tuple[str, ...]:
    if hasattr(part, "_fields"):
        return tuple(part._fields)
    if is_dataclass(part):
        return tuple(field.name for field in fields(part))
    raise TypeError(f"cannot save {name or 'a state'}: {type(part).__name__} is no array, number or tuple of them")


def _number_type(number: bool | int | float) -> str:
    """Return the type that holds the number; keys of codes use all 64 bits."""
    if isinstance(number, bool):
        return "bool"
    return "float64" if isinstance(number, float) else "uint64" if number >= 0 else "int64"


def _same_names(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    if set(wanted) != set(found):
        raise IncompatibleMoments(f"expected arrays {', '.join(sorted(wanted))}, got {', '.join(sorted(found))}")


def _fill_corner(name: str, target: NDArray[Any], source: NDArray[Any]) -> None:
    """Write the source into the leading corner of the target."""
    fits = source.ndim == target.ndim and all(s <= t for s, t in zip(source.shape, target.shape, strict=True))
    if not fits or source.dtype != target.dtype:
        raise IncompatibleMoments(
            f"array {name}: expected {target.dtype} of shape {target.shape} at most, "
            f"got {source.dtype} of shape {source.shape}"
        )
    target[tuple(slice(size) for size in source.shape)] = source


def _widened(source: NDArray[Any], template: NDArray[Any]) -> NDArray[Any]:
    """Return the source, padded as the template is where that is larger."""
    if source.ndim != template.ndim or source.dtype != template.dtype:
        raise IncompatibleMoments(
            f"expected {template.dtype} of shape {template.shape}, got {source.dtype} of shape {source.shape}"
        )
    if all(s >= t for s, t in zip(source.shape, template.shape, strict=True)):
        return source
    wide = np.zeros(np.maximum(source.shape, template.shape), source.dtype)
    wide[tuple(slice(size) for size in template.shape)] = template
    wide[tuple(slice(size) for size in source.shape)] = source
    return wide
