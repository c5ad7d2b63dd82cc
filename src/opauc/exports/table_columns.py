"""The columns of the rows that a model scores, in its portable form."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from opauc.data.encode.encoder import OneHotState
from opauc.data.options import ReadOptions
from opauc.data.schema.column import DATE, NUMBER, ColumnSchema
from opauc.data.schema.dates import ISO
from opauc.data.schema.numbers import MISSING_CATEGORIES, MISSING_MARKERS, POINT
from opauc.data.schema.table import TableSchema
from opauc.exports.portable import Column, Input

# Linear models take every string but these as a category.
MISSING_IN_ONE_HOT = ("",)
# CSV text has True where Arrow has true.
OTHER_CASE = {"true": "True", "false": "False", "True": "true", "False": "false"}


def number_columns(names: Sequence[str]) -> tuple[Column, ...]:
    """Return columns of numbers, as an array has them."""
    return tuple(Column(name, NUMBER, missing=MISSING_MARKERS, text_format=POINT) for name in names)


def schema_columns(schema: TableSchema, kept: Sequence[Container[int]]) -> tuple[Column, ...]:
    """Return the columns of a schema with the categories whose numbers are among those `kept` of each input."""
    columns, at = [], 0
    for column in schema.columns:
        columns.append(_schema_column(column, kept[at]))
        at += len(column.inputs)
    return tuple(columns)


def _schema_column(column: ColumnSchema, kept: Container[int]) -> Column:
    if column.kind == NUMBER:
        markers = (*MISSING_MARKERS, *column.missing_markers)
        return Column(column.name, column.kind, missing=markers, text_format=column.text_format or POINT)
    if column.kind == DATE:
        layouts = column.text_format or ISO
        return Column(column.name, column.kind, column.parts, missing=MISSING_MARKERS, text_format=layouts)
    categories = {name: number for name, number in column.categories.items() if number in kept}
    return Column(column.name, column.kind, categories=categories, missing=tuple(sorted(MISSING_CATEGORIES)))


def one_hot_columns(state: OneHotState, options: ReadOptions) -> tuple[Column, ...]:
    """Return the columns of a one-hot encoding: the numbers, then the categories, numbered column by column."""
    formats = state.get("number_formats", {})
    plain = options.decimals[0] if len(options.decimals) == 1 else POINT
    is_required = options.missing == "error"
    numbers = (
        Column(
            name, NUMBER, missing=MISSING_MARKERS, text_format=formats.get(name, plain), is_required=is_required,
            is_strict=True,
        )
        for name in state["numeric"] or ()
    )  # fmt: skip
    categories = (
        Column(
            name, "category", categories=numbered_categories(state, name), missing=MISSING_IN_ONE_HOT,
            is_required=is_required,
        )
        for name in state["categorical"]
    )  # fmt: skip
    return (*numbers, *categories)


def numbered_categories(state: OneHotState, name: str) -> Mapping[str, int]:
    """Return the categories of a column in the order of their features, booleans in either case.

    Examples
    --------
    >>> from opauc.exports.table_columns import numbered_categories
    >>> state = {"named": True, "label": "y", "numeric": [], "categorical": ["c"], "sums": [], "counts": []}
    >>> numbered_categories(state | {"categories": [["c", "True"], ["c", "no"]]}, "c")
    {'True': 0, 'no': 1, 'true': 0}
    """
    numbers: dict[str, int] = {}
    for column, category in state["categories"]:
        if column == name:
            numbers[category] = len(numbers)
    others = {OTHER_CASE[category]: number for category, number in numbers.items() if category in OTHER_CASE}
    return numbers | {category: number for category, number in others.items() if category not in numbers}


def inputs_of(columns: Sequence[Column]) -> tuple[Input, ...]:
    """Return the inputs of columns: a date has one for each of its parts."""
    return tuple(
        Input(f"{column.name} {part}" if part else column.name, at, part)
        for at, column in enumerate(columns)
        for part in (column.parts or ("",))
    )
