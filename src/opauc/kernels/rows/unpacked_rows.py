"""Sparse rows, scaled, as dense ones."""

from opauc.kernels.compile_kernel import kernel


@kernel
def unpack_rows(rows, factors, out):
    """Write each sparse row times its factor into a row of `out`, which is zero where there is no entry."""
    for i in range(rows.indptr.size - 1):
        line, factor = out[i], factors[i]
        for at in range(rows.indptr[i], rows.indptr[i + 1]):
            line[rows.indices[at]] = factor * rows.data[at]
