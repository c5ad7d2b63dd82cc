"""A data frame of pandas, recognized by its methods: pandas need not be installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa

# What Arrow raises for Python objects: of several kinds, integers beyond 64 bits, strings that are not Unicode.
UNREADABLE = (pa.ArrowException, OverflowError, UnicodeEncodeError)


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
    >>> from opauc.data.frames import PandasTable
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


def with_plain_values(table: PandasTable) -> tuple[PandasTable, pa.Schema]:
    """Return a table with the columns as text that Arrow has no plain type for, and the types of all.

    Such are numbers mixed with strings, as `read_csv` gives them, integers beyond
    64 bits, intervals as of `cut`, periods and unique identifiers.

    Examples
    --------
    >>> import pandas as pd
    >>> from opauc.data.frames import with_plain_values
    >>> table, schema = with_plain_values(pd.DataFrame({"floor": [1, "ground", 2.0]}))
    >>> table["floor"].tolist()
    ['1', 'ground', '2']
    """
    try:
        schema = pa.Schema.from_pandas(table, preserve_index=False)
        strange = [field.name for field in schema if _is_strange(field.type)]
    except UNREADABLE:
        strange = [name for name in table.columns if isinstance(name, str) and _is_mixed(table[name])]
        if not strange:
            raise
    if not strange:
        return table, schema
    table = table.assign(**{name: _as_text(table[name]) for name in strange})
    return table, pa.Schema.from_pandas(table, preserve_index=False)


def _is_strange(kind: pa.DataType) -> bool:
    return isinstance(kind.value_type if pa.types.is_dictionary(kind) else kind, pa.BaseExtensionType)


def _is_mixed(column: PandasColumn) -> bool:
    """Tell whether objects are of several kinds, or of a strange one."""
    if column.dtype.kind != "O":
        return False
    try:
        return _is_strange(pa.array(column, from_pandas=True).type)
    except UNREADABLE:
        return True


def _as_text(column: PandasColumn) -> PandasColumn:
    if hasattr(column.dtype, "categories"):
        return column.cat.rename_categories([_text(value) for value in column.dtype.categories])  # type: ignore[no-any-return]
    return column.astype(object).map(_text, na_action="ignore")


def _text(value: object) -> str:
    """Return a value as a string, a whole number as Arrow writes it, and lone surrogates escaped."""
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    return text.encode(errors="backslashreplace").decode()
