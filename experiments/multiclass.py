"""Mean AUC over pairs of classes, log loss and seconds of models of several classes on five tables.

`python -m experiments.multiclass [SET ...]`. Three random 70/30 splits of at most
100,000 rows (15,000 above 200 features, where LightGBM takes minutes). "one
against the rest" is a binary `OPAUC` for each class; its probabilities are divided
by their sum, and its AUC is the larger of that by these and that by its raw
scores. Rows are ranked by the scores of `OPAUC` and `OPAUCCV` and by the
probabilities of the others. `LogisticRegression` has standardized features;
LightGBM has its defaults. Seconds are CPU seconds of the fit on one core, weights
included; "binary fits" are these, divided by those of one binary fit of `OPAUC` (of
`OPAUCCV` for its own) to the same rows, of the first class against the rest.
"""

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.datasets import FOLDER, sparse_or_dense
from opauc import OPAUC, OPAUCCV
from opauc.metrics import MulticlassAuc
from opauc.types import Array, DenseRows, Floats, Labels

SEEDS = range(410, 413)
MAX_ROWS, MAX_ROWS_WIDE, FEW_FEATURES, SHARE = 100_000, 15_000, 200, 0.7
WARM_ROWS = 2_000
TABLES = ("letter", "usps", "covtype", "connect-4", "mnist")
OVO = MulticlassAuc()


class Scored(NamedTuple):
    """What a fitted method gives: scores that rank the rows for each class, and probabilities."""

    scores: Floats
    probabilities: Floats


class Trial(NamedTuple):
    """A method on one split."""

    auc: float
    log_loss: float
    seconds: float


Fit = Callable[[DenseRows, Labels], Callable[[DenseRows], Scored]]


def of_opauc(kind: type[OPAUC] | type[OPAUCCV]) -> Fit:
    """Return the fit of an estimator of several classes."""

    def fit(rows: DenseRows, labels: Labels) -> Callable[[DenseRows], Scored]:
        model = kind().fit(rows, labels)
        _ = model.coef_
        return lambda held_out: Scored(model.decision_function(held_out), model.predict_proba(held_out))

    return fit


def against_rest(rows: DenseRows, labels: Labels) -> Callable[[DenseRows], Scored]:
    """Fit a binary model for each class."""
    models = [OPAUC().fit(rows, labels == k) for k in np.unique(labels)]
    for model in models:
        _ = model.coef_

    def score(held_out: DenseRows) -> Scored:
        raw = np.column_stack([model.decision_function(held_out) for model in models])
        positive = np.column_stack([model.predict_proba(held_out)[:, 1] for model in models])
        return Scored(raw, positive / positive.sum(axis=1, keepdims=True))

    return score


def logistic(rows: DenseRows, labels: Labels) -> Callable[[DenseRows], Scored]:
    """Fit scikit-learn's logistic regression to standardized features."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)).fit(rows, labels)
    return _by_probabilities(model)


def lightgbm(rows: DenseRows, labels: Labels) -> Callable[[DenseRows], Scored]:
    """Fit LightGBM with its defaults, on one core."""
    from lightgbm import LGBMClassifier

    return _by_probabilities(LGBMClassifier(n_jobs=1, verbose=-1).fit(rows, labels))


def _by_probabilities(model: Any) -> Callable[[DenseRows], Scored]:
    def score(held_out: DenseRows) -> Scored:
        probabilities = model.predict_proba(held_out)
        return Scored(probabilities, probabilities)

    return score


METHODS: dict[str, Fit] = {
    "OPAUC": of_opauc(OPAUC),
    "OPAUCCV": of_opauc(OPAUCCV),
    "one against the rest": against_rest,
    "LogisticRegression": logistic,
    "LightGBM": lightgbm,
}


def load_classes(name: str) -> tuple[DenseRows, Labels]:
    """Return dense rows and the numbers of their classes."""
    with np.load(FOLDER / f"{name}.npz") as archive:
        parts = {key: archive[key] for key in archive.files}
    rows = sparse_or_dense(parts, np.float64)
    numbers: Array = np.unique(parts["y_multiclass"], return_inverse=True)[1].astype(np.int8)
    return rows if isinstance(rows, np.ndarray) else rows.toarray(), numbers


def trial(fit: Fit, train: tuple[DenseRows, Labels], test: tuple[DenseRows, Labels]) -> Trial:
    """Return how a method fitted to some rows does on others.

    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(600) % 3).astype(np.int8)
    >>> rows = rng.normal(size=(600, 3)) + 2 * np.eye(3)[labels]
    >>> all(trial(METHODS[name], (rows, labels), (rows, labels)).auc > 0.9 for name in METHODS)
    True
    """
    began = time.process_time()
    score = fit(*train)
    seconds = time.process_time() - began
    found = score(test[0])
    auc = max(OVO(test[1], found.scores), OVO(test[1], found.probabilities) if fit is against_rest else 0.0)
    return Trial(auc, float(log_loss(test[1], found.probabilities)), seconds)


def binary_seconds(method: str, rows: DenseRows, labels: Labels) -> float:
    """Return the CPU seconds of one binary fit."""
    kind = OPAUCCV if method == "OPAUCCV" else OPAUC
    began = time.process_time()
    _ = kind().fit(rows, labels == 0).coef_
    return time.process_time() - began


def main() -> None:
    """Print a line per table and method."""
    print("| table | rows | classes | method | AUC | OPAUC less this ± SE | log loss | seconds | binary fits |")
    print("| --- " * 9 + "|")
    for name in sys.argv[1:] or TABLES:
        rows, labels = load_classes(name)
        most = MAX_ROWS_WIDE if rows.shape[1] > FEW_FEATURES else MAX_ROWS
        for method in ("OPAUC", "OPAUCCV"):  # kernels are loaded before anything is timed
            binary_seconds(method, rows[:WARM_ROWS], labels[:WARM_ROWS])
            METHODS[method](rows[:WARM_ROWS], labels[:WARM_ROWS])
        trials: dict[str, list[Trial]] = {method: [] for method in METHODS}
        binary: dict[str, list[float]] = {method: [] for method in METHODS}
        for seed in SEEDS:
            order = np.random.default_rng(seed).permutation(labels.size)[:most]
            train, test = np.split(order, [int(SHARE * order.size)])
            for method, fit in METHODS.items():
                binary[method].append(binary_seconds(method, rows[train], labels[train]))
                trials[method].append(trial(fit, (rows[train], labels[train]), (rows[test], labels[test])))
        for method, found in trials.items():
            aucs, losses, seconds = (np.array(column) for column in zip(*found, strict=True))
            gains = np.array([one.auc for one in trials["OPAUC"]]) - aucs
            error = gains.std(ddof=1) / np.sqrt(gains.size)
            print(
                f"| {name} | {min(most, labels.size):,} | {labels.max() + 1} | {method} | {aucs.mean():.4f} | "
                f"{gains.mean():+.4f} ± {error:.4f} | {losses.mean():.4f} | {seconds.mean():.2f} | "
                f"{np.mean(seconds / np.array(binary[method])):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
