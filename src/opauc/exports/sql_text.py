"""Numbers and dates in text columns, read in SQL as in training: regular expressions in steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass

from opauc.exports.portable import Column
from opauc.exports.sql_dialects import Dialect, TextFunctions
from opauc.exports.sql_query import Query, Term, join_terms

MONEY = "[$€£¥₹]"
# No dialect has all of what Python's expressions have: these do without lookahead.
DIGITS = "([0-9]+|[1-9][0-9]{0,2}(,[0-9]{3})+|[1-9][0-9]{0,2}(['’\u00a0\u202f][0-9]{3})+)"
UNSIGNED = rf"({DIGITS}(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?( ?(%|{MONEY}))?"
SIGN = rf"([+-]?({MONEY} ?)?|{MONEY} ?[+-])"
NUMBER, BRACKETS = (
    f"^{SIGN}{UNSIGNED}$",
    rf"^\(({MONEY} ?)?({DIGITS}(\.[0-9]*)?|\.[0-9]+)([eE][0-9]+)?( ?(%|{MONEY}))?\)$",
)
NO_DIGITS = "[^0-9.eE+-]"
INFINITE, NOT_A_NUMBER = r"(?i)^[+-]?inf(inity)?$", r"(?i)^[+-]?nan(\([a-z0-9_]*\))?$"
# The groups of a clock time: days, hours, minutes, seconds, and the half of the day.
CLOCK = (
    r"(?i)^(?:([+-]?[0-9]+) days?,? \+?)?([0-9]{1,2}):([0-5][0-9])(?::([0-5][0-9](?:\.[0-9]+)?))?(?: ?([ap])\.?m\.?)?$"
)
DAYS, HOURS, MINUTES, SECONDS, HALF = 1, 2, 3, 4, 5
# What Python takes for blanks; those of regular expressions are fewer.
BLANK = "[\\s\x0b\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
BLANKS_AROUND = f"^{BLANK}+|{BLANK}+$"
# An exponent that PostgreSQL may raise an error for: of so large a number it gives none, of so small a one 0.
LARGE_EXPONENT, SMALL_EXPONENT = r"[eE]\+?0*[1-9][0-9]{2,}$", r"[eE]-0*[1-9][0-9]{2,}$"

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
FIRST_OF_LAST_CENTURY, FIRST_YEAR = 69, 1000
MICROS_PER_SECOND = 1_000_000


@dataclass(frozen=True)
class TextReader:
    """What reads the text of a column in a dialect."""

    query: Query
    functions: TextFunctions

    @property
    def dialect(self) -> Dialect:
        """The dialect of the query."""
        return self.query.dialect

    def trimmed(self, raw: str) -> Term:
        """Return the text of a column without blanks around it, null where the column is no text."""
        text = f"CAST({raw} AS {self.dialect.text})"
        stripped = self.functions.replace.format(text, self.dialect.literal(BLANKS_AROUND), self.dialect.literal(""))
        return self.query.bind(Term(f"CASE WHEN {self.functions.is_text.format(raw)} THEN {stripped} END"))

    def matches(self, text: Term, pattern: str) -> Term:
        """Return whether text matches a pattern."""
        return Term(self.functions.matches.format(text.text, self.dialect.literal(pattern)), text.step)

    def group(self, text: Term, pattern: str, number: int) -> Term:
        """Return what a group of a pattern matches, null where it matches nothing."""
        found = self.functions.group.format(text.text, self.dialect.literal(pattern), number)
        return Term(f"NULLIF({found}, {self.dialect.literal('')})", text.step)

    def is_marked(self, text: Term, markers: tuple[str, ...]) -> Term:
        """Return whether text marks a missing value."""
        literals = ", ".join(self.dialect.literal(marker) for marker in markers if self.dialect.takes(marker))
        return Term(f"({text.text} IN ({literals}) OR {self.matches(text, NOT_A_NUMBER).text})", text.step)

    def as_double(self, text: Term) -> Term:
        """Return text as a number."""
        return join_terms(f"CAST({{}} AS {self.dialect.double})", text)


@dataclass(frozen=True)
class TextNumber:
    """The number that text says, null where it says none; and whether it is a number or marks a missing one."""

    text: Term
    value: Term
    is_readable: Term


def number_of_text(query: Query, functions: TextFunctions, column: Column, raw: str) -> TextNumber:
    """Return the number in a text column; the text is null where the column is no text."""
    reader = TextReader(query, functions)
    decimal, unit = column.text_format[:1], column.text_format[1:]
    text = reader.trimmed(raw)
    plain = query.bind(_without_unit(reader, text, unit)) if unit else text
    value = _parsed(reader, plain, decimal)
    if decimal == ",":
        value = join_terms("COALESCE({}, {})", query.bind(value), _parsed(reader, plain, "."))
    is_missing = query.bind(reader.is_marked(text, column.missing))
    value = query.bind(join_terms("CASE WHEN {} THEN NULL ELSE {} END", is_missing, value))
    is_readable = join_terms("({} IS NULL OR {} OR {} IS NOT NULL)", text, is_missing, value)
    return TextNumber(text, value, is_readable)


def _without_unit(reader: TextReader, text: Term, unit: str) -> Term:
    """Return text without the unit after its number."""
    plural = "s" if unit.endswith("s") and len(unit) > 1 else "s?"
    pattern = rf"(?i)^([^A-Za-zµ°]*[0-9][.,]?) ?({re.escape(unit)}){plural}\.?$"
    found = reader.group(text, pattern, 1)
    return join_terms("COALESCE({}, {})", found, text)


def _parsed(reader: TextReader, plain: Term, decimal: str) -> Term:
    """Return the number that text says with this decimal separator, null where it says none."""
    query, literal = reader.query, reader.dialect.literal
    pointed = plain
    if decimal == ",":
        pointed = query.bind(join_terms(f"TRANSLATE({{}}, {literal(',.')}, {literal('.,')})", plain))
    digits = Term(
        reader.functions.replace.format(pointed.text, literal(NO_DIGITS), literal("")), pointed.step
    )  # fmt: skip
    number = reader.as_double(digits)
    if reader.dialect.name == "postgres":
        large, small = (reader.matches(digits, pattern) for pattern in (LARGE_EXPONENT, SMALL_EXPONENT))
        bounded = f"CASE WHEN {{}} THEN CAST('inf' AS {reader.dialect.double}) WHEN {{}} THEN 0 ELSE {{}} END"
        number = join_terms(bounded, large, small, number)
    lower = join_terms("LOWER({})", plain)
    is_clock, is_number = reader.matches(plain, CLOCK), reader.matches(pointed, NUMBER)
    in_brackets, is_infinite = reader.matches(pointed, BRACKETS), reader.matches(plain, INFINITE)
    one, zero = (Term(reader.dialect.double_of(value)) for value in (1.0, 0.0))
    infinity, minus = Term(f"CAST('inf' AS {reader.dialect.double})"), Term(f"CAST('-inf' AS {reader.dialect.double})")
    template = (
        "CASE WHEN {} THEN {} WHEN {} THEN -{} WHEN {} THEN {} "
        f"WHEN {{}} = {literal('true')} THEN {{}} WHEN {{}} = {literal('false')} THEN {{}} "
        f"WHEN {{}} THEN CASE WHEN {{}} LIKE {literal('-%')} THEN {{}} ELSE {{}} END END"
    )
    return join_terms(
        template, is_number, number, in_brackets, number, is_clock, _hours(reader, plain), lower, one, lower, zero,
        is_infinite, plain, minus, infinity,
    )  # fmt: skip


def _hours(reader: TextReader, text: Term) -> Term:
    """Return the hours of a clock time."""
    zero = Term(reader.dialect.double_of(0.0))
    days, hours, minutes, seconds = (
        join_terms("COALESCE({}, {})", reader.as_double(reader.group(text, CLOCK, number)), zero)
        for number in (DAYS, HOURS, MINUTES, SECONDS)
    )
    half = join_terms("LOWER({})", reader.group(text, CLOCK, HALF))
    literal, double = reader.dialect.literal, reader.dialect.double_of
    on_clock = join_terms(
        f"CASE WHEN {{0}} IS NULL THEN {{1}} ELSE CASE WHEN {{1}} >= {double(12.0)} THEN {{1}} - {double(12.0)} * "
        f"FLOOR({{1}} / {double(12.0)}) ELSE {{1}} END + CASE WHEN {{0}} = {literal('p')} THEN {double(12.0)} "
        f"ELSE {double(0.0)} END END", half, hours,
    )  # fmt: skip
    return join_terms(
        f"({double(24.0)} * {{}} + {{}} + {{}} / {double(60.0)} + {{}} / {double(3600.0)})",
        days, on_clock, minutes, seconds,
    )  # fmt: skip


def micros_of_text(query: Query, functions: TextFunctions, column: Column, text: Term) -> Term:
    """Return the microseconds since 1970 of a date in text, null where it says none."""
    reader = TextReader(query, functions)
    is_missing = query.bind(reader.is_marked(text, column.missing))
    read = [query.bind(_micros(reader, text, layout)) for layout in column.text_format.split(" or ")]
    first = read[0] if len(read) == 1 else join_terms(f"COALESCE({', '.join(['{}'] * len(read))})", *read)
    return query.bind(join_terms("CASE WHEN {} THEN NULL ELSE {} END", is_missing, first))


def _micros(reader: TextReader, text: Term, layout: str) -> Term:
    """Return the microseconds of a date in one layout."""
    pattern, groups = (ISO_PATTERN, ISO_GROUPS) if layout == ISO else layout_pattern(layout)
    query, double, integer = reader.query, reader.dialect.double_of, reader.dialect.integer
    parts = {name: query.bind(reader.group(text, pattern, number)) for name, number in groups.items()}

    def whole(name: str) -> Term:
        return query.bind(join_terms(f"CAST({{}} AS {integer})", parts[name])) if name in parts else Term("0")

    year, month = _year(whole, parts), whole("m")
    if "b" in parts:
        month = query.bind(_month_of_name(reader, parts["b"]))
    hour = whole("H")
    if "I" in parts:
        twelve = join_terms(f"CASE WHEN LOWER({{}}) = {reader.dialect.literal('pm')} THEN 12 ELSE 0 END", parts["p"])
        hour = query.bind(join_terms("(CASE WHEN {0} = 12 THEN 0 ELSE {0} END + {1})", whole("I"), twelve))
    day, minute, second = whole("d"), whole("M"), whole("S")
    valid = f"{{1}} BETWEEN 1 AND 12 AND {{2}} BETWEEN 1 AND 31 AND {{0}} BETWEEN {FIRST_YEAR} AND 9998"
    date = reader.functions.date.format(*(f"CAST({{{at}}} AS INT)" for at in range(2)), "CAST({2} AS INT) - 1")
    date_term = query.bind(join_terms(f"CASE WHEN {valid} THEN {date} END", year, month, day))
    days = join_terms(reader.functions.days, date_term)
    time_parts = [hour if hour.text != "0" else Term("0"), minute, second]
    in_range = "COALESCE({0}, 0) <= 23 AND COALESCE({1}, 0) <= 59 AND COALESCE({2}, 0) <= " + (
        "59" if layout == ISO else "60"
    )
    if "I" in parts:
        in_range += " AND {3} BETWEEN 1 AND 12"
        time_parts.append(whole("I"))
    if layout == ISO:  # no thirtieth of February
        in_range += " AND EXTRACT(DAY FROM {3}) = {4}"
        time_parts += [date_term, day]
    is_valid = query.bind(join_terms(f"({in_range})", *time_parts))
    fraction = Term(double(0.0))
    if "f" in parts:
        padded = join_terms(
            f"RPAD(COALESCE({{}}, {reader.dialect.literal('0')}), 6, {reader.dialect.literal('0')})", parts["f"]
        )
        fraction = reader.as_double(padded)
    seconds = join_terms("((COALESCE({}, 0) * 60 + COALESCE({}, 0)) * 60 + COALESCE({}, 0))", hour, minute, second)
    return join_terms(
        f"CASE WHEN {{}} THEN (CAST({{}} AS {integer}) * 86400 + {{}}) * {double(MICROS_PER_SECOND)} + {{}} END",
        is_valid, days, seconds, fraction,
    )  # fmt: skip


def _year(whole: Callable[[str], Term], parts: Container[str]) -> Term:
    """Return the year, of two digits in the century that is nearest."""
    if "y" not in parts:
        return whole("Y")
    return join_terms(f"({{0}} + CASE WHEN {{0}} >= {FIRST_OF_LAST_CENTURY} THEN 1900 ELSE 2000 END)", whole("y"))


def _month_of_name(reader: TextReader, name: Term) -> Term:
    literal = reader.dialect.literal
    cases = " ".join(f"WHEN {literal(month)} THEN {number}" for number, month in enumerate(MONTHS, 1))
    return join_terms(f"CASE LOWER(SUBSTR({{}}, 1, 3)) {cases} END", name)


def layout_pattern(layout: str) -> tuple[str, dict[str, int]]:
    """Return the regular expression of a date layout, and the number of the group of each of its parts.

    Examples
    --------
    >>> from opauc.exports.sql_text import layout_pattern
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
