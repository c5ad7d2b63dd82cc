"""Rows of numbers to the columns of an additive model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.additive.basis.groups import ColumnGroups, Group, GroupKind
from opauc.additive.basis.knots import curve_roughness, surface_roughness
from opauc.additive.basis.landmarks import Landmarks
from opauc.additive.basis.leaves import Leaves, Probe
from opauc.additive.basis.levels import NO_FINER, RandomEffects
from opauc.additive.basis.main_effects import MainEffect, main_effects
from opauc.additive.basis.pairs import PairBasis
from opauc.additive.basis.tables import checked_tables, main_tables, with_pair_tables
from opauc.additive.kernels.rows import BINARY, CATEGORICAL, FIRST, NUMERIC, BasisTables, write_basis_rows
from opauc.types import Arrays, Floats, NamedArrays, Rows

# Rows are mapped so many at a time, or as many as may have so many entries: what is made of them stays near.
ROWS_PER_BLOCK, FEWEST_AT_ONCE, MOST_AT_ONCE = 4096, 1024, 2**20
# Entries of a row: the intercept, at most three for an input, at most four for a pair.
INPUT_ENTRIES, PAIR_ENTRIES = 3, 4
# Names of arrays beside those of the tables.
PROBE, FINER = "probe", "finer."
# What all inputs together may become.
TOGETHER: tuple[type[Landmarks] | type[Leaves], ...] = Landmarks, Leaves


@dataclass(frozen=True, eq=False)
class Basis:
    """A map of rows of numbers, nan where missing, to sparse rows of columns: main effects, pairs, leaves of trees.

    Column 0 is the intercept. Hats of a curve add up to one and at most two of
    them are not zero; beyond the end knots they are constant. The first
    `n_certain` pairs are those that were found for certain. `together` are the
    leaves of trees, where there are any (landmarks on bases of before);
    `probe` says what was found when they were tried, whether they were taken or
    not. `finer` are levels that share a column here and are told apart elsewhere.

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
    together: Landmarks | Leaves | None = None
    probe: Probe | None = None
    finer: RandomEffects = NO_FINER

    @classmethod
    def of(cls, sample: Floats, mass: Floats, categorical: NDArray[np.bool_], n_knots: int) -> Basis:
        """Return the basis of the main effects that suit a sample, whose rows have these masses."""
        return cls.of_effects(main_effects(sample, mass, np.ones(len(sample)), categorical, n_knots))

    @classmethod
    def of_effects(cls, effects: Sequence[MainEffect]) -> Basis:
        """Return the basis of main effects, one an input."""
        return cls(main_tables(effects))

    def with_pairs(
        self, bases: Sequence[PairBasis], pairs: NDArray[np.int32], cells: Sequence[NDArray[np.bool_]], n_certain: int
    ) -> Basis:
        """Return the basis with pairs of inputs too, each with a column for each cell that is to have one."""
        return Basis(with_pair_tables(self.tables, self.n_columns, bases, pairs, cells), n_certain)

    def with_together(self, together: Landmarks | Leaves | None, probe: Probe) -> Basis:
        """Return the basis with leaves behind all other columns, or without, and what trying them showed."""
        return replace(self, together=together, probe=probe)

    @property
    def n_weights(self) -> int:
        """Weights that scores take: one a column, and one a finer level behind them."""
        return self.n_columns + self.finer.size

    @property
    def n_inputs(self) -> int:
        """Length of a row."""
        return self.tables.kinds.size

    @property
    def n_columns(self) -> int:
        """Columns of a mapped row."""
        return self.groups.n_columns

    @cached_property
    def groups(self) -> ColumnGroups:
        """The columns in the groups that are penalized together."""
        return ColumnGroups.of(self._groups())

    @cached_property
    def effects(self) -> dict[tuple[int, ...], slice]:
        """The columns of each effect by its inputs, one or two of them; those of leaves by none."""
        found: dict[tuple[int, ...], slice] = {}
        for j in range(self.n_inputs):
            if groups := list(self._groups_of(j)):
                found[(j,)] = slice(groups[0].start, groups[-1].columns.stop)
        pairs = zip(self.tables.pairs.tolist(), self._pair_groups(), strict=True)
        found |= {(one, two): group.columns for (one, two), group in pairs}
        return found | dict.fromkeys([()] if self.together else [], slice(self._paired_columns(), self.n_columns))

    def kept_numbers(self) -> list[NDArray[np.int64] | None]:
        """Return the category numbers that have a level of their own, of each input; None of other inputs."""
        categorical = (self.tables.kinds == CATEGORICAL).tolist()
        return [
            np.union1d(self.column_numbers(j), self.finer.numbers_of(j)) if is_one else None
            for j, is_one in enumerate(categorical)
        ]

    def column_numbers(self, j: int) -> NDArray[np.int64]:
        """Return the category numbers of a categorical input that have a column of their own, in its order."""
        places = self.tables.levels[self.tables.level_ends[j] : self.tables.level_ends[j + 1]]
        kept = np.flatnonzero(places < self.tables.n_levels[j] - 1)
        return np.asarray(kept[np.argsort(places[kept])])

    def coded_inputs(self) -> list[int]:
        """Return the numeric inputs whose values are told apart beside their curves."""
        return [j for j in np.unique(self.finer.inputs).tolist() if self.tables.kinds[j] == NUMERIC]

    def pooled_column(self, j: int) -> int:
        """Return the column of all other category numbers of a categorical input."""
        return int(self.tables.columns[j, FIRST] + self.tables.n_levels[j] - 1)

    @cached_property
    def roughness(self) -> tuple[Floats | None, ...]:
        """The matrix of each group's penalty; None where it is the identity."""
        curves: list[Floats | None] = [
            curve_roughness(group.size) if group.kind == GroupKind.HATS else None
            for j in range(self.n_inputs)
            for group in self._groups_of(j)
        ]
        behind = () if self.together is None else (self.together.roughness,)
        return (None, *curves, *self._surfaces(), *behind)

    def main_columns(self) -> int:
        """Return how many columns come before the pairs."""
        return int(sum(group.size for j in range(self.n_inputs) for group in self._groups_of(j))) + 1

    def certain_columns(self) -> int:
        """Return how many columns come before the pairs that are not certain."""
        pairs = list(self._pair_groups())
        return pairs[self.n_certain].start if self.n_certain < len(pairs) else self._paired_columns()

    def rows(self, rows: Rows) -> csr_array:
        """Return the columns of rows of numbers, canonical."""
        n_rows, room = rows.shape[0], rows.shape[0] * self._most_entries
        indices, data, ends = np.empty(room, np.int32), np.empty(room), np.zeros(n_rows + 1, np.int32)
        for part in self._parts(n_rows):
            at = ends[part.start]
            numbers = rows[part] if isinstance(rows, np.ndarray) else rows[part].toarray()
            self._write(
                np.ascontiguousarray(numbers, np.float64), ends[part.start : part.stop + 1], indices[at:], data[at:]
            )
        # A view of the front would be copied time and again: scipy keeps none that fills less than half of its array.
        for room_for in (indices, data):
            room_for.resize(ends[-1], refcheck=False)
        made = csr_array((data, indices, ends), shape=(n_rows, self.n_columns))
        made.has_canonical_format = True
        return made

    def blocks(self, rows: Rows) -> Iterator[tuple[slice, csr_array]]:
        """Yield the columns of some rows at a time, and which rows they are."""
        for part in self._parts(rows.shape[0]):
            yield part, self.rows(rows[part])

    def products(self, rows: Rows, weights: Floats) -> Floats:
        """Return the product of the weights with the columns of each row, and with its finer levels if they have some.

        What stands behind the pairs is not written as sparse rows.
        """
        paired, first, out = self._paired, self._paired.n_columns, np.empty(rows.shape[0])
        weights, of_levels = weights[: self.n_columns], weights[self.n_columns :]
        for part in self._parts(rows.shape[0]):
            out[part] = paired.rows(rows[part]) @ weights[:first]
            if self.together is not None and weights[first:].any():
                numbers = rows[part] if isinstance(rows, np.ndarray) else rows[part].toarray()
                out[part] += self.together.products(self.tables, np.asarray(numbers, np.float64), weights[first:])
            if of_levels.any():
                out[part] += self.finer.rows(rows[part]) @ of_levels
        return out

    @cached_property
    def _paired(self) -> Basis:
        """The basis up to its pairs."""
        return self if self.together is None else replace(self, together=None)

    def _parts(self, n_rows: int) -> Iterator[slice]:
        """Yield the rows that are mapped at a time: as many as have so many entries."""
        step = int(np.clip(MOST_AT_ONCE // self._most_entries, FEWEST_AT_ONCE, ROWS_PER_BLOCK))
        return (slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step))

    @cached_property
    def _most_entries(self) -> int:
        """Entries that a row may have."""
        behind = 0 if self.together is None else self.together.n_entries
        return 1 + INPUT_ENTRIES * self.n_inputs + PAIR_ENTRIES * len(self.tables.pairs) + behind

    def _write(self, numbers: Floats, ends: NDArray[np.int32], indices: NDArray[np.int32], data: Floats) -> None:
        """Write the entries of rows; their ends are counted on from the first of `ends`."""
        before = ends[0]
        nothing = np.empty((len(numbers), 0), np.int32), np.empty((len(numbers), 0))
        behind = nothing if self.together is None else self.together.entries(self.tables, numbers)
        write_basis_rows(numbers, self.tables, *behind, self._paired.n_columns, ends, indices, data)
        ends += before

    def column_names(self, inputs: Sequence[str], words: Sequence[dict[int, str]] | None = None) -> list[str]:
        """Return a name for each column, from the names of the inputs and the words of their category numbers."""
        from opauc.additive.basis.column_names import column_names

        return column_names(self, inputs, words)

    def to_arrays(self) -> Arrays:
        """Return all there is to the basis under flat names, for a file or the network."""
        arrays = {**self.tables._asdict(), "n_certain": np.array(self.n_certain)}
        if self.probe is not None:
            arrays[PROBE] = np.array(self.probe)
        parts = {FINER: self.finer.to_arrays()} if self.finer.size else {}
        if self.together is not None:
            parts[self.together.prefix] = self.together.to_arrays()
        return arrays | {f"{begin}{name}": array for begin, part in parts.items() for name, array in part.items()}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> Self:
        """Return the basis that gave these arrays, refused unless one can have."""
        begins = (*(kind.prefix for kind in TOGETHER), FINER)
        parts = {
            begin: {name.removeprefix(begin): array for name, array in arrays.items() if name.startswith(begin)}
            for begin in begins
        }
        own = {name: array for name, array in arrays.items() if not name.startswith(("n_certain", PROBE, *begins))}
        tables = checked_tables(own)
        found = arrays["n_certain"]
        n_certain = int(found) if found.shape == () and found.dtype.kind in "iu" else -1
        if not 0 <= n_certain <= len(tables.pairs):
            raise ValueError(f"n_certain: expected at most {len(tables.pairs)} pairs, got {n_certain}")
        probe = arrays.get(PROBE)
        if probe is not None and (probe.shape != (2,) or not np.isfinite(probe).all()):
            raise ValueError("probe: expected two finite numbers")
        found_probe = None if probe is None else Probe(*probe.tolist())
        together = [kind.from_arrays(tables, parts[kind.prefix]) for kind in TOGETHER if parts[kind.prefix]]
        if len(together) > 1:
            raise ValueError("basis: expected landmarks or leaves, not both")
        finer = RandomEffects.from_arrays(tables.kinds, parts[FINER]) if parts[FINER] else NO_FINER
        return cls(tables, n_certain, together[0] if together else None, found_probe, finer)

    def _groups(self) -> Iterator[Group]:
        yield Group(GroupKind.INTERCEPT, 0, 1)
        for j in range(self.n_inputs):
            yield from self._groups_of(j)
        yield from self._pair_groups()
        if self.together is not None:
            yield Group(self.together.kind, self._paired_columns(), self.together.size)

    def _groups_of(self, j: int) -> Iterator[Group]:
        straight, first, missing = self.tables.columns[j].tolist()
        kind = self.tables.kinds[j]
        if kind == BINARY:
            yield Group(GroupKind.BINARY, straight, 1)
        elif kind == NUMERIC:
            yield Group(GroupKind.LINEAR, straight, 1)
            if first >= 0:
                yield Group(GroupKind.HATS, first, int(np.diff(self.tables.knot_ends)[j]))
        elif kind == CATEGORICAL:
            yield Group(GroupKind.LEVELS, first, int(self.tables.n_levels[j]))
        if missing >= 0:
            yield Group(GroupKind.BINARY, missing, 1)

    def _surfaces(self) -> Iterator[Floats | None]:
        """Yield the matrices of the pairs, smooth along inputs of which only a few of many values are knots."""
        t = self.tables
        many = np.diff(t.knot_ends) > t.pair_sizes
        for (one, two), cells in zip(t.pairs.tolist(), self.cells(), strict=True):
            shape = int(t.pair_sizes[one]), int(t.pair_sizes[two])
            smooth = tuple(bool(t.kinds[j] == NUMERIC and many[j]) for j in (one, two))
            yield surface_roughness(shape, (smooth[0], smooth[1]), cells >= 0)

    def cells(self) -> list[NDArray[np.int32]]:
        """Return the cells of each pair with their columns, -1 where there is none."""
        return np.split(self.tables.cells, self.tables.cell_starts[1:]) if len(self.tables.pairs) else []

    def _pair_groups(self) -> Iterator[Group]:
        for cells in self.cells():
            columns = cells[cells >= 0]
            kind = GroupKind.PAIR if columns.size > 1 else GroupKind.PAIR_COLUMN
            yield Group(kind, int(columns[0]), columns.size)

    def _paired_columns(self) -> int:
        """Return how many columns come before what all inputs together become."""
        return self.main_columns() + sum(group.size for group in self._pair_groups())
