"""The columns of a table as the inputs of a model, in SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opauc.errors import Parameter, UnsupportedOperationError
from opauc.exports.portable import CATEGORY, DATE, UNSEEN_CATEGORY, Column, PortableModel
from opauc.exports.sql.dates import micros_of_text
from opauc.exports.sql.dialects import TextFunctions
from opauc.exports.sql.query import SOURCE, Query, Term, join_terms
from opauc.exports.sql.text import TextReader, number_of_text

# So many categories are compared one after the other; more are looked up.
MOST_COMPARED = 12
# Text of a category that stands for a whole number: 7.0, 1e+16.
WHOLE = r"^(-?[0-9]+\.0+|-?[0-9](\.[0-9]+)?e\+[0-9]+)$"
LARGEST_WHOLE = 2.0**53
MICROS_PER_DAY = 86_400_000_000.0
# Formats of text that a cast reads as training does.
PLAIN_FORMATS = (".", "iso")


@dataclass(frozen=True)
class Inputs:
    """The inputs of a row, null where missing, and conditions without which a row has no score."""

    terms: list[Term]
    conditions: list[Term]


def inputs_of_rows(query: Query, model: PortableModel, *, is_typed: bool) -> Inputs:
    """Return the inputs of the rows of a table; with `is_typed` its numbers and dates are no text."""
    inputs, conditions = list[Term](), list[Term]()
    for column in model.columns:
        raw = f"{SOURCE}.{query.dialect.identifier(column.name)}"
        functions = None if is_typed else _text_functions(query, column)
        if column.kind == CATEGORY:
            found = [_category(query, column, raw)]
        elif column.kind == DATE:
            found = _date(query, column, raw, functions)
        else:
            number = _number(query, column, raw, functions)
            found, conditions = number.terms, conditions + number.conditions
        if column.is_required:
            conditions.append(join_terms("{} IS NOT NULL", found[0]))
        inputs += found
    return Inputs(inputs, conditions)


def _text_functions(query: Query, column: Column) -> TextFunctions | None:
    """Return what reads text of a column; raise where a dialect cannot read text that a cast reads otherwise."""
    functions = query.dialect.text_functions
    if functions is None and column.text_format and column.text_format not in PLAIN_FORMATS:
        what = "dates" if column.kind == DATE else "numbers"
        raise UnsupportedOperationError(
            f"column {column.name!r}: its {what} were text in training ({column.text_format}), which SQL of "
            f"{query.dialect.title} does not read; if the table has {what} in it, give ", Parameter("typed", True),
        )  # fmt: skip
    return functions


def _number(query: Query, column: Column, raw: str, functions: TextFunctions | None) -> Inputs:
    """Return the number in a column, and what holds where it is finite and, if it has to be, readable."""
    dialect, conditions = query.dialect, list[Term]()
    number = Term(f"CAST({raw} AS {dialect.double})")
    if functions is not None:
        is_text = functions.is_text.format(raw)
        read = number_of_text(query, functions, column, raw)
        typed = query.bind(Term(f"CASE WHEN {is_text} THEN NULL ELSE {_typed_number(query, raw)} END"))
        if column.is_strict:
            conditions.append(read.is_readable)
        number = join_terms("CASE WHEN {} IS NULL THEN {} ELSE {} END", read.text, typed, read.value)
    number = query.bind(number)
    if not dialect.has_nan:
        return Inputs([number], conditions)
    infinity = f"CAST('inf' AS {dialect.double})"
    conditions.append(join_terms(f"({{0}} IS NULL OR ABS({{0}}) <> {infinity})", number))
    # A number that is none is missing; it is equal to no other in some dialects, to itself in others.
    is_number = f"{{0}} BETWEEN -{infinity} AND {infinity}"
    return Inputs([query.bind(join_terms(f"CASE WHEN {is_number} THEN {{0}} END", number))], conditions)


def _typed_number(query: Query, raw: str) -> str:
    """Return a column that is no text as a number."""
    dialect = query.dialect
    if dialect.name != "postgres":
        return f"CAST({raw} AS {dialect.double})"
    # It casts no booleans to numbers, even where none are: by their text they can be.
    text = f"CAST({raw} AS {dialect.text})"
    cases = f"WHEN 'true' THEN {dialect.double_of(1.0)} WHEN 'false' THEN {dialect.double_of(0.0)}"
    return f"CASE {text} {cases} ELSE CAST({text} AS {dialect.double}) END"


def _category(query: Query, column: Column, raw: str) -> Term:
    """Return the number of the category in a column."""
    dialect = query.dialect
    text = query.bind(Term(f"CAST({raw} AS {dialect.text}){dialect.collation}"))
    if any(name.lstrip("-").isdigit() for name in column.categories):
        text = query.bind(_whole_number(query, text))
    numbers = {name: float(number) for name, number in column.categories.items() if dialect.takes(name)}
    missing = {*column.missing, *(("nan",) if "" in column.missing else ())}
    markers = ", ".join(dialect.literal(marker) for marker in sorted(missing))
    unseen = dialect.double_of(UNSEEN_CATEGORY)
    other = f"CASE WHEN {{0}} IS NULL OR {{0}} IN ({markers}) THEN NULL ELSE {unseen} END" if missing else unseen
    literals = {dialect.literal(name): dialect.double_of(number) for name, number in numbers.items()}
    return query.bind(look_up(query, text, literals, other))


def look_up(query: Query, key: Term, values: Mapping[str, str], other: str) -> Term:
    """Return the value of a key; `other`, an expression of the key, is that of all keys without one."""
    if not values:
        return join_terms(other, key)
    if len(values) <= MOST_COMPARED:
        cases = " ".join(f"WHEN {one} THEN {value}" for one, value in values.items())
        return Term(f"CASE {key.text} {cases} ELSE {other.format(key.text)} END", key.step)
    table = query.constants(list(values.items()))
    key = query.bind(key)
    found = query.look_up(table, key)
    return join_terms(f"CASE WHEN {{1}} IS NOT NULL THEN {{1}} ELSE {other} END", key, found)


def _whole_number(query: Query, text: Term) -> Term:
    """Return text in which whole numbers have no decimals and no exponent, as in training."""
    dialect, one = query.dialect, text.text
    number = f"CAST({one} AS {dialect.double})"
    is_whole = f"({one} LIKE {dialect.literal('%.0%')} OR {one} LIKE {dialect.literal('%e+%')})"
    if dialect.text_functions is not None:
        is_whole += " AND " + dialect.text_functions.matches.format(one, dialect.literal(WHOLE))
    else:
        is_whole += f" AND {dialect.try_cast}({one} AS {dialect.double}) IS NOT NULL"
    is_exact = f"FLOOR({number}) = {number} AND ABS({number}) <= {dialect.double_of(LARGEST_WHOLE)}"
    whole = f"CAST(CAST({number} AS {dialect.integer}) AS {dialect.text}){dialect.collation}"
    return Term(f"CASE WHEN {is_whole} THEN CASE WHEN {is_exact} THEN {whole} ELSE {one} END ELSE {one} END", text.step)


def _date(query: Query, column: Column, raw: str, functions: TextFunctions | None) -> list[Term]:
    """Return the parts of the date in a column."""
    dialect, double = query.dialect, query.dialect.double_of
    timestamp = f"CAST({raw} AS {dialect.timestamp})"
    if functions is None:
        time = query.bind(Term(timestamp))
        micros = query.bind(join_terms(f"CAST({dialect.micros} AS {dialect.double})", time))
    else:
        text = TextReader(query, functions).trimmed(raw)
        time = query.bind(Term(f"CASE WHEN {functions.is_text.format(raw)} THEN NULL ELSE {timestamp} END"))
        of_text = micros_of_text(query, functions, column, text)
        of_time = join_terms(f"CAST({dialect.micros} AS {dialect.double})", time)
        micros = query.bind(join_terms("CASE WHEN {} IS NULL THEN {} ELSE {} END", text, of_time, of_text))
    days = query.bind(join_terms(f"({{}} / {double(MICROS_PER_DAY)})", micros))
    whole = query.bind(join_terms("FLOOR({})", days))
    from_monday = f"({{0}} + {double(3.0)})"
    parts = {
        "day": days,
        "month": _month(query, whole),
        "weekday": join_terms(f"({from_monday} - {double(7.0)} * FLOOR({from_monday} / {double(7.0)}))", whole),
        "hour": join_terms(f"(({{}} - {{}}) * {double(24.0)})", days, whole),
    }
    return [query.bind(parts[part]) for part in column.parts]


def _month(query: Query, days: Term) -> Term:
    """Return the month of a number of days since 1970: in years from March, whose months repeat 31, 30, 31, 30, 31."""
    double = query.dialect.double_of
    # Days since 1 March of the year 0, within its era of 400 years, and within its year.
    era_days = (
        f"({{0}} + {double(719_468)} - {double(146_097)} * FLOOR(({{0}} + {double(719_468)}) / {double(146_097)}))"
    )
    of_era = query.bind(join_terms(era_days, days))
    # Without its days of leap years an era has years of 365 days.
    leaps = f"- FLOOR({{0}} / {double(1_460)}) + FLOOR({{0}} / {double(36_524)}) - FLOOR({{0}} / {double(146_096)})"
    year = query.bind(join_terms(f"FLOOR(({{0}} {leaps}) / {double(365)})", of_era))
    of_year = query.bind(join_terms(
        f"({{0}} - ({double(365)} * {{1}} + FLOOR({{1}} / {double(4)}) - FLOOR({{1}} / {double(100)})))", of_era, year
    ))  # fmt: skip
    from_march = query.bind(join_terms(f"FLOOR(({double(5)} * {{}} + {double(2)}) / {double(153)})", of_year))
    return join_terms(
        f"CASE WHEN {{0}} < {double(10)} THEN {{0}} + {double(3)} ELSE {{0}} - {double(9)} END", from_march
    )
