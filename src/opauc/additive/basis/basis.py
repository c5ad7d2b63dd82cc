"""The basis expansion of an additive model: rows of inputs to sparse rows of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.column_names import column_names
from opauc.additive.basis.crossed_codes import NO_CROSSED_CODES, CrossedCodes
from opauc.additive.basis.ensemble import TreeEnsemble, ValidationGain
from opauc.additive.basis.group_levels import GroupLevels
from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
from opauc.additive.basis.knots import curve_roughness, surface_roughness
from opauc.additive.basis.main_effects import MainEffect, main_effects
from opauc.additive.basis.pairs import PairBasis
from opauc.additive.basis.random_effects import NO_RANDOM_EFFECTS, RandomEffects
from opauc.additive.basis.score_tables import ScoreTables
from opauc.additive.basis.tables import SCHEMA, BasisTables, check_tables, main_tables, with_pair_tables
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, FIRST, LOOKUP_ROWS, NUMERIC, write_basis_rows
from opauc.core.array_schema import ArrayRule, check_arrays, with_prefix
from opauc.core.threads import work_in_order
from opauc.types import Arrays, Floats, NamedArrays, Rows

# Rows are expanded in blocks of at most MAX_BLOCK_ROWS rows and about MAX_BLOCK_ENTRIES entries, which stay in the
# cache, but of at least MIN_BLOCK_ROWS rows.
MAX_BLOCK_ROWS, MIN_BLOCK_ROWS, MAX_BLOCK_ENTRIES = 4096, 1024, 2**20
# Entries of a row: the intercept, at most three per input, at most four per pair.
INPUT_ENTRIES, PAIR_ENTRIES = 3, 4
# Names of arrays besides those of the tables.
N_CERTAIN, GAIN, AUCS = "n_certain", "validation_gain", "input_aucs"
TREES, RANDOM_EFFECTS, CROSSED, GROUPS = "trees.", "random_effects.", "crossed.", "group_levels."
BASIS_SCHEMA = {
    **SCHEMA,
    N_CERTAIN: ArrayRule("int64", low=0, below="pairs+1"),
    GAIN: ArrayRule("float64", "2", optional=True),
    AUCS: ArrayRule("float64", "inputs", low=0, high=1, optional=True),
}


def _dense(rows: Rows) -> Floats:
    """Return rows as an array of float64."""
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), np.float64)


@dataclass(frozen=True, eq=False)
class Basis:
    """A map of rows of numbers, nan where missing, to sparse rows of columns: main effects and pairs.

    Column 0 is the intercept. The linear B-spline (hat) functions of a curve add up to one, at most two of them are
    not zero, and beyond the end knots they are constant.

    Attributes
    ----------
    tables : BasisTables
        The knots, categories and pairs.
    n_certain : int
        How many pairs passed the test at a false-discovery rate of 10 %; they come first.
    trees : TreeEnsemble or None
        The tree ensemble, if there is one: its leaves have weights but no columns.
    validation_gain : ValidationGain or None
        What trees gained on validation rows, whether they were accepted or not.
    random_effects : RandomEffects
        Categories that have a weight but no column.
    input_aucs : ndarray or None
        The AUCs of single inputs on the initial sample, where that is large enough.
    crossed : CrossedCodes
        Combinations of inputs that have a weight but no column.
    group_levels : GroupLevels or None
        The groups within which rows are ranked, if there are any; no score depends on them.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> sample = np.array([[0.0, 1.0], [1.0, 2.0], [0.0, 4.0], [1.0, np.nan]])
    >>> basis = Basis.of(sample, np.ones(4), np.zeros(2, bool), n_knots=8)
    >>> basis.column_names(["sex", "age"])
    ['intercept', 'sex', 'age', 'age at 1', 'age at 2', 'age at 4', 'age missing']
    >>> basis.rows(np.array([[1.0, 3.0]])).toarray()[:, 3:]
    array([[0. , 0.5, 0.5, 0. ]])
    """

    tables: BasisTables
    n_certain: int = 0
    trees: TreeEnsemble | None = None
    validation_gain: ValidationGain | None = None
    random_effects: RandomEffects = NO_RANDOM_EFFECTS
    input_aucs: Floats | None = None
    crossed: CrossedCodes = NO_CROSSED_CODES
    group_levels: GroupLevels | None = None

    @classmethod
    def of(cls, sample: Floats, balanced_weight: Floats, categorical: NDArray[np.bool_], n_knots: int) -> Basis:
        """Return the basis of the main effects of a sample with class-balanced sample weights."""
        return cls.of_effects(main_effects(sample, balanced_weight, np.ones(len(sample)), categorical, n_knots))

    @classmethod
    def of_effects(cls, effects: Sequence[MainEffect]) -> Basis:
        """Return the basis of main effects, one per input."""
        return cls(main_tables(effects))

    def with_pairs(
        self, bases: Sequence[PairBasis], pairs: NDArray[np.int32], cells: Sequence[NDArray[np.bool_]], n_certain: int
    ) -> Basis:
        """Return the basis with pairs of inputs added, and a column for each of their `cells` that is true."""
        return Basis(with_pair_tables(self.tables, self.n_columns, bases, pairs, cells), n_certain)

    def with_trees(self, trees: TreeEnsemble | None, validation_gain: ValidationGain) -> Basis:
        """Return the basis with a tree ensemble, or without, and the gain of trees."""
        return replace(self, trees=trees, validation_gain=validation_gain)

    @property
    def n_weights(self) -> int:
        """Number of weights of a score: of the columns, the random effects, the levels of crossed codes, the leaves."""
        return self.n_additive + (0 if self.trees is None else self.trees.n_leaves)

    @property
    def n_additive(self) -> int:
        """Number of weights but for those of the leaves."""
        return self.n_columns + self.random_effects.size + self.crossed.size

    @property
    def n_inputs(self) -> int:
        """Length of a row."""
        return self.tables.kinds.size

    @property
    def n_columns(self) -> int:
        """Number of columns of a mapped row."""
        return self.groups.n_columns

    @cached_property
    def groups(self) -> ColumnGroups:
        """The groups of columns that share a penalty."""
        return ColumnGroups.of(self._groups())

    @cached_property
    def effects(self) -> dict[tuple[int, ...], slice]:
        """The columns of each term by its one or two inputs."""
        terms: dict[tuple[int, ...], slice] = {}
        for j in range(self.n_inputs):
            if groups := list(self._groups_of(j)):
                terms[(j,)] = slice(groups[0].start, groups[-1].columns.stop)
        pairs = zip(self.tables.pairs.tolist(), self._pair_groups(), strict=True)
        terms |= {(one, two): group.columns for (one, two), group in pairs}
        return terms

    def kept_numbers(self) -> list[NDArray[np.int64] | None]:
        """Return the category numbers of each input that have their own weight; None for inputs without categories."""
        return [
            self._kept_numbers_of(j) if is_categorical else None
            for j, is_categorical in enumerate((self.tables.kinds == CATEGORICAL).tolist())
        ]

    def _kept_numbers_of(self, j: int) -> NDArray[np.int64]:
        numbers = np.union1d(self.column_numbers(j), self.random_effects.numbers_of(j))
        numbers = np.union1d(numbers, self.crossed.kept_numbers(j))
        return numbers if self.trees is None else np.union1d(numbers, self.trees.codes.numbers_of(j))

    def column_numbers(self, j: int) -> NDArray[np.int64]:
        """Return the category numbers of an input that have their own column, in the order of the columns."""
        levels = self.tables.levels[self.tables.level_ends[j] : self.tables.level_ends[j + 1]]
        kept = np.flatnonzero(levels < self.tables.n_levels[j] - 1)
        return np.asarray(kept[np.argsort(levels[kept])])

    def coded_inputs(self) -> list[int]:
        """Return the numeric inputs whose values have random effects in addition to their curve."""
        return [j for j in np.unique(self.random_effects.inputs).tolist() if self.tables.kinds[j] == NUMERIC]

    def pooled_column(self, j: int) -> int:
        """Return the column that pools all other categories of a categorical input."""
        return int(self.tables.columns[j, FIRST] + self.tables.n_levels[j] - 1)

    @cached_property
    def roughness(self) -> tuple[Floats | None, ...]:
        """The penalty matrix of each group; None stands for the identity."""
        curves: list[Floats | None] = [
            curve_roughness(group.size) if group.kind == GroupKind.SPLINE else None
            for j in range(self.n_inputs)
            for group in self._groups_of(j)
        ]
        return (None, *curves, *self._surfaces())

    def main_columns(self) -> int:
        """Return the number of columns before the pairs."""
        return int(sum(group.size for j in range(self.n_inputs) for group in self._groups_of(j))) + 1

    def certain_pairs(self) -> set[tuple[int, ...]]:
        """Return the inputs of the pairs that passed the stricter test, or that were asked for."""
        return {tuple(pair) for pair in self.tables.pairs[: self.n_certain].tolist()}

    def certain_columns(self) -> int:
        """Return the number of columns before the pairs that are not certain."""
        pairs = list(self._pair_groups())
        return pairs[self.n_certain].start if self.n_certain < len(pairs) else self.n_columns

    def cells(self) -> list[NDArray[np.int32]]:
        """Return the column of each cell of each pair, -1 if it has none."""
        return np.split(self.tables.cells, self.tables.cell_starts[1:]) if len(self.tables.pairs) else []

    def rows(self, rows: Rows) -> csr_array:
        """Return the columns of rows as a canonical sparse matrix."""
        n_rows, max_entries = rows.shape[0], rows.shape[0] * self._max_entries
        indices, data, ends = np.empty(max_entries, np.int32), np.empty(max_entries), np.zeros(n_rows + 1, np.int32)

        def write(part: slice) -> slice:
            at = part.start * self._max_entries
            self._write(rows[part], ends[part.start + 1 : part.stop + 1], indices[at:], data[at:])
            return part

        def close_up(part: slice) -> None:
            at, written, n_entries = int(ends[part.start]), part.start * self._max_entries, int(ends[part.stop])
            if at < written:
                for array in (indices, data):
                    array[at : at + n_entries] = array[written : written + n_entries]
            if at:
                ends[part.start + 1 : part.stop + 1] += at

        work_in_order(write, self.row_blocks(n_rows), close_up)
        # scipy copies a view that fills less than half of its array on every use: shrink the arrays instead.
        for array in (indices, data):
            array.resize(ends[-1], refcheck=False)
        expanded = csr_array((data, indices, ends), shape=(n_rows, self.n_columns))
        expanded.has_canonical_format = True
        return expanded

    def row_blocks(self, n_rows: int) -> list[slice]:
        """Return the blocks in which so many rows are expanded."""
        step = min(max(MAX_BLOCK_ENTRIES // self._max_entries, MIN_BLOCK_ROWS), MAX_BLOCK_ROWS)
        return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]

    def blocks(self, rows: Rows) -> Iterator[tuple[slice, csr_array]]:
        """Yield blocks of rows: which rows they are, and their columns."""
        for part in self.row_blocks(rows.shape[0]):
            yield part, self.rows(rows[part])

    def products(self, rows: Rows, weights: Floats) -> Floats:
        """Return the score of each row: the weights of its columns, random effects, crossed codes and leaves.

        `weights` may end with those of the columns.
        """
        return self.scores(rows, ScoreTables.of(self, weights))

    def scores(self, rows: Rows, tables: ScoreTables) -> Floats:
        """Return the score of each row, given the tables of this basis and weights."""
        parts = list[Floats]()
        work_in_order(lambda part: tables.scores(_dense(rows[part])), self.row_blocks(rows.shape[0]), parts.append)
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])

    def additive_products(self, columns: csr_array, rows: Rows, weights: Floats) -> Floats:
        """Return the score of each row, given its columns too, without the trees."""
        column_weights, effect_weights, crossed_weights, _ = self.split_weights(weights)
        scores: Floats = columns @ column_weights
        if effect_weights.any():
            scores += self.random_effects.rows(rows) @ effect_weights
        if crossed_weights.any():
            scores += self.crossed.contributions(_dense(rows), crossed_weights).sum(axis=1)
        return scores

    def leaves(self, rows: Floats) -> NDArray[np.int32] | None:
        """Return the leaf of each row in each tree; None where there are no trees."""
        return None if self.trees is None else self.trees.leaves(self.trees.codes.of_rows(rows))

    def split_weights(self, weights: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the weights of the columns, the random effects, the levels of crossed codes, and the leaves."""
        ends = [self.n_columns, self.n_columns + self.random_effects.size, self.n_additive]
        of_columns, of_effects, of_levels, of_leaves = np.split(weights, ends)
        return of_columns, of_effects, of_levels, of_leaves

    def column_names(self, inputs: Sequence[str], categories: Sequence[dict[int, str]] | None = None) -> list[str]:
        """Return a name for each column, from the names of the inputs and of their categories by number."""
        return column_names(self, inputs, categories)

    def to_arrays(self) -> Arrays:
        """Return all arrays of the basis under flat names, for a file or the network."""
        arrays: Arrays = {**self.tables._asdict(), N_CERTAIN: np.array(self.n_certain, np.int64)}
        if self.validation_gain is not None:
            arrays[GAIN] = np.array(self.validation_gain)
        if self.input_aucs is not None:
            arrays[AUCS] = self.input_aucs
        if self.random_effects.size:
            arrays |= {f"{RANDOM_EFFECTS}{name}": array for name, array in self.random_effects.to_arrays().items()}
        if self.crossed.size:
            arrays |= {f"{CROSSED}{name}": array for name, array in self.crossed.to_arrays().items()}
        if self.group_levels is not None:
            arrays |= {f"{GROUPS}{name}": array for name, array in self.group_levels.to_arrays().items()}
        if self.trees is not None:
            arrays |= {f"{TREES}{name}": array for name, array in self.trees.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the basis from `to_arrays`; raise ValueError if the arrays are not those of a basis."""
        trees, effects = with_prefix(TREES, arrays), with_prefix(RANDOM_EFFECTS, arrays)
        crossed, groups = with_prefix(CROSSED, arrays), with_prefix(GROUPS, arrays)
        parts = (TREES, RANDOM_EFFECTS, CROSSED, GROUPS)
        own = {name: array for name, array in arrays.items() if not name.startswith(parts)}
        check_arrays(BASIS_SCHEMA, own)
        tables = BasisTables(**{name: np.ascontiguousarray(own[name]) for name in SCHEMA})
        check_tables(tables)
        return cls(
            tables,
            int(own[N_CERTAIN]),
            TreeEnsemble.from_arrays(tables.kinds.size, trees) if trees else None,
            ValidationGain(*own[GAIN].tolist()) if GAIN in own else None,
            RandomEffects.from_arrays(tables.kinds, effects) if effects else NO_RANDOM_EFFECTS,
            own.get(AUCS),
            CrossedCodes.from_arrays(tables.kinds, crossed) if crossed else NO_CROSSED_CODES,
            GroupLevels.from_arrays(groups) if groups else None,
        )

    @cached_property
    def _max_entries(self) -> int:
        """Maximum number of entries of a row."""
        return 1 + INPUT_ENTRIES * self.n_inputs + PAIR_ENTRIES * len(self.tables.pairs)

    def _write(self, rows: Rows, ends: NDArray[np.int32], indices: NDArray[np.int32], data: Floats) -> None:
        """Write the entries of rows and where those of each row end."""
        numbers = np.ascontiguousarray(_dense(rows))
        lookups = 2, self.n_inputs, min(LOOKUP_ROWS, len(numbers))
        workspaces = np.empty(lookups, np.int32), np.empty(lookups), np.empty((self.n_inputs, 2))
        write_basis_rows(numbers, self.tables, *workspaces, ends, indices, data)

    def _groups(self) -> Iterator[Group]:
        yield Group(GroupKind.INTERCEPT, 0, 1)
        for j in range(self.n_inputs):
            yield from self._groups_of(j)
        yield from self._pair_groups()

    def _groups_of(self, j: int) -> Iterator[Group]:
        linear, first, missing = self.tables.columns[j].tolist()
        kind = self.tables.kinds[j]
        if kind == BINARY:
            yield Group(GroupKind.BINARY, linear, 1)
        elif kind == NUMERIC:
            yield Group(GroupKind.LINEAR, linear, 1)
            if first >= 0:
                yield Group(GroupKind.SPLINE, first, int(np.diff(self.tables.knot_ends)[j]))
        elif kind == CATEGORICAL:
            yield Group(GroupKind.CATEGORICAL, first, int(self.tables.n_levels[j]))
        if missing >= 0:
            yield Group(GroupKind.BINARY, missing, 1)

    def _pair_groups(self) -> Iterator[Group]:
        for cells in self.cells():
            columns = cells[cells >= 0]
            kind = GroupKind.PAIR if columns.size > 1 else GroupKind.PAIR_COLUMN
            yield Group(kind, int(columns[0]), columns.size)

    def _surfaces(self) -> Iterator[Floats | None]:
        """Yield the penalty matrices of the pairs; inputs with more values than knots in pairs are smooth."""
        t = self.tables
        has_more_knots = np.diff(t.knot_ends) > t.pair_sizes
        for (one, two), cells in zip(t.pairs.tolist(), self.cells(), strict=True):
            shape = int(t.pair_sizes[one]), int(t.pair_sizes[two])
            smooth = tuple(bool(t.kinds[j] == NUMERIC and has_more_knots[j]) for j in (one, two))
            yield surface_roughness(shape, (smooth[0], smooth[1]), cells >= 0)
