"""OnePassGAM against logistic regression, boosted trees and EBM on the tables of the shared folder.

    python -m experiments.tables [SET ...] [--splits 5] [--first 10] [--methods gam,lightgbm,catboost]
                                 [--threads 1] [--rows 100000] [--store run/tables.jsonl]

Random splits of four fifths to train on. Every method gets the same rows and the same number of threads. Its time is
that of the whole fit to a table that is there as the method takes it. Raw tables are given to OnePassGAM as published;
its peers get categories as numbers, are told which columns those are, and get the parts of dates. Early stopping takes
a tenth of the training rows, with 31 leaves and rate .1 or with 63 leaves and rate .05; everything else has its
default parameters. Of sets with more rows than `--rows` as many are drawn. The splits begin at seed 10: constants of
OnePassGAM were chosen on some of 0 to 4.

With `--store`, trials are kept in a file, and those that are there are not computed again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit

from experiments.datasets import DENSE, available, load, numbered, raw_available, raw_frame
from opauc import OnePassGAM
from opauc.additive.policy import ADDITIVE_POLICY, CROSSED_POLICY
from opauc.metrics import exact_auc
from opauc.types import Array, Floats, Labels

MOST_ROWS = 100_000
MOST_TREES, PATIENCE, HELD_OUT = 2000, 50, 0.1
CALIBRATION_BINS = 15
MOST_HIST_CATEGORIES = 255  # numbers of categories of an input that scikit-learn's trees take
# Rows of the fit before the clock runs, 600 if not said: on so many OnePassGAM tries all that it ever does. EBM has
# nothing to compile, and a fit to few rows of many columns takes it an hour.
WARM_UP = {"gam": 6500, "high": 6500, "uncrossed": 6500, "ebm": 0}
# Returns the log-odds of the rows of a table.
Scorer: TypeAlias = Callable[["Table"], Floats]
# Fits labeled rows with a number of threads.
Fit: TypeAlias = Callable[["Table", Labels, int], Scorer]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers, in which categorical columns have the numbers of their categories, and the table as published.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.tables import Table
    >>> table = Table(np.array([[0.5, 1.0], [1.5, np.nan]]), np.array([1]))
    >>> table.coded.tolist(), table.frame["c1"].isna().tolist()
    ([[0.5, 1.0], [1.5, -1.0]], [False, True])
    """

    rows: Floats
    categorical: Array  # positions
    raw: object = None  # a data frame; None if the numbers are all there is

    def take(self, rows: Array) -> Table:
        """Return some of the rows."""
        raw = None if self.raw is None else self.raw.iloc[rows]  # type: ignore[attr-defined]
        return Table(self.rows[rows], self.categorical, raw)

    @cached_property
    def frame(self) -> object:
        """The table as a user has it: raw, or with its categories as strings."""
        import pandas as pd

        if self.raw is not None:
            return self.raw
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

    @cached_property
    def coded_frame(self) -> object:
        """The coded rows with columns of integers for categories, as CatBoost and XGBoost take them."""
        import pandas as pd

        frame = pd.DataFrame(self.coded)
        return frame.astype(dict.fromkeys(self.categorical.tolist(), np.int64))


def gam(table: Table, labels: Labels, threads: int = 1) -> Scorer:
    """Return the scores of OnePassGAM with nothing set."""
    model = OnePassGAM(random_state=0, n_jobs=threads).fit(table.frame, labels)
    return lambda other: model.decision_function(other.frame)


def high(table: Table, labels: Labels, threads: int = 1) -> Scorer:
    """Return the scores of OnePassGAM with effort="high"."""
    model = OnePassGAM(effort="high", random_state=0, n_jobs=threads).fit(table.frame, labels)
    return lambda other: model.decision_function(other.frame)


class UncrossedGAM(OnePassGAM):
    """OnePassGAM without crossed codes."""

    _policy = replace(ADDITIVE_POLICY, crossed=replace(CROSSED_POLICY, max_codes=0))


def uncrossed(table: Table, labels: Labels, threads: int = 1) -> Scorer:  # noqa: ARG001
    """Return the scores of OnePassGAM without crossed codes."""
    model = UncrossedGAM(random_state=0).fit(table.frame, labels)
    return lambda other: model.decision_function(other.frame)


