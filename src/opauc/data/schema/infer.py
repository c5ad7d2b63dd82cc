"""What the columns of a table are, found by looking at some of its rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.data.schema.column import CATEGORY, DATE, NUMBER, ColumnSchema, category_words, is_number
from opauc.data.schema.dates import PARTS, TIMED_PARTS, best_layout, date_numbers, parts_of_type, text_dates
from opauc.data.schema.numbers import COMMA, NO_CATEGORY, POINT, TRUTHS, is_missing, number_of, unit_of
from opauc.types import Floats

if TYPE_CHECKING:
    from pyarrow import Array as Column
    from pyarrow import RecordBatch

# What is left out, by reason.
IDENTIFIER, TEXT, CONSTANT, EMPTY, STRANGE = "identifier", "free text", "constant", "empty", "other"
BOOLEAN = "boolean"
# Fewer values cannot tell an identifier from a category.
ENOUGH_VALUES = 100
# Of an identifier nearly all values differ, and of one whose name says so, most do.
MOSTLY_DIFFERENT, NAMED_DIFFERENT = 0.9, 0.5
NAMED = re.compile(r"(^|[\W_])(id|uuid|guid|rowid|index|idx)$|[a-z]I[dD]$|^Unnamed: \d+$", re.ASCII)
TIMES = re.compile(r"time|date|stamp|epoch|year|day", re.IGNORECASE)
# Of free text most values differ and have several words.
WORDS_OF_TEXT, DIFFERENT_TEXT = 4.0, 0.5
# A column of numbers may have so many words that stand for none, if at least this share of the values are numbers.
MOST_MARKS, LEAST_NUMBERS = 3, 0.5
# A few values in a thousand may be anything: they are counted as missing.
STRAYS = 0.005
# Whole numbers that fill this share of their range, each once, count the rows; so do those that fill it evenly.
DENSE, EVEN = 0.5, 1.5


# Codes have so many values at least, each in so many rows, none in more than this share of all; their rates of
# positive rows differ by more than chance, by so many standard deviations, and those of neighbors by as much.
FEWEST_CODES, ROWS_A_CODE, LARGEST_CODE, SURE, UNLIKE = 40, 10, 0.5, 20.0, 0.7
Mask = NDArray[np.bool_]


class ColumnProfile(NamedTuple):
    """What a column is: what it becomes, None where it is left out, in which way, and what was seen of it."""

    name: str
    kind: str
    column: ColumnSchema | None
    seen: str


class TypeOverrides(NamedTuple):
    """Columns that a user calls categorical or numeric, by name."""

    categorical: Collection[str] = ()
    numeric: Collection[str] = ()


NO_OVERRIDES = TypeOverrides()


def infer_column_types(
    batch: RecordBatch, names: Sequence[str], said: TypeOverrides = NO_OVERRIDES, positive: Mask | None = None
) -> list[ColumnProfile]:
    """Return what the named columns of some rows are; `positive` tells the classes of the rows, where they are known.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.schema.infer import infer_column_types
    >>> rows = pa.record_batch({"age": ["30", "?", "41"], "city": ["Bern", "Chur", "Bern"], "all": ["1", "1", "1"]})
    >>> [(found.name, found.kind) for found in infer_column_types(rows, rows.schema.names)]
    [('age', 'number'), ('city', 'category'), ('all', 'constant')]
    """
    found = [infer_column_type(name, batch.column(name), said) for name in names]
    if positive is None:
        return found
    return [one if one.name in said.numeric else _unless_codes(one, batch.column(one.name), positive) for one in found]


def infer_column_type(name: str, values: Column, said: TypeOverrides = NO_OVERRIDES) -> ColumnProfile:
    """Return what a column is."""
    from pyarrow import types

    from opauc.data.arrow_columns import is_words

    plain = values.dictionary_decode() if types.is_dictionary(values.type) else values
    typed = types.is_dictionary(values.type) and not is_words(plain.type) and name not in said.numeric
    if name in said.categorical or typed:
        return _category(name, plain)
    if is_words(plain.type):
        return _looked(name, plain, is_dictionary=values.type != plain.type, numeric=name in said.numeric)
    if (parts := parts_of_type(plain.type)) is not None:
        if "hour" in parts and not np.nan_to_num(date_numbers(plain, ("hour",))).any():
            parts = PARTS  # as the same dates are typed where they are text
        kind = EMPTY if plain.null_count == len(plain) else DATE
        return ColumnProfile(name, kind, ColumnSchema(name, DATE, parts) if kind == DATE else None, _missing(plain))
    if is_number(plain.type):
        return _numbers(name, plain, asked=name in said.numeric)
    return ColumnProfile(name, STRANGE, None, f"holds {plain.type}")


def _numbers(name: str, values: Column, asked: bool) -> ColumnProfile:
    from pyarrow import types

    column = ColumnSchema(name, NUMBER)
    numbers = column.numbers(values, "").rows[:, 0]
    kind = BOOLEAN if types.is_boolean(values.type) else NUMBER
    return _of_numbers(name, kind, column, numbers, asked)


def _of_numbers(name: str, kind: str, column: ColumnSchema, numbers: Floats, asked: bool) -> ColumnProfile:
    known = numbers[~np.isnan(numbers)]
    different = np.unique(known)
    lost = numbers.size - known.size
    seen = f"{different.size:,} values" + (f", {100 * lost / numbers.size:.2g} % missing" if lost else "")
    if not known.size:
        return ColumnProfile(name, EMPTY, None, "no value")
    if different.size == 1 and not lost:
        return ColumnProfile(name, CONSTANT, None, f"always {different[0]:g}")
    if not asked and not lost and is_counter(name, known, different):
        return ColumnProfile(
            name, IDENTIFIER, None, f"{different.size:,} different whole numbers in {known.size:,} rows"
        )
    return ColumnProfile(name, kind, column, seen)


def is_counter(name: str, numbers: Floats, different: Floats) -> bool:
    """Tell whether whole numbers number the rows: all differ, and they fill their range or the name says so.

    >>> import numpy as np
    >>> from opauc.data.schema.infer import is_counter
    >>> rows = np.random.default_rng(0).permutation(1000).astype(float)
    >>> is_counter("n", rows, np.unique(rows)), is_counter("n", rows**2, np.unique(rows**2))
    (True, False)
    """
    size = numbers.size
    if size < ENOUGH_VALUES or different.size < size or not are_whole(different):
        return False
    if NAMED.search(name):
        return True
    span = different[-1] - different[0] + 1.0
    if TIMES.search(name):
        return False
    # Kolmogorov's distance from an even spread, in units of its standard deviation.
    distance = np.abs((different - different[0]) / span - np.arange(size) / size).max() * np.sqrt(size)
    return bool(size >= DENSE * span or (size >= 10 * ENOUGH_VALUES and distance < EVEN))


def are_whole(numbers: Floats) -> bool:
    """Tell whether numbers are whole and finite."""
    return bool(np.isfinite(numbers).all() and not (numbers % 1.0).any())


def _unless_codes(found: ColumnProfile, values: Column, positive: Mask) -> ColumnProfile:
    if found.kind != NUMBER or found.column is None:
        return found
    numbers = found.column.numbers(values, "").rows[:, 0]
    if not are_codes(numbers, positive):
        return found
    return ColumnProfile(found.name, CATEGORY, ColumnSchema(found.name, CATEGORY), f"{found.seen}, which are codes")


def are_codes(numbers: Floats, positive: Mask) -> bool:
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
    known = ~np.isnan(numbers)
    values, places, counts = np.unique(numbers[known], return_inverse=True, return_counts=True)
    if values.size < FEWEST_CODES or not are_whole(values) or counts.max() > LARGEST_CODE * counts.sum():
        return False
    kept = counts >= ROWS_A_CODE
    n = counts[kept].astype(float)
    if kept.sum() < FEWEST_CODES or n.sum() < LARGEST_CODE * counts.sum():
        return False
    rates = np.bincount(places, positive[known])[kept] / n
    mean = rates @ n / n.sum()
    noise = mean * (1.0 - mean)
    between = n @ (rates - mean) ** 2 - (n.size - 1) * noise
    weights = 1.0 / (1.0 / n[1:] + 1.0 / n[:-1])
    nearby = weights @ np.diff(rates) ** 2 - (n.size - 1) * noise
    sure = between > SURE * noise * np.sqrt(2.0 * (n.size - 1))
    return bool(sure and nearby / (2.0 * weights.sum()) > UNLIKE * between / n.sum())


def _looked(name: str, values: Column, is_dictionary: bool, numeric: bool) -> ColumnProfile:
    """Return what a column of text is."""
    from opauc.data.arrow_columns import words_of

    words, levels = words_of(values)
    counts = np.bincount(levels[levels >= 0], minlength=len(words))
    met = [word for word, count in zip(words, counts.tolist(), strict=True) if count]
    if all(word in NO_CATEGORY for word in met) or (len(met) == 1 and is_missing(met[0])):
        return ColumnProfile(name, EMPTY, None, "no value")
    if is_dictionary and not numeric:
        return _of_words(name, values, words, counts, typed=True)
    unit = unit_of(met)
    for spelling in (POINT, COMMA, *((POINT + unit, COMMA + unit) if unit else ())):
        spelled = np.array([number_of(word, spelling) for word in words])
        if (column := _spelled_numbers(name, words, counts, spelled, numeric, spelling)) is not None:
            kind = (
                BOOLEAN if {word.strip().lower() for word in words if not is_missing(word)} <= set(TRUTHS) else NUMBER
            )
            return _of_numbers(name, kind, column, np.append(spelled, np.nan)[levels], numeric)
    if (layout := best_layout(values)) is not None:
        timed = _are_timed(text_dates(values, layout).times)
        column = ColumnSchema(name, DATE, TIMED_PARTS if timed else PARTS, spelling=layout)
        return ColumnProfile(name, DATE, column, f"{len(words):,} values, as {layout}")
    return _of_words(name, values, words, counts, typed=False)


def _spelled_numbers(
    name: str, words: list[str], counts: NDArray[np.int64], spelled: Floats, asked: bool, spelling: str
) -> ColumnSchema | None:
    """Return the column if its words are numbers but for those that stand for none and, without units, strays."""
    missing = np.array([is_missing(word) for word in words])
    number = ~np.isnan(spelled) & ~missing
    others = ~number & ~missing & (counts > 0)
    n_numbers, n_others = counts[number].sum(), counts[others].sum()
    few = others.sum() <= MOST_MARKS and n_numbers >= LEAST_NUMBERS * (n_numbers + n_others)
    several = np.unique(spelled[number]).size > 2 or not others.any()
    if not (asked or (n_numbers and ((few and several) or n_others <= STRAYS * n_numbers))):
        return None
    if len(spelling) > 1 and n_others and not asked:
        return None
    marks = [words[at] for at in np.flatnonzero(others)[:MOST_MARKS].tolist()] if few else []
    return ColumnSchema(
        name,
        NUMBER,
        words={mark: place for place, mark in enumerate(marks)},
        spelling="" if spelling == POINT else spelling,
    )


def _of_words(name: str, values: Column, words: list[str], counts: NDArray[np.int64], typed: bool) -> ColumnProfile:
    """Return a category, or that the values are of no use: nearly all different, or one."""
    total, different = int(counts.sum()), int((counts > 0).sum())
    share = different / total
    if different == 1 and total == len(values):
        return ColumnProfile(name, CONSTANT, None, f"always {words[int(np.argmax(counts))][:40]}")
    if total >= ENOUGH_VALUES and not typed:
        seen = f"{different:,} different values in {total:,} rows"
        if share >= DIFFERENT_TEXT and np.mean([len(word.split()) for word in words]) >= WORDS_OF_TEXT:
            return ColumnProfile(name, TEXT, None, seen)
        if share >= MOSTLY_DIFFERENT or (share >= NAMED_DIFFERENT and NAMED.search(name)):
            return ColumnProfile(name, IDENTIFIER, None, seen)
    return _category(name, values)


def _category(name: str, values: Column) -> ColumnProfile:
    _, levels = category_words(values)
    different = np.unique(levels[levels >= 0]).size
    lost = int((levels < 0).sum())
    seen = f"{different:,} categories" + (f", {100 * lost / len(levels):.2g} % missing" if lost else "")
    return ColumnProfile(name, CATEGORY, ColumnSchema(name, CATEGORY), seen)


def _are_timed(times: Column) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    day = 86_400_000_000
    seconds = pc.cast(times, pa.int64())
    rest = pc.subtract(seconds, pc.multiply(pc.divide(seconds, day), day))
    return bool(pc.any(pc.not_equal(rest, 0)).as_py())


def _missing(values: Column) -> str:
    lost = values.null_count
    return f"{100 * lost / len(values):.2g} % missing" if lost else "dates"
