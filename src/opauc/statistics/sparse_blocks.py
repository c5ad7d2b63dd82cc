"""The rows of a chunk for kernels that know sparse rows only."""

from collections.abc import Iterator

import numpy as np

from opauc.kernels.rows.csr_rows import CsrRows
from opauc.kernels.rows.nonzero_entries import nonzero_entries
from opauc.rows import Rows
from opauc.statistics.chunk_rows import csr_rows, read_only

# So many dense entries at a time: their sparse form is larger than they are.
ENTRIES_PER_BLOCK = 2**20


def sparse_blocks(rows: Rows) -> Iterator[tuple[slice, CsrRows]]:
    """Yield sparse rows whole and dense ones in blocks, the zeros left out.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.statistics.sparse_blocks import sparse_blocks
    >>> [(part, block)] = sparse_blocks(np.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> block.data.tolist(), block.indices.tolist(), block.indptr.tolist()
    ([2.0, 3.0], [1, 0], [0, 1, 2])
    """
    n_rows = rows.shape[0]
    if not isinstance(rows, np.ndarray):
        yield slice(0, n_rows), csr_rows(rows.data, rows.indices, rows.indptr)
        return
    rows_per_block = max(1, ENTRIES_PER_BLOCK // max(1, rows.shape[1]))
    for start in range(0, n_rows, rows_per_block):
        part = slice(start, min(start + rows_per_block, n_rows))
        block = read_only(np.require(rows[part], requirements=("C", "A")))
        yield part, csr_rows(*nonzero_entries(block))
