"""AUC and CPU time of OnePassGAM against logistic regression and boosted trees, on the tables of the shared folder.

    python -m experiments.tables [SET ...] [--splits 5] [--first 10] [--methods gam,logistic,lightgbm,early31,ebm]

Random splits of four fifths to learn from; every method gets the same rows, one
thread, and its CPU time is that of the whole fit to a table that is there as the
method takes it. Early stopping takes a tenth of the learning rows, with 31 leaves
and rate .1 or with 63 leaves and rate .05.
Of covtype 100,000 rows are drawn, as many as of any set that is larger. The
splits begin at seed 10: constants of OnePassGAM were chosen on some of 0 to 4.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np

from experiments.datasets import DENSE, available, load, raw_available, raw_table
from opauc import OnePassGAM
from opauc.metrics import exact_auc
from opauc.types import Array, Floats, Labels

MOST_ROWS = 100_000
MOST_TREES, PATIENCE, HELD_OUT = 2000, 50, 0.1
# Rows of the fit before the clock runs, 600 if not said: of so many OnePassGAM tries all that it ever does. EBM has
# nothing to compile, and a fit to few rows of many columns takes it an hour.
WARM_UP = {"gam": 6500, "ebm": 0}
# Fits rows and gives a function that scores others.
Fit: TypeAlias = Callable[["Table", Labels], Callable[["Table"], Floats]]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers in which the categorical columns have the numbers of their categories."""

    rows: Floats
    categorical: Array  # positions

    def take(self, rows: Array) -> Table:
        """Return some of the rows."""
        return Table(self.rows[rows], self.categorical)

    @cached_property
    def frame(self) -> object:
        """The table with its categories as words, as a user has it."""
        import pandas as pd

        if not self.categorical.size:
            return self.rows
        frame = pd.DataFrame(self.rows, columns=[f"c{j}" for j in range(self.rows.shape[1])])
        for j in self.categorical.tolist():
            frame[f"c{j}"] = frame[f"c{j}"].astype("Int64").astype("string").astype("category")
        return frame

    @cached_property
    def coded(self) -> Floats:
        """The rows with missing categories as a category, as LightGBM takes them."""
        rows = self.rows.copy()
        part = rows[:, self.categorical]
        rows[:, self.categorical] = np.where(np.isnan(part), -1.0, part)
        return rows


def gam(table: Table, labels: Labels) -> Callable[[Table], Floats]:
    """Return the scores of OnePassGAM with nothing set."""
    model = OnePassGAM(random_state=0).fit(table.frame, labels)
    return lambda other: model.decision_function(other.frame)


