"""Dates that stand in a table as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.data.schema.numbers import MISSING_WORDS, is_missing
from opauc.types import Floats

if TYPE_CHECKING:
    from pyarrow import Array as Column
    from pyarrow import DataType

# How dates may be written; ISO comes first, and of two that read as many values the earlier one is taken.
ISO = "iso"
LAYOUTS = (
    ISO, "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%Y/%m/%d", "%d-%m-%Y", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M",
    "%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%d-%b-%Y", "%d %b %Y", "%d %B %Y",
    "%B %d, %Y", "%b %d, %Y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%d-%b-%y", "%m/%d/%y %H:%M", "%d/%m/%y %H:%M",
    "%m/%d/%Y %I:%M %p", "%m/%d/%Y %I:%M:%S %p", "%A, %B %d, %Y", "%Y-%m-%dT%H:%M:%SZ",
)  # fmt: skip
# A day, then perhaps a time, then perhaps a zone, which is left out: the hour on the clock is what people live by.
DAY, CLOCK, ZONE = r"\d{4}-\d{2}-\d{2}", r"[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?", r" ?(?:Z|[+-]\d{2}(?::?\d{2})?)"
ISO_TIME = rf"^(?P<time>{DAY}(?:{CLOCK})?)(?:{ZONE})?$"
FIRST_YEAR = 1000
# Several layouts in one column are written with this between them; each reads this share of the values at least, and
# all together nearly all of them.
OR, MOST_LAYOUTS, LEAST_SHARE, NEARLY_ALL = " or ", 3, 0.05, 0.95
# A layout in which none of so many values is a date is looked at no more.
SCREENED = 1000


class TextDates(NamedTuple):
    """The time of each text, null where there is none, and how many of those should have been dates."""

    times: Column
    unreadable: int


def are_layouts(spelling: str) -> bool:
    """Tell whether text says how dates are written: one layout, or several."""
    return all(layout in LAYOUTS for layout in spelling.split(OR))


def text_dates(text: Column, spelling: str) -> TextDates:
    """Return the times that a column of text says in a layout, or in one of several.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.schema.dates import text_dates
    >>> found = text_dates(pa.array(["31.12.2024", "NULL", "soon"]), "%d.%m.%Y")
    >>> str(found.times[0]), found.times.null_count, found.unreadable
    ('2024-12-31 00:00:00', 2, 1)
    >>> text_dates(pa.array(["31.12.2024", "2024-12-31T10:00:00.000Z"]), "iso or %d.%m.%Y").unreadable
    0
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(pc.cast(text, pa.string()))
    known = pc.if_else(pc.is_in(trimmed, pa.array(MISSING_WORDS)), None, trimmed)
    times = pc.coalesce(*(_times(known, layout) for layout in spelling.split(OR)))
    return TextDates(times, times.null_count - known.null_count)


def best_layout(text: Column) -> str | None:
    """Return the layout, or several, in which nearly all values of a column are dates, None where there is none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.schema.dates import best_layout
    >>> best_layout(pa.array(["12/31/24", "1/5/23"])), best_layout(pa.array(["31.12.2024", "2023-01-05"]))
    ('%m/%d/%y', 'iso or %d.%m.%Y')
    """
    import pyarrow as pa

    from opauc.data.arrow_columns import words_of

    words, levels = words_of(text)
    counts = np.bincount(levels[levels >= 0], minlength=len(words))
    kept = [at for at, word in enumerate(words) if counts[at] and not is_missing(word)]
    if not any(digit in words[at] for at in kept[:SCREENED] for digit in "0123456789"):
        return None
    known, counts = pa.array([words[at] for at in kept], pa.string()), counts[kept]
    read = {}
    for layout in LAYOUTS:
        if _is_read(known[:SCREENED], layout).any():
            read[layout] = _is_read(known, layout)
            if read[layout].all():
                return layout
    shares = {layout: counts[dates].sum() / counts.sum() for layout, dates in read.items()}
    single = next((layout for layout, share in shares.items() if share >= NEARLY_ALL), None)
    return _several(read, counts) if single is None else single


def _several(read: dict[str, NDArray[np.bool_]], counts: NDArray[np.int64]) -> str | None:
    """Return layouts no two of which read the same text, if together they read nearly all."""
    done, chosen = np.zeros(counts.size, np.bool_), list[str]()
    while len(chosen) < MOST_LAYOUTS:
        others = {layout: counts[dates].sum() for layout, dates in read.items() if not (dates & done).any()}
        best = max(others, key=lambda layout: others[layout], default=None)
        if best is None or others[best] < LEAST_SHARE * counts.sum():
            break
        chosen.append(best)
        done |= read[best]
    if counts[done].sum() < NEARLY_ALL * counts.sum():
        return None
    return OR.join(sorted(chosen, key=LAYOUTS.index))


def _is_read(words: Column, layout: str) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    return np.asarray(pc.is_valid(text_dates(words, layout).times))


def _times(known: Column, layout: str) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    if layout == ISO:
        return _iso_times(known)
    times = pc.cast(pc.strptime(known, format=layout, unit="s", error_is_null=True), pa.timestamp("us"))
    # A year of two digits is no year of four.
    return pc.if_else(pc.less(pc.year(times), FIRST_YEAR), None, times) if "%Y" in layout else times


def _iso_times(known: Column) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    micro = pc.replace_substring_regex(known, r"(\.\d{6})\d+", r"\1")
    plain = pc.struct_field(pc.extract_regex(micro, ISO_TIME), "time")
    try:
        return pc.cast(plain, pa.timestamp("us"))
    except pa.ArrowInvalid:  # a thirtieth of February
        return pa.array([_iso_time(word) for word in plain.to_pylist()], pa.timestamp("us"))


def _iso_time(word: str | None) -> object:
    from datetime import datetime

    try:
        return None if word is None else datetime.fromisoformat(word)
    except ValueError:
        return None


PARTS = ("day", "month", "weekday")
TIMED_PARTS = (*PARTS, "hour")
SECONDS_A_DAY = 86_400.0


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


def date_numbers(column: Column, parts: tuple[str, ...]) -> Floats:
    """Return one row of numbers a value: days since 1970 with their fraction, month 1-12, weekday 0-6, hour 0-24.

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
