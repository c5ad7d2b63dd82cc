"""What trees are grown from: the pull and the curvature of every row's logistic loss."""

import numpy as np

from opauc.kernels.compile_kernel import kernel
from opauc.kernels.trees.grown_tree import CURVATURE, PULL, WEIGHT

# Rows that pull less than this are nearly explained: one in so many stands for all of them.
LITTLE, ONE_IN = 0.02, 4


@kernel
def write_terms(some, scores, labels, weight, turn, terms):
    """Write for some rows the negative gradient and the second derivative of their weighted loss, and their weight.

    Of those that pull little, one in a few has the weight of all, which one by
    `turn`, and the terms of the others are zero.
    """
    met = turn
    for i in some:
        chance = 1.0 / (1.0 + np.exp(-scores[i]))
        pull, own_weight = labels[i] - chance, weight[i]
        if abs(pull) < LITTLE:
            met += 1
            own_weight = ONE_IN * own_weight if met % ONE_IN == 0 else 0.0
        terms[i, PULL] = own_weight * pull
        terms[i, CURVATURE] = own_weight * chance * (1.0 - chance)
        terms[i, WEIGHT] = own_weight
