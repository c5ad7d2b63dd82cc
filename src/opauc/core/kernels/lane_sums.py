"""Sums over vectors and small matrices whose sizes are multiples of LANES."""

from opauc.core.kernels.compile import borrowing
from opauc.core.kernels.simd import FEW, LANES, few_at, lanes_at, plus, put_lanes, times, total


@borrowing
def inner_product(one, other):
    """Return the inner product of two vectors."""
    sums = times(0.0, lanes_at(one, 0))
    for c in range(0, one.size, LANES):
        sums = plus(sums, lanes_at(one, c), lanes_at(other, c))
    return total(sums)


@borrowing
def add_scaled(out, factor, vector):
    """Add factor times `vector` to `out`."""
    for c in range(0, out.size, LANES):
        put_lanes(out, c, plus(lanes_at(out, c), factor, lanes_at(vector, c)))


@borrowing
def symmetric_product(lower, vector, out):
    """Write into `out` the product of `vector` with a symmetric matrix.

    Blocks of 4 x 4 above the diagonal are not read. Each other entry is loaded
    once and used for itself and its mirror image.
    """
    for i in range(0, vector.size, 4):
        row0, row1, row2, row3 = lower[i], lower[i + 1], lower[i + 2], lower[i + 3]
        v0, v1, v2, v3 = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        dot0 = dot1 = dot2 = dot3 = times(0.0, few_at(vector, 0))
        for j in range(0, i, FEW):
            head = few_at(vector, j)
            part0, part1, part2, part3 = few_at(row0, j), few_at(row1, j), few_at(row2, j), few_at(row3, j)
            dot0, dot1 = plus(dot0, head, part0), plus(dot1, head, part1)
            dot2, dot3 = plus(dot2, head, part2), plus(dot3, head, part3)
            more = plus(plus(few_at(out, j), v0, part0), v1, part1)
            put_lanes(out, j, plus(plus(more, v2, part2), v3, part3))
        block = plus(times(v0, few_at(row0, i)), v1, few_at(row1, i))
        put_lanes(out, i, plus(plus(block, v2, few_at(row2, i)), v3, few_at(row3, i)))
        out[i] += total(dot0)
        out[i + 1] += total(dot1)
        out[i + 2] += total(dot2)
        out[i + 3] += total(dot3)


@borrowing
def add_symmetric(lower, left, inner, square):
    """Add inner left^T + left inner^T + square left left^T to `lower`, except 4 x 4 blocks above the diagonal."""
    for i in range(0, left.size, 4):
        row0, row1, row2, row3 = lower[i], lower[i + 1], lower[i + 2], lower[i + 3]
        a0, a1, a2, a3 = left[i], left[i + 1], left[i + 2], left[i + 3]
        b0, b1, b2, b3 = inner[i], inner[i + 1], inner[i + 2], inner[i + 3]
        for j in range(0, i + 4, LANES):
            one = lanes_at(left, j)
            two = plus(lanes_at(inner, j), square, one)
            put_lanes(row0, j, plus(plus(lanes_at(row0, j), a0, two), b0, one))
            put_lanes(row1, j, plus(plus(lanes_at(row1, j), a1, two), b1, one))
            put_lanes(row2, j, plus(plus(lanes_at(row2, j), a2, two), b2, one))
            put_lanes(row3, j, plus(plus(lanes_at(row3, j), a3, two), b3, one))


@borrowing
def add_to_rows(matrix, left, right, vector, out):
    """Add left right^T to `matrix` and write matrix vector into `out`."""
    for i in range(0, left.size, 4):
        row0, row1, row2, row3 = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        a0, a1, a2, a3 = left[i], left[i + 1], left[i + 2], left[i + 3]
        dot0 = dot1 = dot2 = dot3 = times(0.0, lanes_at(vector, 0))
        for j in range(0, right.size, LANES):
            more, head = lanes_at(right, j), lanes_at(vector, j)
            part0, part1 = plus(lanes_at(row0, j), a0, more), plus(lanes_at(row1, j), a1, more)
            part2, part3 = plus(lanes_at(row2, j), a2, more), plus(lanes_at(row3, j), a3, more)
            put_lanes(row0, j, part0)
            put_lanes(row1, j, part1)
            put_lanes(row2, j, part2)
            put_lanes(row3, j, part3)
            dot0, dot1 = plus(dot0, head, part0), plus(dot1, head, part1)
            dot2, dot3 = plus(dot2, head, part2), plus(dot3, head, part3)
        out[i], out[i + 1], out[i + 2], out[i + 3] = total(dot0), total(dot1), total(dot2), total(dot3)


@borrowing
def add_to_columns(matrix, left, right, vector, out):
    """Add left right^T to `matrix` and write matrix^T vector into `out`."""
    out[:] = 0.0
    for i in range(0, left.size, 4):
        row0, row1, row2, row3 = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        a0, a1, a2, a3 = left[i], left[i + 1], left[i + 2], left[i + 3]
        v0, v1, v2, v3 = vector[i], vector[i + 1], vector[i + 2], vector[i + 3]
        for j in range(0, right.size, LANES):
            more = lanes_at(right, j)
            part0, part1 = plus(lanes_at(row0, j), a0, more), plus(lanes_at(row1, j), a1, more)
            part2, part3 = plus(lanes_at(row2, j), a2, more), plus(lanes_at(row3, j), a3, more)
            put_lanes(row0, j, part0)
            put_lanes(row1, j, part1)
            put_lanes(row2, j, part2)
            put_lanes(row3, j, part3)
            gain = plus(plus(lanes_at(out, j), v0, part0), v1, part1)
            put_lanes(out, j, plus(plus(gain, v2, part2), v3, part3))
