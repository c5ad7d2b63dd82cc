"""Additive models by the AUC within groups: `python -m experiments.additive_groups [TABLE ...]`.

Tables, splits and standard errors are those of `experiments/within_groups.py`, of at
most 50,000 rows, and one more simulated table with curves and a pair. "without" leaves
the column of groups out, "column" has it as a category. "curves" are curves and
pairs alone, without that column, trees, and effects of categories and combinations that
have no column of the basis. "centered" are the same with the effects of the groups taken
out of the sums: each group has an unpenalized intercept of its own. "within" is what
`fit(groups=...)` does, without that column, and "both" the same with it.
"""

import sys
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from experiments.datasets import raw_frame
from experiments.within_groups import SEEDS, TABLES, GroupResult, simulated
from opauc import OnePassGAM
from opauc.additive.input import next_rows
from opauc.additive.labeled_sample import encode_rows
from opauc.additive.policy import SMOOTHING_POLICY
from opauc.additive.scorer import MappedScorer
from opauc.additive.smoothing import smooth
from opauc.core.logistic import linearize
from opauc.metrics import exact_auc
from opauc.types import Array, Floats, Labels

MAX_ROWS = 50_000
GROUP = "group of the row"
METHODS = ("without", "column", "curves", "centered", "within", "both")


class GroupedTable(NamedTuple):
    """A table, its labels, and the group of each row, which is no column of it."""

    frame: pd.DataFrame
    labels: Labels
    groups: Array


def bent(n_rows: int = 40_000, n_groups: int = 800) -> GroupedTable:
    """Return a simulated table whose features act in curves and a pair; two of them follow the base rate."""
    random = np.random.default_rng(0)
    groups = random.integers(0, n_groups, n_rows)
    level = random.normal(size=n_groups)[groups]
    rows = random.normal(size=(n_rows, 10))
    rows[:, 0] += 2.0 * level
    rows[:, 4] += level
    score = 2.0 * level + 0.8 * np.sin(2.0 * rows[:, 1]) + 0.7 * rows[:, 2] * rows[:, 3] + 0.5 * rows[:, 4]
    labels = (random.random(n_rows) < 1.0 / (1.0 + np.exp(-score))).astype(np.int8)
    return GroupedTable(pd.DataFrame(rows).rename(columns="x{}".format), labels, groups)


def load_tables(names: list[str]) -> dict[str, GroupedTable]:
    """Return the tables of these names, all where there are none."""
    rows, labels, groups = simulated()
    found = {"simulated": GroupedTable(pd.DataFrame(rows).rename(columns="x{}".format), labels, groups)}
    found["simulated, bent"] = bent()
    for name, column in TABLES:
        if not names or f"{name}, {column}" in names:
            frame, labels = raw_frame(name)
            found[f"{name}, {column}"] = GroupedTable(
                frame, labels, frame.pop(column).fillna("unknown").astype(str).to_numpy()
            )
    return {name: table for name, table in found.items() if not names or name in names}


