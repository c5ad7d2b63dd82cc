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


def minimizer(rows, labels, alpha):
    negative, positive = rows[labels == 0], rows[labels == 1]
    difference = positive.mean(0) - negative.mean(0)
    matrix = alpha * np.eye(rows.shape[1]) + covariance(negative) + covariance(positive)
    return np.linalg.solve(matrix + np.outer(difference, difference), difference)


def opposite_moments(rows, labels, weights):
    """Mean and true covariance of the rows of the other class before each row; None while there is none."""
    for t, k in enumerate(labels):
        before = np.flatnonzero(labels[:t] != k)
        other, shares = rows[before], weights[before]
        yield (np.average(other, axis=0, weights=shares), covariance(other, shares)) if before.size else None


def descent(rows, labels, alpha, step_sizes, weights=None, moments=None):
    """All iterates of Algorithm 1 with the true covariance, one a row; `moments` where the caller has them."""
    w, iterates = np.zeros(rows.shape[1]), []
    weights = np.ones(len(labels)) if weights is None else weights
    moments = opposite_moments(rows, labels, weights) if moments is None else moments
    for x, k, step, weight, opposite in zip(rows, labels, step_sizes, weights, moments, strict=True):
        if opposite:
            gap = x - opposite[0]
            slope = (w @ gap - (2.0 * k - 1)) * gap + opposite[1] @ w
            w = w - step * (alpha * w + weight * slope)
        iterates.append(w)
    return np.array(iterates).reshape(-1, rows.shape[1])


def sketched_descent(rows, labels, codes, alpha, step_sizes, centering="centered", weights=None):
    """All iterates of OPAUCr with dense sketches, one a row; `codes` without the closing one."""
    d, rank = rows.shape[1], codes.shape[1]
    w, counts, sums = np.zeros(d), np.zeros(2), np.zeros((2, d))
    sketches, code_sums, iterates = np.zeros((2, d, rank)), np.zeros((2, rank)), []
    weights = np.ones(len(labels)) if weights is None else weights
    for x, k, code, step, weight in zip(rows, labels, codes, step_sizes, weights, strict=True):
        counts[k] += weight
        sums[k] += weight * x
        sketches[k] += np.sqrt(weight) * np.outer(x, code)
        code_sums[k] += np.sqrt(weight) * code
        if counts[1 - k]:
            mean, z, s, n = sums[1 - k] / counts[1 - k], sketches[1 - k], code_sums[1 - k], counts[1 - k]
            covariance = {
                "centered": lambda z=z, m=mean, s=s, n=n: (z - np.outer(m, s)) @ (z - np.outer(m, s)).T / n,
                "printed": lambda z=z, m=mean, s=s, n=n: z @ z.T / n - np.outer(m, m) * (s @ s) / n**2,
                "mean": lambda z=z, m=mean, n=n: z @ z.T / n - np.outer(m, m),
            }[centering]()
            gap = x - mean
            w = w - step * (alpha * w + weight * ((w @ gap - (2.0 * k - 1)) * gap + covariance @ w))
        iterates.append(w)
    return np.array(iterates)


def scaled_descent(rows, labels, alpha, step_sizes, relative, row_weights):
    """All iterates of descent in the features' own units, with all rows kept; the mean of them weighted by t^2."""
    d = rows.shape[1]
    largest, w, total, parts = np.zeros(d), np.zeros(d), np.zeros(d), 0.0
    iterates, steps = [], 0
    for t, (x, k) in enumerate(zip(rows, labels, strict=True), 1):
        seen, shares = (part[:t] for part in (labels, row_weights))
        if (seen == 1 - k).any():
            means, covariances = [], []
            for c in (0, 1):
                means.append(np.average(rows[:t][seen == c], axis=0, weights=shares[seen == c]))
                covariances.append(covariance(rows[:t][seen == c], shares[seen == c]))
            gap, spread = x - means[1 - k], covariances[1 - k]
            record = gap**2 > 1.1 * largest
            shrink = np.where(record, largest, 1.0) / np.where(record, gap**2, 1.0)
            w, total, largest = w * shrink, total * shrink, np.where(record, gap**2, largest)
            variances = np.diagonal(covariances[0]) + np.diagonal(covariances[1])
            scale = variances / 2 + 10.0 * largest / t
            scale[scale == 0.0] = np.inf
            step, weight = step_sizes[t - 1], row_weights[t - 1]
            if relative:
                apart = (means[1] - means[0]) ** 2
                own = alpha + ((gap**2 + np.diagonal(spread)) / scale).sum()
                step = min(step / (alpha + ((variances + apart) / scale).sum()), 1.0 / own)
                weight = min(weight, 1.0 / (step * own))
            gradient = (w @ gap - (2.0 * k - 1)) * gap + spread @ w
            w = w - step * (alpha * w + weight * gradient / scale)
            steps += 1
            total, parts = total + steps**2 * w, parts + steps**2
        iterates.append(w)
    return np.array(iterates), total / parts
