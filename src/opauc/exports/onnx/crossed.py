"""Effects of combinations of inputs, found by two 64-bit hashes of each combination."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opauc.exports.onnx.graph import DOUBLE, INT64, UINT64, Graph
from opauc.exports.portable import CrossedTable, Member, PortableTerm

MIXERS = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
FINAL_MIXERS = 0xD6E8FEB86659FD93, 0xA0761D6478BD642F
# Parts of a float64: 52 bits of the fraction, an exponent of 11 bits less this bias, the sign as int64.
FRACTION, BIAS, SIGN_BIT = 2**52, 1023, -(2**63)


def crossed_contributions(graph: Graph, terms: Sequence[PortableTerm], matrix: str) -> list[str]:
    """Add the matrix of a column for each term with its effects of combinations; none without such tables."""
    tables = [table for term in terms for table in term.crossed]
    if not tables:
        return []
    keys = _keys(graph, tables, matrix)
    shifts = graph.constant([[65 - table.n_levels.bit_length() for table in tables]], np.uint64)
    one, other = (_effects(graph, tables, keys, mixer, shifts) for mixer in FINAL_MIXERS)
    is_one = graph.add("LessOrEqual", graph.add("Abs", one), graph.add("Abs", other))
    of_terms = np.zeros((len(tables), len(terms)))
    of_terms[np.arange(len(tables)), [at for at, term in enumerate(terms) for _ in term.crossed]] = 1.0
    return [graph.add("MatMul", graph.add("Where", is_one, one, other), graph.constant(of_terms))]


def _keys(graph: Graph, tables: Sequence[CrossedTable], matrix: str) -> str:
    """Add the key of the combination of each table."""
    members = [member for table in tables for member in table.members]
    mixers = np.array([[MIXERS[at] for table in tables for at in range(len(table.members))]], np.uint64)
    bits = float_bits(graph, graph.joined([_member_value(graph, member, matrix) for member in members]))
    mixed = graph.add("Mul", _fold(graph, bits, 32), graph.constant(mixers, np.uint64))
    mixed = graph.add("Mul", _fold(graph, mixed, 29), graph.constant(mixers, np.uint64))
    keys, at = [], 0
    for table in tables:
        columns = [graph.columns(mixed, [at + number]) for number in range(len(table.members))]
        key = columns[0]
        for column in columns[1:]:
            key = graph.add("Add", key, column)
        keys.append(key)
        at += len(columns)
    return graph.joined(keys)


def _member_value(graph: Graph, member: Member, matrix: str) -> str:
    """Add the whole part of an input, or its bin; nan where it is missing."""
    value = graph.columns(matrix, [member.input])
    if not member.edges.size:
        return graph.add("Floor", value)
    reached = graph.cast(graph.add("GreaterOrEqual", value, graph.constant([member.edges])), DOUBLE)
    return graph.add("Where", graph.add("IsNaN", value), value, graph.row_sums(reached))


def _fold(graph: Graph, bits: str, shift: int) -> str:
    """Add bits with their upper ones put onto the lower ones."""
    return graph.add("BitwiseXor", bits, _shifted(graph, bits, graph.constant(shift, np.uint64)))


def _shifted(graph: Graph, bits: str, shift: str) -> str:
    return graph.add("BitShift", bits, shift, direction="RIGHT")


def _effects(graph: Graph, tables: Sequence[CrossedTable], keys: str, mixer: int, shifts: str) -> str:
    """Add the effect of the level that a hash gives each combination."""
    hashes = graph.add("Mul", keys, graph.constant(mixer, np.uint64))
    levels = graph.cast(_shifted(graph, hashes, shifts), INT64)
    columns = [graph.columns(levels, [at]) for at in range(len(tables))]
    kinds = (np.int64, np.float64)
    return graph.joined([
        graph.lookup(column, table.levels, table.effects, 0.0, kinds) if table.levels.size
        else graph.add("Mul", graph.cast(column, DOUBLE), graph.constant(0.0))
        for column, table in zip(columns, tables, strict=True)
    ])  # fmt: skip


def float_bits(graph: Graph, values: str) -> str:
    """Add the 64 bits of whole float64 numbers; 1 where they are missing.

    Standard operators do not see bits: the exponent is found by halving, from 2**512 down to 2, which is exact.
    """
    missing = graph.add("IsNaN", values)
    size = graph.add("Abs", graph.add("Where", missing, graph.constant(0.0), values))
    is_zero = graph.add("Equal", size, graph.constant(0.0))
    exponent = graph.constant(float(BIAS))
    for power in (512, 256, 128, 64, 32, 16, 8, 4, 2, 1):
        is_larger = graph.add("GreaterOrEqual", size, graph.constant(2.0**power))
        scaled = graph.add("Mul", size, graph.constant(2.0**-power))
        size = graph.add("Where", is_larger, scaled, size)
        steps = graph.add("Where", is_larger, graph.constant(float(power)), graph.constant(0.0))
        exponent = graph.add("Add", exponent, steps)
    excess = graph.add("Sub", size, graph.constant(1.0))
    fraction = graph.cast(graph.add("Mul", excess, graph.constant(float(FRACTION))), INT64)
    above = graph.add("Mul", graph.cast(exponent, INT64), graph.constant(FRACTION, np.int64))
    whole = graph.add("Where", is_zero, graph.constant(0, np.int64), graph.add("Add", above, fraction))
    is_negative = graph.add("Less", values, graph.constant(0.0))
    signed = graph.add("Add", whole, graph.constant(SIGN_BIT, np.int64))
    bits = graph.add("Where", is_negative, signed, whole)
    return graph.cast(graph.add("Where", missing, graph.constant(1, np.int64), bits), UINT64)
