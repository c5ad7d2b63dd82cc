"""How often the 95 % interval of the AUC covers it, and how wide it is, by simulation.

Run `python -m experiments.interval_coverage [RUNS]`. Scores are normal in both classes; `deviation` is the standard
deviation of the positives when that of the negatives is one. Each cell holds the coverage and the mean width of
`auc_interval`, then those of DeLong's variance on the logit scale as most programs have it, then the width an
oracle needs: 3.92 times the true standard deviation of the AUC. The last table is the size of the paired test at 5 %.
"""

import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri

from opauc.metrics import AucInterval, auc_interval, compare_aucs
from opauc.metrics.exact_auc import Flags
from opauc.types import Floats

AUCS = (0.6, 0.8, 0.9, 0.95, 0.99, 0.999)
ROWS = ((5, 500), (10, 500), (20, 500), (50, 500), (200, 500), (500, 10), (5, 5), (10, 10), (20, 20))
DEVIATIONS = (1.0, 1.5, 2.0)


class Setting(NamedTuple):
    """What is drawn: rows of both classes, the true AUC and the deviation of the positives."""

    n_positives: int
    n_negatives: int
    auc: float
    deviation: float = 1.0

    def labels(self) -> Flags:
        """Positives first."""
        return np.arange(self.n_positives + self.n_negatives) < self.n_positives

    def shifted(self, noise: Floats) -> Floats:
        """Scores made of standard normal noise."""
        scores = noise.copy()
        scores[: self.n_positives] *= self.deviation
        scores[: self.n_positives] += ndtri(self.auc) * np.sqrt(1 + self.deviation**2)
        return scores


class Found(NamedTuple):
    """Coverage and mean width of an interval, and the same of DeLong's and of the oracle's."""

    coverage: float
    width: float
    delong_coverage: float
    delong_width: float
    oracle_width: float


def coverage(setting: Setting, runs: int, seed: int = 0) -> Found:
    """Draw scores again and again and count how often the intervals hold the true AUC.

    >>> found = coverage(Setting(10, 100, 0.9), 50)
    >>> bool(found.coverage > 0.9), bool(found.width < 0.3)
    (True, True)
    """
    rng, labels = np.random.default_rng(seed), setting.labels()
    found = [auc_interval(labels, setting.shifted(rng.normal(size=labels.size))) for _ in range(runs)]
    limits = np.array([[*one[1:3], *delong_limits(one)] for one in found])
    held = (limits[:, ::2] <= setting.auc) & (setting.auc <= limits[:, 1::2])
    widths = (limits[:, 1::2] - limits[:, ::2]).mean(axis=0)
    error = float(np.std([one.auc for one in found]))
    return Found(held[:, 0].mean(), widths[0], held[:, 1].mean(), widths[1], 3.92 * error)


def delong_limits(found: AucInterval) -> tuple[float, float]:
    """DeLong's limits, symmetric on the logit scale; those of independent pairs at AUC 0 or 1."""
    auc, low, high, error = found
    if error == 0.0 or not 0 < auc < 1:
        return low, high
    reach = -ndtri(0.025) * error / (auc * (1 - auc))
    return float(expit(logit(auc) - reach)), float(expit(logit(auc) + reach))


def size_of_test(setting: Setting, correlation: float, runs: int, seed: int = 0) -> float:
    """How often two scorers of the same true AUC are found to differ at 5 %."""
    rng, labels = np.random.default_rng(seed), setting.labels()
    hits = 0
    for _ in range(runs):
        noise = rng.normal(size=(2, labels.size))
        other = correlation * noise[0] + np.sqrt(1 - correlation**2) * noise[1]
        hits += compare_aucs(labels, setting.shifted(noise[0]), setting.shifted(other)).p_value < 0.05
    return hits / runs


def lines(runs: int) -> Iterator[str]:
    """The tables, line by line."""
    yield "| deviation | positives | negatives | " + " | ".join(f"AUC {auc}" for auc in AUCS) + " |"
    yield "| --- " * (3 + len(AUCS)) + "|"
    for deviation in DEVIATIONS:
        for rows in ROWS:
            found = [coverage(Setting(*rows, auc, deviation), runs) for auc in AUCS]
            cells = [
                f"{one.coverage:.3f} {one.width:.3f}; {one.delong_coverage:.3f} {one.delong_width:.3f}; "
                f"{one.oracle_width:.3f}"
                for one in found
            ]
            yield f"| {deviation} | {rows[0]} | {rows[1]} | " + " | ".join(cells) + " |"
    yield ""
    yield "| correlation | positives | negatives | " + " | ".join(f"AUC {auc}" for auc in AUCS[:5]) + " |"
    yield "| --- " * 8 + "|"
    for correlation in (0.5, 0.9):
        for rows in ROWS[:4]:
            sizes = [size_of_test(Setting(*rows, auc), correlation, runs) for auc in AUCS[:5]]
            yield f"| {correlation} | {rows[0]} | {rows[1]} | " + " | ".join(f"{size:.3f}" for size in sizes) + " |"


if __name__ == "__main__":
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 2000):
        print(line, flush=True)
