"""Methods that `opauc compare` sets beside its learners, one a file, where their libraries are installed.

A file here declares one `FittedMethod`, which takes features; nothing here imports it before it is asked for. In
`tables/` are those that take the columns of a table as they come.
"""

from functools import cache
from typing import Any

from opauc.core.registry import FEATURE_METHODS, Registry
from opauc.evaluation.method import FittedMethod


def rival_names() -> list[str]:
    """The names of all rivals that take features, installed or not.

    >>> from opauc.rivals import rival_names
    >>> rival_names()
    ['logistic_regression']
    """
    return list(FEATURE_METHODS)


@cache
def find_rival(name: str) -> FittedMethod | None:
    """Return the rival of that name, None where its library is not installed.

    >>> from opauc.rivals import find_rival
    >>> find_rival("logistic_regression").name
    'logistic_regression'
    """
    method: FittedMethod | None = imported(FEATURE_METHODS, name)
    return method


def imported(methods: Registry, name: str) -> Any:
    """Return what a method of another library is made by, None where that library is not installed."""
    try:
        return methods[name]
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("opauc"):
            raise
        return None
