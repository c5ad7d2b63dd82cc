"""Numbers in text columns, read in SQL as in training, by regular expressions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from opauc.exports.portable import Column
from opauc.exports.sql.dialects import Dialect, TextFunctions
from opauc.exports.sql.query import Query, Term, join_terms

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
    digits = Term(reader.functions.replace.format(pointed.text, literal(NO_DIGITS), literal("")), pointed.step)
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
    twelve = double(12.0)
    in_half = f"{{1}} - {twelve} * FLOOR({{1}} / {twelve}) + CASE WHEN {{0}} = {literal('p')} THEN {twelve} ELSE 0 END"
    on_clock = join_terms(f"CASE WHEN {{0}} IS NULL THEN {{1}} ELSE {in_half} END", half, hours)
    return join_terms(
        f"({double(24.0)} * {{}} + {{}} + {{}} / {double(60.0)} + {{}} / {double(3600.0)})",
        days, on_clock, minutes, seconds,
    )  # fmt: skip
