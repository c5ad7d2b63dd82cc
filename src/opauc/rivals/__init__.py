"""Methods that `opauc compare` sets beside its learners, one a file, where their libraries are installed.

A file here declares one `FittedMethod`, which takes features; nothing here imports it before it is asked for. In
`tables/` are those that take the columns of a table as they come.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from opauc.evaluation.method import FittedMethod


def rival_names() -> list[str]:
    """The names of all rivals that take features, installed or not: those of their files.

    >>> from opauc.rivals import rival_names
    >>> rival_names()
    ['logistic_regression']
    """
    return [module.name for module in iter_modules(__path__) if not module.ispkg]


@cache
def find_rival(name: str) -> FittedMethod | None:
    """Return the rival of that name, None where its library is not installed.

    >>> from opauc.rivals import find_rival
    >>> find_rival("logistic_regression").name
    'logistic_regression'
    """
    contents = contents_of(f"{__name__}.{name}")
    if contents is None:
        return None
    return next(thing for thing in contents.__dict__.values() if isinstance(thing, FittedMethod))


def contents_of(module: str) -> ModuleType | None:
    """Return a file of a rival, None where its library is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("opauc"):
            raise
        return None
