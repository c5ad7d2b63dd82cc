"""The arrays that define the columns of a basis: built from effects and pairs, and validated after loading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.main_effects import MainEffect
from opauc.additive.basis.pairs import PairBasis
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, DEVIATION, FIRST, HIGH, LINEAR, LOW, MISSING, NUMERIC
from opauc.core.array_schema import ArrayRule
from opauc.types import Array, Floats

NONE = -1
SCHEMA = {
    "kinds": ArrayRule("int8", "inputs", low=0, high=CATEGORICAL),
    "scales": ArrayRule("float64", "inputs 4"),
    "columns": ArrayRule("int32", "inputs 3", low=NONE),
    "knots": ArrayRule("float64", "knots"),
    "knot_ends": ArrayRule("int64", "inputs+1", ends="knots"),
    "levels": ArrayRule("int32", "numbers", low=0),
    "level_ends": ArrayRule("int64", "inputs+1", ends="numbers"),
    "n_levels": ArrayRule("int32", "inputs", low=0),
    "pair_knots": ArrayRule("float64", "pair_knots"),
    "pair_knot_ends": ArrayRule("int64", "inputs+1", ends="pair_knots"),
    "pair_levels": ArrayRule("int32", "pair_levels", low=0),
    "pair_level_ends": ArrayRule("int64", "inputs+1", ends="pair_levels"),
    "pair_sizes": ArrayRule("int32", "inputs", low=0),
    "pairs": ArrayRule("int32", "pairs 2", low=0, below="inputs"),
    "cell_starts": ArrayRule("int64", "pairs", low=0),
    "cells": ArrayRule("int32", "cells", low=NONE),
}


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


def check_tables(tables: BasisTables) -> None:
    """Raise ValueError if a kernel could read or write out of bounds with tables whose arrays follow `SCHEMA`."""
    n_knots, n_numbers = np.diff(tables.knot_ends), np.diff(tables.level_ends)
    categorical = tables.kinds == CATEGORICAL
    _expect(bool((tables.scales[:, HIGH] > tables.scales[:, LOW]).all()), "scales", "a low below a high")
    _expect(bool((tables.scales[:, DEVIATION] > 0).all()), "scales", "deviations above zero")
    _expect(not n_knots[tables.kinds != NUMERIC].any(), "knot_ends", "knots of numeric inputs only")
    _expect(not n_numbers[~categorical].any(), "level_ends", "levels of categories only")
    _expect(bool(((tables.n_levels > 0) == categorical).all()), "n_levels", "levels of categories only")
    for j, (knots, levels) in enumerate(zip(_parts(tables, "knot"), _parts(tables, "level"), strict=True)):
        _expect(knots.size != 1 and rises(knots), "knots", "two or more in ascending order")
        if categorical[j]:
            # The last level pools all numbers that have none of their own.
            own = np.sort(levels[levels < tables.n_levels[j] - 1])
            fits = own.size == tables.n_levels[j] - 1 and np.array_equal(own, np.arange(own.size))
            _expect(fits and levels.max(initial=0) < tables.n_levels[j], "levels", "one number for each level")
    _check_columns(tables, n_knots)
    _check_pairs(tables)


def _check_columns(tables: BasisTables, n_knots: NDArray[np.int64]) -> None:
    """Raise unless the columns of the inputs follow each other, after the intercept."""
    sizes = np.zeros(tables.columns.shape, np.int64)
    sizes[:, LINEAR] = np.isin(tables.kinds, (BINARY, NUMERIC))
    sizes[:, FIRST] = n_knots + tables.n_levels
    sizes[:, MISSING] = tables.columns[:, MISSING] != NONE
    starts = 1 + np.cumsum(sizes).reshape(sizes.shape) - sizes
    _expect(np.array_equal(tables.columns, np.where(sizes > 0, starts, NONE)), "columns", "columns in a row")
    has_column = tables.cells >= 0
    first = 1 + int(sizes.sum())
    in_a_row = np.array_equal(tables.cells[has_column], np.arange(first, first + np.count_nonzero(has_column)))
    _expect(in_a_row, "cells", "columns in a row")


def _check_pairs(tables: BasisTables) -> None:
    """Raise unless inputs have the basis functions that pairs take, and each pair a cell per product and a column."""
    sizes, pairs = tables.pair_sizes.astype(np.int64), tables.pairs
    _expect(bool((sizes[pairs] > 0).all()), "pair_sizes", "basis functions for every input in a pair")
    all_knots, all_levels = list(_parts(tables, "pair_knot")), list(_parts(tables, "pair_level"))
    for j in np.flatnonzero(sizes).tolist():  # in a pair or not: kernels look them up
        knots, levels = all_knots[j], all_levels[j]
        fits = {
            BINARY: sizes[j] == 1,
            NUMERIC: knots.size == sizes[j] >= 2 and rises(knots),
            CATEGORICAL: np.unique(levels).size == int(levels.max(initial=-1)) + 1 == sizes[j]
            and levels.size == tables.n_levels[j],
        }
        _expect(bool(fits.get(tables.kinds[j], False)), "pair_sizes", f"knots or levels for input {j}")
    ends = np.append(0, np.cumsum(sizes[pairs[:, 0]] * sizes[pairs[:, 1]]))
    complete = np.array_equal(tables.cell_starts, ends[:-1]) and tables.cells.size == ends[-1]
    _expect(complete, "cells", "one cell per product")
    if len(pairs):
        has_column = np.logical_or.reduceat(tables.cells >= 0, ends[:-1])
        _expect(bool(has_column.all()), "cells", "a column or more for each pair")


def _parts(tables: BasisTables, name: str) -> Iterator[Array]:
    """Yield the part of each input of an array of knots or levels."""
    values, ends = getattr(tables, f"{name}s"), getattr(tables, f"{name}_ends").tolist()
    return (values[begin:end] for begin, end in pairwise(ends))


def rises(numbers: Floats) -> bool:
    """Tell whether each number is above the one before."""
    return bool((numbers[1:] > numbers[:-1]).all())


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