def logistic(table: Table, labels: Labels) -> Callable[[Table], Floats]:
    """Return the scores of logistic regression on standardized and one-hot columns, its ridge cross-validated."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    words = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=20)
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    numeric = np.setdiff1d(np.arange(table.rows.shape[1]), table.categorical)
    columns = make_column_transformer((numbers, numeric), (words, table.categorical))
    search = LogisticRegressionCV(
        Cs=np.logspace(-3, 2, 6), cv=3, scoring="roc_auc", max_iter=300, use_legacy_attributes=False
    )
    model = make_pipeline(columns, search).fit(table.rows, labels)
    return lambda other: model.decision_function(other.rows)


def lightgbm(table: Table, labels: Labels) -> Callable[[Table], Floats]:
    """Return the scores of LightGBM as it comes."""
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_jobs=1, verbose=-1)
    model.fit(table.coded, labels, categorical_feature=table.categorical.tolist())
    return lambda other: model.predict_proba(other.coded)[:, 1]


def early(leaves: int, rate: float) -> Fit:
    """Return LightGBM with early stopping on a tenth of the rows."""

    def fit(table: Table, labels: Labels) -> Callable[[Table], Floats]:
        from lightgbm import LGBMClassifier, early_stopping

        rows, held_out = table.coded, int(HELD_OUT * labels.size)
        model = LGBMClassifier(n_jobs=1, verbose=-1, n_estimators=MOST_TREES, num_leaves=leaves, learning_rate=rate)
        model.fit(
            rows[held_out:], labels[held_out:], eval_set=[(rows[:held_out], labels[:held_out])], eval_metric="auc",
            callbacks=[early_stopping(PATIENCE, verbose=False)], categorical_feature=table.categorical.tolist(),
        )  # fmt: skip
        return lambda other: model.predict_proba(other.coded)[:, 1]

    return fit


def ebm(table: Table, labels: Labels) -> Callable[[Table], Floats]:
    """Return the scores of an explainable boosting machine as it comes."""
    from interpret.glassbox import ExplainableBoostingClassifier

    kinds = ["nominal" if j in set(table.categorical.tolist()) else "continuous" for j in range(table.rows.shape[1])]
    model = ExplainableBoostingClassifier(n_jobs=1, feature_types=kinds, random_state=0).fit(table.rows, labels)
    return lambda other: model.predict_proba(other.rows)[:, 1]


METHODS: dict[str, Fit] = {
    "gam": gam,
    "logistic": logistic,
    "lightgbm": lightgbm,
    "early31": early(31, 0.1),
    "early63": early(63, 0.05),
    "ebm": ebm,
}


class Trial(NamedTuple):
    """AUC on the rows held out, CPU seconds of the fit, CPU microseconds a row scored."""

    auc: float
    fit: float
    score: float


def trials(name: str, methods: list[str], seeds: range) -> Iterator[dict[str, Trial]]:
    """Yield for each split of a set what each method reached, in turns."""
    yield from trials_of(*named_table(name), methods, seeds)


def trials_of(table: Table, labels: Labels, methods: list[str], seeds: range) -> Iterator[dict[str, Trial]]:
    """Yield for each split of a table what each method reached, in turns."""
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(labels.size)
        cut = int(0.8 * labels.size)
        learn, test = table.take(order[:cut]), table.take(order[cut:])
        yield {
            method: _trial(METHODS[method], (learn, labels[order[:cut]]), (test, labels[order[cut:]]))
            for method in methods
        }


def named_table(name: str) -> tuple[Table, Labels]:
    """Return a set of the shared folder as numbers, the largest cut to MOST_ROWS random rows."""
    if name in raw_available():
        rows, categorical, labels = raw_table(name)
    else:
        found, labels = load(name)
        rows, categorical = found if isinstance(found, np.ndarray) else found.toarray(), np.empty(0, np.int64)
    kept = np.random.default_rng(0).permutation(labels.size)[:MOST_ROWS] if labels.size > MOST_ROWS else slice(None)
    return Table(rows[kept], categorical), labels[kept]


def _trial(fit: Fit, learn: tuple[Table, Labels], test: tuple[Table, Labels]) -> Trial:
    for table, _ in (learn, test):  # as each method takes it, before the clock runs
        _ = table.frame, table.coded
    began = time.process_time()
    scores_of = fit(*learn)
    fitted = time.process_time()
    scores = scores_of(test[0])
    spent = time.process_time() - fitted
    return Trial(exact_auc(test[1], scores), fitted - began, 1e6 * spent / test[1].size)


def main() -> None:
    """Print a line a set."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=[*available(DENSE), *raw_available()])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first", type=int, default=10, help="seed of the first split")
    parser.add_argument("--methods", default="gam,logistic,lightgbm,early31,early63")
    given = parser.parse_args()
    methods = given.methods.split(",")
    warnings.simplefilter("ignore")
    print("set | rows | " + " | ".join(f"{method}: AUC (CPU s; µs a row scored)" for method in methods))
    for name in given.sets:
        table, labels = named_table(name)
        order = np.random.default_rng(0).permutation(labels.size)
        for method in methods:  # compile and import before the clock runs
            few = order[: WARM_UP.get(method, 600)]
            if few.size:
                METHODS[method](table.take(few), labels[few])
        found = list(trials(name, methods, range(given.first, given.first + given.splits)))
        means = {method: np.mean([trial[method] for trial in found], axis=0) for method in methods}
        cells = [f"{auc:.4f} ({fit:.2f}; {score:.1f})" for auc, fit, score in means.values()]
        away = {m: np.mean([trial["gam"].auc - trial[m].auc for trial in found]) for m in methods if m != "gam"}
        less = ", ".join(f"{difference:+.4f} against {method}" for method, difference in away.items())
        print(f"{name} | {labels.size} | {' | '.join(cells)} | {less}", flush=True)


if __name__ == "__main__":
    main()
