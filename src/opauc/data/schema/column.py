"""One column of a table as numbers: as it is, as numbers of categories, or as the parts of dates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from opauc.core.json_schema import json_as
from opauc.data.schema.dates import ISO, are_layouts, best_layout, date_numbers, parts_of_type, text_dates
from opauc.data.schema.numbers import NO_CATEGORY, POINT, is_spelling, text_numbers
from opauc.errors import InputError
from opauc.types import Floats, Json

if TYPE_CHECKING:
    from pyarrow import Array as Column
    from pyarrow import DataType

NUMBER, CATEGORY, DATE = KINDS = ("number", "category", "date")
# The number of a category that nothing is known of.
UNSEEN = -1.0
# Times are read as hours, as text that tells the time is.
UNITS_AN_HOUR = {"s": 3600.0, "ms": 3.6e6, "us": 3.6e9, "ns": 3.6e12}
# A column that turns out to have more different words learns no more of them.
MOST_WORDS = 2**17


class SavedColumn(TypedDict):
    """A column as JSON has it."""

    name: str
    kind: str
    parts: list[str]
    words: dict[str, int]


class SpelledColumn(SavedColumn, total=False):
    """The same, with how its text is spelled."""

    spelling: str


class ColumnNumbers(NamedTuple):
    """The numbers of a column's values, one row each, and how many values could not be read as such."""

    rows: Floats
    unreadable: int


