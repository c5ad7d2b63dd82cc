"""The tables of a basis and the weights of a model as the kernel that scores rows takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from opauc.additive.basis.bins import CodeTables
from opauc.additive.basis.crossed_codes import FINAL_MIXERS, MIXERS, CrossedCodes
from opauc.additive.basis.random_effects import RandomEffects
from opauc.additive.basis.tables import BasisTables
from opauc.additive.kernels.rows import LOOKUP_ROWS
from opauc.additive.kernels.scores import Workspace, write_scores
from opauc.additive.kernels.trees import TreeSplits
from opauc.types import Floats

if TYPE_CHECKING:
    from opauc.additive.basis.basis import Basis

# Rows that go through a tree together.
DIVIDED_ROWS = 4096
Fields = TypeVar("Fields", BasisTables, CodeTables, TreeSplits)


class EffectTables(NamedTuple):
    """The numbers with random effects of each input that has any."""

    inputs: NDArray[np.int64]
    ends: NDArray[np.int64]  # (n_inputs + 1,)
    numbers: Floats

    @classmethod
    def of(cls, effects: RandomEffects) -> EffectTables:
        """Return the tables of random effects."""
        inputs, first = np.unique(effects.inputs, return_index=True)
        return cls(inputs, np.append(first, effects.size).astype(np.int64), effects.numbers.astype(np.float64))


class CrossedTables(NamedTuple):
    """The members of each crossed code, the edges of their bins, and the first level of each code."""

    inputs: NDArray[np.int64]  # (n_members,)
    member_ends: NDArray[np.int64]  # (n_codes + 1,)
    edges: Floats
    edge_ends: NDArray[np.int64]  # (n_members + 1,)
    starts: NDArray[np.int64]  # (n_codes,)
    shifts: NDArray[np.uint64]  # (n_codes,): the bits of a hash that are not in the number of a level
    mixers: NDArray[np.uint64]
    final_mixers: NDArray[np.uint64]

    @classmethod
    def of(cls, crossed: CrossedCodes) -> CrossedTables:
        """Return the tables of crossed codes."""
        arrays = crossed.to_arrays()
        starts = np.array([part.start for part in crossed.parts()], np.int64)
        shifts = np.array([64 - (code.n_levels.bit_length() - 1) for code in crossed.codes], np.uint64)
        return cls(
            arrays["inputs"], arrays["member_ends"], arrays["edges"], arrays["edge_ends"], starts, shifts, MIXERS,
            FINAL_MIXERS,
        )  # fmt: skip


class ScoreWeights(NamedTuple):
    """Weights by what they belong to."""

    columns: Floats
    effects: Floats
    crossed: Floats
    leaves: Floats


class TableParts(NamedTuple):
    """Everything that is looked up to score a row but the weights; what a model lacks is empty."""

    basis: BasisTables
    effects: EffectTables
    crossed: CrossedTables
    codes: CodeTables
    splits: TreeSplits


class ScoreTables(NamedTuple):
    """A basis and weights, ready to score: immutable, and shared by any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.basis import Basis
    >>> basis = Basis.of(np.array([[0.0], [1.0], [4.0]]), np.ones(3), np.zeros(1, bool), n_knots=3)
    >>> ScoreTables.of(basis, np.array([1.0, 0.0, 0.0, 0.0, 2.0])).scores(np.array([[4.0], [2.5]])).tolist()
    [3.0, 2.0]
    """

    parts: TableParts
    weights: ScoreWeights
    max_pending: int

    @classmethod
    def of(cls, basis: Basis, weights: Floats) -> ScoreTables:
        """Return the tables; `weights` may end with those of the columns."""
        split = [np.array(part) for part in basis.split_weights(weights)]
        effects, crossed, leaves = (part if part.any() else np.empty(0) for part in split[1:])
        trees = basis.trees if leaves.size else None
        parts = TableParts(
            _owned(basis.tables),
            EffectTables.of(basis.random_effects if effects.size else RandomEffects(*NOTHING)),
            CrossedTables.of(basis.crossed if crossed.size else CrossedCodes()),
            NO_CODES if trees is None else _owned(trees.codes.tables),
            NO_SPLITS if trees is None else _owned(trees.splits),
        )
        n_splits = np.diff(np.append(parts.splits.roots, parts.splits.columns.size))
        return cls(parts, ScoreWeights(split[0], effects, crossed, leaves), int(n_splits.max(initial=0)) + 1)

    def scores(self, rows: Floats) -> Floats:
        """Return the score of each row."""
        out = np.empty(len(rows))
        if not out.size:
            return out
        if not (rows.flags.c_contiguous and rows.flags.writeable):  # the kernel is compiled for these only
            rows = np.array(rows, order="C")
        write_scores(rows, self.parts, self.weights, self.workspace(len(rows)), out)
        return out

    def workspace(self, n_rows: int) -> Workspace:
        """Return what the kernel needs to score so many rows."""
        lines, divided = min(LOOKUP_ROWS, n_rows), min(DIVIDED_ROWS, n_rows)
        n_inputs, splits = self.parts.basis.kinds.size, self.parts.splits
        if not splits.roots.size:
            divided = 0
        return Workspace(
            np.empty((n_inputs + 1, lines), np.int32),
            np.empty((2, n_inputs + 1, lines)),
            np.empty((self.parts.codes.sources.size, divided), np.uint8),
            np.empty(divided, np.int32),
            np.empty(divided),
            np.empty((2, divided), np.uint16),
            np.empty((self.max_pending, 4), np.int32),
        )


def _owned(fields: Fields) -> Fields:
    """Return copies of arrays, writable and contiguous wherever they were read from: a kernel is compiled for that."""
    copies: list[Any] = [np.array(array) for array in fields]
    return type(fields)(*copies)


NOTHING = np.empty(0, np.int64), np.empty(0, np.int64)
NO_CODES = CodeTables(
    np.empty(0), np.zeros(1, np.int64), np.empty(0, np.uint8), np.zeros(1, np.int64), np.empty(0, np.uint8), NOTHING[0]
)
NO_SPLITS = TreeSplits(np.empty(0, np.int32), np.empty(0, np.uint8), np.empty((0, 2), np.int32), np.empty(0, np.int32))
