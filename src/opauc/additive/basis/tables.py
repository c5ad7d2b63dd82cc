"""The arrays that define the columns of a basis: built from effects and pairs, and validated after loading."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.main_effects import MainEffect
from opauc.additive.basis.pairs import PairBasis
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, DEVIATION, FIRST, HIGH, LINEAR, LOW, MISSING, NUMERIC
from opauc.types import Array, Floats, NamedArrays

NONE = -1
DTYPES = {
    "kinds": np.int8, "scales": np.float64, "columns": np.int32, "knots": np.float64, "knot_ends": np.int64,
    "levels": np.int32, "level_ends": np.int64, "n_levels": np.int32, "pair_knots": np.float64,
    "pair_knot_ends": np.int64, "pair_levels": np.int32, "pair_level_ends": np.int64, "pair_sizes": np.int32,
    "pairs": np.int32, "cell_starts": np.int64, "cells": np.int32,
}  # fmt: skip


class BasisTables(NamedTuple):
    """The arrays that map a row of d inputs to its columns; kernels take them as they are.

    Arrays of varying length per input are concatenated: what belongs to input j lies between `..._ends[j]` and
    `..._ends[j + 1]`. A column number of -1 means that there is no such column.
    """

    # Main effects.
    kinds: NDArray[np.int8]  # (d,): LEFT_OUT, BINARY, NUMERIC or CATEGORICAL
    scales: Floats  # (d, 4): LOW and HIGH clip the linear term, MEAN and DEVIATION standardize it
    columns: NDArray[np.int32]  # (d, 3): the LINEAR term, the FIRST hat function or level, the MISSING indicator
    knots: Floats  # of the hat functions of numeric inputs, ascending
    knot_ends: NDArray[np.int64]  # (d + 1,)
    levels: NDArray[np.int32]  # the level of each category number; numbers beyond the last have the pooled level
    level_ends: NDArray[np.int64]  # (d + 1,)
    n_levels: NDArray[np.int32]  # (d,): levels of categorical inputs, the pooled one included and last
    # Pairs.
    pair_knots: Floats  # of the coarser hat functions of numeric inputs in pairs, ascending
    pair_knot_ends: NDArray[np.int64]  # (d + 1,)
    pair_levels: NDArray[np.int32]  # the coarser level in pairs of each level
    pair_level_ends: NDArray[np.int64]  # (d + 1,)
    pair_sizes: NDArray[np.int32]  # (d,): basis functions in pairs, 0 for inputs in no pair
    pairs: NDArray[np.int32]  # (p, 2): the two inputs of each pair
    cell_starts: NDArray[np.int64]  # (p,): the first cell of each pair; the second input varies fastest
    cells: NDArray[np.int32]  # the column of each product of basis functions, or -1


def main_tables(effects: Sequence[MainEffect]) -> BasisTables:
    """Return the tables of main effects; column 0 is the intercept, and the others follow the order of the inputs."""
    n_inputs = len(effects)
    columns, column = np.full((n_inputs, 3), NONE, np.int32), 1
    for j, effect in enumerate(effects):
        if effect.kind in (BINARY, NUMERIC):
            columns[j, LINEAR] = column
        if effect.kind == CATEGORICAL or effect.knots.size:
            columns[j, FIRST] = column + (effect.kind == NUMERIC)
        column += effect.n_columns
        if effect.missing:
            columns[j, MISSING] = column - 1
    knots, knot_ends = _join([effect.knots for effect in effects], np.float64)
    levels, level_ends = _join([_levels_of_numbers(effect) for effect in effects], np.int32)
    nothing, no_ends = np.empty(0), np.zeros(n_inputs + 1, np.int64)
    return BasisTables(
        np.array([effect.kind for effect in effects], np.int8),
        np.array([effect.scale for effect in effects]).reshape(-1, 4),
        columns,
        knots,
        knot_ends,
        levels,
        level_ends,
        np.array([effect.kept.size + 1 if effect.kind == CATEGORICAL else 0 for effect in effects], np.int32),
        nothing,
        no_ends,
        nothing.astype(np.int32),
        no_ends,
        np.zeros(n_inputs, np.int32),
        np.empty((0, 2), np.int32),
        np.empty(0, np.int64),
        np.empty(0, np.int32),
    )


def with_pair_tables(
    tables: BasisTables,
    n_columns: int,
    bases: Sequence[PairBasis],
    pairs: NDArray[np.int32],
    cells: Sequence[NDArray[np.bool_]],
) -> BasisTables:
    """Return the tables with pairs added: the `cells` that are true get columns from `n_columns` on."""
    knots, knot_ends = _join([basis.knots for basis in bases], np.float64)
    levels, level_ends = _join([basis.positions for basis in bases], np.int32)
    flat, ends = _join(cells, np.bool_)
    numbered = np.where(flat, n_columns - 1 + np.cumsum(flat), NONE).astype(np.int32)
    return tables._replace(
        pair_knots=knots,
        pair_knot_ends=knot_ends,
        pair_levels=levels,
        pair_level_ends=level_ends,
        pair_sizes=np.array([basis.size for basis in bases], np.int32),
        pairs=np.asarray(pairs, np.int32).reshape(-1, 2),
        cell_starts=ends[:-1],
        cells=numbered,
    )


def check_tables(arrays: NamedArrays) -> BasisTables:
    """Return the tables of these arrays; raise ValueError if a kernel could read or write out of bounds with them."""
    if set(arrays) != set(DTYPES):
        raise ValueError(f"basis: expected arrays {', '.join(DTYPES)}, got {', '.join(sorted(arrays))}")
    for name, kind in DTYPES.items():
        _expect(arrays[name].dtype == kind, name, f"numbers of type {np.dtype(kind).name}")
        _expect(bool(np.isfinite(arrays[name]).all()), name, "finite numbers")
    tables = BasisTables(**{name: np.ascontiguousarray(arrays[name]) for name in DTYPES})
    n_inputs, n_pairs = tables.kinds.size, len(tables.pairs)
    for name, shape in {
        "kinds": (n_inputs,), "scales": (n_inputs, 4), "columns": (n_inputs, 3), "n_levels": (n_inputs,),
        "pair_sizes": (n_inputs,), "pairs": (n_pairs, 2), "cell_starts": (n_pairs,),
    }.items():  # fmt: skip
        _expect(arrays[name].shape == shape, name, f"the shape {shape}")
    for ends, parts in (
        ("knot_ends", tables.knots), ("level_ends", tables.levels),
        ("pair_knot_ends", tables.pair_knots), ("pair_level_ends", tables.pair_levels),
    ):  # fmt: skip
        _check_ends(ends, arrays[ends], n_inputs, parts)
    _check_inputs(tables)
    _check_pairs(tables)
    return tables


def _check_inputs(tables: BasisTables) -> None:
    """Raise unless the columns of the inputs are consecutive, and their knots and levels valid."""
    kinds, n_knots = tables.kinds, np.diff(tables.knot_ends)
    _expect(bool(((kinds >= 0) & (kinds <= CATEGORICAL)).all()), "kinds", f"numbers up to {CATEGORICAL}")
    _expect(bool((tables.scales[:, HIGH] > tables.scales[:, LOW]).all()), "scales", "a low below a high")
    _expect(bool((tables.scales[:, DEVIATION] > 0).all()), "scales", "deviations above zero")
    _expect(bool((n_knots[kinds != NUMERIC] == 0).all()), "knot_ends", "knots of numeric inputs only")
    column, expected = 1, np.full_like(tables.columns, NONE)
    for j, kind in enumerate(kinds.tolist()):
        if kind in (BINARY, NUMERIC):
            expected[j, LINEAR], column = column, column + 1
        size = int(tables.n_levels[j]) if kind == CATEGORICAL else int(n_knots[j])
        _expect(size > 0 if kind == CATEGORICAL else tables.n_levels[j] == 0, "n_levels", "levels of categories only")
        if size:
            expected[j, FIRST], column = column, column + size
        if tables.columns[j, MISSING] != NONE:
            expected[j, MISSING], column = column, column + 1
        knots = tables.knots[tables.knot_ends[j] : tables.knot_ends[j + 1]]
        _expect(knots.size != 1 and bool((np.diff(knots) > 0).all()), "knots", "two or more in ascending order")
        levels = tables.levels[tables.level_ends[j] : tables.level_ends[j + 1]]
        _expect(bool(((levels >= 0) & (levels < max(1, size))).all()), "levels", f"levels below {size}")
    _expect(np.array_equal(expected, tables.columns), "columns", "columns that follow each other")


def _check_pairs(tables: BasisTables) -> None:
    """Raise unless the cells of the pairs are complete, and their columns consecutive."""
    sizes, pairs = tables.pair_sizes, tables.pairs
    _expect(bool(((pairs >= 0) & (pairs < sizes.size)).all()), "pairs", "numbers of inputs")
    _expect(
        bool((sizes >= 0).all()) and bool((sizes[pairs] > 0).all()),
        "pair_sizes",
        "basis functions for every input in a pair",
    )
    for j in np.unique(pairs).tolist():
        knots = tables.pair_knots[tables.pair_knot_ends[j] : tables.pair_knot_ends[j + 1]]
        levels = tables.pair_levels[tables.pair_level_ends[j] : tables.pair_level_ends[j + 1]]
        kind, size = tables.kinds[j], sizes[j]
        fits = {
            BINARY: size == 1,
            NUMERIC: knots.size == size >= 2 and bool((np.diff(knots) > 0).all()),
            CATEGORICAL: levels.size == tables.n_levels[j] and bool(((levels >= 0) & (levels < size)).all()),
        }
        _expect(fits.get(kind, False), "pair_sizes", f"knots or levels for input {j}")
    ends = np.append(0, np.cumsum(sizes[pairs[:, 0]].astype(np.int64) * sizes[pairs[:, 1]]))
    _expect(
        np.array_equal(tables.cell_starts, ends[:-1]) and tables.cells.size == ends[-1], "cells", "one cell per product"
    )
    with_column = tables.cells >= 0
    first = 1 + int((tables.columns[:, :] >= 0).sum() + np.maximum(_term_sizes(tables) - 1, 0).sum())
    columns = tables.cells[with_column]
    _expect(np.array_equal(columns, np.arange(first, first + columns.size)), "cells", "columns that follow each other")
    if len(pairs):
        _expect(bool(np.logical_or.reduceat(with_column, ends[:-1]).all()), "cells", "a column or more for each pair")


def _term_sizes(tables: BasisTables) -> NDArray[np.int64]:
    """Return the number of hat functions or levels of each input."""
    return np.where(tables.kinds == CATEGORICAL, tables.n_levels, np.diff(tables.knot_ends))


def _check_ends(name: str, ends: Array, n_inputs: int, parts: Array) -> None:
    ascending = ends.shape == (n_inputs + 1,) and ends[0] == 0 and bool((np.diff(ends) >= 0).all())
    _expect(
        ascending and ends[-1] == parts.size and parts.ndim == 1, name, "ascending ends up to the length of the values"
    )


def _expect(holds: bool, name: str, what: str) -> None:
    if not holds:
        raise ValueError(f"basis: {name}: expected {what}")


def _join(parts: Iterable[Array], dtype: type) -> tuple[Array, NDArray[np.int64]]:
    """Return the parts concatenated, and where each ends."""
    pieces: list[Array] = [np.asarray(part, dtype).ravel() for part in parts]
    ends = np.cumsum([0, *(piece.size for piece in pieces)]).astype(np.int64)
    return np.concatenate([np.empty(0, dtype), *pieces]), ends


def _levels_of_numbers(effect: MainEffect) -> NDArray[np.int32]:
    """Return the level of each category number up to the largest kept one; numbers not kept have the pooled level."""
    if not effect.kept.size:
        return np.empty(0, np.int32)
    levels = np.full(int(effect.kept.max()) + 1, effect.kept.size, np.int32)
    levels[effect.kept] = np.arange(effect.kept.size)
    return levels
