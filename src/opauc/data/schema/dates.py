"""Dates in text columns, and the numbers that dates become."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.data.schema.numbers import is_missing, trim_strings
from opauc.data.schema.policy import DEFAULT_POLICY, SchemaPolicy
from opauc.errors import InputError
from opauc.types import Floats

if TYPE_CHECKING:
    from pyarrow import Array as Column
    from pyarrow import DataType

# Date layouts; ISO comes first, and of two layouts that read as many values the earlier one is taken.
ISO = "iso"
LAYOUTS = (
    ISO, "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d", "%d-%m-%Y", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M",
    "%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%d-%b-%Y", "%d %b %Y", "%d %B %Y",
    "%B %d, %Y", "%b %d, %Y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%d-%b-%y", "%m/%d/%y %H:%M", "%d/%m/%y %H:%M",
    "%m/%d/%Y %I:%M %p", "%m/%d/%Y %I:%M:%S %p", "%A, %B %d, %Y", "%Y-%m-%dT%H:%M:%SZ",
)  # fmt: skip
# A day, an optional time and an optional time zone, which is ignored: hours are local.
DAY, CLOCK, ZONE = r"\d{4}-\d{2}-\d{2}", r"[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?", r" ?(?:Z|[+-]\d{2}(?::?\d{2})?)"
ISO_TIME = rf"^(?P<time>{DAY}(?:{CLOCK})?)(?:{ZONE})?$"
FIRST_YEAR = 1000
# Joins the layouts of a column that mixes several.
OR = " or "


class TextDates(NamedTuple):
    """The timestamp in each string, null where there is none, and how many strings are neither dates nor missing."""

    times: Column
    unreadable: int


def are_layouts(text_format: str) -> bool:
    """Tell whether a string names a date layout, or several."""
    return all(layout in LAYOUTS for layout in text_format.split(OR))


def parse_dates(column: Column, text_format: str) -> TextDates:
    """Return the timestamps in a text column written in a layout, or in one of several.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.schema.dates import parse_dates
    >>> parsed = parse_dates(pa.array(["31.12.2024", "NULL", "soon"]), "%d.%m.%Y")
    >>> str(parsed.times[0]), parsed.times.null_count, parsed.unreadable
    ('2024-12-31 00:00:00', 2, 1)
    >>> parse_dates(pa.array(["31.12.2024", "2024-12-31T10:00:00.000Z"]), "iso or %d.%m.%Y").unreadable
    0
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    present = trim_strings(pc.cast(column, pa.string()))
    times = pc.coalesce(*(_times(present, layout) for layout in text_format.split(OR)))
    return TextDates(times, times.null_count - present.null_count)


def infer_date_layout(column: Column, policy: SchemaPolicy = DEFAULT_POLICY) -> str | None:
    """Return the layout, or several, in which nearly all values of a text column are dates, None where there is none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.schema.dates import infer_date_layout
    >>> infer_date_layout(pa.array(["12/31/24", "1/5/23"])), infer_date_layout(pa.array(["31.12.2024", "2023-01-05"]))
    ('%m/%d/%y', 'iso or %d.%m.%Y')
    """
    import pyarrow as pa

    from opauc.data.arrow_columns import encode_strings

    strings, codes = encode_strings(column)
    counts = np.bincount(codes[codes >= 0], minlength=len(strings))
    present = [at for at, string in enumerate(strings) if counts[at] and not is_missing(string)]
    screen = policy.layout_screen_size
    if not any(digit in strings[at] for at in present[:screen] for digit in "0123456789"):
        return None
    values, counts = pa.array([strings[at] for at in present], pa.string()), counts[present]
    read = {}
    for layout in LAYOUTS:
        if _are_dates(values[:screen], layout).any():
            read[layout] = _are_dates(values, layout)
            if read[layout].all():
                return layout
    shares = {layout: counts[dates].sum() / counts.sum() for layout, dates in read.items()}
    single = next((layout for layout, share in shares.items() if share >= policy.min_date_share), None)
    return _join_layouts(read, counts, policy) if single is None else single


