"""Tables of other libraries, recognized by their methods: none of the libraries need be installed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from scipy import sparse

from opauc.core.parameters import Option, check_param
from opauc.data.sources import IN_MEMORY
from opauc.errors import InputError, MissingEngineError
from opauc.types import Array

# The method that reads a LazyFrame of polars, a frame of Dask, a dataset or scanner of pyarrow into memory.
READ_METHODS = {"polars": "collect", "dask": "compute", "pyarrow": "to_table"}
# The libraries of the data frames that users can ask for.
PANDAS, POLARS = FRAME_LIBRARIES = ("pandas", "polars")
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


def to_table(data: Any) -> Any:
    """Return whatever has columns as a table that can be read again; arrays and data frames stay as they are.

    Dicts of columns, datasets and readers of pyarrow, relations of DuckDB, tables
    of Ibis and all else with the Arrow C stream interface become tables of
    pyarrow; a LazyFrame of polars is collected, a frame of Dask computed.

    Examples
    --------
    >>> from opauc.data.frames import to_table
    >>> to_table({"age": [30, 40], "city": ["Bern", "Chur"]}).column_names
    ['age', 'city']
    >>> to_table([[30.0], [40.0]])
    [[30.0], [40.0]]
    """
    if sparse.issparse(data):  # some of which are dicts
        return data
    if isinstance(data, Mapping):
        return table_of_columns(data)
    library = type(data).__module__.partition(".")[0]
    if (read := getattr(data, READ_METHODS.get(library, ""), None)) is not None:
        return read()
    if library != "polars" and hasattr(data, "__arrow_c_stream__") and not isinstance(data, PandasTable | pa.Table):
        with suppress(pa.ArrowException):  # a series has the interface too
            return pa.RecordBatchReader.from_stream(data).read_all()
    return data


def frame_library(data: object) -> str:
    """Return the library of a data frame that goes with data: polars for its frames, pandas for all else.

    Examples
    --------
    >>> import polars as pl
    >>> from opauc.data.frames import frame_library
    >>> frame_library(pl.DataFrame({"age": [30]})), frame_library([[30.0]])
    ('polars', 'pandas')
    """
    return POLARS if type(data).__module__.partition(".")[0] == POLARS else PANDAS


def new_frame(columns: Mapping[str, Array], library: str, index: object = None) -> Any:
    """Return columns as a data frame of pandas, with an index, or of polars, in which nan becomes null.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.data.frames import new_frame
    >>> new_frame({"age": np.array([30.0, 40.0])}, "pandas", index=[7, 8])["age"].to_dict()
    {7: 30.0, 8: 40.0}
    """
    check_param("to_frame", "as_frame", library, Option(FRAME_LIBRARIES))
    try:
        module = import_module(library)
    except ImportError as error:
        raise MissingEngineError(f"{library} is not installed; to_frame(as_frame={library!r}) needs it") from error
    if library == PANDAS:
        return module.DataFrame(dict(columns), index=index)
    return module.DataFrame({name: _of_polars(values) for name, values in columns.items()}).fill_nan(None)


def _of_polars(values: Array) -> Any:
    return values.tolist() if values.dtype == object else values


def is_table(data: object) -> bool:
    """Tell whether data has columns by name: a data frame of pandas, polars or pyarrow, or rows given as dicts."""
    if isinstance(data, np.ndarray):
        return False
    from opauc.data.formats.memory import table_names  # which imports this module

    return table_names(data) is not None


def table_of_columns(columns: Mapping[Any, Any]) -> pa.Table:
    """Return columns given as sequences as a table."""
    arrays = {}
    for name, values in columns.items():
        try:
            arrays[str(name)] = pa.array(values, from_pandas=True)
        except (*UNREADABLE, TypeError) as error:
            raise InputError(f"{IN_MEMORY}: column {name} holds neither all numbers nor all strings") from error
    sizes = {name: len(array) for name, array in arrays.items()}
    if len(set(sizes.values())) > 1:
        raise InputError(f"{IN_MEMORY}: columns have different numbers of rows: {sizes}")
    return pa.table(arrays)


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


def of_one_kind(values: list[Any]) -> list[Any]:
    """Return plain values as a column of a table has them: as they are, as numbers, or as strings where kinds differ.

    Examples
    --------
    >>> from opauc.data.frames import of_one_kind
    >>> of_one_kind([1, 2.5, None]), of_one_kind([1, True]), of_one_kind([1, "a", True, None])
    ([1, 2.5, None], [1.0, 1.0], ['1', 'a', 'true', None])
    """
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1 or kinds <= {int, float}:
        return values
    if kinds <= {int, float, bool}:
        return [None if value is None else float(value) for value in values]
    texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]  # as Arrow has them
    return [None if value is None else text for value, text in zip(values, texts, strict=True)]
