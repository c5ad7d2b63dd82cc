"""A one-pass learner for sparse rows that the study compares with, beyond those of the paper."""

import numpy as np
from numba import njit
from scipy.sparse import csr_array

from opauc.types import Floats, Labels


def adagrad_logistic(rows: csr_array, labels: Labels, eta0: float, start: float) -> Floats:
    """Class-balanced logistic regression with a step eta0 / sqrt(start + sum of squared gradients) per feature.

    >>> from scipy import sparse
    >>> adagrad_logistic(sparse.csr_array([[0.0], [1.0], [-1.0]]), np.array([0, 1, 0]), 0.5, 0.0).round(3).tolist()
    [0.8]
    """
    weights, sums = np.zeros(rows.shape[1] + 1), np.full(rows.shape[1] + 1, start)
    _adagrad(rows.data, rows.indices, rows.indptr, labels, eta0, weights, sums)
    return weights[:-1]


@njit(nogil=True)
def _adagrad(data, indices, indptr, labels, eta0, weights, sums):
    counts, last = np.zeros(2), weights.size - 1
    for i in range(indptr.size - 1):
        k = labels[i]
        sign = 2.0 * k - 1.0
        counts[k] += 1.0
        score = weights[last]
        for at in range(indptr[i], indptr[i + 1]):
            score += weights[indices[at]] * data[at]
        balance = counts.sum() / (2.0 * counts[k]) if counts[1 - k] else 0.0
        pull = balance * sign / (1.0 + np.exp(min(sign * score, 700.0)))
        for at in range(indptr[i], indptr[i + 1]):
            gradient = pull * data[at]
            if gradient != 0.0:
                sums[indices[at]] += gradient * gradient
                weights[indices[at]] += eta0 * gradient / np.sqrt(sums[indices[at]])
        if pull != 0.0:
            sums[last] += pull * pull
            weights[last] += eta0 * pull / np.sqrt(sums[last])
