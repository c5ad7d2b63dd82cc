"""Sparse rows whose last columns are full, as two matrices: what a descent multiplies by again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from opauc.kernels.sums.split_gram import full_columns, write_split_rows
from opauc.rows import Floats
from opauc.statistics.chunk_rows import csr_rows

# Fewer full columns are left where they are.
FEWEST_FULL = 32


@dataclass(frozen=True, eq=False)
class HalvedRows:
    """The columns that are sparse, and those behind them that are full, in float32: a third of the bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from opauc.learners.additive.halved_rows import HalvedRows
    >>> rows = HalvedRows.of(csr_array(np.eye(3)))
    >>> rows.times(np.array([1.0, 2.0, 3.0])).tolist(), rows.summed(np.array([1.0, 2.0, 3.0])).tolist()
    ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    """

    sparse: csr_array
    full: NDArray[np.float32]

    @classmethod
    def of(cls, rows: csr_array) -> Self:
        """Return the halves of canonical sparse rows; without full columns the second is empty."""
        (n_rows, size), entries = rows.shape, csr_rows(rows.data, rows.indices, rows.indptr)
        n_full = full_columns(entries, size) if n_rows else 0
        if n_full < FEWEST_FULL:
            return cls(rows, np.empty((n_rows, 0), np.float32))
        n_sparse = rows.nnz - n_rows * n_full
        full, data = np.empty((n_rows, n_full), np.float32), np.empty(n_sparse)
        indices, ends = np.empty(n_sparse, np.uint32), np.empty(n_rows + 1, np.int32)
        write_split_rows(entries, np.ones(n_rows), full, data, indices, ends)
        return cls(csr_array((data, indices.view(np.int32), ends), shape=(n_rows, size - n_full)), full)

    def times(self, weights: Floats) -> Floats:
        """Return the product of every row with the weights."""
        first = self.sparse.shape[1]
        product: Floats = self.sparse @ weights[:first]
        return product + self.full @ weights[first:].astype(np.float32) if self.full.size else product

    def summed(self, factors: Floats) -> Floats:
        """Return the sum of the rows, each times its factor."""
        sums: Floats = self.sparse.T @ factors
        return np.concatenate([sums, factors.astype(np.float32) @ self.full]) if self.full.size else sums
