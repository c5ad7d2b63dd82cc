"""How many pairs of a positive and a negative row lack a margin, in one walk over sorted scores."""

from opauc.core.kernels.compile import kernel


@kernel
def write_pair_counts(reach, positive_order, negative_order, out):
    """Write into `out` the number of pairs that each row is in and that lack the margin, negated for positive rows.

    `reach` holds the score of each positive row and the score plus the margin
    of each negative one: a pair lacks the margin if the positive row does not
    reach the negative one, reach[positive] < reach[negative]. The orders are
    the row numbers of each class by rising reach. The sum over pairs of what
    they lack is then reach.out, and its gradient in the rows' scores is out.
    """
    n_negative = negative_order.size
    passed = 0
    for at in range(positive_order.size):
        row = positive_order[at]
        while passed < n_negative and reach[negative_order[passed]] <= reach[row]:
            out[negative_order[passed]] = at
            passed += 1
        out[row] = passed - n_negative
    for at in range(passed, n_negative):
        out[negative_order[at]] = positive_order.size
