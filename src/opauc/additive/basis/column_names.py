"""Names for the columns of a basis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from opauc.additive.kernels.rows import BINARY, CATEGORICAL, FIRST, MISSING, NUMERIC, STRAIGHT

if TYPE_CHECKING:
    from opauc.additive.basis.basis import Basis

OTHERS = "(others)"
# The columns of leaves, and the effect of landmarks.
TOGETHER = "all features together"
# Suffixes of term names: the share of an input in trees, and the effects of single values of a numeric input.
TREES_SUFFIX = " (trees)"
CATEGORICAL_SUFFIX = " (categorical)"


def level_names(basis: Basis, j: int, words: Mapping[int, str]) -> list[str]:
    """Return a name for each level of a categorical input, the pooled one last."""
    tables = basis.tables
    places = tables.levels[tables.level_ends[j] : tables.level_ends[j + 1]]
    names = [OTHERS] * int(tables.n_levels[j])
    for number in np.flatnonzero(places < tables.n_levels[j] - 1).tolist():
        names[places[number]] = words.get(number, str(number))
    return names


def place_names(basis: Basis, j: int, name: str, words: Mapping[int, str]) -> list[str]:
    """Return a name for each place of an input in its pairs."""
    tables = basis.tables
    if tables.kinds[j] == BINARY:
        return [name]
    if tables.kinds[j] == NUMERIC:
        knots = tables.pair_knots[tables.pair_knot_ends[j] : tables.pair_knot_ends[j + 1]]
        return [f"{name} at {knot:g}" for knot in knots]
    places = tables.pair_levels[tables.pair_level_ends[j] : tables.pair_level_ends[j + 1]]
    names = [f"{name}={OTHERS}"] * int(tables.pair_sizes[j])
    for level, place in enumerate(places.tolist()):
        if np.count_nonzero(places == place) == 1:
            names[place] = f"{name}={level_names(basis, j, words)[level]}"
    return names


def column_names(basis: Basis, inputs: Sequence[str], words: Sequence[Mapping[int, str]] | None = None) -> list[str]:
    """Return a name for each column: "age", "age at 37.5", "color=red", "age missing", "age at 20 × sex"."""
    known = words or [{} for _ in inputs]
    tables, names = basis.tables, ["intercept"]
    for j, name in enumerate(inputs):
        if tables.columns[j, STRAIGHT] >= 0:
            names.append(name)
        if tables.kinds[j] == CATEGORICAL:
            names += [f"{name}={level}" for level in level_names(basis, j, known[j])]
        elif tables.columns[j, FIRST] >= 0:
            knots = tables.knots[tables.knot_ends[j] : tables.knot_ends[j + 1]]
            names += [f"{name} at {knot:g}" for knot in knots]
        if tables.columns[j, MISSING] >= 0:
            names.append(f"{name} missing")
    for (one, two), cells in zip(tables.pairs.tolist(), basis.cells(), strict=True):
        down = place_names(basis, one, inputs[one], known[one])
        across = place_names(basis, two, inputs[two], known[two])
        pairs = [f"{first} × {second}" for first in down for second in across]
        names += [pairs[cell] for cell in np.flatnonzero(cells >= 0)]
    if basis.together is not None:
        names += [f"{TOGETHER}: {name}" for name in basis.together.names()]
    return names