def _join_layouts(read: dict[str, NDArray[np.bool_]], counts: NDArray[np.int64], policy: SchemaPolicy) -> str | None:
    """Return layouts no two of which read the same value, if together they read nearly all."""
    done, chosen = np.zeros(counts.size, np.bool_), list[str]()
    while len(chosen) < policy.max_date_layouts:
        others = {layout: counts[dates].sum() for layout, dates in read.items() if not (dates & done).any()}
        best = max(others, key=lambda layout: others[layout], default=None)
        if best is None or others[best] < policy.min_layout_share * counts.sum():
            break
        chosen.append(best)
        done |= read[best]
    if counts[done].sum() < policy.min_date_share * counts.sum():
        return None
    return OR.join(sorted(chosen, key=LAYOUTS.index))


def _are_dates(strings: Column, layout: str) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    return np.asarray(pc.is_valid(parse_dates(strings, layout).times))


def _times(strings: Column, layout: str) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    from opauc.data.arrow_columns import numbers_in

    if layout == ISO:
        return _iso_times(strings)
    times = pc.cast(pc.strptime(strings, format=layout, unit="s", error_is_null=True), pa.timestamp("us"))
    # %Y reads two digits as the first century.
    if "%Y" not in layout or (numbers_in(pc.year(times), FIRST_YEAR) >= FIRST_YEAR).all():
        return times
    return pc.if_else(pc.less(pc.year(times), FIRST_YEAR), None, times)


def _iso_times(strings: Column) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    micro = pc.replace_substring_regex(strings, r"(\.\d{6})\d+", r"\1")
    plain = pc.struct_field(pc.extract_regex(micro, ISO_TIME), "time")
    try:
        return pc.cast(plain, pa.timestamp("us"))
    except pa.ArrowInvalid:  # a thirtieth of February
        return pa.array([_iso_time(text) for text in plain.to_pylist()], pa.timestamp("us"))


def _iso_time(text: str | None) -> object:
    from datetime import datetime

    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None


PARTS = ("day", "month", "weekday")
TIMED_PARTS = (*PARTS, "hour")
# Of dates, and of timestamps by their units.
UNITS_PER_DAY = {
    "date32[day]": 1.0, "date64[ms]": 86_400e3, "s": 86_400.0, "ms": 86_400e3, "us": 86_400e6, "ns": 86_400e9
}  # fmt: skip


def parts_of_type(kind: DataType) -> tuple[str, ...] | None:
    """Return the names of the parts that a column of dates or times becomes, None for other types.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.schema.dates import parts_of_type
    >>> parts_of_type(pa.date32()), parts_of_type(pa.int64())
    (('day', 'month', 'weekday'), None)
    """
    from pyarrow import types

    if types.is_timestamp(kind):
        return TIMED_PARTS
    return PARTS if types.is_date(kind) else None


def date_numbers(column: Column, parts: tuple[str, ...], where: str = "") -> Floats:
    """Return one row of numbers per value: days since 1970 with their fraction, month 1-12, weekday 0-6, hour 0-24.

    `where` begins the message about an unknown time zone.

    Examples
    --------
    >>> import datetime
    >>> import pyarrow as pa
    >>> from opauc.data.schema.dates import PARTS, date_numbers
    >>> date_numbers(pa.array([datetime.date(1970, 2, 1), None]), PARTS)
    array([[31.,  2.,  6.],
           [nan, nan, nan]])
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    from opauc.data.arrow_columns import numbers_in

    is_time = types.is_timestamp(column.type)
    if is_time and column.type.tz is not None:
        try:
            column = pc.local_timestamp(column)
        except pa.ArrowException as error:
            raise InputError(f"{where}: time zone {column.type.tz} is not known") from error
    units = pc.cast(column, pa.int32() if types.is_date32(column.type) else pa.int64())
    days = numbers_in(pc.cast(units, pa.float64(), safe=False))
    days = days / UNITS_PER_DAY[column.type.unit if is_time else str(column.type)]
    whole = np.floor(days)
    months = pc.month(column) if len(column) else pa.nulls(0, pa.int64())
    values = {
        "day": days,
        "month": numbers_in(pc.cast(months, pa.float64())),
        "weekday": (whole + 3.0) % 7.0,  # the first of January 1970 was a Thursday
        "hour": (days - whole) * 24.0,
    }
    return np.column_stack([values[part] for part in parts])
