"""The one grammar of numbers written as text, and of markers of missing values.

Every reader uses it: CSV for linear and additive models, text columns of
Parquet, Arrow and data frames. A number format is a string: the decimal
separator, "." or ",", followed by the unit of the column, if it has one.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.data.schema.policy import DEFAULT_POLICY, SchemaPolicy
from opauc.errors import InputWarning, Parameter
from opauc.types import Floats

if TYPE_CHECKING:
    from pyarrow import Array as Column

# Strings that mark a missing number or date.
MISSING_MARKERS = (
    "", "NA", "N/A", "n/a", "na", "<NA>", "#N/A", "NaN", "nan", "NaT", "null", "Null", "NULL", "(null)", "None", "none",
    "?", "-", "--", ".", "\\N",
)  # fmt: skip
# Of these, the strings that mark a missing category too, as in pandas.
MISSING_CATEGORIES = frozenset(MISSING_MARKERS) - {"?", "-", "--", ".", "na", "none", "NaT", "(null)", "Null", "\\N"}
# Of these, the strings that mark a missing label too; "-" may be a class beside "+", and "none" beside others.
MISSING_LABELS = frozenset(MISSING_MARKERS) - {"-", "none"}
BOOLEANS = {"true": 1.0, "false": 0.0}
POINT, COMMA = DECIMALS = (".", ",")
# Characters of a value that a message shows.
MAX_SHOWN = 40
# Strings that are read as numbers at a time; most columns of strings are known to be none after the first.
STRINGS_AT_ONCE = 256
# Thousands separators are read only where every group of digits but the first has three and the first does not begin
# with a zero. Accountants write negative amounts in brackets.
MONEY, DIGITS = "[$€£¥₹]", r"(?:\d+|[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d{0,2}(?:['’\xa0\u202f]\d{3})+|(?=\.\d))(?:\.\d*)?"
SIGN = rf"(?:[+-]?(?:{MONEY} ?)?|{MONEY} ?[+-])"
NUMBER = re.compile(rf"{SIGN}{DIGITS}(?:[eE][+-]?\d+)?(?: ?(?:%|{MONEY}))?")
BRACKETS = re.compile(r"\(([^()+-]*)\)")
NO_DIGITS = re.compile(r"[^\d.eE+-]")
INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
NOT_A_NUMBER = re.compile(r"[+-]?nan(?:\(\w*\))?", re.IGNORECASE | re.ASCII)
PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
# The first integer that is not exact in float64 is 2**53 + 1, of sixteen digits.
MIN_INEXACT_DIGITS, SIXTEEN_DIGITS = 16, 1e15
LARGE_INTEGER = re.compile(r"[+-]?[1-9][0-9]{15,}")
SWAP_SEPARATORS = str.maketrans(",.", ".,")
# Clock times, with days before them or not, are read as hours.
CLOCK = re.compile(
    r"(?:([+-]?\d+) days?,? \+?)?(\d{1,2}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?: ?([ap])\.?m\.?)?", re.IGNORECASE
)
# A number followed by a unit, captured without its plural s.
UNIT = re.compile(r"[^A-Za-zµ°]*\d[.,]? ?([A-Za-zµ°]{1,12}?)s?\.?", re.IGNORECASE)


class ParsedNumbers(NamedTuple):
    """The number in each string, nan where there is none, and which rows hold neither a number nor a missing value."""

    numbers: Floats
    is_unreadable: NDArray[np.bool_]

    @property
    def unreadable(self) -> int:
        """Number of values that are neither numbers nor missing."""
        return int(self.is_unreadable.sum())


class NumberFormat(NamedTuple):
    """How a text column writes its numbers, and the strings of its own that mark missing ones."""

    name: str = POINT  # the decimal separator, then the unit
    markers: tuple[str, ...] = ()
    ambiguous: str = ""  # a string that decides the decimal separator only by guess; none where others decide it


def parse_numbers(column: Column, number_format: str = POINT, markers: Container[str] = ()) -> ParsedNumbers:
    """Return the numbers in a text column; `markers` are further strings that mark a missing value.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.schema.numbers import parse_numbers
    >>> parsed = parse_numbers(pa.array(["1.5", " 2", "?", None, "1,200", "many"]))
    >>> parsed.numbers, parsed.unreadable
    (array([   1.5,    2. ,    nan,    nan, 1200. ,    nan]), 1)
    """
    from opauc.data.arrow_columns import encode_strings

    if number_format == POINT and (plain := cast_plain_numbers(column)) is not None:
        return ParsedNumbers(plain, np.zeros(plain.size, np.bool_))
    strings, codes = encode_strings(column)
    numbers = np.array([*(parse_number(string, number_format) for string in strings), np.nan])
    bad = np.array([*(not is_missing(string) and string not in markers for string in strings), False])
    return ParsedNumbers(numbers[codes], (bad & np.isnan(numbers))[codes])


def cast_plain_numbers(column: Column) -> Floats | None:
    """Return the numbers in a text column if Arrow can cast every one, missing ones as nan; else None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from opauc.data.arrow_columns import numbers_in

    try:
        numbers: Floats = numbers_in(pc.cast(trim_strings(column), pa.float64())).copy()
    except pa.ArrowInvalid:
        return None
    return numbers


