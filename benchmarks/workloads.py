"""The data sets of the benchmark: real ones where they are at hand, else random ones of the same shape."""

from typing import NamedTuple

import numpy as np
from experiments.datasets import available, load, scaled
from scipy import sparse


class Workload(NamedTuple):
    """Rows scaled as the paper does, to [-1, 1] where dense, and labels -1 and 1."""

    name: str
    rows: np.ndarray | sparse.csr_matrix
    labels: np.ndarray


def workload(name: str, n_rows: int, n_features: int, dtype: type = np.float64, per_row: int | None = None) -> Workload:
    """The named set, or a random one of n_rows x n_features with `per_row` entries a row if that is given."""
    if available((name,)):
        rows, labels = load(name, dtype)
        return Workload(name, rows if sparse.issparse(rows) else scaled(rows), np.where(labels, 1, -1))
    rng = np.random.default_rng(0)
    if per_row is None:
        rows = rng.uniform(-1, 1, size=(n_rows, n_features)).astype(dtype)
        signal = rows[:, 0]
    else:
        indices = np.sort(np.argpartition(rng.random((n_rows, n_features)), per_row, axis=1)[:, :per_row], axis=1)
        indptr = np.arange(0, n_rows * per_row + 1, per_row)
        rows = sparse.csr_matrix(
            (np.ones(n_rows * per_row, dtype), indices.ravel(), indptr), shape=(n_rows, n_features)
        )
        signal = rows[:, [0]].toarray()[:, 0]
    labels = np.where(signal + rng.normal(size=n_rows) > 0, 1, -1)
    return Workload(f"synthetic {n_rows} x {n_features}", rows, labels)
