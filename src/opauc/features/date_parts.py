"""Dates and times as numbers: the day, the month, the weekday, and the hour where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opauc.rows import Floats

if TYPE_CHECKING:
    from pyarrow import Array as Column
    from pyarrow import DataType

PARTS = ("day", "month", "weekday")
TIMED_PARTS = (*PARTS, "hour")
SECONDS_A_DAY = 86_400.0


def parts_of_type(kind: DataType) -> tuple[str, ...] | None:
    """Return the names of the parts that a column of dates or times becomes, None for other types.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.features.date_parts import parts_of_type
    >>> parts_of_type(pa.date32()), parts_of_type(pa.int64())
    (('day', 'month', 'weekday'), None)
    """
    from pyarrow import types

    if types.is_timestamp(kind):
        return TIMED_PARTS
    return PARTS if types.is_date(kind) else None


def date_numbers(column: Column, parts: tuple[str, ...]) -> Floats:
    """Return one row of numbers a value: days since 1970 with their fraction, month 1-12, weekday 0-6, hour 0-24.

    Examples
    --------
    >>> import datetime
    >>> import pyarrow as pa
    >>> from opauc.features.date_parts import PARTS, date_numbers
    >>> date_numbers(pa.array([datetime.date(1970, 2, 1), None]), PARTS)
    array([[31.,  2.,  6.],
           [nan, nan, nan]])
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    from opauc.reading.column_values import numbers_in

    if types.is_timestamp(column.type) and column.type.tz is not None:
        column = pc.local_timestamp(column)
    seconds = numbers_in(pc.cast(pc.cast(pc.cast(column, pa.timestamp("us")), pa.int64()), pa.float64(), safe=False))
    days = seconds / 1e6 / SECONDS_A_DAY
    whole = np.floor(days)
    months = pc.month(column) if len(column) else pa.array([], pa.int64())
    found = {
        "day": days,
        "month": numbers_in(pc.cast(months, pa.float64())),
        "weekday": (whole + 3.0) % 7.0,  # the first of January 1970 was a Thursday
        "hour": (days - whole) * 24.0,
    }
    return np.column_stack([found[part] for part in parts])
