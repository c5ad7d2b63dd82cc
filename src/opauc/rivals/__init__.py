"""Methods of other libraries that `opauc compare` sets beside its learners, one a file, where these are installed.

A file declares one `FittedMethod`; nothing here imports it before it is asked for.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from opauc.evaluation.method import FittedMethod


def rival_names() -> list[str]:
    """The names of all rivals, installed or not: those of their files.

    >>> from opauc.rivals import rival_names
    >>> rival_names()
    ['logistic_regression']
    """
    return [module.name for module in iter_modules(__path__)]


@cache
def find_rival(name: str) -> FittedMethod | None:
    """Return the rival of that name, None where its library is not installed.

    >>> from opauc.rivals import find_rival
    >>> find_rival("logistic_regression").name
    'logistic_regression'
    """
    try:
        contents = import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("opauc"):
            raise
        return None
    return next(thing for thing in contents.__dict__.values() if isinstance(thing, FittedMethod))
