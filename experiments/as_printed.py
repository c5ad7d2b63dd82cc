"""Formulas as the paper prints them, where they are not what they are meant to be.

Kept to show the difference (docs/research/errata.md) and to reproduce the paper. The
library itself never uses them.
"""

import numpy as np

from opauc.types import Floats, Labels


def printed_covariance(rows: Floats) -> Floats:
    """Covariance of the rows by the recursion of Section 3, which leaves out -c c^T / T.

    >>> printed_covariance(np.full((3, 1), 2.0)).round(3).tolist()  # a constant stream
    [[2.667]]
    """
    mean, covariance = np.zeros(rows.shape[1]), np.zeros((rows.shape[1],) * 2)
    for count, row in enumerate(rows, start=1):
        old, mean = mean, mean + (row - mean) / count
        covariance = covariance + (np.outer(row, row) - covariance) / count + np.outer(old, old) - np.outer(mean, mean)
    return covariance


def printed_descent(rows: Floats, labels: Labels, alpha: float, eta0: float) -> Floats:
    """Weights after Algorithm 1 with the covariance recursion as printed.

    >>> rows, labels = np.array([[0.0], [2.0], [3.0]]), np.array([0, 1, 0], np.int8)
    >>> printed_descent(rows, labels, 0.0, 0.1).round(3).tolist()
    [0.08]
    """
    d = rows.shape[1]
    counts, means, covariances = np.zeros(2), np.zeros((2, d)), np.zeros((2, d, d))
    weights = np.zeros(d)
    for row, k in zip(rows, labels, strict=True):
        counts[k] += 1
        old = means[k].copy()
        means[k] += (row - old) / counts[k]
        covariances[k] += (np.outer(row, row) - covariances[k]) / counts[k]
        covariances[k] += np.outer(old, old) - np.outer(means[k], means[k])
        if counts[1 - k]:
            gap = row - means[1 - k]
            pull = (weights @ gap - (2.0 * k - 1.0)) * gap
            weights = weights - eta0 * (alpha * weights + pull + covariances[1 - k] @ weights)
    return weights


def printed_linear_term(rows: Floats, labels: Labels) -> Floats:
    """The vector a of the appendix, with its sign for negative rows as printed.

    >>> printed_linear_term(np.array([[0.0], [2.0], [1.0]]), np.array([0, 1, 0], np.int8)).tolist()
    [-0.5]
    """
    terms = []
    for i, (row, k) in enumerate(zip(rows, labels, strict=True)):
        others = rows[:i][labels[:i] != k]
        if len(others):
            terms.append(others.mean(axis=0) - row)
    mean: Floats = np.mean(terms, axis=0)
    return mean


def printed_sketch_covariance(rows: Floats, codes: Floats) -> Floats:
    """Covariance of the rows from OPAUCr's sketch as printed: Z Z^T / T less the product of the vectors c-hat.

    >>> rows, codes = np.full((4, 1), 2.0), np.array([[1.0], [-1.0], [1.0], [1.0]])  # a constant stream
    >>> printed_sketch_covariance(rows, codes).tolist()
    [[3.0]]
    """
    count, mean = len(rows), rows.mean(axis=0)
    sketch = rows.T @ codes
    small = np.outer(mean, codes.sum(axis=0)) / count
    covariance: Floats = sketch @ sketch.T / count - small @ small.T
    return covariance


def mean_sketch_covariance(rows: Floats, codes: Floats) -> Floats:
    """Covariance of the rows as Z Z^T / T less the whole of c c^T: unbiased, but not a covariance.

    >>> rows, codes = np.full((2, 1), 2.0), np.array([[1.0], [-1.0]])
    >>> mean_sketch_covariance(rows, codes).tolist()  # a negative variance
    [[-4.0]]
    """
    mean, sketch = rows.mean(axis=0), rows.T @ codes
    covariance: Floats = sketch @ sketch.T / len(rows) - np.outer(mean, mean)
    return covariance
