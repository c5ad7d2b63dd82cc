"""Axes, tables and trees as constants of C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from opauc.exports.c.constants import array, number
from opauc.exports.c.names import c_string
from opauc.exports.portable import Axis, Curve, Levels, Line, PortableTerm, Steps, Trees

KINDS: dict[type, str] = {Line: "LINE", Curve: "CURVE", Steps: "STEPS", Levels: "LEVELS"}
# Numbers from this one on are no unsigned int everywhere.
LARGE = 2**32


def axes_data(axes: Sequence[Axis]) -> Iterator[str]:
    """Yield the axes, their knots, cuts or numbers, and the places of numbers."""
    points = [_points(axis) for axis in axes]
    places = [axis.places.tolist() if isinstance(axis, Levels) else [] for axis in axes]
    first, first_place = [0, *accumulate(map(len, points))], [0, *accumulate(map(len, places))]
    yield array("double", "points", (number(point) for own in points for point in own))
    yield array("int", "places_of_levels", (place for own in places for place in own))
    yield array("axis", "axes", (
        f"{{{KINDS[type(axis)]}, {axis.input}, {len(points[at])}, {first[at]}, {first_place[at]}, "
        f"{axis.other if isinstance(axis, Levels) else 0}}}"
        for at, axis in enumerate(axes)
    ))  # fmt: skip


def _points(axis: Axis) -> list[float]:
    if isinstance(axis, Line):
        return []
    values: list[float] = (
        axis.knots if isinstance(axis, Curve) else axis.cuts if isinstance(axis, Steps) else axis.numbers
    ).tolist()
    return values


def term_data(terms: Sequence[PortableTerm]) -> str:
    """Return the terms."""
    items = (f"{{{c_string(one.name)}, {number(one.constant)}, {number(one.mean)}}}" for one in terms)
    return array("term", "terms", items)


def table_data(terms: Sequence[PortableTerm]) -> Iterator[str]:
    """Yield the tables of terms and their values."""
    tables = [(at, table) for at, term in enumerate(terms) for table in term.tables]
    first = [0, *accumulate(table.values.size for _, table in tables)]
    yield array("double", "table_values", (number(value) for _, table in tables for value in table.values.ravel()))
    yield array("table", "tables", (
        f"{{{at}, {table.axes[0]}, {table.axes[1] if len(table.axes) == 2 else -1}, {begin}, {table.values.shape[-1]}}}"
        for (at, table), begin in zip(tables, first, strict=False)
    ))  # fmt: skip


def crossed_data(terms: Sequence[PortableTerm]) -> Iterator[str]:
    """Yield the tables of combinations: their members, and the levels that have an effect."""
    tables = [(at, table) for at, term in enumerate(terms) for table in term.crossed]
    members = [member for _, table in tables for member in table.members]
    first = [0, *accumulate(table.levels.size for _, table in tables)]
    first_member = [0, *accumulate(len(table.members) for _, table in tables)]
    first_edge = [0, *accumulate(member.edges.size for member in members)]
    yield array("double", "edges", (number(edge) for member in members for edge in member.edges))
    yield array("member", "members", (
        f"{{{member.input}, {member.edges.size}, {begin}}}" for member, begin in zip(members, first_edge, strict=False)
    ))  # fmt: skip
    levels = (level for _, table in tables for level in table.levels.tolist())
    yield array("uint64_t", "crossed_levels", (f"UINT64_C({level})" if level >= LARGE else level for level in levels))
    yield array("double", "crossed_effects", (number(effect) for _, table in tables for effect in table.effects))
    yield array("crossed", "crossed_tables", (
        f"{{{at}, {len(table.members)}, {first_member[i]}, {65 - table.n_levels.bit_length()}, {table.levels.size}, "
        f"{first[i]}}}"
        for i, (at, table) in enumerate(tables)
    ))  # fmt: skip


def tree_data(trees: Trees | None) -> Iterator[str]:
    """Yield the splits of trees, their children, and the values of splits and leaves."""
    splits, children, roots, values = list[str](), list[str](), list[int](), list[str]()
    if trees is not None:
        splits = [
            f"{{{trees.axes[axis]}, {trees.terms[axis]}, {place}}}"
            for axis, place in zip(trees.split_axes.tolist(), trees.split_places.tolist(), strict=True)
        ]
        children = [f"{{{first}, {second}}}" for first, second in trees.children.tolist()]
        roots, values = trees.roots.tolist(), [number(value) for value in trees.values]
    yield array("split", "splits", splits)
    yield array("int", "children", children or ["{0, 0}"], width=2)
    yield array("int", "roots", roots)
    yield array("double", "node_values", values)
