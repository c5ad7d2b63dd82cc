"""Partial AUC up to a false-positive rate of .01 of additive models, on nine imbalanced tables.

`python -m experiments.additive_partial_auc [SET ...]`. Splits and rows are those of
`experiments/partial_auc.py`: three random 70/30 splits of at most 20,000 rows (4,000
above 200 features). Figures are McClish-standardized partial AUCs of the rows held out.
LightGBM stops early on a fifth of the training rows, judged by the log loss.
"""

import sys
import warnings
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from experiments.logistic_loss import FEW_FEATURES
from experiments.partial_auc import (
    MAX_FPR,
    MAX_ROWS,
    MAX_ROWS_WIDE,
    SEEDS,
    SHARE,
    Difference,
    load_table,
    partial_auc,
)
from opauc import OnePassGAM
from opauc.types import DenseRows, Floats, Labels

TABLES = ("letter", "ijcnn1", "rialto", "kddcup04_bio", "covtype", "covtype, second", "connect-4", "usps", "w8a")
PLAIN, PLAIN_CURVES = "OnePassGAM", "without trees"
# Partial AUC of the rows held out, and the candidate taken where there are several.
Scored: TypeAlias = tuple[Floats, int]
Method: TypeAlias = Callable[[DenseRows, Labels, DenseRows], Scored]


def of_gam(**parameters: object) -> Method:
    """Return the method that fits an additive model."""

    def scores(rows: DenseRows, labels: Labels, held_out: DenseRows) -> Scored:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of columns that rank too well
            model = OnePassGAM(random_state=0, n_jobs=1, **parameters).fit(rows, labels)  # type: ignore[arg-type]
        chosen = model.objective_selection_.chosen if "objective" in parameters else 0
        return model.decision_function(held_out), chosen

    return scores


def boosted(rows: DenseRows, labels: Labels, held_out: DenseRows) -> Scored:
    """Return the scores of LightGBM with early stopping."""
    import lightgbm

    fifth = np.arange(labels.size) % 5 == 0
    parameters = {"objective": "binary", "verbosity": -1, "num_threads": 1, "seed": 0}
    train = lightgbm.Dataset(rows[~fifth], labels[~fifth])
    stop = lightgbm.early_stopping(20, verbose=False)
    booster = lightgbm.train(parameters, train, 1000, [lightgbm.Dataset(rows[fifth], labels[fifth])], callbacks=[stop])
    return np.asarray(booster.predict(held_out, raw_score=True)), 0


METHODS: dict[str, Method] = {
    PLAIN: of_gam(),
    "pauc": of_gam(objective="pauc", max_fpr=MAX_FPR),
    PLAIN_CURVES: of_gam(trees=False),
    "pauc, without trees": of_gam(trees=False, objective="pauc", max_fpr=MAX_FPR),
    "LightGBM": boosted,
}


def evaluate(rows: DenseRows, labels: Labels, compared: dict[str, Method]) -> tuple[Floats, list[list[int]]]:
    """Return the partial AUC of each method (rows) on each split, and what each took.

    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(2000) % 10 == 0).astype(np.int8)
    >>> rows = rng.normal(size=(2000, 3)) + labels[:, None]
    >>> found, taken = evaluate(rows, labels, {"pauc": of_gam(trees=False, objective="pauc", max_fpr=0.1)})
    >>> found.shape, len(taken[0])
    ((1, 3), 3)
    """
    most = MAX_ROWS_WIDE if rows.shape[1] > FEW_FEATURES else MAX_ROWS
    found, taken = np.empty((len(compared), len(SEEDS))), [list[int]() for _ in compared]
    for split, seed in enumerate(SEEDS):
        order = np.random.default_rng(seed).permutation(labels.size)[:most]
        train, test = np.split(order, [int(SHARE * order.size)])
        for place, method in enumerate(compared.values()):
            scores, chosen = method(rows[train], labels[train], rows[test])
            found[place, split] = partial_auc(labels[test], scores)
            taken[place].append(chosen)
    return found, taken


def main() -> None:
    """Print a line per table; the candidate taken in each split is in brackets, 0 being the plain likelihood."""
    pairs = [("pauc", PLAIN), ("pauc, without trees", PLAIN_CURVES), ("pauc", "LightGBM")]
    titles = [f"{one} less {two} ± SE" for one, two in pairs]
    print(f"| table | positives | {' | '.join([*METHODS, *titles])} |")
    print("| --- " * (2 + len(METHODS) + len(pairs)) + "|")
    for name in sys.argv[1:] or TABLES:
        rows, labels = load_table(name)
        found, taken = evaluate(rows, labels, METHODS)
        of = dict(zip(METHODS, found, strict=True))
        marks = [
            f" ({','.join(map(str, chosen))})" if "pauc" in one else ""
            for one, chosen in zip(METHODS, taken, strict=True)
        ]
        cells = [f"{of[one].mean():.4f}{mark}" for one, mark in zip(METHODS, marks, strict=True)]
        cells += [str(Difference.of(of[one], of[two])) for one, two in pairs]
        print(f"| {name} | {labels.mean():.2%} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
