"""`OnePassGAM` on several classes against LightGBM: `python -m experiments.multiclass_additive [SET ...]`.

Random splits of four fifths to train on, seeds that no constant was chosen on. One thread. Printed are means over the
splits: the mean AUC over ordered pairs of classes with its standard error, the log loss, the accuracy, and CPU seconds
of the fit; then the seconds of a fit to two classes, each of which is half of the classes, and how many of these the
fit to all classes costs, divided by half the number of classes. Of large sets as many rows as the table says are drawn.
"""

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import log_loss

from experiments.datasets import FOLDER, sparse_or_dense
from opauc import OnePassGAM
from opauc.metrics import MulticlassAuc
from opauc.types import Array, Floats, Labels, Rows

SEEDS = range(420, 423)
# Rows drawn of each set; mnist has 60,000, covtype 581,012.
SETS = {"letter": 20_000, "usps": 9298, "covtype": 100_000, "connect-4": 67_557, "mnist": 20_000}
TRAINING_SHARE = 0.8


class Result(NamedTuple):
    """What a method reaches on the held-out rows of one split, and CPU seconds of its fit."""

    auc: float
    log_loss: float
    accuracy: float
    seconds: float

    @classmethod
    def of(cls, probabilities: Floats, labels: Labels, seconds: float) -> "Result":
        """Return the result of probabilities."""
        auc, accuracy = MulticlassAuc()(labels, probabilities), (probabilities.argmax(axis=1) == labels).mean()
        return cls(auc, float(log_loss(labels, probabilities)), float(accuracy), seconds)


def load_classes(name: str) -> tuple[Rows, Labels]:
    """Return the rows of a set, and its classes as numbers from zero."""
    with np.load(FOLDER / f"{name}.npz") as archive:
        parts = {key: archive[key] for key in archive.files}
    numbers: Labels = np.unique(parts["y_multiclass"], return_inverse=True)[1].astype(np.int8)
    return sparse_or_dense(parts, np.float64), numbers


def seconds_of(fit: Callable[[], Any]) -> tuple[Any, float]:
    """Return what a fit returns, and its CPU seconds."""
    start = time.process_time()
    return fit(), time.process_time() - start


def compare(rows: Rows, labels: Labels, seed: int, n_rows: int) -> tuple[Result, Result, float]:
    """Return the results of OnePassGAM and LightGBM on one split, and the seconds of a fit to two classes."""
    from lightgbm import LGBMClassifier

    order = np.random.default_rng(seed).permutation(labels.size)[:n_rows]
    train, test = np.split(order, [int(TRAINING_SHARE * order.size)])
    additive, seconds = seconds_of(lambda: OnePassGAM(n_jobs=1, random_state=0).fit(rows[train], labels[train]))
    ours = Result.of(additive.predict_proba(rows[test]), labels[test], seconds)
    boosted, seconds = seconds_of(lambda: LGBMClassifier(n_jobs=1, verbose=-1).fit(rows[train], labels[train]))
    theirs = Result.of(boosted.predict_proba(rows[test]), labels[test], seconds)
    half = labels[train] < (labels.max() + 1) / 2
    _, binary = seconds_of(lambda: OnePassGAM(n_jobs=1, random_state=0).fit(rows[train], half))
    return ours, theirs, binary


def line(name: str, results: list[Result]) -> str:
    """Return the means of results over the splits."""
    figures: Array = np.array(results)
    error = figures[:, 0].std(ddof=1) / np.sqrt(len(figures))
    auc, loss, accuracy, seconds = figures.mean(axis=0)
    return f"{name:<12} {auc:.4f} ± {error:.4f}   {loss:.4f}   {accuracy:.4f}   {seconds:6.1f} s"


def main(names: list[str]) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    small = np.random.default_rng(0).normal(size=(1200, 3))
    OnePassGAM(n_jobs=1).fit(small, np.arange(1200) % 3).predict_proba(small)  # compiles
    for name in names:
        rows, labels = load_classes(name)
        n_classes = int(labels.max()) + 1
        ours, theirs, binary = zip(*(compare(rows, labels, seed, SETS[name]) for seed in SEEDS), strict=True)
        print(f"{name}: {min(SETS[name], labels.size):,} rows, {n_classes} classes")
        print("  " + line("OnePassGAM", list(ours)))
        print("  " + line("LightGBM", list(theirs)))
        seconds = float(np.mean([result.seconds for result in ours]))
        ratio = seconds / (n_classes / 2 * float(np.mean(binary)))
        print(f"  two classes: {np.mean(binary):.1f} s; all classes cost {ratio:.2f} of K/2 times that", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(SETS))
