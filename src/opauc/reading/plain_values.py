"""Data frames of pandas with text where Arrow knows no plain type."""

from __future__ import annotations

import pyarrow as pa

from opauc.reading.pandas_table import PandasColumn, PandasTable


def with_plain_values(table: PandasTable) -> tuple[PandasTable, pa.Schema]:
    """Return a table with the columns as text that Arrow has no plain type for, and the types of all.

    Such are numbers mixed with words, as `read_csv` gives them, intervals as of
    `cut`, periods and unique identifiers.

    Examples
    --------
    >>> import pandas as pd
    >>> from opauc.reading.plain_values import with_plain_values
    >>> table, schema = with_plain_values(pd.DataFrame({"floor": [1, "ground", 2.0]}))
    >>> table["floor"].tolist()
    ['1', 'ground', '2']
    """
    try:
        schema = pa.Schema.from_pandas(table, preserve_index=False)
        strange = [field.name for field in schema if _is_strange(field.type)]
    except pa.ArrowException:
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
    except pa.ArrowException:
        return True


def _as_text(column: PandasColumn) -> PandasColumn:
    if hasattr(column.dtype, "categories"):
        return column.cat.rename_categories([_text(value) for value in column.dtype.categories])  # type: ignore[no-any-return]
    return column.astype(object).map(_text, na_action="ignore")


def _text(value: object) -> str:
    """Return a value as a word, a whole number as Arrow writes it."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
