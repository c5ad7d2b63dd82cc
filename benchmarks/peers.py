"""What the library is measured against, beside scikit-learn."""

import numpy as np
from numba import njit
from scipy import sparse
from sklearn.linear_model import SGDClassifier


def epochs(rows, labels):
    """One epoch of scikit-learn's SGD, with its default of shuffled rows and in the order they come."""
    return {
        name: lambda shuffle=shuffle: SGDClassifier(loss="log_loss", max_iter=1, tol=None, shuffle=shuffle).fit(
            rows, labels
        )
        for name, shuffle in (("epoch", True), ("in order", False))
    }


def univariate(rows, labels):
    """One epoch of univariate SGD in numba, from zero weights."""
    weights = np.zeros(rows.shape[1])
    if sparse.issparse(rows):
        return lambda: univariate_csr(rows.data, rows.indices, rows.indptr, labels, 0.01, weights)
    return lambda: univariate_dense(rows, labels, 1e-4, 0.01, weights)


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


def literal_sketched_descent(rows, labels, codes, alpha, eta0, n_rows):
    """OPAUCr in NumPy as the paper states it, centered, for the first rows only: d x rank numbers touched a row."""
    d, rank = rows.shape[1], codes.shape[1]
    counts, means, sketches, sums = (
        [0, 0],
        [np.zeros(d), np.zeros(d)],
        [np.zeros((d, rank)) for _ in "01"],
        np.zeros((2, rank)),
    )
    weights = np.zeros(d)
    for i in range(n_rows):
        k, o = (1, 0) if labels[i] > 0 else (0, 1)
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        at, x = rows.indices[begin:end], rows.data[begin:end]
        counts[k] += 1
        means[k] *= 1 - 1 / counts[k]
        means[k][at] += x / counts[k]
        sketches[k][at] += np.outer(x, codes[i])
        sums[k] += codes[i]
        if counts[o]:
            inner = sketches[o].T @ weights - sums[o] * (means[o] @ weights)
            excess = weights[at] @ x - means[o] @ weights - labels[i]
            gradient = (
                alpha * weights - excess * means[o] + (sketches[o] @ inner - means[o] * (sums[o] @ inner)) / counts[o]
            )
            gradient[at] += excess * x
            weights = weights - eta0 * gradient
    return weights


@njit(nogil=True, fastmath=True)
def oam_gradient(data, indices, indptr, labels, buffer_size, penalty, random, weights):
    """Online AUC maximization by gradient (Zhao and others): a reservoir of each class, sparse rows."""
    buffers = np.zeros((2, buffer_size), np.int64)
    seen = np.zeros(2, np.int64)
    for i in range(indptr.size - 1):
        k = 1 if labels[i] > 0 else 0
        o = 1 - k
        sign = 2.0 * k - 1.0
        seen[k] += 1
        if seen[k] <= buffer_size:
            buffers[k, seen[k] - 1] = i
        elif random.random() < buffer_size / seen[k]:
            buffers[k, int(random.random() * buffer_size)] = i
        size = min(seen[o], buffer_size)
        score = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            score += weights[indices[at]] * data[at]
        step, violated = 0.5 * penalty * max(1.0, seen[o] / buffer_size), 0
        for b in range(size):
            other = buffers[o, b]
            far = 0.0
            for at in range(indptr[other], indptr[other + 1]):
                far += weights[indices[at]] * data[at]
            if sign * (score - far) <= 1.0:
                violated += 1
                buffers[o, b] = -1 - other
        for b in range(size):
            other = buffers[o, b]
            if other < 0:
                other = -1 - other
                buffers[o, b] = other
                for at in range(indptr[other], indptr[other + 1]):
                    weights[indices[at]] -= step * sign * data[at]
        for at in range(indptr[i], indptr[i + 1]):
            weights[indices[at]] += step * sign * violated * data[at]