def logistic(table: Table, labels: Labels, threads: int = 1) -> Scorer:
    """Return the scores of logistic regression on standardized and one-hot columns, its ridge cross-validated."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    categories = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=20)
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    numeric = np.setdiff1d(np.arange(table.rows.shape[1]), table.categorical)
    columns = make_column_transformer((numbers, numeric), (categories, table.categorical))
    search = LogisticRegressionCV(
        Cs=np.logspace(-3, 2, 6), l1_ratios=(0.0,), cv=3, scoring="roc_auc", max_iter=300,
        use_legacy_attributes=False, n_jobs=threads,
    )  # fmt: skip
    model = make_pipeline(columns, search).fit(table.rows, labels)
    return lambda other: model.decision_function(other.rows)


def lightgbm(table: Table, labels: Labels, threads: int = 1) -> Scorer:
    """Return the scores of LightGBM with default parameters."""
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_jobs=threads, verbose=-1)
    model.fit(table.coded, labels, categorical_feature=table.categorical.tolist())
    return lambda other: model.predict(other.coded, raw_score=True)


def early(leaves: int, rate: float) -> Fit:
    """Return LightGBM with early stopping on a tenth of the rows."""

    def fit(table: Table, labels: Labels, threads: int = 1) -> Scorer:
        import lightgbm

        rows, held_out = table.coded, int(HELD_OUT * labels.size)
        train = lightgbm.Dataset(
            rows[held_out:], labels[held_out:], categorical_feature=table.categorical.tolist(), params={"verbose": -1}
        )
        model = lightgbm.train(
            {
                "objective": "binary", "metric": "auc", "num_leaves": leaves, "learning_rate": rate,
                "num_threads": threads, "verbose": -1,
            },
            train, num_boost_round=MOST_TREES, valid_sets=[train.create_valid(rows[:held_out], labels[:held_out])],
            callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
        )  # fmt: skip
        return lambda other: model.predict(other.coded, raw_score=True, num_threads=threads)

    return fit


def catboost(table: Table, labels: Labels, threads: int = 1) -> Scorer:
    """Return the scores of CatBoost with default parameters."""
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(thread_count=threads, verbose=0, allow_writing_files=False, random_seed=0)
    model.fit(table.coded_frame, labels, cat_features=table.categorical.tolist())
    return lambda other: model.predict(other.coded_frame, prediction_type="RawFormulaVal")


def xgboost(table: Table, labels: Labels, threads: int = 1) -> Scorer:
    """Return the scores of XGBoost with default parameters and its own treatment of categories."""
    from xgboost import XGBClassifier

    types = ["c" if j in set(table.categorical.tolist()) else "q" for j in range(table.rows.shape[1])]
    model = XGBClassifier(n_jobs=threads, enable_categorical=True, feature_types=types)
    model.fit(_codes_from_zero(table), labels)
    return lambda other: model.predict(_codes_from_zero(other), output_margin=True)


def _codes_from_zero(table: Table) -> Floats:
    rows = table.coded.copy()
    rows[:, table.categorical] += 1.0
    return rows


def histgradient(table: Table, labels: Labels, threads: int = 1) -> Scorer:  # noqa: ARG001  OMP_NUM_THREADS says it
    """Return the scores of HistGradientBoostingClassifier; inputs of more categories than it takes are numbers."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rows = _codes_from_zero(table)
    few = [j for j in table.categorical.tolist() if rows[:, j].max() < MOST_HIST_CATEGORIES]
    model = HistGradientBoostingClassifier(categorical_features=few, random_state=0).fit(rows, labels)
    return lambda other: model.decision_function(_codes_from_zero(other))


def ebm(table: Table, labels: Labels, threads: int = 1) -> Scorer:
    """Return the scores of an explainable boosting machine with default parameters."""
    from interpret.glassbox import ExplainableBoostingClassifier

    kinds = ["nominal" if j in set(table.categorical.tolist()) else "continuous" for j in range(table.rows.shape[1])]
    model = ExplainableBoostingClassifier(n_jobs=threads, feature_types=kinds, random_state=0).fit(table.rows, labels)
    return lambda other: model.decision_function(other.rows)


METHODS: dict[str, Fit] = {
    "gam": gam,
    "high": high,
    "uncrossed": uncrossed,
    "logistic": logistic,
    "lightgbm": lightgbm,
    "early31": early(31, 0.1),
    "early63": early(63, 0.05),
    "catboost": catboost,
    "xgboost": xgboost,
    "histgradient": histgradient,
    "ebm": ebm,
}


class Trial(NamedTuple):
    """What a method reached on held-out rows, and what it cost."""

    auc: float
    fit: float  # CPU seconds of the fit
    score: float  # CPU microseconds per scored row
    wall: float  # seconds of the fit
    log_loss: float
    calibration_error: float  # mean distance of predicted and observed shares over bins of equally many rows
    rate_ratio: float  # mean predicted probability over the observed share of positive rows


def trials(name: str, methods: Sequence[str], seeds: range) -> Iterator[dict[str, Trial]]:
    """Yield for each split of a set what each method reached, in turns."""
    yield from trials_of(*named_table(name), methods, seeds)


def trials_of(
    table: Table, labels: Labels, methods: Sequence[str], seeds: Sequence[int], threads: int = 1
) -> Iterator[dict[str, Trial]]:
    """Yield for each split of a table what each method reached, in turns."""
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(labels.size)
        cut = int(0.8 * labels.size)
        train, test = table.take(order[:cut]), table.take(order[cut:])
        yield {
            method: _trial(METHODS[method], (train, labels[order[:cut]]), (test, labels[order[cut:]]), threads)
            for method in methods
        }


def named_table(name: str, most_rows: int = MOST_ROWS) -> tuple[Table, Labels]:
    """Return a set of the shared folder, the largest cut to random rows."""
    if name in raw_available():
        frame, labels = raw_frame(name)
        table = Table(*numbered(frame), frame)
    else:
        found, labels = load(name)
        table = Table(found if isinstance(found, np.ndarray) else found.toarray(), np.empty(0, np.int64))
    if labels.size <= most_rows:
        return table, labels
    kept = np.random.default_rng(0).permutation(labels.size)[:most_rows]
    return table.take(kept), labels[kept]


