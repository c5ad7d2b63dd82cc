"""The data sets of the benchmark: real ones where they are at hand, else random ones of the same shape."""

from typing import NamedTuple

import numpy as np
from experiments.datasets import available, load, scaled
from scipy import sparse


class Workload(NamedTuple):
    """Rows scaled as the paper does, to [-1, 1] where dense, and labels -1 and 1."""

    name: str
    rows: np.ndarray | sparse.csr_array
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
        rows = text_like(rng, n_rows, n_features, per_row, dtype)
        signal = rows[:, [0]].toarray()[:, 0]
    labels = np.where(signal + rng.normal(size=n_rows) > 0, 1, -1)
    return Workload(f"synthetic {n_rows} x {n_features}", rows, labels)


def text_like(rng, n_rows, n_features, per_row, dtype=np.float64):
    """Rows of ones at features as frequent as words: rank r is drawn with weight 1/r, repetitions count once."""
    picks = np.minimum((n_features ** rng.random((n_rows, per_row))).astype(np.int32), n_features) - 1
    ends = np.arange(0, n_rows * per_row + 1, per_row, dtype=np.int32)
    rows = sparse.csr_array((np.ones(picks.size, dtype), picks.ravel(), ends), shape=(n_rows, n_features))
    rows.sum_duplicates()
    rows.data[:] = 1.0
    return rows
