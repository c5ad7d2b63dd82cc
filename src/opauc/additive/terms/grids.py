"""The values of an input at which its terms are given, and the weights that give a main effect these values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.basis import Basis
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, FIRST, HIGH, LOW, MISSING, NUMERIC
from opauc.types import Floats

# A category number that no category has: its rows belong to the pooled categories.
NO_CATEGORY = -1.0
# Squared bends of the linear term below this share of its squared values are rounding errors.
NO_BEND = 1e-18


def main_grid(basis: Basis, j: int) -> Floats:
    """Return the values at which the main effect of an input is given, nan for missing ones last.

    They are two values, the knots and the range of a curve, or a number for each category: those with a column in the
    order of the columns, one that stands for all others, those with random effects.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.terms.grids import main_grid
    >>> main_grid(Basis.of(np.array([[0.0], [1.0], [np.nan]]), np.ones(3), np.zeros(1, bool), n_knots=8), 0)
    array([ 0.,  1., nan])
    """
    tables, kind, numbers = basis.tables, basis.tables.kinds[j], np.empty(0)
    if kind == CATEGORICAL:
        effects = basis.random_effects.numbers_of(j)
        numbers = np.concatenate([basis.column_numbers(j), [NO_CATEGORY], effects])
    elif kind == BINARY:
        numbers = tables.scales[j, [LOW, HIGH]]
    elif kind == NUMERIC:
        numbers = np.unique([*knots_of(basis, j), tables.scales[j, LOW], tables.scales[j, HIGH]])
    return _with_missing(basis, j, numbers)


def pair_grid(basis: Basis, j: int) -> Floats:
    """Return the values of an input at which its pairs are given, nan for missing ones last."""
    tables, kind, numbers = basis.tables, basis.tables.kinds[j], np.empty(0)
    if kind == CATEGORICAL:
        of_levels = np.append(basis.column_numbers(j), NO_CATEGORY)
        places = tables.pair_levels[tables.pair_level_ends[j] : tables.pair_level_ends[j + 1]]
        last = [int(np.flatnonzero(places == place)[-1]) for place in range(int(tables.pair_sizes[j]))]
        numbers = of_levels[np.array(last)]
    elif kind == BINARY:
        numbers = tables.scales[j, [LOW, HIGH]]
    elif kind == NUMERIC:
        numbers = tables.pair_knots[tables.pair_knot_ends[j] : tables.pair_knot_ends[j + 1]]
    return _with_missing(basis, j, numbers)


def knots_of(basis: Basis, j: int) -> Floats:
    """Return the knots of the curve of an input."""
    tables = basis.tables
    return tables.knots[tables.knot_ends[j] : tables.knot_ends[j + 1]]


def has_missing(basis: Basis, j: int) -> bool:
    """Tell whether missing values of an input have a weight of their own."""
    return bool(basis.tables.columns[j, MISSING] >= 0)


def _with_missing(basis: Basis, j: int, numbers: Floats) -> Floats:
    return np.append(numbers, np.nan) if has_missing(basis, j) else np.asarray(numbers, np.float64)


class MainWeights(NamedTuple):
    """A main effect: weights of the intercept, of its columns, and of the random effects of its categories."""

    intercept: float
    columns: Floats
    effects: Floats

    @classmethod
    def of_values(cls, basis: Basis, j: int, values: Floats) -> MainWeights:
        """Return the main effect that has these values at `main_grid`.

        A curve has them at all knots. Outside the knots it has them where it can: there is one linear term for both
        sides, which is fitted to them.

        Examples
        --------
        >>> import numpy as np
        >>> from opauc.additive.basis.basis import Basis
        >>> from opauc.additive.terms.grids import MainWeights
        >>> basis = Basis.of(np.array([[0.0], [1.0], [np.nan]]), np.ones(3), np.zeros(1, bool), n_knots=8)
        >>> MainWeights.of_values(basis, 0, np.array([0.5, 2.0, 0.0])).columns
        array([ 1.5, -0.5])
        """
        tables, own = basis.tables, basis.effects[(j,)]
        kind, (linear, first, missing) = tables.kinds[j], (tables.columns[j] - own.start).tolist()
        columns, effects, intercept = np.zeros(own.stop - own.start), np.empty(0), 0.0
        present = values[:-1] if has_missing(basis, j) else values
        if kind == CATEGORICAL:
            n_levels = int(tables.n_levels[j])
            columns[first : first + n_levels] = present[:n_levels]
            effects = present[n_levels:] - present[n_levels - 1]
        elif kind == NUMERIC and tables.columns[j, FIRST] >= 0:
            numbers, knots = main_grid(basis, j)[: present.size], knots_of(basis, j)
            rows, curve, at = (
                own_columns(basis, j, numbers),
                slice(first, first + knots.size),
                numbers.searchsorted(knots),
            )
            line = rows[:, linear]
            beyond, bend = (part - rows[:, curve] @ part[at] for part in (present, line))
            size = float(bend @ bend)
            columns[linear] = float(bend @ beyond) / size if size > NO_BEND * float(line @ line) else 0.0
            columns[curve] = present[at] - columns[linear] * line[at]
        elif kind in (BINARY, NUMERIC):
            line = own_columns(basis, j, main_grid(basis, j)[: present.size])[:, linear]
            columns[linear] = (present[1] - present[0]) / (line[1] - line[0])
            intercept = float(present[0] - columns[linear] * line[0])
        if has_missing(basis, j):
            columns[missing] = values[-1] - intercept
        return cls(intercept, columns, effects)

    def values(self, basis: Basis, j: int) -> Floats:
        """Return the values at `main_grid`."""
        values = own_columns(basis, j, main_grid(basis, j)) @ self.columns + self.intercept
        if self.effects.size:
            n_levels = int(basis.tables.n_levels[j])
            values[n_levels : n_levels + self.effects.size] += self.effects
        return values


def interpolate_knots(basis: Basis, j: int, values: Floats) -> Floats:
    """Return values at `main_grid`, those of a curve interpolated between its knots and constant beyond."""
    if basis.tables.kinds[j] != NUMERIC or basis.tables.columns[j, FIRST] < 0:
        return values
    knots, n_present = knots_of(basis, j), values.size - has_missing(basis, j)
    numbers = main_grid(basis, j)[:n_present]
    interpolated = values.copy()
    interpolated[:n_present] = np.interp(numbers, knots, values[numbers.searchsorted(knots)])
    return interpolated


def rows_along(basis: Basis, j: int, numbers: Floats) -> Floats:
    """Return rows with these values of an input, and no others."""
    rows = np.full((numbers.size, basis.n_inputs), np.nan)
    rows[:, j] = numbers
    return rows


def own_columns(basis: Basis, j: int, numbers: Floats) -> Floats:
    """Return the columns of the main effect of an input at these values."""
    dense: Floats = basis.rows(rows_along(basis, j, numbers))[:, basis.effects[(j,)]].toarray()
    return dense


def grid_size(basis: Basis, inputs: tuple[int, ...]) -> int:
    """Return the number of values of a main effect, or of a pair."""
    if len(inputs) == 1:
        return main_grid(basis, inputs[0]).size
    return int(np.prod([pair_grid(basis, j).size for j in inputs]))


def columns_of(basis: Basis, inputs: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the columns of a main effect or a pair."""
    part = basis.effects[inputs]
    return np.arange(part.start, part.stop)
