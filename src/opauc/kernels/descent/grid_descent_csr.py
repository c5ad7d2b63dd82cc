"""The sparse twin of `grid_descent`: rows are unpacked and learnt as dense ones; the product dominates either way."""

from opauc.kernels.compile_kernel import kernel
from opauc.kernels.descent.grid_descent import drop_overflown, grid_desk, learn_row
from opauc.kernels.rows.csr_rows import clear_row, unpack_row


@kernel
def csr_pass(rows, labels, row_weights, etas, alphas, judge_mean, state):
    """Run every pair over sparse rows in order, updating `state` in place; no `row_weights` means ones."""
    desk = grid_desk(etas, alphas, state)
    for i in range(labels.size):
        unpack_row(rows, i, desk.row)
        weight = row_weights[i] if row_weights.size else 1.0
        learn_row(int(labels[i]), weight, judge_mean, state, desk)
        clear_row(rows, i, desk.row)
    drop_overflown(state, desk)
