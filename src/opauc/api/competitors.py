"""Methods that `opauc compare` sets beside its learners, one a file, where their libraries are installed.

A file here declares one `FittedMethod`, which takes features; nothing here imports it before it is asked for. In
`tables/` are those that take the columns of a table as they come.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

from opauc.core.registry import FEATURE_METHODS, TABLE_METHODS, Registry
from opauc.metrics.exact_auc import Flags
from opauc.metrics.runner import FittedMethod, Method


def feature_method_names() -> list[str]:
    """The names of all rivals that take features, installed or not.

    >>> from opauc.api.competitors import feature_method_names
    >>> feature_method_names()
    ['logistic_regression']
    """
    return list(FEATURE_METHODS)


@cache
def find_feature_method(name: str) -> FittedMethod | None:
    """Return the rival of that name, None where its library is not installed.

    >>> from opauc.api.competitors import find_feature_method
    >>> find_feature_method("logistic_regression").name
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


class TableMethod(Protocol):
    """What makes a method for tables."""

    def __call__(self, categorical: Flags | None) -> Method:
        """Return the method for rows of which these columns hold numbers of categories, none where that is None."""


def table_method_names() -> list[str]:
    """The names of all rivals that take tables, installed or not.

    >>> from opauc.api.competitors import table_method_names
    >>> table_method_names()
    ['gam', 'lightgbm']
    """
    return list(TABLE_METHODS)


@cache
def find_table_method(name: str) -> TableMethod | None:
    """Return what makes the rival of that name, None where its library is not installed.

    >>> from opauc.api.competitors import find_table_method
    >>> find_table_method("gam")(None).name
    'gam'
    """
    found: TableMethod | None = imported(TABLE_METHODS, name)
    return found
