"""The logistic loss in one pass against the square loss and scikit-learn's tuned logistic regression, on 18 tables.

`python -m experiments.logistic_loss [SET ...]`. Five random 80/20 splits of each
table, at seeds that no other study uses; the figures are held-out AUCs and CPU
seconds of training. Of larger tables a random part is taken, the same for all
methods. `LogisticRegressionCV` works on standardized features, with ten
penalties and five folds judged by AUC; six and three above 200 features.
"""

import sys
import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.datasets import DENSE, available, load, raw_frame
from experiments.splits import paired_t_test
from opauc.core.solver import AnySolver
from opauc.linear.exact_cv import ExactCV
from opauc.linear.logistic import BALANCED, Logistic
from opauc.metrics import exact_auc
from opauc.types import DenseRows, Floats, Labels, Rows

SEEDS = range(310, 315)
# The tuned regression trains fifty models on a table.
MAX_ROWS, MAX_ROWS_WIDE, WIDE = 30_000, 6_000, 500
FEW_FEATURES = 200
RAW_TABLES = ("adult", "titanic")
# Of the table, its labels and the rows to score: their scores.
Method = Callable[[DenseRows, Labels, DenseRows], Floats]


class Result(NamedTuple):
    """Held-out AUC and CPU seconds of training, by method and split."""

    aucs: Floats
    seconds: Floats


def of_solver(solver: AnySolver) -> Method:
    """Return the method that trains a solver in one pass."""

    def scores(rows: DenseRows, labels: Labels, held_out: DenseRows) -> Floats:
        state = solver.step(solver.start(rows.shape[1]), rows, labels)
        found: Floats = held_out @ solver.weights(state)
        return found

    return scores


def tuned_regression(rows: DenseRows, labels: Labels, held_out: DenseRows) -> Floats:
    """Return the scores of scikit-learn's logistic regression with a cross-validated penalty."""
    penalties, folds = (10, 5) if rows.shape[1] <= FEW_FEATURES else (6, 3)
    model = make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=penalties, cv=folds, scoring="roc_auc"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        found: Floats = model.fit(rows, labels).decision_function(held_out)
    return found


METHODS: dict[str, Method] = {
    "square": of_solver(ExactCV()),
    "logistic": of_solver(Logistic()),
    "balanced_logistic": of_solver(Logistic(loss=BALANCED)),
    "LogisticRegressionCV": tuned_regression,
}


def tables() -> list[str]:
    """Return the names of the tables that are here: the dense sets, and two raw tables one-hot."""
    return [*available(DENSE), *RAW_TABLES]


def load_table(name: str) -> tuple[Rows, Labels]:
    """Return dense rows and labels."""
    if name in RAW_TABLES:
        import pandas as pd

        frame, labels = raw_frame(name)
        return pd.get_dummies(frame, dummy_na=True).fillna(0.0).to_numpy(np.float64), labels
    rows, labels = load(name)
    return rows if isinstance(rows, np.ndarray) else rows.toarray(), labels


def evaluate(rows: DenseRows, labels: Labels) -> Result:
    """Return what the splits of one table say.

    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(300) % 2).astype(np.int8)
    >>> found = evaluate(rng.normal(size=(300, 3)) + labels[:, None], labels)
    >>> found.aucs.shape, bool((found.aucs > 0.8).all())
    ((4, 5), True)
    """
    most = MAX_ROWS_WIDE if rows.shape[1] > WIDE else MAX_ROWS
    aucs, seconds = np.zeros((2, len(METHODS), len(SEEDS)))
    for split, seed in enumerate(SEEDS):
        order = np.random.default_rng(seed).permutation(labels.size)[:most]
        train, test = np.split(order, [int(0.8 * order.size)])
        for number, method in enumerate(METHODS.values()):
            start = time.process_time()
            scores = method(rows[train], labels[train], rows[test])
            seconds[number, split] = time.process_time() - start
            aucs[number, split] = exact_auc(labels[test], scores)
    return Result(aucs, seconds)


def main() -> None:
    """Print a line per table, and the means."""
    of_solver(Logistic())(np.eye(40), (np.arange(40) % 2).astype(np.int8), np.eye(40))  # kernels compile
    print(f"| table | rows x features | {' | '.join(METHODS)} | logistic less LogisticRegressionCV ± SE |")
    print("| --- " * (len(METHODS) + 3) + "|")
    means, names = [], list(METHODS)
    for name in sys.argv[1:] or tables():
        rows, labels = load_table(name)
        found = evaluate(rows, labels)
        test = paired_t_test(found.aucs[names.index("logistic")], found.aucs[names.index("LogisticRegressionCV")])
        error = abs(test.difference / test.t) if test.t else 0.0
        cells = [f"{auc:.4f} ({cpu:.2f})" for auc, cpu in zip(*(part.mean(axis=1) for part in found), strict=True)]
        size = f"{rows.shape[0]:,} x {rows.shape[1]}"
        print(f"| {name} | {size} | {' | '.join(cells)} | {test.difference:+.4f} ± {error:.4f} |", flush=True)
        means.append(found.aucs.mean(axis=1))
    mean = np.mean(means, axis=0)
    cells = [f"{auc:.4f}" for auc in mean]
    print(f"| mean of {len(means)} | | {' | '.join(cells)} | {mean[1] - mean[-1]:+.4f} |")


if __name__ == "__main__":
    main()
