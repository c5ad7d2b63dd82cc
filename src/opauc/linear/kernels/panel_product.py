"""Products with a panel: a C-contiguous matrix of PANEL columns and one row per feature.

Each row of a panel is three vector registers. Nothing is copied as in BLAS,
which spends half its time on packing matrices this small.
"""

from opauc.core.kernels.compile import borrowing
from opauc.core.kernels.simd import LANES, lanes_at, plus, put_lanes, times

# Columns of a panel.
PANEL = 3 * LANES
# Rows of the matrix per tile.
TALL = 4


@borrowing
def four_rows(matrix, m0, stride, size, panel, out, top):
    """Write the products of four rows with a panel into `out` from `top` on; all arrays are flat.

    The first row is `size` numbers from m0 on; each next row begins `stride` later.
    """
    m1, m2, m3 = m0 + stride, m0 + 2 * stride, m0 + 3 * stride
    x, y, z = lanes_at(panel, 0), lanes_at(panel, LANES), lanes_at(panel, 2 * LANES)
    a0, a1, a2 = times(matrix[m0], x), times(matrix[m0], y), times(matrix[m0], z)
    b0, b1, b2 = times(matrix[m1], x), times(matrix[m1], y), times(matrix[m1], z)
    c0, c1, c2 = times(matrix[m2], x), times(matrix[m2], y), times(matrix[m2], z)
    e0, e1, e2 = times(matrix[m3], x), times(matrix[m3], y), times(matrix[m3], z)
    at = PANEL
    for j in range(1, size):
        x, y, z = lanes_at(panel, at), lanes_at(panel, at + LANES), lanes_at(panel, at + 2 * LANES)
        a, b, c, e = matrix[m0 + j], matrix[m1 + j], matrix[m2 + j], matrix[m3 + j]
        a0, a1, a2 = plus(a0, a, x), plus(a1, a, y), plus(a2, a, z)
        b0, b1, b2 = plus(b0, b, x), plus(b1, b, y), plus(b2, b, z)
        c0, c1, c2 = plus(c0, c, x), plus(c1, c, y), plus(c2, c, z)
        e0, e1, e2 = plus(e0, e, x), plus(e1, e, y), plus(e2, e, z)
        at += PANEL
    put_three(out, top, a0, a1, a2)
    put_three(out, top + PANEL, b0, b1, b2)
    put_three(out, top + 2 * PANEL, c0, c1, c2)
    put_three(out, top + 3 * PANEL, e0, e1, e2)


@borrowing
def put_three(out, at, one, two, three):
    """Write three lanes into `out` from `at` on."""
    put_lanes(out, at, one)
    put_lanes(out, at + LANES, two)
    put_lanes(out, at + 2 * LANES, three)


@borrowing
def row_times_panel(row, panel, out, at):
    """Write row @ panel into `out` from `at` on; the panel is flat."""
    x, y, z = lanes_at(panel, 0), lanes_at(panel, LANES), lanes_at(panel, 2 * LANES)
    a0, a1, a2 = times(row[0], x), times(row[0], y), times(row[0], z)
    place = PANEL
    for j in range(1, row.size):
        x, y, z = lanes_at(panel, place), lanes_at(panel, place + LANES), lanes_at(panel, place + 2 * LANES)
        a0, a1, a2 = plus(a0, row[j], x), plus(a1, row[j], y), plus(a2, row[j], z)
        place += PANEL
    put_three(out, at, a0, a1, a2)


@borrowing
def block_times_panel(matrix, first, size, panel, out):
    """Write matrix[:, first : first + size] @ panel into `out`; panel and out are flat."""
    stride, flat, i = matrix.shape[1], matrix.reshape(-1), 0
    while i + TALL <= matrix.shape[0]:
        four_rows(flat, i * stride + first, stride, size, panel, out, i * PANEL)
        i += TALL
    while i < matrix.shape[0]:
        row_times_panel(matrix[i, first : first + size], panel, out, i * PANEL)
        i += 1


@borrowing
def move_column(panels, end, start):
    """Move column `start` of the panels to column `end` and clear column `start`."""
    one, other, at, place = panels[end // PANEL], panels[start // PANEL], end % PANEL, start % PANEL
    for j in range(one.shape[0]):
        one[j, at] = other[j, place]
        other[j, place] = 0.0
