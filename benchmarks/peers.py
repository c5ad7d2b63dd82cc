"""What the library is measured against, beside scikit-learn."""

import numpy as np
from numba import njit


def literal_descent(rows, labels, alpha, eta0):
    """Algorithm 1 in NumPy as the paper states it, with the term its covariance recursion lacks."""
    d = rows.shape[1]
    counts, means, covariances = [0, 0], [np.zeros(d), np.zeros(d)], [np.zeros((d, d)), np.zeros((d, d))]
    weights = np.zeros(d)
    for x, y in zip(rows, labels, strict=True):
        k, o = (1, 0) if y > 0 else (0, 1)
        counts[k] += 1
        old, new = means[k], means[k] + (x - means[k]) / counts[k]
        covariances[k] = (
            covariances[k]
            + (np.outer(x, x) - covariances[k] - np.outer(old, old)) / counts[k]
            + np.outer(old, old)
            - np.outer(new, new)
        )
        means[k] = new
        if counts[o]:
            gap = x - means[o]
            gradient = alpha * weights - y * gap + gap * (gap @ weights) + covariances[o] @ weights
            weights = weights - eta0 * gradient
    return weights


def welford_descent(rows, labels, alpha, eta0):
    """The same algorithm in NumPy with the covariance by Welford's update: as short as it gets."""
    d = rows.shape[1]
    counts, means, covariances = [0, 0], [np.zeros(d), np.zeros(d)], [np.zeros((d, d)), np.zeros((d, d))]
    weights = np.zeros(d)
    for x, y in zip(rows, labels, strict=True):
        k, o = (1, 0) if y > 0 else (0, 1)
        counts[k] += 1
        away = x - means[k]
        means[k] = means[k] + away / counts[k]
        covariances[k] = (1 - 1 / counts[k]) * (covariances[k] + np.outer(away, away) / counts[k])
        if counts[o]:
            gap = x - means[o]
            weights = weights - eta0 * (alpha * weights + (gap @ weights - y) * gap + covariances[o] @ weights)
    return weights


@njit(nogil=True, fastmath=True)
def univariate_dense(rows, labels, alpha, eta0, weights):
    """One epoch of logistic SGD over dense rows: the cheapest pass there is."""
    for i in range(rows.shape[0]):
        row = rows[i]
        score = 0.0
        for j in range(row.size):
            score += weights[j] * row[j]
        pull = eta0 * labels[i] / (1.0 + np.exp(labels[i] * score))
        keep = 1.0 - eta0 * alpha
        for j in range(row.size):
            weights[j] = keep * weights[j] + pull * row[j]


@njit(nogil=True, fastmath=True)
def univariate_csr(data, indices, indptr, labels, eta0, weights):
    """One epoch of logistic SGD over sparse rows, without a penalty."""
    for i in range(indptr.size - 1):
        score = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            score += weights[indices[at]] * data[at]
        pull = eta0 * labels[i] / (1.0 + np.exp(labels[i] * score))
        for at in range(indptr[i], indptr[i + 1]):
            weights[indices[at]] += pull * data[at]
