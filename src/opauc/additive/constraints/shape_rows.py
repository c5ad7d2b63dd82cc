"""Shapes of an input's effect as linear inequalities on the columns of a basis, for all values of the other inputs.

Between two neighboring breakpoints of an input (its knots, the ends of its linear term, its knots in pairs) the score
is linear in the input: its change there is that of the main effect, plus for each pair one that depends on the other
input alone. The latter is linear between the nodes of the other input, so that it is smallest at a node, or where the
other input is missing, which leaves it at zero. Each pair has another input: the smallest change is the sum of the
smallest changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from opauc.additive.basis.basis import Basis
from opauc.additive.kernels.rows import BINARY, DEVIATION, FIRST, HIGH, LINEAR, LOW, NUMERIC
from opauc.types import Floats

# The alternative that contributes nothing: the other input is missing.
NO_CHOICE = -1


@dataclass(frozen=True, eq=False)
class PairChoices:
    """What one pair adds to each inequality: `factors` times one of `n_choices` sums, whichever is smallest.

    `matrix` has `n_choices` rows for each place along the constrained input. `places` has the place of each
    inequality, -1 where the pair adds nothing.
    """

    matrix: csr_array  # (n_places * n_choices, n_columns)
    n_choices: int
    places: NDArray[np.int64]
    factors: Floats


class Lowest(NamedTuple):
    """The smallest value of each inequality, and the choice of each pair there."""

    values: Floats
    choices: NDArray[np.int64]  # (n_rows, n_pairs), NO_CHOICE where the pair adds nothing


@dataclass(frozen=True, eq=False)
class ShapeRows:
    """Inequalities base.w + sum over pairs of their smallest contribution >= 0, in log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> from opauc.additive.constraints.shape_rows import shape_rows
    >>> basis = Basis.of(np.array([[0.0], [1.0], [3.0]]), np.ones(3), np.zeros(1, bool), n_knots=3)
    >>> rows = shape_rows(basis, 0, "increasing")
    >>> rows.lowest(np.array([0.0, 0.0, 0.0, 2.0, 1.0])).values.tolist()
    [2.0, -1.0]
    """

    base: csr_array  # (n_rows, n_columns)
    pairs: tuple[PairChoices, ...]

    def lowest(self, weights: Floats) -> Lowest:
        """Return the smallest value of each inequality at these weights, over all values of the other inputs."""
        values: Floats = self.base @ weights
        choices = np.full((values.size, len(self.pairs)), NO_CHOICE)
        for number, pair in enumerate(self.pairs):
            sums = (pair.matrix @ weights).reshape(-1, pair.n_choices)
            best = sums.argmin(axis=1)
            smallest = sums[np.arange(best.size), best]
            chosen = np.where(smallest < 0.0, best, NO_CHOICE)
            used = np.flatnonzero(pair.places >= 0)
            places = pair.places[used]
            values[used] += pair.factors[used] * np.minimum(smallest, 0.0)[places]
            choices[used, number] = chosen[places]
        return Lowest(values, choices)

    def at(self, rows: NDArray[np.int64], choices: NDArray[np.int64]) -> csr_array:
        """Return inequalities at given choices of the pairs as rows of column weights: each holds if all do."""
        total = self.base[rows]
        for number, pair in enumerate(self.pairs):
            used = np.flatnonzero(choices[rows, number] != NO_CHOICE)
            picked = pair.places[rows[used]] * pair.n_choices + choices[rows[used], number]
            at = rows[used]
            select = csr_array((pair.factors[at], (used, picked)), shape=(rows.size, pair.matrix.shape[0]))
            total = total + select @ pair.matrix
        return csr_array(total)


INCREASING, DECREASING, CONVEX, CONCAVE = SHAPES = ("increasing", "decreasing", "convex", "concave")


def shape_rows(basis: Basis, j: int, shape: str) -> ShapeRows:
    """Return the inequalities under which the score has a shape in an input, whatever the other inputs are.

    A convex or concave effect is so between the smallest and the largest breakpoint: beyond, it is constant.
    """
    points = breakpoints(basis, j)
    sign = 1.0 if shape in (INCREASING, CONVEX) else -1.0
    slopes = _main_slopes(basis, j, points)
    pairs = [_pair_slopes(basis, j, number, points) for number in _pairs_of(basis, j) if points.size]
    lengths = np.diff(points)
    if shape in (INCREASING, DECREASING):
        scale = sign * lengths
        return ShapeRows(_scaled(slopes, scale), tuple(_scaled_pair(pair, scale) for pair in pairs))
    scale = sign * np.minimum(lengths[1:], lengths[:-1])
    base = _scaled(csr_array(slopes[1:] - slopes[:-1]), scale)
    return ShapeRows(base, tuple(_bends(pair, scale) for pair in pairs))


def breakpoints(basis: Basis, j: int) -> Floats:
    """Return the values of an input between which its effects are linear; beyond the ends they are constant."""
    tables = basis.tables
    if tables.kinds[j] not in (BINARY, NUMERIC):
        return np.empty(0)
    ends = tables.scales[j, [LOW, HIGH]]
    return np.unique(np.concatenate([ends, *(_knots(basis, j) if tables.kinds[j] == NUMERIC else ())]))


def _knots(basis: Basis, j: int) -> tuple[Floats, Floats]:
    """Return the knots of the curve of an input, and those of its pairs."""
    tables = basis.tables
    own = tables.knots[tables.knot_ends[j] : tables.knot_ends[j + 1]]
    return own, tables.pair_knots[tables.pair_knot_ends[j] : tables.pair_knot_ends[j + 1]]


def _main_slopes(basis: Basis, j: int, points: Floats) -> csr_array:
    """Return the slope of the main effect between neighboring points, as weights of columns."""
    tables, n_columns = basis.tables, basis.n_columns
    n_rows, (low, high) = max(points.size - 1, 0), tables.scales[j, [LOW, HIGH]]
    linear, first = tables.columns[j, [LINEAR, FIRST]].tolist()
    rows = np.flatnonzero((points[:-1] >= low) & (points[1:] <= high))
    per_unit = 1.0 / (high - low if tables.kinds[j] == BINARY else tables.scales[j, DEVIATION])
    parts = [(rows, np.full(rows.size, linear), np.full(rows.size, per_unit))]
    if tables.kinds[j] == NUMERIC and first >= 0:
        knots = _knots(basis, j)[0]
        left, inside = _interval_of(points, knots)
        rows, steps = np.flatnonzero(inside), 1.0 / np.diff(knots)[left[inside]]
        parts += [(rows, first + left[inside], -steps), (rows, first + left[inside] + 1, steps)]
    at_rows, at_columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return csr_array((values, (at_rows, at_columns)), shape=(n_rows, n_columns))


def _interval_of(points: Floats, knots: Floats) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the knot left of each interval between neighboring points, and whether knots lie on both sides of it."""
    left = np.searchsorted(knots, points[:-1], side="right") - 1
    inside = (left >= 0) & (left < knots.size - 1)
    return np.clip(left, 0, max(knots.size - 2, 0)), inside


