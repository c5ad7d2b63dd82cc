"""Dates in text columns, read in SQL as in training, by regular expressions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from opauc.exports.portable import Column
from opauc.exports.sql.dialects import TextFunctions
from opauc.exports.sql.query import Query, Term, join_terms
from opauc.exports.sql.text import TextReader

ISO = "iso"
# The groups of a date as programs write it: year, month, day, hour, minute, second, and its fraction.
ISO_PATTERN = (
    r"^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6})[0-9]*)?)?)?"
    r"(?: ?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?))?$"
)
ISO_GROUPS = {"Y": 1, "m": 2, "d": 3, "H": 4, "M": 5, "S": 6, "f": 7}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
LONG_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
WEEKDAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tue|wed|thu|fri|sat|sun"
TOKENS = {
    **dict.fromkeys("dmHMSIy", r"\s*([0-9]{1,2})"),
    "Y": r"\s*([0-9]{1,4})",
    **{name: f"({'|'.join([*LONG_MONTHS, *MONTHS])})" for name in "bB"},
    "A": f"({WEEKDAYS})",
    "p": "(am|pm)",
}
# Two digits of a year from this on are of the last century.
FIRST_OF_LAST_CENTURY = 69
# Two digits are no year of four; the last year whose dates all databases have, with a day to spare.
FIRST_YEAR, LAST_YEAR = 1000, 9998
MICROS_PER_SECOND = 1_000_000


def micros_of_text(query: Query, functions: TextFunctions, column: Column, text: Term) -> Term:
    """Return the microseconds since 1970 of a date in text, null where it says none."""
    reader = TextReader(query, functions)
    is_missing = query.bind(reader.is_marked(text, column.missing))
    read = [query.bind(LayoutParts.of(reader, text, layout).micros()) for layout in column.text_format.split(" or ")]
    first = read[0] if len(read) == 1 else join_terms(f"COALESCE({', '.join(['{}'] * len(read))})", *read)
    return query.bind(join_terms("CASE WHEN {} THEN NULL ELSE {} END", is_missing, first))


@dataclass(frozen=True)
class LayoutParts:
    """The parts of a date in one layout, as text: null where a part, or all of them, are absent."""

    reader: TextReader
    is_iso: bool
    parts: Mapping[str, Term]

    @classmethod
    def of(cls, reader: TextReader, text: Term, layout: str) -> LayoutParts:
        """Return the parts that a layout finds in text."""
        pattern, groups = (ISO_PATTERN, ISO_GROUPS) if layout == ISO else layout_pattern(layout)
        parts = {name: reader.query.bind(reader.group(text, pattern, number)) for name, number in groups.items()}
        return cls(reader, layout == ISO, parts)

    def micros(self) -> Term:
        """Return the microseconds since 1970, null where the parts are no date."""
        query, dialect = self.reader.query, self.reader.dialect
        day, date = self._whole("d"), self._date()
        clock = [self._hour(), self._whole("M"), self._whole("S")]
        conditions = [join_terms(f"{{}} <= {most}", one) for one, most in zip(clock, self._most(), strict=True)]
        if "I" in self.parts:
            conditions.append(join_terms("{} BETWEEN 1 AND 12", self._whole("I")))
        if self.is_iso:  # it has no thirtieth of February; of other layouts that is the first or second of March
            conditions.append(join_terms("EXTRACT(DAY FROM {}) = {}", date, day))
        is_valid = query.bind(join_terms(" AND ".join(["{}"] * len(conditions)), *conditions))
        days = join_terms(self.reader.functions.days, date)
        seconds = join_terms(
            f"(CAST({{}} AS {dialect.integer}) * 86400 + ({{}} * 60 + {{}}) * 60 + {{}})", days, *clock
        )
        micros = f"{{}} * {dialect.double_of(MICROS_PER_SECOND)} + {{}}"
        return join_terms(f"CASE WHEN {{}} THEN {micros} END", is_valid, seconds, self._fraction())

    def _most(self) -> tuple[int, int, int]:
        """Return the last hour of a day, minute and second; a second may be a leap second."""
        return 23, 59, 59 if self.is_iso else 60

    def _whole(self, name: str) -> Term:
        """Return a part as a whole number, 0 where it is absent."""
        if name not in self.parts:
            return Term("0")
        number = f"CAST({{}} AS {self.reader.dialect.integer})"
        return self.reader.query.bind(join_terms(f"COALESCE({number}, 0)", self.parts[name]))

    def _date(self) -> Term:
        """Return the date, null where there is none: the first of the month and some days."""
        date = self.reader.functions.date.format("CAST({0} AS INT)", "CAST({1} AS INT)", "CAST({2} AS INT) - 1")
        in_range = f"{{0}} BETWEEN {FIRST_YEAR} AND {LAST_YEAR} AND {{1}} BETWEEN 1 AND 12 AND {{2}} BETWEEN 1 AND 31"
        parts = self._year(), self._month(), self._whole("d")
        return self.reader.query.bind(join_terms(f"CASE WHEN {in_range} THEN {date} END", *parts))

    def _year(self) -> Term:
        if "y" not in self.parts:
            return self._whole("Y")
        century = f"CASE WHEN {{0}} >= {FIRST_OF_LAST_CENTURY} THEN 1900 ELSE 2000 END"
        return join_terms(f"({{0}} + {century})", self._whole("y"))

    def _month(self) -> Term:
        if "b" not in self.parts:
            return self._whole("m")
        literal = self.reader.dialect.literal
        cases = " ".join(f"WHEN {literal(month)} THEN {number}" for number, month in enumerate(MONTHS, 1))
        return self.reader.query.bind(join_terms(f"CASE LOWER(SUBSTR({{}}, 1, 3)) {cases} END", self.parts["b"]))

    def _hour(self) -> Term:
        if "I" not in self.parts:
            return self._whole("H")
        half = f"CASE WHEN LOWER({{1}}) = {self.reader.dialect.literal('pm')} THEN 12 ELSE 0 END"
        hour = f"(CASE WHEN {{0}} = 12 THEN 0 ELSE {{0}} END + {half})"
        return self.reader.query.bind(join_terms(hour, self._whole("I"), self.parts["p"]))

    def _fraction(self) -> Term:
        """Return the microseconds after the second."""
        dialect = self.reader.dialect
        if "f" not in self.parts:
            return Term(dialect.double_of(0.0))
        zero = dialect.literal("0")
        return self.reader.as_double(join_terms(f"RPAD(COALESCE({{}}, {zero}), 6, {zero})", self.parts["f"]))


def layout_pattern(layout: str) -> tuple[str, dict[str, int]]:
    """Return the regular expression of a date layout, and the number of the group of each of its parts.

    Examples
    --------
    >>> from opauc.exports.sql.dates import layout_pattern
    >>> layout_pattern("%d.%m.%Y")[1]
    {'d': 1, 'm': 2, 'Y': 3}
    """
    pattern, groups = "", dict[str, int]()
    for part in re.findall(r"%.|\s+|.", layout):
        if part.isspace():
            pattern += r"\s*"
        elif part[0] == "%":
            groups["b" if part == "%B" else part[1]] = len(groups) + 1
            pattern += TOKENS[part[1]]
        else:
            pattern += re.escape(part)
    return f"(?i)^{pattern}$", groups
