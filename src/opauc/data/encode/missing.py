"""Missing values: checks of sparse rows, and running means of features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from opauc.data.bad_rows import FILL_MISSING, BadRows, Mask, RowErrors
from opauc.errors import InputError
from opauc.types import DenseRows, Floats


def check_sparse(rows: csr_array, missing: str, errors: RowErrors, bad_rows: BadRows) -> tuple[csr_array, Mask | None]:
    """Return the rows whose entries are finite, and which rows they are; missing entries become zero if requested."""
    finite = np.isfinite(rows.data)
    is_nan = np.isnan(rows.data)
    if missing == "mean" and is_nan.any():
        raise InputError(
            "missing entries of sparse rows can be taken as zero, not as the mean (", FILL_MISSING, ")"
        )  # fmt: skip
    for entry in np.flatnonzero(~finite if missing == "error" else ~finite & ~is_nan).tolist():
        row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
        errors.add_cell(row, float(rows.data[entry]), str(rows.indices[entry]))
    good = errors.handle(rows.shape[0], bad_rows)
    if good is None and finite.all():
        return rows, None
    filled = csr_array((np.where(is_nan, 0, rows.data), rows.indices, rows.indptr), shape=rows.shape)
    if good is not None:
        filled = filled[good]
    filled.eliminate_zeros()
    return filled, good


@dataclass(frozen=True, eq=False)
class RunningMeans:
    """Sum and count of the values of each feature that were not missing.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.data.encode.missing import RunningMeans
    >>> means = RunningMeans.empty(2).update(np.array([[1.0, np.nan], [3.0, np.nan]]))
    >>> means.values()
    array([2., 0.])
    """

    sums: Floats
    counts: Floats

    @classmethod
    def empty(cls, n_features: int) -> RunningMeans:
        """Nothing seen yet."""
        return cls(np.zeros(n_features), np.zeros(n_features))

    def update(self, rows: DenseRows) -> RunningMeans:
        """Add the values of rows, nan left out."""
        present = ~np.isnan(rows)
        sums = np.where(present, rows, 0).sum(axis=0, dtype=np.float64)
        return RunningMeans(self.sums + sums, self.counts + present.sum(axis=0))

    def values(self) -> Floats:
        """Return the mean of each feature, zero where no value was seen."""
        return self.sums / np.maximum(self.counts, 1.0)
