"""Docstrings of the methods that estimators share: written once, for `OPAUC`, and read in the name of each."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType
from typing import TypeVar

Estimator = TypeVar("Estimator", bound=type)


def own_docstrings(module: str, parameters: str = "") -> Callable[[Estimator], Estimator]:
    """Return a class decorator: docstrings of inherited methods name the class where they named `OPAUC`.

    Parameters
    ----------
    module : str
        Where users import the class from.
    parameters : str, default=""
        Arguments for the examples, for classes that need some.

    Examples
    --------
    >>> from opauc.estimators.docstrings import own_docstrings
    >>> class Base:
    ...     def fit(self):
    ...         '''Fit `OPAUC()`.'''
    >>> @own_docstrings("somewhere", "alpha=1.0")
    ... class Ridge(Base):
    ...     pass
    >>> Ridge.fit.__doc__, Base.fit.__doc__
    ('Fit `Ridge(alpha=1.0)`.', 'Fit `OPAUC()`.')
    """

    def decorate(estimator: Estimator) -> Estimator:
        for name, method in inspect.getmembers(estimator, inspect.isfunction):
            original = inspect.unwrap(method)  # of a copy that a base class has
            text = _rename(original.__doc__ or "", estimator.__name__, module, parameters)
            if not name.startswith("_") and text != original.__doc__:
                setattr(estimator, name, _copy(original, text, estimator))
        return estimator

    return decorate


def _rename(text: str, name: str, module: str, parameters: str) -> str:
    text = text.replace("from opauc import OPAUC\n", f"from {module} import {name}\n")
    return re.sub(r"\bOPAUC\b", name, re.sub(r"\bOPAUC\(\)", f"{name}({parameters})", text))


def _copy(method: FunctionType, text: str, estimator: type) -> FunctionType:
    copy = FunctionType(method.__code__, method.__globals__, None, method.__defaults__, method.__closure__)
    copy.__kwdefaults__ = method.__kwdefaults__
    update_wrapper(copy, method)
    copy.__module__, copy.__qualname__ = estimator.__module__, f"{estimator.__qualname__}.{method.__name__}"
    copy.__doc__ = text
    return copy