def scores(table: GroupedTable, train: Array, test: Array) -> list[Floats]:
    """Return the scores of the rows held out by each method.

    >>> parts = np.split(np.arange(4000), [3000])
    >>> [one.shape for one in scores(bent(4000, 40), *parts)]
    [(1000,), (1000,), (1000,), (1000,), (1000,), (1000,)]
    """
    with_column = table.frame.assign(**{GROUP: table.groups.astype(str)})
    labels, groups, fitted = table.labels[train], table.groups[train], {}
    for name, frame, given, within in (
        ("without", table.frame, {}, None),
        ("column", with_column, {"categorical": [GROUP]}, None),
        ("curves", table.frame, {"trees": False}, None),
        ("within", table.frame, {}, groups),
        ("both", with_column, {"categorical": [GROUP]}, groups),
    ):
        model = OnePassGAM(random_state=0, n_jobs=1, **given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of columns that rank too well
            fitted[name] = model.fit(frame.iloc[train], labels, groups=within), frame.iloc[test]
    found = {name: model.decision_function(held_out) for name, (model, held_out) in fitted.items()}
    curves, held_out = fitted["curves"]
    of_curves = _curve_scores(curves, table.frame.iloc[train], labels, groups, held_out)
    found |= dict(zip(("curves", "centered"), of_curves, strict=True))
    return [found[name] for name in METHODS]


def _curve_scores(
    model: OnePassGAM, frame: pd.DataFrame, labels: Labels, groups: Array, held_out: pd.DataFrame
) -> list[Floats]:
    """Return the scores of one Newton step from the expansion point, and of one where each group has an intercept."""
    basis, fit = model._fitted.current
    rows, later = (
        np.asarray(next_rows(model, one, model._columns, learn=False)[0], np.float64) for one in (frame, held_out)
    )
    z = sparse.csr_array(sparse.vstack([batch.columns for batch in encode_rows(basis, rows, labels, None)]))
    point = fit.sums.expansion_point
    curvature, residual = linearize(z @ point, labels)
    target = curvature * (z @ point) + residual
    numbers = np.unique(groups, return_inverse=True)[1]
    members = sparse.csr_array((np.ones(numbers.size), (numbers, np.arange(numbers.size))))
    weighted = sparse.csr_array(z * curvature[:, None])
    of_groups, total, targets = (members @ weighted).toarray(), members @ curvature, members @ target
    gram, rhs, policy = (z.T @ weighted).toarray(), z.T @ target, SMOOTHING_POLICY.in_float64()
    centered = gram - (of_groups / total[:, None]).T @ of_groups, rhs - of_groups.T @ (targets / total)
    # The intercept of all rows is not determined, and changes no rank.
    centered[0][0], centered[0][:, 0], centered[0][0, 0], centered[1][0] = 0.0, 0.0, 1.0, 0.0
    found = []
    for matrix, right in ((gram, rhs), centered):
        solved = smooth(np.tril(matrix), right, fit.columns.penalties, fit.lambdas, policy.final_steps, policy)
        weights = np.concatenate([solved.weights, np.zeros(basis.n_weights - solved.weights.size)])
        found.append(MappedScorer(basis, weights).scores(later))
    return found


def evaluate(table: GroupedTable) -> GroupResult:
    """Return the AUCs within groups of each method."""
    found: dict[object, list[list[float]]] = {}
    sizes: dict[object, int] = {}
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(table.labels.size)[:MAX_ROWS]
        train, test = np.split(order, [int(0.8 * order.size)])
        scored = scores(table, train, test)
        by_group = np.argsort(table.groups[test], kind="stable")
        names, starts = np.unique(table.groups[test][by_group], return_index=True)
        for name, part in zip(names.tolist(), np.split(by_group, starts[1:]), strict=True):
            truth = table.labels[test][part]
            if 0 < truth.sum() < truth.size:
                found.setdefault(name, []).append([exact_auc(truth, one[part]) for one in scored])
                sizes[name] = sizes.get(name, 0) + truth.size
    aucs = np.array([np.mean(lines, axis=0) for lines in found.values()])
    return GroupResult(aucs, np.array([sizes[name] for name in found], float))


def main() -> None:
    """Print two lines per table: groups weighted equally, and by rows."""
    gains = [f"{name} less without ± SE" for name in METHODS[1:]]
    print(f"| table, group | groups | mean over groups | {' | '.join([*METHODS, *gains])} |")
    print("| --- " * (3 + len(METHODS) + len(gains)) + "|")
    for title, table in load_tables(sys.argv[1:]).items():
        found = evaluate(table)
        for by_rows in (False, True):
            weight = found.rows if by_rows else None
            cells = [f"{auc:.4f}" for auc in np.average(found.aucs, axis=0, weights=weight)]
            cells += ["{:+.4f} ± {:.4f}".format(*found.gain(method, by_rows)) for method in range(1, len(METHODS))]
            kind = "by rows" if by_rows else "equal"
            print(f"| {title} | {len(found.rows)} | {kind} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
