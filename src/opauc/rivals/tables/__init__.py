"""Methods that take the columns of a table as they come, one a file, where their libraries are installed.

A file declares `RIVAL`, which makes a `Method` once it is known which columns hold numbers of categories.
"""

from functools import cache
from pkgutil import iter_modules
from typing import Protocol

from opauc.evaluation.exact_auc import Flags
from opauc.evaluation.method import Method
from opauc.rivals import contents_of


class TableRival(Protocol):
    """What makes a method for tables."""

    def __call__(self, categorical: Flags | None) -> Method:
        """Return the method for rows of which these columns hold numbers of categories, none where that is None."""


def table_rival_names() -> list[str]:
    """The names of all rivals that take tables, installed or not: those of their files.

    >>> from opauc.rivals.tables import table_rival_names
    >>> table_rival_names()
    ['gam', 'lightgbm']
    """
    return [module.name for module in iter_modules(__path__)]


@cache
def find_table_rival(name: str) -> TableRival | None:
    """Return what makes the rival of that name, None where its library is not installed.

    >>> from opauc.rivals.tables import find_table_rival
    >>> find_table_rival("gam")(None).name
    'gam'
    """
    contents = contents_of(f"{__name__}.{name}")
    if contents is None:
        return None
    found: TableRival = contents.RIVAL
    return found
