"""Missing entries of sparse rows: refused, or taken as zero."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from opauc.errors import InputError
from opauc.features.row_faults import FILLED, Mask, RowFaults
from opauc.reading.bad_rows import BadRows


def checked_sparse(
    rows: csr_array, missing: str, faults: RowFaults, bad_rows: BadRows
) -> tuple[csr_array, Mask | None]:
    """Return the rows whose entries are finite, and which they are; missing entries become zero if that is asked."""
    finite = np.isfinite(rows.data)
    holes = np.isnan(rows.data)
    if missing == "mean" and holes.any():
        raise InputError(f"missing entries of sparse rows can be taken as zero, not as the mean {FILLED}", FILLED)
    for entry in np.flatnonzero(~finite if missing == "error" else ~finite & ~holes).tolist():
        row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
        faults.add_cell(row, float(rows.data[entry]), str(rows.indices[entry]))
    kept = faults.kept(rows.shape[0], bad_rows)
    if kept is None and finite.all():
        return rows, None
    filled = csr_array((np.where(holes, 0, rows.data), rows.indices, rows.indptr), shape=rows.shape)
    if kept is not None:
        filled = filled[kept]
    filled.eliminate_zeros()
    return filled, kept
