"""Every formula written out in plain NumPy, to compare the library with."""

import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm


def covariance(rows, weight=None):
    mean = np.average(rows, axis=0, weights=weight)
    return (
        (rows - mean).T
        @ ((rows - mean) * (1 if weight is None else weight[:, None]))
        / (len(rows) if weight is None else weight.sum())
    )


def objective(w, rows, labels, alpha):
    return alpha / 2 * w @ w + np.mean((1 - pairs_of(rows, labels) @ w) ** 2) / 2


def minimizer(rows, labels, alpha):
    negative, positive = rows[labels == 0], rows[labels == 1]
    difference = positive.mean(0) - negative.mean(0)
    matrix = alpha * np.eye(rows.shape[1]) + covariance(negative) + covariance(positive)
    return np.linalg.solve(matrix + np.outer(difference, difference), difference)


def several_minimizers(rows, labels, alpha):
    """Return the minimizer of the mean pair loss of each class against each other one, pair by pair of classes."""
    classes, identity = np.unique(labels), np.eye(rows.shape[1])
    means = {k: rows[labels == k].mean(0) for k in classes}
    covariances = {k: covariance(rows[labels == k]) for k in classes}
    found = []
    for k in classes:
        matrix, right = alpha * identity, np.zeros(rows.shape[1])
        for other in classes[classes != k]:
            gap = means[k] - means[other]
            matrix = matrix + (covariances[k] + covariances[other] + np.outer(gap, gap)) / (len(classes) - 1)
            right = right + gap / (len(classes) - 1)
        found.append(np.linalg.solve(matrix, right))
    return np.array(found)


def several_objective(w, k, rows, labels, alpha):
    """Return the objective of class k over all pairs of rows."""
    others = [other for other in np.unique(labels) if other != k]
    losses = [
        np.mean((1 - (rows[labels == k][:, None] - rows[labels == other][None]) @ w) ** 2) / 2 for other in others
    ]
    return alpha / 2 * w @ w + np.mean(losses)


def opposite_moments(rows, labels, weights):
    """Yield mean and true covariance of the rows of the other class before each row; None while there is none."""
    for t, k in enumerate(labels):
        before = np.flatnonzero(labels[:t] != k)
        other, shares = rows[before], weights[before]
        yield (np.average(other, axis=0, weights=shares), covariance(other, shares)) if before.size else None


def descent(rows, labels, alpha, step_sizes, weights=None, moments=None):
    """Return all iterates of Algorithm 1 with the true covariance, one per row; `moments` where the caller has them."""
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
    """Return all iterates of OPAUCr with dense sketches, one per row; `codes` without the last column of ones."""
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
    """Return all iterates of descent on scaled features with all rows kept, and their mean weighted by t^2."""
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


def progressive_auc(scores, labels, weight):
    """The share of concordant pairs of each row with the latest of the other class, later rows weighing more.

    Of each column of scores; NaN where they are.
    """
    seen, wins, total = ([], []), 0.0, 0.0
    for t, k in enumerate(labels):
        seen[k].append(t)
        mine, others = len(seen[k]), seen[1 - k]
        if mine <= len(others):
            latest = others[-min(256, int(np.ceil(16 * len(others) / mine))) :]
            gaps = (2 * k - 1) * (scores[t] - scores[latest])
            right = np.heaviside(gaps, 0.5)  # NaN of NaN
            wins += weight[t] * (t + 1) * np.average(right, axis=0, weights=weight[latest])
            total += weight[t] * (t + 1)
    return wins / total


def cross_validation_scores(rows, labels, fold, alphas, standardize, criterion):
    """Every penalty on every fold, by solving from the rows outside it and summing over all pairs inside it."""
    scores = np.empty((len(alphas), fold.max() + 1))
    for k in range(scores.shape[1]):
        inside, outside = fold == k, fold != k
        spread = [covariance(rows[outside & (labels == c)]) for c in (0, 1)]
        scale = np.sqrt(np.diagonal(sum(spread)) / 2) if standardize else np.ones(rows.shape[1])
        X, y = rows[outside] / scale, labels[outside]
        S = sum(covariance(X[y == c]) for c in (0, 1))
        d = X[y == 1].mean(0) - X[y == 0].mean(0)
        for i, alpha in enumerate(alphas):
            w = np.linalg.solve(alpha * np.eye(d.size) + S + np.outer(d, d), d) / scale
            s = rows[inside] @ w
            p, n = s[labels[inside] == 1], s[labels[inside] == 0]
            if criterion == "auc":
                scores[i, k] = norm.cdf((p.mean() - n.mean()) / np.sqrt(p.var() + n.var()))
            else:
                scores[i, k] = -np.mean((1 - (p[:, None] - n[None])) ** 2) / 2
    return scores


def pairs_of(rows, labels):
    return (rows[labels == 1][:, None] - rows[labels == 0][None]).reshape(-1, rows.shape[1])


def hinge_objective(weights, rows, labels, C):
    return weights @ weights / 2 + C * np.maximum(0.0, 1.0 - pairs_of(rows, labels) @ weights).mean()


def hinge_minimum(rows, labels, C):
    """Objective of the minimizer: its dual has one variable a pair and no constraints but their bounds."""
    pairs = pairs_of(rows, labels)
    share = C / len(pairs)
    dual = minimize(
        lambda a: (
            share * (0.5 * share * (a @ pairs) @ (a @ pairs) - a.sum()) / C,
            (share * pairs @ (a @ pairs) - 1.0) / len(pairs),
        ),
        np.full(len(pairs), 0.5),
        jac=True,
        bounds=[(0.0, 1.0)] * len(pairs),
        method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-10},
    )
    # Any value of the dual is a lower bound of the primal, and their optima are equal.
    least = -C * dual.fun
    assert hinge_objective(share * dual.x @ pairs, rows, labels, C) <= least * (1 + 1e-4)
    return least
