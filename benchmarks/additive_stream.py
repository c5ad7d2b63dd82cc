"""CPU time per row of training OnePassGAM after its basis is fixed, by the columns of the basis.

python -m benchmarks.additive_stream
"""

import time

import numpy as np

from opauc import OnePassGAM

N_ROWS, REPEATS = 16_384, 5


def rows_and_labels(seed, n_rows):
    """Ten features, all pairs of which act together."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 10))
    score = np.zeros(n_rows)
    for a in range(10):
        for b in range(a):
            score += np.sign(rows[:, a] * rows[:, b]) * 0.4
    return rows, (rng.random(n_rows) < 1 / (1 + np.exp(-score))).astype(np.int8)


def main():
    """Print a line a width."""
    rows, labels = rows_and_labels(0, N_ROWS)
    later, later_labels = rows_and_labels(1, N_ROWS)
    for width, interactions in ((800, 45), (1500, 45), (1500, "auto")):
        model = OnePassGAM(max_columns=width, interactions=interactions, random_state=0).fit(rows, labels)
        fit = model._fitted.with_basis()
        fit.update(later[:1024], later_labels[:1024])
        times = []
        for _ in range(REPEATS):
            began = time.process_time()
            fit.update(later, later_labels)
            times.append(time.process_time() - began)
        basis = model.basis_
        entries = basis.rows(later[:1000]).nnz / 1000
        best = 1e6 * min(times) / N_ROWS
        leaves = basis.trees.size if basis.trees else 0
        print(
            f"{basis.n_columns} columns, {leaves} of them leaves, {entries:.0f} entries per row: {best:.1f} µs per row"
        )


if __name__ == "__main__":
    main()
