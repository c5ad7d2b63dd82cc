"""Names of the columns of a basis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from opauc.additive.kernels.rows import BINARY, CATEGORICAL, FIRST, LINEAR, MISSING, NUMERIC

if TYPE_CHECKING:
    from opauc.additive.basis.basis import Basis

OTHERS = "(others)"
# Prefix of the columns of leaves.
TREES = "trees"
# Suffixes of term names: the share of an input in the tree ensemble, the effects of single values of a number, and
# those of combinations of values.
TREES_SUFFIX = " (trees)"
CODES_SUFFIX = " (codes)"
CATEGORICAL_SUFFIX = " (categorical)"


def level_names(basis: Basis, j: int, categories: Mapping[int, str]) -> list[str]:
    """Return a name for each level of a categorical input, the pooled one last."""
    tables = basis.tables
    level_of_number = tables.levels[tables.level_ends[j] : tables.level_ends[j + 1]]
    names = [OTHERS] * int(tables.n_levels[j])
    for number in np.flatnonzero(level_of_number < tables.n_levels[j] - 1).tolist():
        names[level_of_number[number]] = categories.get(number, str(number))
    return names


def place_names(basis: Basis, j: int, name: str, categories: Mapping[int, str]) -> list[str]:
    """Return a name for each basis function of an input in its pairs."""
    tables = basis.tables
    if tables.kinds[j] == BINARY:
        return [name]
    if tables.kinds[j] == NUMERIC:
        knots = tables.pair_knots[tables.pair_knot_ends[j] : tables.pair_knot_ends[j + 1]]
        return [f"{name} at {knot:g}" for knot in knots]
    positions = tables.pair_levels[tables.pair_level_ends[j] : tables.pair_level_ends[j + 1]]
    names = [f"{name}={OTHERS}"] * int(tables.pair_sizes[j])
    for level, position in enumerate(positions.tolist()):
        if np.count_nonzero(positions == position) == 1:
            names[position] = f"{name}={level_names(basis, j, categories)[level]}"
    return names


def column_names(
    basis: Basis, inputs: Sequence[str], categories: Sequence[Mapping[int, str]] | None = None
) -> list[str]:
    """Return a name for each column: "age", "age at 37.5", "color=red", "age missing", "age at 20 × sex"."""
    category_names = categories or [{} for _ in inputs]
    tables, names = basis.tables, ["intercept"]
    for j, name in enumerate(inputs):
        if tables.columns[j, LINEAR] >= 0:
            names.append(name)
        if tables.kinds[j] == CATEGORICAL:
            names += [f"{name}={level}" for level in level_names(basis, j, category_names[j])]
        elif tables.columns[j, FIRST] >= 0:
            knots = tables.knots[tables.knot_ends[j] : tables.knot_ends[j + 1]]
            names += [f"{name} at {knot:g}" for knot in knots]
        if tables.columns[j, MISSING] >= 0:
            names.append(f"{name} missing")
    for (one, two), cells in zip(tables.pairs.tolist(), basis.cells(), strict=True):
        first_names = place_names(basis, one, inputs[one], category_names[one])
        second_names = place_names(basis, two, inputs[two], category_names[two])
        pairs = [f"{first} × {second}" for first in first_names for second in second_names]
        names += [pairs[cell] for cell in np.flatnonzero(cells >= 0)]
    return names
