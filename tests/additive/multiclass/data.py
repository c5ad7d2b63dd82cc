"""Simulated rows of several classes."""

import numpy as np


def classes_of(rows, n_classes, random):
    """Return classes that depend on a curve, a product and noise."""
    score = 1.5 * np.sin(2.0 * rows[:, 0]) + rows[:, 1] * rows[:, 2] + 0.4 * random.normal(size=len(rows))
    cuts = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return np.searchsorted(cuts, score).astype(np.int8)


def simulate(seed=0, n_rows=900, n_classes=3):
    """Return rows that all differ, with their classes."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n_rows, 3))
    return rows, classes_of(rows, n_classes, random)
