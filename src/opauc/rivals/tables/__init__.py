"""Methods that take the columns of a table as they come, one a file, where their libraries are installed.

A file declares `RIVAL`, which makes a `Method` once it is known which columns hold numbers of categories.
"""

from functools import cache
from typing import Protocol

from opauc.core.registry import TABLE_METHODS
from opauc.evaluation.exact_auc import Flags
from opauc.evaluation.method import Method
from opauc.rivals import imported


class TableRival(Protocol):
    """What makes a method for tables."""

    def __call__(self, categorical: Flags | None) -> Method:
        """Return the method for rows of which these columns hold numbers of categories, none where that is None."""


def table_rival_names() -> list[str]:
    """The names of all rivals that take tables, installed or not.

    >>> from opauc.rivals.tables import table_rival_names
    >>> table_rival_names()
    ['gam', 'lightgbm']
    """
    return list(TABLE_METHODS)


@cache
def find_table_rival(name: str) -> TableRival | None:
    """Return what makes the rival of that name, None where its library is not installed.

    >>> from opauc.rivals.tables import find_table_rival
    >>> find_table_rival("gam")(None).name
    'gam'
    """
    found: TableRival | None = imported(TABLE_METHODS, name)
    return found
