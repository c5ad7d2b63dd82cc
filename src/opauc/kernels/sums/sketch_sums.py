"""Class sketches by plain addition: every row times its code."""

from opauc.kernels.compile_kernel import kernel


@kernel
def add_coded_rows(rows, labels, codes, sums):
    """Add x code^T of every sparse row to block k of `sums` (d, 2, width), k its class."""
    for i in range(labels.size):
        k, code = labels[i], codes[i]
        for at in range(rows.indptr[i], rows.indptr[i + 1]):
            x, line = rows.data[at], sums[rows.indices[at], k]
            for c in range(code.size):
                line[c] += x * code[c]
