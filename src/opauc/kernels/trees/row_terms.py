"""What trees are grown from: the pull and the curvature of every row's logistic loss."""

import numpy as np

from opauc.kernels.compile_kernel import kernel
from opauc.kernels.trees.grown_tree import CURVATURE, PULL, WEIGHT


@kernel
def write_terms(scores, labels, weight, terms):
    """Write for every row the negative gradient and the second derivative of its weighted loss, and its weight."""
    for i in range(scores.size):
        chance = 1.0 / (1.0 + np.exp(-scores[i]))
        terms[i, PULL] = weight[i] * (labels[i] - chance)
        terms[i, CURVATURE] = weight[i] * chance * (1.0 - chance)
        terms[i, WEIGHT] = weight[i]
