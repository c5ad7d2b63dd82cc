"""The inputs of a model from tensors of its columns: one matrix of numbers, nan where missing."""

from __future__ import annotations

import re

import numpy as np

from opauc.exports.onnx.graph import DOUBLE, INT64, LARGEST_EXACT, STRING, Graph
from opauc.exports.portable import CATEGORY, UNSEEN_CATEGORY, Column, PortableModel

# Whole numbers written with decimals or an exponent, as far as they are exact in float64.
WHOLE = r"-?0*[0-9]{1,16}\.0+|-?[0-9](\.[0-9]+)?e\+0*1?[0-9]"
CANONICAL = re.compile(r"0|-?[1-9][0-9]{0,15}")
# Days of 400 years, after which the calendar repeats, and the days from the March 1 that begins them to 1970.
DAYS_OF_CYCLE, FIRST_DAY = 146_097.0, 719_468.0


def matrix_of_inputs(graph: Graph, model: PortableModel, names: list[str]) -> str:
    """Add the matrix of all inputs, from a tensor of one column for each column of the model."""
    numbers = [
        category_numbers(graph, column, name) if column.kind == CATEGORY else name
        for column, name in zip(model.columns, names, strict=True)
    ]
    parts = [
        date_part(graph, numbers[one.column], one.part) if one.part else numbers[one.column] for one in model.inputs
    ]
    return graph.joined(parts)


def not_taken(graph: Graph, model: PortableModel, matrix: str) -> str:
    """Add a column that is nan for rows with a value that the model does not take, and 0 for all others."""
    required = [[model.columns[one.column].is_required for one in model.inputs]]
    zero = graph.constant(0.0)
    may_miss = graph.add("And", graph.add("IsNaN", matrix), graph.constant(np.logical_not(required), np.bool_))
    return graph.row_sums(graph.add("Where", may_miss, zero, graph.add("Mul", matrix, zero)))


def category_numbers(graph: Graph, column: Column, name: str) -> str:
    """Add the numbers of categories; whole numbers are one category however they are written."""
    if any(CANONICAL.fullmatch(category) for category in column.categories):
        name = _whole_numbers(graph, name)
    numbers = {**column.categories, **dict.fromkeys((*column.missing, "", "nan"), np.nan)}
    kinds = (np.dtype(object), np.float64)
    return graph.lookup(name, list(numbers), list(numbers.values()), UNSEEN_CATEGORY, kinds)


def _whole_numbers(graph: Graph, name: str) -> str:
    """Add strings in which whole numbers have no decimals and no exponents."""
    is_number = graph.add("RegexFullMatch", name, pattern=WHOLE)
    number = graph.cast(graph.add("Where", is_number, name, graph.constant("0", np.dtype(object))), DOUBLE)
    is_whole = graph.add("Equal", number, graph.add("Floor", number))
    is_exact = graph.add("LessOrEqual", graph.add("Abs", number), graph.constant(LARGEST_EXACT))
    is_plain = graph.add("And", is_number, graph.add("And", is_whole, is_exact))
    text = graph.cast(graph.cast(graph.add("Where", is_plain, number, graph.constant(0.0)), INT64), STRING)
    return graph.add("Where", is_plain, text, name)


def date_part(graph: Graph, days: str, part: str) -> str:
    """Add a part of dates that are days since 1970."""
    if part == "day":
        return days
    whole = graph.add("Floor", days)
    if part == "hour":
        return graph.add("Mul", graph.add("Sub", days, whole), graph.constant(24.0))
    if part == "weekday":
        return _remainder(graph, graph.add("Add", whole, graph.constant(3.0)), 7.0)
    # In years that begin in March, five months have 153 days.
    day = _remainder(graph, graph.add("Add", whole, graph.constant(FIRST_DAY)), DAYS_OF_CYCLE)
    four_years, century, cycle = (_whole_quotient(graph, day, length) for length in (1460.0, 36_524.0, 146_096.0))
    common_days = graph.add("Sub", graph.add("Add", graph.add("Sub", day, four_years), century), cycle)
    year = _whole_quotient(graph, common_days, 365.0)
    leap_days = graph.add("Sub", _whole_quotient(graph, year, 4.0), _whole_quotient(graph, year, 100.0))
    of_years = graph.add("Add", graph.add("Mul", year, graph.constant(365.0)), leap_days)
    fifths = graph.add("Mul", graph.add("Sub", day, of_years), graph.constant(5.0))
    month = _whole_quotient(graph, graph.add("Add", fifths, graph.constant(2.0)), 153.0)
    return graph.add("Add", _remainder(graph, graph.add("Add", month, graph.constant(2.0)), 12.0), graph.constant(1.0))


def _whole_quotient(graph: Graph, value: str, divisor: float) -> str:
    return graph.add("Floor", graph.add("Div", value, graph.constant(divisor)))


def _remainder(graph: Graph, value: str, divisor: float) -> str:
    """Add the remainder of whole numbers, which is not negative."""
    return graph.add("Sub", value, graph.add("Mul", _whole_quotient(graph, value, divisor), graph.constant(divisor)))


def is_missing(graph: Graph, matrix: str) -> str:
    """Add 1 where a value is missing, else 0."""
    return graph.cast(graph.add("IsNaN", matrix), DOUBLE)
