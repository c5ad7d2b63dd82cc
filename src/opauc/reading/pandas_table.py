"""A data frame of pandas, told by what it can do: pandas need not be installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable


class PandasColumn(Protocol):
    """A series of pandas."""

    @property
    def dtype(self) -> Any:
        """The type of its values."""

    @property
    def cat(self) -> Any:
        """Its categories, where it has some."""

    def astype(self, dtype: type) -> PandasColumn:
        """Return the values as another type."""

    def map(self, change: Callable[[object], str], na_action: str) -> PandasColumn:
        """Return something else for each value, what is missing as it is."""


class SlicedRows(Protocol):
    """Rows by their positions."""

    def __getitem__(self, rows: slice) -> PandasTable:
        """Return the rows of a slice."""


@runtime_checkable
class PandasTable(Protocol):
    """A table of pandas: rows by position, and columns with names, which a series has not.

    Examples
    --------
    >>> import pandas as pd
    >>> from opauc.reading.pandas_table import PandasTable
    >>> frame = pd.DataFrame({"age": [1, 2]})
    >>> isinstance(frame, PandasTable), isinstance(frame["age"], PandasTable)
    (True, False)
    """

    @property
    def columns(self) -> Iterable[object]:
        """Names of the columns, of any kind."""

    @property
    def iloc(self) -> SlicedRows:
        """Rows by position."""

    def set_axis(self, labels: Sequence[str], *, axis: int) -> PandasTable:
        """Return the table with other names of its columns (axis 1)."""

    def __getitem__(self, name: str) -> PandasColumn:
        """Return a column."""

    def assign(self, **columns: PandasColumn) -> PandasTable:
        """Return the table with other values in some columns."""

    def __len__(self) -> int:
        """Return the number of rows."""


def with_text_names(table: object) -> object:
    """Return a table of pandas whose columns are called by numbers with these as words; anything else as it is."""
    if not isinstance(table, PandasTable) or all(isinstance(name, str) for name in table.columns):
        return table
    return table.set_axis([str(name) for name in table.columns], axis=1)
