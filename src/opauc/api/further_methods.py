"""Methods of other packages for `opauc compare`, found by their entry points."""

from __future__ import annotations

from collections.abc import Callable, Container
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from opauc.errors import InputError
from opauc.metrics import Method

# An entry point of the one group is a function that returns a method for rows of features, of the other a function of
# the columns that are categorical (an array of booleans, or None) that returns a method for columns of tables.
FEATURE_GROUP, TABLE_GROUP = "opauc.feature_methods", "opauc.table_methods"


def further_methods(group: str, taken: Container[str] = ()) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, without names that are taken; none of them is loaded.

    Examples
    --------
    >>> from opauc.api.further_methods import further_methods
    >>> further_methods("a.group.that.nobody.uses")
    {}
    """
    return {point.name: point for point in entry_points(group=group) if point.name not in taken}


def load_method(group: str, name: str) -> Callable[..., Method]:
    """Return what makes the method of an entry point; raise InputError where that fails, whatever the reason."""
    point = further_methods(group)[name]
    package = point.value.partition(".")[0].partition(":")[0]

    def make(*arguments: Any) -> Method:
        try:
            method: Method = point.load()(*arguments)
            is_named_so = method.name == name
        except Exception as error:  # what another package does wrong must not end a comparison
            raise InputError(f"method {name} of {package}: {type(error).__name__}: {error}") from error
        if not is_named_so:
            raise InputError(f"method {name} of {package}: calls itself {method.name!r}")
        return method

    return make
