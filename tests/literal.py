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


def sketched_descent(rows, labels, codes, alpha, step_sizes, centring="centred"):
    """All iterates of OPAUCr with dense sketches, one a row; `codes` without the closing one."""
    d, rank = rows.shape[1], codes.shape[1]
    w, counts, sums = np.zeros(d), np.zeros(2), np.zeros((2, d))
    sketches, code_sums, iterates = np.zeros((2, d, rank)), np.zeros((2, rank)), []
    for x, k, code, step in zip(rows, labels, codes, step_sizes, strict=True):
        counts[k] += 1
        sums[k] += x
        sketches[k] += np.outer(x, code)
        code_sums[k] += code
        if counts[1 - k]:
            mean, z, s, n = sums[1 - k] / counts[1 - k], sketches[1 - k], code_sums[1 - k], counts[1 - k]
            covariance = {
                "centred": lambda z=z, m=mean, s=s, n=n: (z - np.outer(m, s)) @ (z - np.outer(m, s)).T / n,
                "printed": lambda z=z, m=mean, s=s, n=n: z @ z.T / n - np.outer(m, m) * (s @ s) / n**2,
                "mean": lambda z=z, m=mean, n=n: z @ z.T / n - np.outer(m, m),
            }[centring]()
            gap = x - mean
            w = w - step * (alpha * w + (w @ gap - (2.0 * k - 1)) * gap + covariance @ w)
        iterates.append(w)
    return np.array(iterates)
