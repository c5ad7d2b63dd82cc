"""Symmetric matrices of which only the lower triangle is kept up to date."""

from opauc.core.kernels.compile import kernel


@kernel
def symmetric_product(lower, vector, out):
    """Write into `out` the product of the symmetric matrix with `vector`.

    Each entry of the triangle is loaded once and used for itself and its mirror image;
    four rows share the loads of `vector` and `out`.
    """
    size = vector.size
    out[:] = 0.0
    i = 0
    while i + 4 <= size:
        row0, row1, row2, row3 = lower[i, :i], lower[i + 1, :i], lower[i + 2, :i], lower[i + 3, :i]
        head, vector_head = out[:i], vector[:i]
        v0, v1, v2, v3 = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        dot0, dot1, dot2, dot3 = 0.0, 0.0, 0.0, 0.0
        for j in range(i):
            dot0 += row0[j] * vector_head[j]
            dot1 += row1[j] * vector_head[j]
            dot2 += row2[j] * vector_head[j]
            dot3 += row3[j] * vector_head[j]
            head[j] += v0 * row0[j] + v1 * row1[j] + v2 * row2[j] + v3 * row3[j]
        m10, m20, m30 = lower[i + 1, i], lower[i + 2, i], lower[i + 3, i]
        m21, m31, m32 = lower[i + 2, i + 1], lower[i + 3, i + 1], lower[i + 3, i + 2]
        out[i] = dot0 + lower[i, i] * v0 + m10 * v1 + m20 * v2 + m30 * v3
        out[i + 1] = dot1 + m10 * v0 + lower[i + 1, i + 1] * v1 + m21 * v2 + m31 * v3
        out[i + 2] = dot2 + m20 * v0 + m21 * v1 + lower[i + 2, i + 2] * v2 + m32 * v3
        out[i + 3] = dot3 + m30 * v0 + m31 * v1 + m32 * v2 + lower[i + 3, i + 3] * v3
        i += 4
    while i < size:
        row, head, vector_head, v = lower[i, :i], out[:i], vector[:i], vector[i]
        dot = lower[i, i] * v
        for j in range(i):
            dot += row[j] * vector_head[j]
            head[j] += v * row[j]
        out[i] = dot
        i += 1


@kernel
def add_outer_products(lower, rows):
    """Add rows^T rows to the lower triangle of `lower`; the number of rows is a multiple of four.

    Tiles of four by four rows: two loads and a store for every four products.
    Up to three entries right of the diagonal are written too and never read.
    """
    size = lower.shape[0]
    i = 0
    while i + 4 <= size:
        end = i + 4
        out0, out1, out2, out3 = lower[i, :end], lower[i + 1, :end], lower[i + 2, :end], lower[i + 3, :end]
        for b in range(0, rows.shape[0], 4):
            r0, r1, r2, r3 = rows[b, :end], rows[b + 1, :end], rows[b + 2, :end], rows[b + 3, :end]
            a00, a01, a02, a03 = r0[i], r1[i], r2[i], r3[i]
            a10, a11, a12, a13 = r0[i + 1], r1[i + 1], r2[i + 1], r3[i + 1]
            a20, a21, a22, a23 = r0[i + 2], r1[i + 2], r2[i + 2], r3[i + 2]
            a30, a31, a32, a33 = r0[i + 3], r1[i + 3], r2[i + 3], r3[i + 3]
            for j in range(end):
                out0[j] += (a00 * r0[j] + a01 * r1[j]) + (a02 * r2[j] + a03 * r3[j])
                out1[j] += (a10 * r0[j] + a11 * r1[j]) + (a12 * r2[j] + a13 * r3[j])
                out2[j] += (a20 * r0[j] + a21 * r1[j]) + (a22 * r2[j] + a23 * r3[j])
                out3[j] += (a30 * r0[j] + a31 * r1[j]) + (a32 * r2[j] + a33 * r3[j])
        i += 4
    while i < size:
        out = lower[i, : i + 1]
        for b in range(rows.shape[0]):
            row, factor = rows[b, : i + 1], rows[b, i]
            for j in range(i + 1):
                out[j] += factor * row[j]
        i += 1


@kernel
def add_low_rank_product(rows, vector, out):
    """Add rows^T (rows vector) to `out`."""
    size, n_rows = vector.size, rows.shape[0]
    b = 0
    while b + 4 <= n_rows:
        r0, r1, r2, r3 = rows[b], rows[b + 1], rows[b + 2], rows[b + 3]
        dot0, dot1, dot2, dot3 = 0.0, 0.0, 0.0, 0.0
        for j in range(size):
            dot0 += r0[j] * vector[j]
            dot1 += r1[j] * vector[j]
            dot2 += r2[j] * vector[j]
            dot3 += r3[j] * vector[j]
        for j in range(size):
            out[j] += dot0 * r0[j] + dot1 * r1[j] + dot2 * r2[j] + dot3 * r3[j]
        b += 4
    while b < n_rows:
        row = rows[b]
        dot = 0.0
        for j in range(size):
            dot += row[j] * vector[j]
        for j in range(size):
            out[j] += dot * row[j]
        b += 1


@kernel
def add_two_outer(lower, one, factor_one, two, factor_two):
    """Add factor_one * one one^T + factor_two * two two^T to the lower triangle of `lower`."""
    for i in range(one.size):
        row, scaled_one, scaled_two = lower[i, : i + 1], factor_one * one[i], factor_two * two[i]
        for j in range(i + 1):
            row[j] += scaled_one * one[j] + scaled_two * two[j]


@kernel
def add_lower(lower, part):
    """Add the lower triangle of `part`, of any dtype, to that of `lower` and clear it in `part`."""
    for i in range(lower.shape[0]):
        row, more = lower[i, : i + 1], part[i, : i + 1]
        for j in range(i + 1):
            row[j] += more[j]
        more[:] = 0


@kernel
def mirror_lower(matrix):
    """Copy the lower triangle of `matrix` onto its upper one, tile by tile to stay in cache."""
    size, tile = matrix.shape[0], 32
    for top in range(0, size, tile):
        bottom = min(top + tile, size)
        for left in range(0, top + 1, tile):
            for i in range(top, bottom):
                for j in range(left, min(left + tile, i)):
                    matrix[j, i] = matrix[i, j]


@kernel
def clear_upper(matrix):
    """Set everything above the diagonal of `matrix` to zero."""
    for i in range(matrix.shape[0]):
        matrix[i, i + 1 :] = 0.0
