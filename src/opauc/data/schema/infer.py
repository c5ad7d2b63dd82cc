"""Column types of a table, inferred from a sample of its rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.data.schema.column import CATEGORY, DATE, NUMBER, ColumnSchema, category_codes, is_number
from opauc.data.schema.dates import PARTS, TIMED_PARTS, date_numbers, infer_date_layout, parse_dates, parts_of_type
from opauc.data.schema.numbers import (
    BOOLEANS,
    DECIMALS,
    MAX_SHOWN,
    MISSING_CATEGORIES,
    POINT,
    SIXTEEN_DIGITS,
    NumberFormat,
    cast_plain_numbers,
    infer_number_format,
    is_missing,
    merges_integers,
    parse_number,
    warn_of_ambiguous_numbers,
)
from opauc.data.schema.policy import DEFAULT_POLICY, SchemaPolicy
from opauc.errors import InputError, Parameter
from opauc.types import Array, Floats

if TYPE_CHECKING:
    from pyarrow import Array as Column
    from pyarrow import RecordBatch

# Kinds of columns that are dropped.
IDENTIFIER, TEXT, CONSTANT, EMPTY, OTHER = "identifier", "free text", "constant", "empty", "other"
NOT_ENCODED = ", which is neither numbers, strings nor dates"
BOOLEAN = "boolean"
# Names of identifiers, and of times, which may be all different without counting rows.
IDENTIFIER_NAMES = re.compile(r"(^|[\W_])(id|uuid|guid|rowid|index|idx)$|[a-z]I[dD]$|^Unnamed: \d+$", re.ASCII)
TIME_NAMES = re.compile(r"time|date|stamp|epoch|year|day", re.IGNORECASE)
DAY_MICROSECONDS = 86_400_000_000
Mask = NDArray[np.bool_]


class ColumnProfile(NamedTuple):
    """The inferred type of a column, how it is encoded (None where it is dropped), and a summary of its values."""

    name: str
    kind: str
    column: ColumnSchema | None
    summary: str
    number_format: NumberFormat = NumberFormat()  # of text

    def why_dropped(self) -> str:
        """Return the name of a dropped column with the reason."""
        return f"{self.name} ({self.summary + NOT_ENCODED if self.kind == OTHER else self.kind})"


class TypeOverrides(NamedTuple):
    """Names of the columns that a user declares categorical or numeric, and the decimal separators to try in text.

    `typed` says that the table declares which columns are strings, as frames, Parquet and JSON do and CSV does not:
    strings of digits are codes there, since their owner could have had numbers.
    """

    categorical: Collection[str] = ()
    numeric: Collection[str] = ()
    decimals: Sequence[str] = DECIMALS
    typed: bool = False


NO_OVERRIDES = TypeOverrides()


def infer_column_types(
    batch: RecordBatch,
    names: Sequence[str],
    overrides: TypeOverrides = NO_OVERRIDES,
    positive: Mask | None = None,
    policy: SchemaPolicy = DEFAULT_POLICY,
    source: str = "memory",
) -> list[ColumnProfile]:
    """Return the profiles of the named columns; `positive` marks the positive rows where labels are given.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.schema.infer import infer_column_types
    >>> rows = pa.record_batch({"age": ["30", "?", "41"], "city": ["Bern", "Chur", "Bern"], "all": ["1", "1", "1"]})
    >>> [(profile.name, profile.kind) for profile in infer_column_types(rows, rows.schema.names)]
    [('age', 'number'), ('city', 'category'), ('all', 'constant')]
    """
    from opauc.data.arrow_columns import check_categories

    for name in names:
        if name in overrides.categorical:
            check_categories(batch, name, source)
    profiles = [infer_column_type(name, batch.column(name), overrides, policy) for name in names]
    warn_of_ambiguous_numbers({profile.name: profile.number_format for profile in profiles}, source)
    for profile in profiles:
        if profile.name in overrides.numeric and profile.kind in (EMPTY, OTHER):
            _check_declared(profile, batch.column(profile.name), source)
    return [
        profile if positive is None else _unless_codes(profile, batch.column(profile.name), positive, policy)
        for profile in profiles
    ]


def _check_declared(profile: ColumnProfile, values: Column, source: str) -> None:
    """Raise for a column that is declared numeric and has values, but no numbers."""
    present = values.drop_null().to_pylist()
    if (example := next((value for value in present if not is_missing(str(value))), None)) is not None:
        raise InputError(
            f"{source}: column {profile.name} is declared numeric (", Parameter("numeric", [profile.name]),
            f") but has no numbers, for example {str(example)[:MAX_SHOWN]!r}",
        )  # fmt: skip


def all_dropped(profiles: Sequence[ColumnProfile], source: str) -> InputError:
    """Return the error of a table of which no column is encoded, with the reason for each."""
    return InputError(f"{source}: every column is dropped: {', '.join(profile.why_dropped() for profile in profiles)}")


def infer_column_type(
    name: str, values: Column, overrides: TypeOverrides = NO_OVERRIDES, policy: SchemaPolicy = DEFAULT_POLICY
) -> ColumnProfile:
    """Return the profile of a column."""
    from pyarrow import types

    from opauc.data.arrow_columns import are_merged, is_text

    plain = values.dictionary_decode() if types.is_dictionary(values.type) else values
    declared = name in overrides.numeric
    if not declared and are_merged(plain, policy):
        values = plain = plain.cast("string")
    categories = types.is_dictionary(values.type) and not is_text(plain.type) and not declared
    if name in overrides.categorical or categories:
        return _category(name, plain)
    if is_text(plain.type):
        return _infer_text_column(name, plain, values.type != plain.type, declared, overrides, policy)
    if (parts := parts_of_type(plain.type)) is not None:
        if "hour" in parts and not np.nan_to_num(date_numbers(plain, ("hour",), f"column {name}")).any():
            parts = PARTS  # as the same dates are typed where they are text
        kind = EMPTY if plain.null_count == len(plain) else DATE
        column = ColumnSchema(name, DATE, parts) if kind == DATE else None
        return ColumnProfile(name, kind, column, _missing_share(plain))
    if is_number(plain.type):
        column = ColumnSchema(name, NUMBER, declared=declared)
        kind = BOOLEAN if types.is_boolean(plain.type) else NUMBER
        return _profile_numbers(kind, column, column.encode(plain, "").rows[:, 0], declared, policy)
    return ColumnProfile(name, OTHER, None, f"holds {plain.type}")


def _profile_numbers(
    kind: str, column: ColumnSchema, numbers: Floats, declared: bool, policy: SchemaPolicy
) -> ColumnProfile:
    name, present = column.name, numbers[~np.isnan(numbers)]
    distinct = np.unique(present)
    n_missing = numbers.size - present.size
    summary = f"{distinct.size:,} values" + (f", {100 * n_missing / numbers.size:.2g} % missing" if n_missing else "")
    if not present.size:
        return ColumnProfile(name, EMPTY, None, "no value")
    if distinct.size == 1 and not n_missing:
        return ColumnProfile(name, CONSTANT, None, f"always {distinct[0]:g}")
    if not declared and not n_missing and is_counter(name, present, distinct, policy):
        summary = f"{distinct.size:,} different whole numbers in {present.size:,} rows"
        return ColumnProfile(name, IDENTIFIER, None, summary)
    return ColumnProfile(name, kind, column, summary)


def is_counter(name: str, numbers: Floats, distinct: Floats, policy: SchemaPolicy = DEFAULT_POLICY) -> bool:
    """Tell whether whole numbers count the rows: all differ, and they fill their range or the name is that of an id.

    >>> import numpy as np
    >>> from opauc.data.schema.infer import is_counter
    >>> rows = np.random.default_rng(0).permutation(1000).astype(float)
    >>> is_counter("n", rows, np.unique(rows)), is_counter("n", rows**2, np.unique(rows**2))
    (True, False)
    """
    size = numbers.size
    if size < policy.min_values or distinct.size < size or not are_whole(distinct):
        return False
    if IDENTIFIER_NAMES.search(name):
        return True
    if TIME_NAMES.search(name):
        return False
    span = distinct[-1] - distinct[0] + 1.0
    # Kolmogorov's distance from an even spread, in units of its standard deviation.
    distance = np.abs((distinct - distinct[0]) / span - np.arange(size) / size).max() * np.sqrt(size)
    even = size >= policy.counter_even_rows and distance < policy.counter_max_distance
    return bool(size >= policy.counter_density * span or even)


def are_whole(numbers: Floats) -> bool:
    """Tell whether numbers are whole and finite."""
    return bool(np.isfinite(numbers).all() and not (numbers % 1.0).any())


def _unless_codes(profile: ColumnProfile, values: Column, positive: Mask, policy: SchemaPolicy) -> ColumnProfile:
    """Return the profile, as a category where its numbers are codes."""
    if profile.kind != NUMBER or profile.column is None or profile.column.declared:
        return profile
    numbers = profile.column.encode(values, "").rows[:, 0]
    if not are_codes(numbers, positive, policy):
        return profile
    column = ColumnSchema(profile.name, CATEGORY)
    return ColumnProfile(profile.name, CATEGORY, column, f"{profile.summary}, which are codes")


def rows_of_one_class(labels: Array) -> Mask:
    """Return the rows that count as positive where column types are inferred: those of the first row's class.

    Of more than two classes they are those of the most frequent one, so that it matters little which row is first.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.data.schema.infer import rows_of_one_class
    >>> [rows_of_one_class(np.array(labels)).tolist() for labels in ([1, 0, 1], ["a", "b", "c", "b"])]
    [[True, False, True], [False, True, False, True]]
    """
    first = np.asarray(labels == labels[:1])
    others = labels[~first]
    if not np.asarray(others != others[:1]).any():
        return first
    distinct, counts = np.unique(labels, return_counts=True)
    return np.asarray(labels == distinct[counts.argmax()])


def are_codes(numbers: Floats, positive: Mask, policy: SchemaPolicy = DEFAULT_POLICY) -> bool:
    """Tell whether whole numbers are codes of categories: neighbors are no more alike than any two.

    The share of positive rows varies over the values of a quantity too, but
    slowly: the variance between neighbors is a small part of that between any
    two values. Both are estimated less what chance brings.

    >>> import numpy as np
    >>> from opauc.data.schema.infer import are_codes
    >>> random = np.random.default_rng(0)
    >>> rows, rates = random.integers(100, size=20_000), random.random(100)
    >>> are_codes(rows * 1.0, random.random(20_000) < rates[rows])
    True
    >>> are_codes(rows * 1.0, random.random(20_000) < np.sort(rates)[rows])
    False
    """
    present = ~np.isnan(numbers)
    values, codes, counts = np.unique(numbers[present], return_inverse=True, return_counts=True)
    if values.size < policy.min_codes or not are_whole(values) or counts.max() > policy.max_code_share * counts.sum():
        return False
    frequent = counts >= policy.min_rows_per_code
    n = counts[frequent].astype(float)
    if frequent.sum() < policy.min_codes or n.sum() < policy.max_code_share * counts.sum():
        return False
    rates = np.bincount(codes, positive[present])[frequent] / n
    mean = rates @ n / n.sum()
    noise = mean * (1.0 - mean)
    between = n @ (rates - mean) ** 2 - (n.size - 1) * noise
    weights = 1.0 / (1.0 / n[1:] + 1.0 / n[:-1])
    nearby = weights @ np.diff(rates) ** 2 - (n.size - 1) * noise
    certain = between > policy.min_code_z * noise * np.sqrt(2.0 * (n.size - 1))
    return bool(certain and nearby / (2.0 * weights.sum()) > policy.min_neighbor_variance * between / n.sum())


def _infer_text_column(
    name: str, values: Column, is_dictionary: bool, declared: bool, overrides: TypeOverrides, policy: SchemaPolicy
) -> ColumnProfile:
    """Return the profile of a text column; `declared` says that the user declares it numeric."""
    from opauc.data.arrow_columns import encode_strings

    may_be_plain = POINT in overrides.decimals and not is_dictionary and not overrides.typed
    plain = cast_plain_numbers(values) if may_be_plain else None
    if plain is not None and 0.0 <= np.nanmax(np.abs(plain), initial=-1.0) < SIXTEEN_DIGITS:
        # Most columns of numbers. There is no comma, no unit and no integer that merges: the strings tell no more.
        return _profile_numbers(NUMBER, ColumnSchema(name, NUMBER, declared=declared), plain, declared, policy)
    strings, codes = encode_strings(values)
    counts = np.bincount(codes[codes >= 0], minlength=len(strings))
    present = [string for string, count in zip(strings, counts.tolist(), strict=True) if count]
    if all(string in MISSING_CATEGORIES for string in present) or (len(present) == 1 and is_missing(present[0])):
        return ColumnProfile(name, EMPTY, None, "no value")
    if is_dictionary and not declared:
        return _profile_strings(name, values, strings, counts, policy, is_dictionary=True)
    if overrides.typed and not declared and are_digit_codes(present):
        return _profile_strings(name, values, strings, counts, policy)
    number_format = infer_number_format(strings, counts, policy, decimals=overrides.decimals, force=declared)
    if number_format is not None and (declared or not merges_integers(present, policy)):
        numbers = np.array([*(parse_number(string, number_format.name) for string in strings), np.nan])
        booleans = {string.strip().lower() for string in strings if not is_missing(string)} <= set(BOOLEANS)
        text_format = "" if number_format.name == POINT else number_format.name
        column = ColumnSchema(
            name, NUMBER, missing_markers=number_format.markers, text_format=text_format, declared=declared
        )
        profile = _profile_numbers(BOOLEAN if booleans else NUMBER, column, numbers[codes], declared, policy)
        return profile._replace(number_format=number_format)
    if (layout := infer_date_layout(values, policy)) is not None:
        timed = _have_times(parse_dates(values, layout).times)
        column = ColumnSchema(name, DATE, TIMED_PARTS if timed else PARTS, text_format=layout)
        return ColumnProfile(name, DATE, column, f"{len(strings):,} values, as {layout}")
    return _profile_strings(name, values, strings, counts, policy)


def are_digit_codes(strings: Sequence[str]) -> bool:
    """Tell whether strings that are declared as such are all digits: more than two different ones are codes.

    With anything else among them, even a missing-value marker, they are strings for its sake and may be numbers.

    >>> from opauc.data.schema.infer import are_digit_codes
    >>> are_digit_codes(["17", "4", "23"]), are_digit_codes(["17", "4", "?"]), are_digit_codes(["0", "1"])
    (True, False, False)
    """
    return len(strings) > 2 and all(string.isascii() and string.isdigit() for string in strings)


def _profile_strings(
    name: str,
    values: Column,
    strings: list[str],
    counts: NDArray[np.int64],
    policy: SchemaPolicy,
    is_dictionary: bool = False,
) -> ColumnProfile:
    """Return a category, or a column to drop: a constant, an identifier or free text."""
    total, distinct = int(counts.sum()), int((counts > 0).sum())
    share = distinct / total
    if distinct == 1 and total == len(values):
        return ColumnProfile(name, CONSTANT, None, f"always {strings[int(np.argmax(counts))][:40]}")
    if total >= policy.min_values and not is_dictionary:
        summary = f"{distinct:,} different values in {total:,} rows"
        n_words = np.mean([len(string.split()) for string in strings])
        if share >= policy.free_text_share and n_words >= policy.free_text_words:
            return ColumnProfile(name, TEXT, None, summary)
        named = share >= policy.named_identifier_share and IDENTIFIER_NAMES.search(name)
        if share >= policy.identifier_share or named:
            return ColumnProfile(name, IDENTIFIER, None, summary)
    return _category(name, values)


def _category(name: str, values: Column) -> ColumnProfile:
    _, codes = category_codes(values)
    distinct = np.unique(codes[codes >= 0]).size
    n_missing = int((codes < 0).sum())
    summary = f"{distinct:,} categories" + (f", {100 * n_missing / len(codes):.2g} % missing" if n_missing else "")
    return ColumnProfile(name, CATEGORY, ColumnSchema(name, CATEGORY), summary)


def _have_times(times: Column) -> bool:
    """Tell whether any timestamp is not at midnight."""
    import pyarrow as pa
    import pyarrow.compute as pc

    microseconds = pc.cast(times, pa.int64())
    days = pc.divide(microseconds, DAY_MICROSECONDS)
    rest = pc.subtract(microseconds, pc.multiply(days, DAY_MICROSECONDS))
    return bool(pc.any(pc.not_equal(rest, 0)).as_py())


def _missing_share(values: Column) -> str:
    n_missing = values.null_count
    return f"{100 * n_missing / len(values):.2g} % missing" if n_missing else "dates"