def _pairs_of(basis: Basis, j: int) -> list[int]:
    """Return the numbers of the pairs that an input is in."""
    return np.flatnonzero((basis.tables.pairs == j).any(axis=1)).tolist()


def _pair_slopes(basis: Basis, j: int, number: int, points: Floats) -> PairChoices:
    """Return the slope of a pair along an input between neighboring points, at each node of the other input."""
    tables = basis.tables
    one, two = tables.pairs[number].tolist()
    cells = basis.cells()[number].reshape(int(tables.pair_sizes[one]), int(tables.pair_sizes[two]))
    cells = cells if one == j else cells.T
    if tables.kinds[j] == BINARY:  # one function: zero at the lower value
        cells, knots = np.vstack([np.full_like(cells, NO_CHOICE), cells]), tables.scales[j, [LOW, HIGH]]
    else:
        knots = _knots(basis, j)[1]
    steps = 1.0 / np.diff(knots)
    n_places, n_nodes = len(cells) - 1, cells.shape[1]
    parts = []
    for side, sign in ((cells[1:], 1.0), (cells[:-1], -1.0)):
        has_column = np.flatnonzero(side.ravel() >= 0)
        values = sign * np.repeat(steps, n_nodes)[has_column]
        parts.append((has_column, side.ravel()[has_column], values))
    rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    matrix = csr_array((values, (rows, columns)), shape=(n_places * n_nodes, basis.n_columns))
    left, inside = _interval_of(points, knots)
    return PairChoices(matrix, n_nodes, np.where(inside, left, -1), np.ones(max(points.size - 1, 0)))


def _scaled(rows: csr_array, factors: Floats) -> csr_array:
    return csr_array(rows * factors[:, None])


def _scaled_pair(pair: PairChoices, factors: Floats) -> PairChoices:
    """Return a pair whose contributions are multiplied; those with a negative factor are negated in the matrix."""
    negative = bool(factors.size and factors[0] < 0.0)  # all have one sign
    return PairChoices(-pair.matrix if negative else pair.matrix, pair.n_choices, pair.places, np.abs(factors))


def _bends(pair: PairChoices, scale: Floats) -> PairChoices:
    """Return the changes of the slopes of a pair from each interval to the next."""
    n_places, n = pair.matrix.shape[0] // pair.n_choices, pair.n_choices
    nothing = csr_array((n, pair.matrix.shape[1]))
    bends = vstack([pair.matrix, nothing]) - vstack([nothing, pair.matrix])  # at each knot, slopes beyond are zero
    before, after = pair.places[:-1], pair.places[1:]
    # The bend at a knot has the number of the interval after it.
    at = np.where(after != before, np.where(after >= 0, after, n_places), -1)
    bent = PairChoices(csr_array(bends), n, at, np.ones(scale.size))
    return _scaled_pair(bent, scale)