def _trial(fit: Fit, train: tuple[Table, Labels], test: tuple[Table, Labels], threads: int) -> Trial:
    for table, _ in (train, test):  # as each method takes it, before the clock runs
        _ = table.frame, table.coded, table.coded_frame
    began, began_wall = time.process_time(), time.perf_counter()
    scores_of = fit(*train, threads)
    fitted, wall = time.process_time(), time.perf_counter() - began_wall
    scores = np.asarray(scores_of(test[0]), np.float64)
    spent = time.process_time() - fitted
    labels = test[1]
    return Trial(
        exact_auc(labels, scores), fitted - began, 1e6 * spent / labels.size, wall, log_loss(labels, scores),
        calibration_error(labels, expit(scores)), float(expit(scores).mean() / labels.mean()),
    )  # fmt: skip


def log_loss(labels: Labels, scores: Floats) -> float:
    """Return the mean logistic loss of log-odds.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.tables import log_loss
    >>> round(log_loss(np.array([0, 1]), np.zeros(2)), 4)
    0.6931
    """
    return float(np.logaddexp(0.0, (1.0 - 2.0 * labels) * scores).mean())


def calibration_error(labels: Labels, probabilities: Floats, n_bins: int = CALIBRATION_BINS) -> float:
    """Return the expected calibration error, over bins of equally many rows.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.tables import calibration_error
    >>> calibration_error(np.array([0, 1, 1, 1]), np.array([0.5, 0.5, 0.9, 0.9]), n_bins=2).__round__(3)
    0.05
    """
    bins = np.array_split(np.argsort(probabilities, kind="stable"), n_bins)
    distances = [abs(labels[rows].mean() - probabilities[rows].mean()) * rows.size for rows in bins if rows.size]
    return float(np.sum(distances) / labels.size)


class Store:
    """Trials in a file of JSON lines, by set, method, seed, rows and threads; without a path, in memory."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[str, Trial] = {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                saved = json.loads(line)
                self.known[saved["key"]] = Trial(**saved["trial"])

    def keep(self, key: str, trial: Trial) -> None:
        """Add a trial."""
        self.known[key] = trial
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps({"key": key, "trial": trial._asdict()}) + "\n")


def compute(name: str, methods: Sequence[str], seeds: range, store: Store, rows: int, threads: int) -> str:
    """Compute the trials of a set that are not in the store, and return its line of the table."""
    keys = {(m, seed): f"{name} {m} {seed} {rows} {threads}" for m in methods for seed in seeds}
    missing = {m: [seed for seed in seeds if keys[m, seed] not in store.known] for m in methods}
    table, labels = named_table(name, rows)
    order = np.random.default_rng(0).permutation(labels.size)
    for method, method_seeds in missing.items():
        few = order[: WARM_UP.get(method, 600)]
        if method_seeds and few.size:  # compile and import before the clock runs
            METHODS[method](table.take(few), labels[few], threads)
    for seed in seeds:
        due = [method for method in methods if seed in missing[method]]
        for method, trial in next(trials_of(table, labels, due, [seed], threads)).items():
            store.keep(keys[method, seed], trial)
    found = {m: [store.known[keys[m, seed]] for seed in seeds] for m in methods}
    means = {m: Trial(*np.mean(list_of, axis=0)) for m, list_of in found.items()}
    cells = [
        f"{t.auc:.4f} ({t.fit:.2f}, {t.wall:.2f}; {t.score:.1f}; {t.log_loss:.4f}, {t.calibration_error:.4f}, "
        f"{t.rate_ratio:.3f})"
        for t in means.values()
    ]
    away = {m: means["gam"].auc - means[m].auc for m in methods if m != "gam" and "gam" in methods}
    less = ", ".join(f"{difference:+.4f} {method}" for method, difference in away.items())
    return f"{name} | {labels.size} | {' | '.join(cells)} | {less}"


def main() -> None:
    """Print a line per set."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", nargs="*", default=[*available(DENSE), *raw_available()])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first", type=int, default=10, help="seed of the first split")
    parser.add_argument("--methods", default="gam,logistic,lightgbm,early31,early63,catboost,xgboost,histgradient")
    parser.add_argument("--threads", type=int, default=1, help="threads of every method")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="largest number of rows of a set")
    parser.add_argument("--store", type=Path, default=None, help="file of the trials computed so far")
    given = parser.parse_args()
    methods, store = given.methods.split(","), Store(given.store)
    warnings.simplefilter("ignore")
    about = "AUC (CPU s, wall s; CPU µs per scored row; log loss, calibration error, predicted / observed positives)"
    print(f"set | rows | {' | '.join(methods)}: {about} | AUC of gam less", flush=True)
    seeds = range(given.first, given.first + given.splits)
    for name in given.sets:
        print(compute(name, methods, seeds, store, given.rows, given.threads), flush=True)


if __name__ == "__main__":
    main()