def trim_strings(column: Column) -> Column:
    """Return a text column without blanks around its strings, and null where these mark a missing value.

    >>> import pyarrow as pa
    >>> from opauc.data.schema.numbers import trim_strings
    >>> trim_strings(pa.array([" 1.5", "?", None, "many "])).to_pylist()
    ['1.5', None, None, 'many']
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from opauc.data.arrow_columns import strings_array

    trimmed = pc.utf8_trim_whitespace(column)
    is_marker = pc.is_in(trimmed, pc.cast(strings_array(MISSING_MARKERS), trimmed.type))
    return pc.if_else(is_marker, pa.nulls(len(trimmed), trimmed.type), trimmed)


def parse_number(text: str, number_format: str = POINT) -> float:
    """Return the number that a string says, nan where it says none.

    >>> from opauc.data.schema.numbers import parse_number
    >>> parse_number("$1,200.50"), parse_number("1.200,5 €", ","), parse_number("45%"), parse_number("True")
    (1200.5, 1200.5, 45.0, 1.0)
    >>> parse_number("(3.5)"), parse_number("1:30 pm"), parse_number("7 days", ".day"), parse_number("7 weeks", ".day")
    (-3.5, 13.5, 7.0, nan)
    >>> parse_number("2 days 01:30:00"), parse_number("12a"), parse_number("0,123"), parse_number("0.123", ",")
    (49.5, nan, nan, 0.123)
    """
    decimal, unit = number_format[:1], number_format[1:]
    number = _parse(text, decimal, unit)
    # With decimal commas, 0.25 can only have a decimal point.
    return _parse(text, POINT, unit) if decimal == COMMA and np.isnan(number) else number


def _parse(text: str, decimal: str, unit: str) -> float:
    """Return the number that a string says with this decimal separator only, nan where it says none."""
    plain = text.strip()
    if unit and (match := UNIT.fullmatch(plain)) and match[1].lower() == unit:
        plain = plain[: match.start(1)].rstrip()
    if plain.lower() in BOOLEANS:
        return BOOLEANS[plain.lower()]
    if match := CLOCK.fullmatch(plain):
        return _hours(*match.groups())
    if decimal == COMMA:
        plain = plain.translate(SWAP_SEPARATORS)
    if (match := BRACKETS.fullmatch(plain)) and NUMBER.fullmatch(match[1]):
        return -float(NO_DIGITS.sub("", match[1]))
    if NUMBER.fullmatch(plain):
        return float(NO_DIGITS.sub("", plain))
    return float(plain) if INFINITE.fullmatch(plain) else np.nan


def is_plain_number(text: str, decimal: str = POINT) -> bool:
    """Tell whether a string is a number as programs write them: sign, digits, decimals, exponent, or nan or inf.

    >>> from opauc.data.schema.numbers import is_plain_number
    >>> is_plain_number("+1e3"), is_plain_number("1,5"), is_plain_number("1,5", decimal=","), is_plain_number("$5")
    (True, False, True, False)
    """
    if decimal == COMMA:
        text = text.translate(SWAP_SEPARATORS)
    return any(pattern.fullmatch(text) for pattern in (PLAIN, INFINITE, NOT_A_NUMBER))


def infer_number_format(
    strings: Sequence[str],
    counts: NDArray[np.int64],
    policy: SchemaPolicy = DEFAULT_POLICY,
    *,
    decimals: Sequence[str] = (POINT, COMMA),
    force: bool = False,
) -> NumberFormat | None:
    """Return how the distinct strings of a column write numbers, None where they are no numbers.

    `counts` has the rows of each string. Some strings may be no numbers: a few
    that mark missing values, or, in columns without a unit, rare exceptions.
    The decimal separator is the one that more rows need: "0,5" needs a comma,
    "1,200.5" a point. Where no row needs either, "1,200" is read with the first of
    `decimals`, and is returned as `ambiguous`. `force` falls back to the first
    format whatever the strings are.

    >>> import numpy as np
    >>> from opauc.data.schema.numbers import infer_number_format
    >>> infer_number_format(["1,5", "12,750"], np.array([1, 1])), infer_number_format(["red", "1"], np.array([5, 1]))
    (NumberFormat(name=',', markers=(), ambiguous=''), None)
    >>> infer_number_format(["1,200", "7"], np.array([1, 1]))
    NumberFormat(name='.', markers=(), ambiguous='1,200')
    """
    present = [(string, count) for string, count in zip(strings, counts.tolist(), strict=True) if count]
    unit = unit_of(string for string, _ in present)
    decimals, ambiguous = _order_decimals(present, unit, decimals)
    missing = np.array([is_missing(string) for string in strings], np.bool_)
    names = (*decimals, *((decimal + unit for decimal in decimals) if unit else ()))
    accepted = (_check_format(name, strings, counts, missing, policy) for name in names)
    best = next((number_format for number_format in accepted if number_format is not None), None)
    if best is None and force:
        best = _check_format(names[0], strings, counts, missing, policy, force=True)
    return None if best is None else best._replace(ambiguous=ambiguous)


def _order_decimals(
    strings: Sequence[tuple[str, int]], unit: str, decimals: Sequence[str]
) -> tuple[Sequence[str], str]:
    """Return the decimal separators, first the one that more rows need, and a string that either could explain."""
    if len(decimals) == 1:
        return decimals, ""
    if not any(COMMA in string for string, _ in strings):
        return (POINT, COMMA), ""
    needed, ambiguous = {POINT: 0, COMMA: 0}, ""
    for string, count in strings:
        with_point, with_comma = _parse(string, POINT, unit), _parse(string, COMMA, unit)
        if np.isnan(with_point) != np.isnan(with_comma):
            needed[COMMA if np.isnan(with_point) else POINT] += count
        elif COMMA in string and with_point != with_comma and not np.isnan(with_point):
            ambiguous = ambiguous or string
    if not any(needed.values()):
        return decimals, ambiguous
    return ((COMMA, POINT) if needed[COMMA] >= needed[POINT] else (POINT, COMMA)), ""


def warn_of_ambiguous_numbers(formats: Mapping[str, NumberFormat], source: str) -> None:
    """Warn of the columns whose decimal separator is a guess, all in one message."""
    guesses = [
        f"{name} ({number_format.ambiguous.strip()[:MAX_SHOWN]!r} is read as "
        f"{parse_number(number_format.ambiguous, number_format.name):.15g})"
        for name, number_format in formats.items() if number_format.ambiguous
    ]  # fmt: skip
    if guesses:
        which = "column" if len(guesses) == 1 else "columns"
        warning = InputWarning(
            f"{source}: the decimal separator is not certain in {which} {', '.join(guesses)}; name it (",
            Parameter("decimal", "."), " or ", Parameter("decimal", ","), ")",
        )  # fmt: skip
        warnings.warn(warning, stacklevel=2)


def _check_format(
    name: str,
    strings: Sequence[str],
    counts: NDArray[np.int64],
    missing: NDArray[np.bool_],
    policy: SchemaPolicy,
    force: bool = False,
) -> NumberFormat | None:
    """Return a number format with the strings that mark missing values in it, None if it reads too few strings."""
    numbers = np.empty(len(strings))
    for start in range(0, len(strings), STRINGS_AT_ONCE):
        part = slice(start, start + STRINGS_AT_ONCE)
        numbers[part] = [parse_number(string, name) for string in strings[part]]
        if not force and _too_many_others(np.isnan(numbers[: part.stop]), counts, missing, policy):
            return None
    number = ~np.isnan(numbers) & ~missing
    others = ~number & ~missing & (counts > 0)
    n_numbers, n_others = counts[number].sum(), counts[others].sum()
    enough = n_numbers >= policy.min_number_share * (n_numbers + n_others)
    few = others.sum() <= policy.max_missing_markers and enough
    several = np.unique(numbers[number]).size > 2 or not others.any()
    rare = n_others <= policy.max_unreadable_share * n_numbers
    if not force and (not (n_numbers and ((few and several) or rare)) or (len(name) > 1 and n_others)):
        return None
    markers = [strings[at] for at in np.flatnonzero(others)[: policy.max_missing_markers].tolist()] if few else []
    return NumberFormat(name, tuple(markers))


def _too_many_others(
    unreadable: NDArray[np.bool_], counts: NDArray[np.int64], missing: NDArray[np.bool_], policy: SchemaPolicy
) -> bool:
    """Tell whether the first strings have so many that are no numbers that all others cannot make up for them."""
    others = unreadable & ~missing[: unreadable.size] & (counts[: unreadable.size] > 0)
    n_others, n_present = counts[: unreadable.size][others].sum(), counts[~missing].sum()
    is_rare = n_others <= policy.max_unreadable_share * (n_present - n_others)
    return bool(others.sum() > policy.max_missing_markers and not is_rare)


def merges_integers(strings: Iterable[str], policy: SchemaPolicy = DEFAULT_POLICY) -> bool:
    """Tell whether distinct integers among strings become equal in float64, so that they must be identifiers.

    >>> from opauc.data.schema.numbers import merges_integers
    >>> merges_integers(["9007199254740992", "9007199254740993"]), merges_integers(["1700000000123456789", "-7"])
    (True, False)
    """
    integers = {string.strip() for string in strings if LARGE_INTEGER.fullmatch(string.strip())}
    return len({float(integer) for integer in integers}) < (1.0 - policy.max_merged_share) * len(integers)


def unit_of(strings: Iterable[str]) -> str:
    """Return the unit that follows the number in each string that has one, "" where there are several units.

    >>> from opauc.data.schema.numbers import unit_of
    >>> unit_of(["1 day", "7 days", "?"]), unit_of(["7 days", "2 weeks"])
    ('day', '')
    """
    units = {match[1].lower() for string in strings if (match := UNIT.fullmatch(string.strip()))}
    return units.pop() if len(units) == 1 else ""


def is_number_format(name: str) -> bool:
    """Tell whether a string names a number format."""
    return name[:1] in (POINT, COMMA) and (not name[1:] or unit_of([f"1 {name[1:]}"]) == name[1:])


def is_missing(text: str) -> bool:
    """Tell whether a string marks a missing number or date."""
    plain = text.strip()
    return plain in MISSING_MARKERS or NOT_A_NUMBER.fullmatch(plain) is not None


def _hours(days: str | None, hours: str, minutes: str, seconds: str | None, half: str | None) -> float:
    """Return the time on a clock of 24 hours, or of 12 in the first or second half of the day, after so many days."""
    whole = int(hours) if half is None else int(hours) % 12 + 12 * (half.lower() == "p")
    return 24 * int(days or 0) + whole + int(minutes) / 60.0 + float(seconds or 0.0) / 3600.0
