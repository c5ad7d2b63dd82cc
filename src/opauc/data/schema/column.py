"""The schema of one column: how its values become numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from opauc.core.batch import MAX_COUNT
from opauc.core.json_schema import json_as
from opauc.data.schema.dates import ISO, are_layouts, date_numbers, infer_date_layout, parse_dates, parts_of_type
from opauc.data.schema.numbers import MISSING_CATEGORIES, POINT, is_number_format, parse_numbers
from opauc.data.schema.policy import DEFAULT_POLICY, SchemaPolicy
from opauc.errors import InputError
from opauc.types import Floats, Json

if TYPE_CHECKING:
    from pyarrow import Array as Column
    from pyarrow import DataType

NUMBER, CATEGORY, DATE = KINDS = ("number", "category", "date")
# The code of a category that is not in the schema.
UNSEEN = -1.0
# Times of day and durations are read as hours, as clock times in text are.
UNITS_PER_HOUR = {"s": 3600.0, "ms": 3.6e6, "us": 3.6e9, "ns": 3.6e12}


class SavedColumn(TypedDict):
    """A column schema in JSON."""

    name: str
    kind: str
    parts: list[str]
    categories: dict[str, int]


class SavedTextColumn(SavedColumn, total=False):
    """A column schema in JSON, with how its text is read."""

    missing_markers: list[str]
    text_format: str
    declared: bool


class EncodedColumn(NamedTuple):
    """A column as numbers, one row per value, and how many values are neither readable nor missing."""

    rows: Floats
    unreadable: int


@dataclass(frozen=True, eq=False)
class ColumnSchema:
    """How a column is encoded: as a number, as the code of a category, or as the parts of a date.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from opauc.data.schema.column import NUMBER, ColumnSchema
    >>> ColumnSchema("age", NUMBER).encode(pa.array(["30", "?"]), "a.csv").rows
    array([[30.],
           [nan]])
    """

    name: str
    kind: str
    parts: tuple[str, ...] = ()  # of a date
    categories: Mapping[str, int] = field(default_factory=dict)  # the code of each category
    missing_markers: tuple[str, ...] = ()  # of a number: strings that mark missing values beside the general ones
    text_format: str = ""  # of text: the number format or the date layout
    declared: bool = False  # whether the user declares it numeric: its numbers are no codes

    @classmethod
    def of_type(cls, name: str, kind: DataType, source: str) -> ColumnSchema:
        """Return the schema of a column of an Arrow type."""
        from pyarrow import types

        from opauc.data.arrow_columns import is_text

        if (parts := parts_of_type(kind)) is not None:
            return cls(name, DATE, parts)
        if is_text(kind) or types.is_dictionary(kind):
            return cls(name, CATEGORY)
        if is_number(kind):
            return cls(name, NUMBER)
        raise InputError(f"{source}: column {name} holds {kind}, which is neither numbers, strings nor dates")

    @property
    def inputs(self) -> list[str]:
        """Names of the numbers that a value becomes."""
        return [f"{self.name} {part}" for part in self.parts] or [self.name]

    def learn(
        self, values: Column, source: str, policy: SchemaPolicy = DEFAULT_POLICY
    ) -> tuple[ColumnSchema, EncodedColumn]:
        """Return the schema with new categories added, in the order of the rows, and the values as its numbers."""
        if self.kind != CATEGORY:
            return self, self.encode(values, source)
        strings, codes = self._codes(values, source)
        if len(self.categories) >= policy.max_categories:
            return self, self._encode_categories(strings, codes)
        present, first = np.unique(codes[codes >= 0], return_index=True)
        categories = dict(self.categories)
        for code in present[np.argsort(first)].tolist():
            categories.setdefault(strings[code], len(categories))
        after = replace(self, categories=categories)
        return after, after._encode_categories(strings, codes)

    def with_sorted_categories(self, values: Column, source: str) -> ColumnSchema:
        """Return the schema with the categories of all rows, coded by their names: the order of rows plays no part."""
        if self.kind != CATEGORY:
            return self
        strings, codes = self._codes(values, source)
        present = sorted(strings[code] for code in np.unique(codes[codes >= 0]).tolist())
        return replace(self, categories={category: code for code, category in enumerate(present)})

    def encode(self, values: Column, source: str) -> EncodedColumn:
        """Return the values of the column as numbers."""
        import pyarrow as pa

        plain = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        if self.kind == CATEGORY:
            return self._encode_categories(*self._codes(values, source))
        return self._encode_dates(plain, source) if self.kind == DATE else self._encode_numbers(plain, source)

    def unseen_categories(self, values: Column, source: str) -> tuple[int, list[str]]:
        """Return the number of rows with a category that is not in the schema, and these categories."""
        strings, codes = self._codes(values, source)
        unseen = np.array([*(string not in self.categories for string in strings), False])
        rows = codes[unseen[codes]]
        return rows.size, [strings[code] for code in np.unique(rows).tolist()]

    def to_json(self) -> Json:
        """Return the schema as JSON."""
        saved: Json = {
            "name": self.name, "kind": self.kind, "parts": list(self.parts), "categories": dict(self.categories)
        }  # fmt: skip
        if self.missing_markers:
            saved["missing_markers"] = list(self.missing_markers)
        if self.declared:
            saved["declared"] = True
        return {**saved, "text_format": self.text_format} if self.text_format else saved

    @classmethod
    def of_json(cls, saved: object) -> ColumnSchema:
        """Return the schema that `to_json` wrote, checked."""
        column = json_as(SavedTextColumn, saved, "column")
        name, kind, text_format = column["name"], column["kind"], column.get("text_format", "")
        if kind not in KINDS or (kind == DATE) != bool(column["parts"]):
            raise ValueError(f"column {name}: expected a number, a category or a date with its parts")
        codes = list(column["categories"].values())
        if len(set(codes)) < len(codes) or min(codes, default=0) < 0 or max(codes, default=0) >= MAX_COUNT:
            raise ValueError(f"column {name}: expected categories with a number each")
        is_valid = {NUMBER: is_number_format(text_format), DATE: are_layouts(text_format), CATEGORY: False}
        if text_format and not is_valid[kind]:
            raise ValueError(f"column {name}: expected a number format or a date layout, got {text_format[:40]!r}")
        markers = tuple(column.get("missing_markers", ()))
        parts, categories, declared = tuple(column["parts"]), dict(column["categories"]), column.get("declared", False)
        return cls(name, kind, parts, categories, markers, text_format, declared)

    def _encode_numbers(self, plain: Column, source: str) -> EncodedColumn:
        import pyarrow as pa
        import pyarrow.compute as pc

        from opauc.data.arrow_columns import is_text, numbers_in

        if is_text(plain.type):
            parsed = parse_numbers(plain, self.text_format or POINT, self.missing_markers)
            return EncodedColumn(parsed.numbers[:, None], parsed.unreadable)
        if not is_number(plain.type):
            raise InputError(f"{source}: column {self.name} holds {plain.type}, it was numbers in the rows before")
        if _is_time(plain.type):
            units = pc.cast(plain, pa.int32() if plain.type.bit_width == 32 else pa.int64())
            plain = pc.divide(pc.cast(units, pa.float64(), safe=False), UNITS_PER_HOUR[plain.type.unit])
        return EncodedColumn(numbers_in(pc.cast(plain, pa.float64(), safe=False))[:, None], 0)

    def _encode_dates(self, plain: Column, source: str) -> EncodedColumn:
        from pyarrow import types

        from opauc.data.arrow_columns import is_text

        unreadable = 0
        if is_text(plain.type):
            plain, unreadable = parse_dates(plain, self.text_format or infer_date_layout(plain) or ISO)
        elif types.is_null(plain.type):
            plain, unreadable = parse_dates(plain, ISO)
        if parts_of_type(plain.type) is None:
            raise InputError(f"{source}: column {self.name} holds {plain.type}, it was dates in the rows before")
        return EncodedColumn(date_numbers(plain, self.parts, f"{source}: column {self.name}"), unreadable)

    def _encode_categories(self, strings: list[str], codes: NDArray[np.int32]) -> EncodedColumn:
        numbers = np.array([self.categories.get(string, UNSEEN) for string in strings] + [np.nan])
        return EncodedColumn(numbers[codes][:, None], 0)

    def _codes(self, values: Column, source: str) -> tuple[list[str], NDArray[np.int32]]:
        """Return the distinct strings of the column, and the index of each row's, -1 where it is missing."""
        import pyarrow as pa

        try:
            return category_codes(values)
        except pa.ArrowException as error:
            raise InputError(f"{source}: column {self.name} holds {values.type}, which cannot be categories") from error


def category_codes(values: Column) -> tuple[list[str], NDArray[np.int32]]:
    """Return the distinct strings of a column, and the index of each row's, -1 where it is missing.

    >>> import pyarrow as pa
    >>> from opauc.data.schema.column import category_codes
    >>> category_codes(pa.array(["red", "NULL", None]))
    (['red', 'NULL'], array([ 0, -1, -1], dtype=int32))
    """
    from opauc.data.arrow_columns import encode_category_strings

    strings, codes = encode_category_strings(values)
    missing = [string in MISSING_CATEGORIES for string in strings]
    if any(missing):
        positions = np.append(np.where(missing, -1, np.arange(len(strings))), -1)
        codes = positions[codes].astype(np.int32)
    return strings, codes


def is_number(kind: DataType) -> bool:
    """Tell whether a type is numeric: numbers, booleans and, as hours, times of day and durations."""
    from pyarrow import types

    return bool(
        types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
        or types.is_decimal(kind) or types.is_null(kind) or _is_time(kind)
    )  # fmt: skip


def _is_time(kind: DataType) -> bool:
    from pyarrow import types

    return bool(types.is_time(kind) or types.is_duration(kind))
