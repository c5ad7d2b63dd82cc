"""Rows given as dicts, as numbers: what the columns of a table become, value by value, in microseconds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from opauc.core.batch import MAX_COUNT
from opauc.data.schema.dates import CLOCK, DAY, ISO, OR, TIMED_PARTS, ZONE
from opauc.data.schema.numbers import MISSING_CATEGORIES, MISSING_MARKERS, PLAIN, POINT, is_missing, parse_number
from opauc.errors import InputError, nearest_first
from opauc.types import Floats

if TYPE_CHECKING:
    from opauc.data.schema.column import ColumnSchema

# The numbers that a value becomes; None if it is neither readable nor missing.
Numbers: TypeAlias = "tuple[float, ...] | None"
ReadValue: TypeAlias = Callable[[object], Numbers]

MISSING, EPOCH = (np.nan,), datetime(1970, 1, 1)
MICROSECONDS_PER_DAY = 86_400_000_000
ISO_DATE = re.compile(rf"({DAY}(?:{CLOCK})?)(?:{ZONE})?", re.ASCII)
# Digits of a second beyond microseconds.
FINER = re.compile(r"(\.\d{6})\d+", re.ASCII)
MISSING_STRINGS = frozenset(MISSING_MARKERS)
# Names of a table in a message.
MAX_NAMES = 8


class ColumnReader(NamedTuple):
    """The name of a column, what turns its values into numbers, those of a missing value, and whether it is numeric."""

    name: str
    read: ReadValue
    missing: tuple[float, ...]
    is_number: bool

    @classmethod
    def of(cls, column: ColumnSchema) -> ColumnReader:
        """Return the reader of a column."""
        from opauc.data.schema.column import NUMBER

        return cls(column.name, value_reader(column), MISSING * len(column.inputs), column.kind == NUMBER)


class ReadRow(NamedTuple):
    """A row as numbers, of shape (1, n_inputs), and the columns whose value is neither readable nor missing."""

    numbers: Floats
    unreadable: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class RecordReader:
    """How a dict of column names and values becomes a row of numbers: as a table of this one row would.

    Immutable, and shared by any number of threads. A column that the dict lacks is missing, one that the model does not
    have is ignored.

    Examples
    --------
    >>> from opauc.data.schema.column import CATEGORY, NUMBER, ColumnSchema
    >>> from opauc.data.schema.record import RecordReader
    >>> columns = ColumnSchema("size", NUMBER), ColumnSchema("color", CATEGORY, categories={"red": 0, "blue": 1})
    >>> reader = RecordReader.of(columns)
    >>> reader.read({"size": "$12", "color": "blue", "shop": 7}).numbers
    array([[12.,  1.]])
    >>> reader.read({"size": "many"})
    ReadRow(numbers=array([[nan, nan]]), unreadable=('size',))
    """

    columns: tuple[ColumnSchema, ...]
    _readers: tuple[ColumnReader, ...]
    _inputs: tuple[str, ...]  # names of the numbers

    @classmethod
    def of(cls, columns: tuple[ColumnSchema, ...]) -> RecordReader:
        """Return the reader of rows with these columns."""
        readers = tuple(ColumnReader.of(column) for column in columns)
        return cls(columns, readers, tuple(name for column in columns for name in column.inputs))

    def __reduce__(self) -> tuple[object, ...]:
        return RecordReader.of, (self.columns,)  # functions are not pickled

    def read(self, record: Mapping[str, object]) -> ReadRow:
        """Return a row as numbers; raise InputError where a value cannot belong to its column."""
        numbers: list[float] = []
        unreadable: list[str] = []
        absent, get = 0, record.get
        for name, read, missing, is_number in self._readers:
            value = get(name)
            if type(value) is float and is_number:  # most values: not worth a call
                numbers.append(value)
                continue
            if value is None:
                numbers += missing
                absent += name not in record
                continue
            read_numbers = read(value)
            if read_numbers is None:
                unreadable.append(name)
            numbers += missing if read_numbers is None else read_numbers
        if absent and not all(isinstance(name, str) for name in record):
            return self.read({str(name): value for name, value in record.items()})
        if absent == len(self.columns) and absent:
            raise self._no_column(record)
        row = np.array([numbers])
        infinite = np.isinf(row[0])
        if infinite.any():
            raise InputError(f"column {self._inputs[int(np.argmax(infinite))]} holds an infinite value")
        return ReadRow(row, tuple(unreadable))

    def has_all(self, record: Mapping[str, object]) -> bool:
        """Tell whether a row has every column."""
        return all(column.name in record for column in self.columns)

    def _no_column(self, record: Mapping[str, object]) -> InputError:
        names = [column.name for column in self.columns]
        near = nearest_first(next(iter(record), ""), names)[:MAX_NAMES]
        return InputError(f"the row has no column of the model; expected {', '.join(near)}")


def value_reader(column: ColumnSchema) -> ReadValue:
    """Return what turns a value of a column into its numbers, as `ColumnSchema.encode` does.

    Values of types that are not met in JSON, and dates that are not in ISO 8601, go through `encode`.
    """
    from opauc.data.schema.column import CATEGORY, NUMBER

    if column.kind == NUMBER:
        return _number_reader(column)
    return _category_reader(column) if column.kind == CATEGORY else _date_reader(column)


def _number_reader(column: ColumnSchema) -> ReadValue:
    number_format, markers = column.text_format or POINT, frozenset(column.missing_markers)
    plain = PLAIN.fullmatch if number_format == POINT else re.compile("(?!)").fullmatch

    def read(value: object) -> Numbers:
        if isinstance(value, float):
            return (float(value),)
        if isinstance(value, str):
            if plain(value):
                return (float(value),)
            number = parse_number(value, number_format)
            if number == number or is_missing(value) or value in markers:
                return (number,)
            return None
        if isinstance(value, int) and abs(value) <= MAX_COUNT:
            return (float(value),)
        return encode_value(column, value)

    return read


def _category_reader(column: ColumnSchema) -> ReadValue:
    from opauc.data.schema.column import UNSEEN

    known = {category: (float(number),) for category, number in column.categories.items()}
    codes = {**known, **dict.fromkeys(MISSING_CATEGORIES, MISSING)}
    unseen = (UNSEEN,)

    def read(value: object) -> Numbers:
        if isinstance(value, str):
            numbers = codes.get(value)
            if numbers is not None:
                return numbers
            from opauc.data.arrow_columns import whole_number  # pyarrow

            return codes.get(whole_number(value), unseen)
        if isinstance(value, bool):
            return codes.get("true" if value else "false", unseen)
        if isinstance(value, float) and value != value:
            return MISSING
        is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer() and value != 0.0)
        if is_whole and isinstance(value, int | float) and abs(value) <= MAX_COUNT:
            return codes.get(str(int(value)), unseen)
        return encode_value(column, value)

    return read


def _date_reader(column: ColumnSchema) -> ReadValue:
    timed, missing = len(column.parts) == len(TIMED_PARTS), MISSING * len(column.parts)
    reads_iso = ISO in (column.text_format or ISO).split(OR)

    def numbers(time: datetime) -> Numbers:
        difference = time - EPOCH
        days = float((difference.days * 86_400 + difference.seconds) * 1_000_000 + difference.microseconds)
        days /= MICROSECONDS_PER_DAY
        whole = days // 1.0
        parts = days, float(time.month), (whole + 3.0) % 7.0
        return (*parts, (days - whole) * 24.0) if timed else parts

    def read(value: object) -> Numbers:
        if isinstance(value, str):
            text = value.strip()
            if reads_iso and (match := ISO_DATE.fullmatch(text)):
                try:
                    return numbers(datetime.fromisoformat(FINER.sub(r"\1", match[1])))
                except ValueError:  # a thirtieth of February, or a year that Python has not
                    pass
            if text in MISSING_STRINGS:
                return missing
        elif type(value) is datetime and value.tzinfo is None:
            return numbers(value)
        elif type(value) is date:
            day = float(value.toordinal() - EPOCH.toordinal())
            parts = day, float(value.month), (day + 3.0) % 7.0
            return (*parts, 0.0) if timed else parts
        elif isinstance(value, float) and value != value:
            return missing
        return encode_value(column, value)

    return read


def encode_value(column: ColumnSchema, value: object) -> Numbers:
    """Return the numbers of any value, by way of a table of one cell; raise InputError where it cannot be in one.

    Examples
    --------
    >>> from decimal import Decimal
    >>> from opauc.data.schema.column import NUMBER, ColumnSchema
    >>> from opauc.data.schema.record import encode_value
    >>> encode_value(ColumnSchema("age", NUMBER), Decimal("30.5"))
    (30.5,)
    """
    import pyarrow as pa

    from opauc.data.frames import UNREADABLE

    if isinstance(value, list | tuple | set | dict | bytes | np.ndarray):
        raise InputError(f"column {column.name}: cannot read a {type(value).__name__}")
    try:
        rows, unreadable = column.encode(pa.array([value], from_pandas=True), "row")
    except (*UNREADABLE, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"column {column.name}: cannot read a {type(value).__name__}") from error
    return None if unreadable else tuple(rows[0].tolist())
