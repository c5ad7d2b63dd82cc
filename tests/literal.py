"""Every formula once more, as plainly as NumPy allows: what the library is held against."""

import numpy as np


def covariance(rows, weight=None):
    mean = np.average(rows, axis=0, weights=weight)
    return (
        (rows - mean).T
        @ ((rows - mean) * (1 if weight is None else weight[:, None]))
        / (len(rows) if weight is None else weight.sum())
    )


def objective(w, rows, labels, alpha):
    pairs = (rows[labels == 1][:, None] - rows[labels == 0][None]).reshape(-1, rows.shape[1])
    return alpha / 2 * w @ w + np.mean((1 - pairs @ w) ** 2) / 2


def minimiser(rows, labels, alpha):
    negative, positive = rows[labels == 0], rows[labels == 1]
    difference = positive.mean(0) - negative.mean(0)
    matrix = alpha * np.eye(rows.shape[1]) + covariance(negative) + covariance(positive)
    return np.linalg.solve(matrix + np.outer(difference, difference), difference)


def descent(rows, labels, alpha, step_sizes):
    """All iterates of Algorithm 1 with the true covariance, one a row."""
    d, w, seen, iterates = rows.shape[1], np.zeros(rows.shape[1]), ([], []), []
    for x, k, step in zip(rows, labels, step_sizes, strict=True):
        seen[k].append(x)
        if seen[1 - k]:
            other = np.array(seen[1 - k])
            gap = x - other.mean(0)
            w = w - step * (alpha * w + (w @ gap - (2.0 * k - 1)) * gap + covariance(other) @ w)
        iterates.append(w)
    return np.array(iterates).reshape(-1, d)