@dataclass(frozen=True, eq=False)
class ColumnSchema:
    """What a column of a table becomes: a number, the number of a category, or the parts of a date.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.schema.column import NUMBER, ColumnSchema
    >>> ColumnSchema("age", NUMBER).numbers(pa.array(["30", "?"]), "a.csv").rows
    array([[30.],
           [nan]])
    """

    name: str
    kind: str
    parts: tuple[str, ...] = ()  # of a date
    words: Mapping[str, int] = field(default_factory=dict)  # the number of each category; of numbers, words for none
    spelling: str = ""  # of text: what stands before the decimals of a number and its unit, or the layout of a date

    @classmethod
    def of_type(cls, name: str, kind: DataType, source: str) -> ColumnSchema:
        """Return the column for values of a type of Arrow's."""
        from pyarrow import types

        from opauc.data.arrow_columns import is_words

        if (parts := parts_of_type(kind)) is not None:
            return cls(name, DATE, parts)
        if is_words(kind) or types.is_dictionary(kind):
            return cls(name, CATEGORY)
        if is_number(kind):
            return cls(name, NUMBER)
        raise InputError(f"{source}: column {name} holds {kind}, which is neither numbers, words nor dates")

    @property
    def inputs(self) -> list[str]:
        """Names of the numbers that a value becomes."""
        return [f"{self.name} {part}" for part in self.parts] or [self.name]

    def with_words(self, values: Column, source: str) -> ColumnSchema:
        """Return the column with new categories numbered, in the order of the rows."""
        if self.kind != CATEGORY or len(self.words) >= MOST_WORDS:
            return self
        words, levels = self._words(values, source)
        met, first = np.unique(levels[levels >= 0], return_index=True)
        known = dict(self.words)
        for level in met[np.argsort(first)].tolist():
            known.setdefault(words[level], len(known))
        return replace(self, words=known)

    def numbers(self, values: Column, source: str) -> ColumnNumbers:
        """Return the numbers of the column's values."""
        import pyarrow as pa

        plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        if self.kind == CATEGORY:
            words, levels = self._words(values, source)
            numbers = np.array([self.words.get(word, UNSEEN) for word in words] + [np.nan])
            return ColumnNumbers(numbers[levels][:, None], 0)
        return self._dates(plain, source) if self.kind == DATE else self._numbers(plain, source)

    def unseen_words(self, values: Column, source: str) -> tuple[int, list[str]]:
        """Return in how many rows a category stands that nothing is known of, and which they are."""
        words, levels = self._words(values, source)
        strange = np.array([*(word not in self.words for word in words), False])
        rows = levels[strange[levels]]
        return rows.size, [words[level] for level in np.unique(rows).tolist()]

    def to_json(self) -> Json:
        """Return all there is as JSON has it."""
        saved: Json = {"name": self.name, "kind": self.kind, "parts": list(self.parts), "words": dict(self.words)}
        return {**saved, "spelling": self.spelling} if self.spelling else saved

    @classmethod
    def of_json(cls, saved: object) -> ColumnSchema:
        """Return what `to_json` gave, refused unless it can have."""
        one = json_as(SpelledColumn, saved, "column")
        name, kind, spelling = one["name"], one["kind"], one.get("spelling", "")
        if kind not in KINDS or (kind == DATE) != bool(one["parts"]):
            raise ValueError(f"column {name}: expected a number, a category or a date with its parts")
        numbers = list(one["words"].values())
        if len(set(numbers)) < len(numbers) or min(numbers, default=0) < 0:
            raise ValueError(f"column {name}: expected categories with a number each")
        known = {NUMBER: is_spelling(spelling), DATE: are_layouts(spelling), CATEGORY: False}
        if spelling and not known[kind]:
            raise ValueError(f"column {name}: expected a way to write numbers or dates, got {spelling[:40]!r}")
        return cls(name, kind, tuple(one["parts"]), dict(one["words"]), spelling)

    def _numbers(self, plain: Column, source: str) -> ColumnNumbers:
        import pyarrow as pa
        import pyarrow.compute as pc

        from opauc.data.arrow_columns import is_words, numbers_in

        if is_words(plain.type):
            found = text_numbers(plain, self.spelling or POINT, self.words)
            return ColumnNumbers(found.numbers[:, None], found.unreadable)
        if not is_number(plain.type):
            raise InputError(f"{source}: column {self.name} holds {plain.type}, it was numbers in the rows before")
        if _is_time(plain.type):
            units = pc.cast(plain, pa.int32() if plain.type.bit_width == 32 else pa.int64())
            plain = pc.divide(pc.cast(units, pa.float64(), safe=False), UNITS_AN_HOUR[plain.type.unit])
        return ColumnNumbers(numbers_in(pc.cast(plain, pa.float64(), safe=False))[:, None], 0)

    def _dates(self, plain: Column, source: str) -> ColumnNumbers:
        from pyarrow import types

        from opauc.data.arrow_columns import is_words

        unreadable = 0
        if is_words(plain.type):
            plain, unreadable = text_dates(plain, self.spelling or best_layout(plain) or ISO)
        elif types.is_null(plain.type):
            plain, unreadable = text_dates(plain, ISO)
        if parts_of_type(plain.type) is None:
            raise InputError(f"{source}: column {self.name} holds {plain.type}, it was dates in the rows before")
        return ColumnNumbers(date_numbers(plain, self.parts), unreadable)

    def _words(self, values: Column, source: str) -> tuple[list[str], NDArray[np.int32]]:
        """Return the different words of the column, and which of them stands in each row, -1 where none does."""
        import pyarrow as pa

        try:
            return category_words(values)
        except pa.ArrowException as error:
            raise InputError(f"{source}: column {self.name} holds {values.type}, which cannot be categories") from error


def category_words(values: Column) -> tuple[list[str], NDArray[np.int32]]:
    """Return the different words of a column, and which of them stands in each row, -1 where none or NULL does.

    >>> import pyarrow as pa
    >>> from opauc.data.schema.column import category_words
    >>> category_words(pa.array(["red", "NULL", None]))
    (['red', 'NULL'], array([ 0, -1, -1], dtype=int32))
    """
    from opauc.data.arrow_columns import words_of

    words, levels = words_of(values)
    absent = [word in NO_CATEGORY for word in words]
    if any(absent):
        places = np.append(np.where(absent, -1, np.arange(len(words))), -1)
        levels = places[levels].astype(np.int32)
    return words, levels


def is_number(kind: DataType) -> bool:
    """Tell whether the values of a type are numbers, truth values or, as hours, times of the day and durations."""
    from pyarrow import types

    return bool(
        types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
        or types.is_decimal(kind) or types.is_null(kind) or _is_time(kind)
    )  # fmt: skip


def _is_time(kind: DataType) -> bool:
    from pyarrow import types

    return bool(types.is_time(kind) or types.is_duration(kind))
