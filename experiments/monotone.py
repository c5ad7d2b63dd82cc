"""Monotone models side by side: OnePassGAM constrained afterwards and while fitting, LightGBM, EBM.

    python -m experiments.monotone [SET ...] [--splits 5] [--first 10] [--methods gam,constrained] [--points 1000000]

Each set has columns in which the field expects the odds to go one way; they were written down before any model was
fitted under them. Tables and splits are those of `experiments.tables`. Of each method the AUC on the held-out fifth is
printed, and what the constraints change. "constrained" is `OnePassGAM().fit(...).constrain(...)`, "leaving" the same
without its trees, "monotone" `OnePassGAM(monotone_constraints=...)`; LightGBM has its default method of constraints and
its "advanced" one; EBM takes them while fitting, or afterwards by `monotonize`. With `--points`, so many pairs of rows
that differ in one constrained column only are scored by the constrained models of the first split, and it is counted
how often a score goes the wrong way by more than rounding.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from experiments.tables import Table, named_table
from opauc import OnePassGAM
from opauc.metrics import exact_auc
from opauc.types import Floats, Labels

# Rounding of a difference of two scores, in log-odds: flat stretches of a curve have steps of this size.
ROUNDING = 1e-12
ROWS_PER_BLOCK = 100_000
# The columns of each set, by position in its table, in which the odds of the positive class rise (1) or fall (-1).
# adult: years of education, capital gain. german: the balance of the checking account, duration, amount, savings, years
# of employment; the positive class is bad credit. diabetes: glucose, body mass index, pedigree, age; the positive class
# is healthy. hmeq: derogatory reports, delinquent credit lines, recent inquiries; the positive class defaults.
SETS: dict[str, dict[int, int]] = {
    "adult": {4: 1, 10: 1},
    "german": {0: -1, 1: 1, 3: 1, 4: -1, 5: -1},
    "diabetes": {1: -1, 5: -1, 6: -1, 7: -1},
    "hmeq": {6: 1, 7: 1, 9: 1},
}
Scorer: TypeAlias = Callable[[Table], Floats]


class Fitted(NamedTuple):
    """What scores rows, and the estimator, if it is one of ours."""

    scores: Scorer
    model: OnePassGAM | None = None


# Fits labeled rows with these directions.
Method: TypeAlias = Callable[[Table, Labels, dict[int, int]], Fitted]


def names_of(table: Table, directions: dict[int, int], sign: int) -> list[str | int]:
    """Return the columns of a direction as OnePassGAM names them."""
    names = list(table.frame.columns) if table.raw is not None else list(range(table.rows.shape[1]))  # type: ignore[attr-defined]
    return [names[j] for j, direction in directions.items() if direction == sign]


def _of_model(model: OnePassGAM) -> Fitted:
    return Fitted(lambda table: model.decision_function(table.frame), model)


def gam(table: Table, labels: Labels, directions: dict[int, int]) -> Fitted:  # noqa: ARG001
    """Return OnePassGAM without constraints."""
    return _of_model(OnePassGAM(random_state=0, n_jobs=1).fit(table.frame, labels))


def constrained(table: Table, labels: Labels, directions: dict[int, int]) -> Fitted:
    """Return OnePassGAM constrained after the fit."""
    model = OnePassGAM(random_state=0, n_jobs=1).fit(table.frame, labels)
    up, down = (names_of(table, directions, sign) for sign in (1, -1))
    return _of_model(model.constrain(increasing=up, decreasing=down))


def leaving(table: Table, labels: Labels, directions: dict[int, int]) -> Fitted:
    """Return OnePassGAM constrained after the fit, with bounds so wide that only its trees leave."""
    model = OnePassGAM(random_state=0, n_jobs=1).fit(table.frame, labels)
    up, down = (names_of(table, directions, sign) for sign in (1, -1))
    wide = {name: {0.0: (-1e6, 1e6)} for name in (*up, *down)}
    return _of_model(model.constrain(increasing=up, decreasing=down, bounds=wide))


def monotone(table: Table, labels: Labels, directions: dict[int, int]) -> Fitted:
    """Return OnePassGAM fitted under constraints."""
    signs = {name: sign for sign in (1, -1) for name in names_of(table, directions, sign)}
    return _of_model(OnePassGAM(monotone_constraints=signs, random_state=0, n_jobs=1).fit(table.frame, labels))


def lightgbm(method: str | None) -> Method:
    """Return LightGBM with default parameters and a method of constraints, None for no constraints."""

    def fit(table: Table, labels: Labels, directions: dict[int, int]) -> Fitted:
        from lightgbm import LGBMClassifier

        signs = [directions.get(j, 0) for j in range(table.rows.shape[1])]
        limits = {} if method is None else {"monotone_constraints": signs, "monotone_constraints_method": method}
        model = LGBMClassifier(n_jobs=1, verbose=-1, **limits)
        model.fit(table.coded, labels, categorical_feature=table.categorical.tolist())
        return Fitted(lambda other: model.predict(other.coded, raw_score=True))

    return fit


def ebm(afterwards: bool | None) -> Method:
    """Return EBM with default parameters, with constraints while fitting or afterwards, None for no constraints."""

    def fit(table: Table, labels: Labels, directions: dict[int, int]) -> Fitted:
        from interpret.glassbox import ExplainableBoostingClassifier

        nominal = set(table.categorical.tolist())
        kinds = ["nominal" if j in nominal else "continuous" for j in range(table.rows.shape[1])]
        signs = [directions.get(j, 0) for j in range(table.rows.shape[1])]
        limits = {"monotone_constraints": signs} if afterwards is False else {}
        model = ExplainableBoostingClassifier(n_jobs=1, feature_types=kinds, random_state=0, **limits)
        model.fit(table.rows, labels)
        for j, sign in directions.items() if afterwards else ():
            model.monotonize(j, increasing=sign > 0)
        return Fitted(lambda other: model.decision_function(other.rows))

    return fit


METHODS: dict[str, Method] = {
    "gam": gam,
    "constrained": constrained,
    "leaving": leaving,
    "monotone": monotone,
    "lightgbm": lightgbm(None),
    "lightgbm_basic": lightgbm("basic"),
    "lightgbm_advanced": lightgbm("advanced"),
    "ebm": ebm(None),
    "ebm_monotone": ebm(False),
    "ebm_monotonize": ebm(True),
}
# The method without constraints that each is compared with.
FREE = {name: name.partition("_")[0] for name in METHODS} | dict.fromkeys(("constrained", "leaving", "monotone"), "gam")


def count_violations(fitted: Fitted, table: Table, directions: dict[int, int], n_points: int, seed: int = 0) -> int:
    """Return how many of so many random pairs of rows, of which only one constrained column differs, rank wrongly.

    The other columns are those of random rows of the table; the values lie in its range and a tenth beyond.
    """
    rng, wrong = np.random.default_rng(seed), 0
    for start in range(0, n_points, ROWS_PER_BLOCK):
        size = min(ROWS_PER_BLOCK, n_points - start)
        at = rng.integers(0, len(table.rows), size)
        column = rng.choice(list(directions), size)
        below, above = _with_values(table, at, column, rng)
        sign = np.array([directions[j] for j in column.tolist()])
        rise = sign * (fitted.scores(above) - fitted.scores(below))
        wrong += int(np.count_nonzero(rise < -ROUNDING))
    return wrong


def _with_values(table: Table, at: np.ndarray, columns: np.ndarray, rng: np.random.Generator) -> tuple[Table, Table]:
    """Return rows of a table with a lower and with a higher value in one column each."""
    rows = table.rows[at]
    low, high = np.nanmin(table.rows, axis=0)[columns], np.nanmax(table.rows, axis=0)[columns]
    values = np.sort(rng.uniform(low - 0.1 * (high - low), high + 0.1 * (high - low), (2, at.size)), axis=0)
    tables = []
    for value in values:
        changed = rows.copy()
        changed[np.arange(at.size), columns] = value
        raw = table.raw
        if raw is not None:
            raw = raw.iloc[at].copy()  # type: ignore[attr-defined]
            for j in np.unique(columns).tolist():
                name = raw.columns[j]
                raw[name] = np.where(columns == j, value, raw[name].astype(np.float64))
        tables.append(Table(changed, table.categorical, raw))
    return tables[0], tables[1]


class Outcome(NamedTuple):
    """The AUC of a method on held-out rows, and the CPU seconds of its fit."""

    auc: float
    seconds: float


def split(table: Table, labels: Labels, seed: int) -> tuple[Table, Labels, Table, Labels]:
    """Return four fifths of the rows to train on, and the others."""
    order = np.random.default_rng(seed).permutation(labels.size)
    cut = int(0.8 * labels.size)
    first, last = order[:cut], order[cut:]
    return table.take(first), labels[first], table.take(last), labels[last]


def report(name: str, methods: Sequence[str], seeds: Sequence[int], n_points: int) -> list[str]:
    """Return the lines of a set: one per method, and one per constrained model of ours that is checked."""
    table, labels = named_table(name)
    directions, outcomes, lines = SETS[name], {method: list[Outcome]() for method in methods}, []
    for seed in seeds:
        train, train_labels, test, test_labels = split(table, labels, seed)
        for method in methods:
            began = time.process_time()
            fitted = METHODS[method](train, train_labels, directions)
            seconds = time.process_time() - began
            auc = exact_auc(test_labels, np.asarray(fitted.scores(test), np.float64))
            outcomes[method].append(Outcome(auc, seconds))
            print(f"# {name} split {seed} {method} {auc:.4f} ({seconds:.1f} s)", flush=True)
            if n_points and seed == seeds[0] and method in ("constrained", "monotone"):
                wrong = count_violations(fitted, test, directions, n_points)
                print(f"# {name} {method}: {wrong} of {n_points:,} pairs rank wrongly", flush=True)
    means = {method: np.mean([outcome.auc for outcome in of]) for method, of in outcomes.items()}
    for method, of in outcomes.items():
        seconds, free = np.mean([outcome.seconds for outcome in of]), FREE[method]
        change = f"{means[method] - means[free]:+.4f}" if free != method and free in means else ""
        lines.append(f"| {name} | {method} | {means[method]:.4f} | {change} | {seconds:.1f} |")
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(SETS), metavar="SET")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first", type=int, default=10)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--points", type=int, default=0)
    given = parser.parse_args()
    lines = ["| set | method | AUC | change | CPU s |", "|--|--|--|--|--|"]
    for name in given.sets or list(SETS):
        seeds = range(given.first, given.first + given.splits)
        lines += report(name, given.methods.split(","), seeds, given.points)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
