"""The fields of CSV records as bytes, and the errors found in records."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from opauc.data.bad_rows import ZERO_OR_MEAN, BadRows
from opauc.data.columns import about_columns, listed
from opauc.errors import MalformedRowError, Part

INTEGER = re.compile(rb"[+-]?0*+(\d++)")
# Up to here every integer is exact in float64; beyond, different labels would become one.
MAX_EXACT = 2**53
MAX_SHOWN = 40
FALLBACK_ENCODING = "cp1252"


def split_record(record: bytes, delimiter: str) -> list[bytes]:
    """Return the fields of one record.

    >>> from opauc.data.formats.csv.fields import split_record
    >>> split_record(b'1,"2,3",\\r\\n', ",")
    [b'1', b'2,3', b'']
    """
    end = delimiter.encode()
    field = re.compile(rb'(?:"((?:[^"]|"")*+)")?([^%b]*+)%b' % (re.escape(end), re.escape(end)))
    matches = field.finditer(record.rstrip(b"\r\n") + end)
    return [(match[1] or b"").replace(b'""', b'"') + match[2] for match in matches]


def decode_field(field: bytes) -> str:
    """Return a field as text: UTF-8, or Windows-1252 where it is not valid UTF-8.

    >>> from opauc.data.formats.csv.fields import decode_field
    >>> decode_field("Genève".encode()), decode_field("Genève".encode("latin-1"))
    ('Genève', 'Genève')
    """
    try:
        return field.decode()
    except UnicodeDecodeError:
        return field.decode(FALLBACK_ENCODING, errors="replace")


def show_field(field: bytes) -> str:
    """Return a field as a message shows it, cut where it is long."""
    cut = field if len(field) <= MAX_SHOWN else field[: MAX_SHOWN - 3] + b"..."
    try:
        return repr(cut.decode())
    except UnicodeDecodeError:
        return repr(cut)[1:]


def is_inexact(field: bytes) -> bool:
    """Tell whether a field is an integer too large to be exact in float64.

    >>> from opauc.data.formats.csv.fields import is_inexact
    >>> is_inexact(b"9007199254740993"), is_inexact(b"-42"), is_inexact(b"1e300")
    (True, False, False)
    """
    match = INTEGER.fullmatch(field)
    return match is not None and (len(match[1]) > len(str(MAX_EXACT)) or int(match[1]) > MAX_EXACT)


NOT_NUMERIC = "a column of strings must be declared categorical"


class RecordErrors:
    """The first error of each record of a text; `complete` are the records with the expected number of fields.

    Where the first bad row raises, the message names every column that holds
    strings instead of numbers. With `report_missing` it also names the columns
    with missing values, which would raise next.
    """

    def __init__(
        self,
        source: str,
        fields: NDArray[np.int64],
        names: Sequence[str],
        lines: NDArray[np.int64],
        report_missing: bool = False,
    ) -> None:
        width, self._positions = len(names), {name: position for position, name in enumerate(names)}
        self._source, self._lines, self._report_missing = source, lines, report_missing
        self.complete: NDArray[np.int64] = np.flatnonzero(fields == width)
        self._errors: dict[int, tuple[str, str | None]] = {
            record: (_wrong_count(int(fields[record]), width), None)
            for record in np.flatnonzero(fields != width).tolist()
        }
        self._text_columns: dict[str, None] = {}
        self._missing_columns: dict[str, None] = {}

    def add(self, row: int, reason: str, column: str) -> None:
        """Record an error in one of the complete records; the leftmost error of a record counts."""
        record = int(self.complete[row])
        _, other = self._errors.get(record, ("", None))
        if other is None or self._positions[column] < self._positions[other]:
            self._errors[record] = reason, column

    def add_text(self, row: int, reason: str, column: str) -> None:
        """Record that a field of one of the complete records is not a number."""
        self.add(row, reason, column)
        self._text_columns.setdefault(column)

    def add_missing(self, column: str) -> None:
        """Record that a column has missing values, which is not an error of a record."""
        self._missing_columns.setdefault(column)

    def handle(self, bad_rows: BadRows) -> NDArray[np.bool_]:
        """Raise or skip the bad records in their order; return which of the complete ones are good."""
        for record in sorted(self._errors):
            reason, column = self._errors[record]
            advice: tuple[Part, ...] = ()
            if column in self._text_columns:
                advice = self.advice(column) if bad_rows.policy == "error" else (f"; {NOT_NUMERIC}",)
            line = int(self._lines[record])
            bad_rows.handle(MalformedRowError(self._source, line, reason, *advice, column=column))
        return np.array([record not in self._errors for record in self.complete.tolist()], dtype=bool)

    def advice(self, first: str | None = None) -> tuple[Part, ...]:
        """Return what a user can do about the columns with errors, as the end of a message about column `first`."""
        columns = sorted(self._text_columns, key=self._positions.__getitem__)
        parts: list[Part] = []
        if columns:
            others = [name for name in columns if name != first]
            declare, drop = about_columns("categorical", columns), about_columns("drop", columns)
            what, otherwise = f"; {NOT_NUMERIC}", "or left out"
            if others and first is None:
                what = f"; columns {listed(columns)} hold strings: declare them categorical"
                otherwise = "or drop them"
            elif others:
                plural = "s" if len(others) > 1 else ""
                nor = f", nor are values of column{plural} {listed(others)}"
                what = f"{nor}; columns of strings must be declared categorical"
            parts += [f"{what} (", declare, f") {otherwise} (", drop, ")"]
        if self._report_missing and self._missing_columns:
            missing = sorted(self._missing_columns, key=self._positions.__getitem__)
            parts += [f"; values are missing in {listed(missing)} (", *ZERO_OR_MEAN, ")"]
        return tuple(parts)


def _wrong_count(n_fields: int, width: int) -> str:
    return f"{n_fields} field{'s' if n_fields > 1 else ''}, expected {width}"
