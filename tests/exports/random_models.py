"""Random models in portable form, with every kind of axis, table and tree, and rows at the places that matter."""

import json

import numpy as np

from opauc.exports.json_text import json_text
from opauc.exports.portable import (
    Column,
    CrossedTable,
    Curve,
    Input,
    Levels,
    Line,
    Member,
    PortableModel,
    PortableTerm,
    Steps,
    Table,
    Trees,
)
from tests.exports import evaluator

N_INPUTS, N_AXES, N_ROWS = 5, 12, 60
LARGE = (1e300, -1e300, 2.0**53, -(2.0**53), 5e-324, -0.0, 0.5, -0.5, 1e15 + 0.5)


def random_axis(rng, j):
    """Return an axis of whole numbers and halves, some with a single point or none."""
    points = np.unique(rng.integers(-20, 20, rng.integers(1, 9))) / rng.choice([1.0, 2.0])
    kind = rng.integers(4)
    if kind == 0:
        return Line(j)
    if kind == 1:
        return Curve(j, points)
    if kind == 2:
        return Steps(j, points[rng.integers(2) * points.size :])
    numbers = np.unique(np.floor(points))[: rng.integers(9)]
    places = rng.integers(1, numbers.size + 2, numbers.size)
    return Levels(j, numbers, places, int(rng.integers(1, numbers.size + 3)))


def random_table(rng, axes):
    pairs = [at for at, axis in enumerate(axes) if isinstance(axis, Curve | Levels)]
    if len(pairs) > 1 and rng.random() < 0.5:
        one, other = rng.choice(pairs, 2, replace=False).tolist()
        values = rng.normal(size=(axes[one].size, axes[other].size))
        values[0], values[:, 0] = 0.0, 0.0
        return Table((one, other), values)
    at = int(rng.integers(len(axes)))
    scale = 1e-3 if isinstance(axes[at], Line) else 1.0
    return Table((at,), scale * rng.normal(size=axes[at].size))


def random_crossed(rng):
    inputs = rng.choice(N_INPUTS, rng.integers(2, 4), replace=False).tolist()
    edges = [np.unique(rng.normal(size=rng.integers(0, 4)) * 10) for _ in inputs]
    n_levels = 2 ** int(rng.integers(1, 6))
    levels = np.flatnonzero(rng.random(n_levels) < 0.7)
    members = tuple(Member(j, edge) for j, edge in zip(inputs, edges, strict=True))
    return CrossedTable(members, n_levels, levels, rng.normal(size=levels.size).round(1))


def random_trees(rng, axes, n_terms):
    """Return trees on the axes that trees may be on, None without such axes."""
    usable = [at for at, axis in enumerate(axes) if isinstance(axis, Steps | Levels)]
    if not usable:
        return None
    children, roots, n_leaves = [], [], 0
    for _ in range(rng.integers(1, 5)):
        roots.append(len(children))
        left = [len(children)]
        children.append([0, 0])
        while left:
            split = left.pop()
            for side in range(2):
                if rng.random() < 0.4:
                    children[split][side] = len(children)
                    left.append(len(children))
                    children.append([0, 0])
                else:
                    n_leaves += 1
                    children[split][side] = -n_leaves
    n = len(children)
    of_splits = rng.integers(len(usable), size=n)
    places = np.array([rng.integers(0, axes[usable[at]].size + 1) for at in of_splits])
    terms = tuple(rng.integers(n_terms, size=len(usable)).tolist())
    values = rng.normal(size=n + n_leaves)
    return Trees(tuple(usable), terms, of_splits, places, np.array(children), np.array(roots), values)


def random_model(seed):
    rng = np.random.default_rng(seed)
    axes = tuple(random_axis(rng, int(rng.integers(N_INPUTS))) for _ in range(N_AXES))
    terms = tuple(
        PortableTerm(
            f"t{at}", (int(rng.integers(N_INPUTS)),), float(rng.normal()),
            tuple(random_table(rng, axes) for _ in range(rng.integers(1, 7))),
            tuple(random_crossed(rng) for _ in range(rng.integers(2))), float(rng.normal()),
        )
        for at in range(4)
    )  # fmt: skip
    columns = tuple(Column(f"x{j}", "number", text_format=".") for j in range(N_INPUTS))
    inputs = tuple(Input(column.name, at) for at, column in enumerate(columns))
    trees = random_trees(rng, axes, len(terms))
    return PortableModel("OnePassGAM", columns, inputs, axes, terms, trees, 0.3, 0.5, -1.0, (0, 1), 0.1)


def random_rows(seed):
    """Return rows of whole numbers and halves, where points of axes are, of missing values and of unusual numbers."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-44, 44, (N_ROWS, N_INPUTS)) / 2.0
    values[rng.random(values.shape) < 0.1] = np.nan
    values = np.where(rng.random(values.shape) < 0.05, rng.choice(LARGE, values.shape), values)
    return [{f"x{j}": None if np.isnan(x) else x for j, x in enumerate(row)} for row in values.tolist()]


def evaluated(model, rows):
    """Return the score and the reasons of each row by the stand-alone evaluator."""
    saved = json.loads(json_text(model))
    return [(evaluator.score(saved, row), evaluator.reasons(saved, row, 3)) for row in rows]
