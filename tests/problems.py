"""Random binary problems; awkward ones are as frequent as easy ones."""

import numpy as np
from hypothesis import strategies as st


def problem(seed, n_rows=60, n_features=5, positives=0.4, scale=1.0, offset=0.0):
    """Return rows (n, d) and labels 0/1 of both classes, with a signal in the first feature."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n_rows) < positives).astype(np.int8)
    labels[:2] = 0, 1
    rows = rng.normal(size=(n_rows, n_features)) @ rng.normal(size=(n_features, n_features))
    rows[:, 0] += labels
    return np.ascontiguousarray(offset + scale * rows), labels


@st.composite
def problems(draw, max_features=9):
    """Draw problems of any width, balance, scale and offset, some with constant or duplicated features."""
    rows, labels = problem(
        draw(st.integers(0, 2**32 - 1)),
        draw(st.integers(2, 80)),
        draw(st.integers(1, max_features)),
        draw(st.sampled_from([0.02, 0.3, 0.5, 0.97])),
        draw(st.sampled_from([1e-6, 1.0, 1e5])),
        draw(st.sampled_from([0.0, -3.0, 1e6])),
    )
    kind = draw(st.sampled_from(["plain", "constant feature", "doubled feature", "mostly zero", "repeated rows"]))
    if kind == "constant feature":
        rows[:, -1] = 7.0
    elif kind == "doubled feature":
        rows[:, -1] = rows[:, 0]
    elif kind == "mostly zero":
        rows[np.random.default_rng(0).random(rows.shape) < 0.8] = 0.0
    elif kind == "repeated rows":
        rows[2:] = rows[labels[2:]]
    return rows, labels


def cuts(n_rows):
    """Draw positions at which to cut a stream of n rows into chunks that are not empty."""
    return st.lists(st.integers(1, max(1, n_rows - 1)), max_size=5).map(lambda at: sorted(set(at)))


def several_problem(seed, n_rows=60, n_features=5, n_classes=3, scale=1.0):
    """Return rows (n, d) and labels 0 to K - 1 of every class, some rarer than others; class means differ."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(n_classes, 8.0))
    labels = rng.choice(n_classes, n_rows, p=shares).astype(np.int8)
    labels[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)[:n_rows]
    rows = rng.normal(size=(n_rows, n_features)) @ rng.normal(size=(n_features, n_features))
    rows += rng.normal(size=(n_classes, n_features))[labels]
    return np.ascontiguousarray(scale * rows), labels
