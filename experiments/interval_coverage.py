"""How often the 95 % interval of the AUC covers it, and how wide it is, by simulation.

Run `python -m experiments.interval_coverage [RUNS]`. The table has a line per kind of scores and number of positives,
with 500 negatives, and a column per AUC: 264 cells. A cell holds the coverage and the mean width of `auc_interval`,
then those of DeLong's variance on the logit scale as most programs have it, then the width an oracle needs: 3.92 times
the true standard deviation of the AUC. The last table is the size of the paired test at 5 %.
"""

import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtri

from opauc.metrics import AucInterval, auc_interval, compare_aucs, exact_auc
from opauc.metrics.exact_auc import Flags
from opauc.types import Floats

AUCS = (0.6, 0.8, 0.95, 0.99)
POSITIVES = (5, 10, 30, 50, 100, 400)
NEGATIVES = 500


class Scores(NamedTuple):
    """Quantile functions of the scores of both classes; that of positives depends on how far apart the classes are."""

    negatives: Callable[[Floats], Floats]
    positives: Callable[[Floats, float], Floats]
    n_values: int | None = None  # scores are cut into so many values, at equal distances between the class centers

    def of(self, quantiles: Floats, n_positives: int, apart: float) -> Floats:
        """The scores at these quantiles, positives first."""
        positives = self.positives(quantiles[:n_positives], apart)
        scores = np.append(positives, self.negatives(quantiles[n_positives:]))
        if self.n_values is None:
            return scores
        return np.searchsorted(np.linspace(0.0, apart, self.n_values + 1)[1:-1], scores).astype(float)


def shifted(distribution: stats.rv_continuous, n_values: int | None = None) -> Scores:
    """Both classes of one distribution, the positives further up."""
    return Scores(distribution.ppf, lambda quantiles, apart: distribution.ppf(quantiles) + apart, n_values)


def two_peaks(quantiles: Floats) -> Floats:
    """70 % around 0 and 30 % around 4."""
    low = quantiles < 0.7
    return np.where(
        low, ndtri(np.where(low, quantiles / 0.7, 0.5)), 4 + ndtri(np.where(low, 0.5, (1 - quantiles) / 0.3))
    )


def partly_negative(quantiles: Floats, apart: float) -> Floats:
    """2 % of the positives score like negatives."""
    like = quantiles < 0.02
    return np.where(
        like, ndtri(np.where(like, quantiles / 0.02, 0.5)), apart + ndtri(np.where(like, 0.5, (1 - quantiles) / 0.98))
    )


KINDS = {
    "normal": shifted(stats.norm),
    "t, 2 degrees": shifted(stats.t(2)),
    "Cauchy": shifted(stats.cauchy),
    "lognormal": shifted(stats.lognorm(1.0)),
    "exponential": Scores(stats.expon.ppf, lambda quantiles, apart: stats.expon.ppf(quantiles) * np.exp(apart)),
    "2 % like negatives": Scores(ndtri, partly_negative),
    "two peaks": Scores(two_peaks, lambda quantiles, apart: two_peaks(quantiles) + apart),
    "3 values": shifted(stats.norm, 3),
    "5 values": shifted(stats.norm, 5),
    "10 values": shifted(stats.norm, 10),
    "3 x wide": Scores(ndtri, lambda quantiles, apart: 3 * ndtri(quantiles) + apart),
}


@cache
def distance(kind: str, auc: float) -> float:
    """How far apart the classes are at that AUC."""
    grid = (np.arange(20_000) + 0.5) / 20_000
    quantiles, labels = np.append(grid, grid), np.arange(40_000) < 20_000
    found = brentq(
        lambda apart: exact_auc(labels, KINDS[kind].of(quantiles, 20_000, apart)) - auc, 0.0, 500.0, xtol=1e-5
    )
    return float(found)


class Setting(NamedTuple):
    """What is drawn: rows of both classes, the true AUC and the kind of scores."""

    n_positives: int
    n_negatives: int
    auc: float
    kind: str = "normal"

    def labels(self) -> Flags:
        """Positives first."""
        return np.arange(self.n_positives + self.n_negatives) < self.n_positives

    def draw(self, rng: np.random.Generator) -> Floats:
        """Scores, positives first."""
        quantiles = rng.random(self.n_positives + self.n_negatives)
        return KINDS[self.kind].of(quantiles, self.n_positives, distance(self.kind, self.auc))


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
    found = [auc_interval(labels, setting.draw(rng)) for _ in range(runs)]
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
    """How often two scorers of the same true AUC, with normal scores, are found to differ at 5 %."""
    rng, labels = np.random.default_rng(seed), setting.labels()
    up, hits = labels * np.sqrt(2) * ndtri(setting.auc), 0
    for _ in range(runs):
        noise = rng.normal(size=(2, labels.size))
        other = correlation * noise[0] + np.sqrt(1 - correlation**2) * noise[1]
        hits += compare_aucs(labels, noise[0] + up, other + up).p_value < 0.05
    return hits / runs


def lines(runs: int) -> Iterator[str]:
    """The tables, line by line."""
    yield "| scores | positives | " + " | ".join(f"AUC {auc}" for auc in AUCS) + " |"
    yield "| --- " * (2 + len(AUCS)) + "|"
    everywhere = []
    for kind in KINDS:
        for n_positives in POSITIVES:
            found = [coverage(Setting(n_positives, NEGATIVES, auc, kind), runs) for auc in AUCS]
            everywhere += found
            cells = [
                f"{one.coverage:.3f} {one.width:.3f}; {one.delong_coverage:.3f} {one.delong_width:.3f}; "
                f"{one.oracle_width:.3f}"
                for one in found
            ]
            yield f"| {kind} | {n_positives} | " + " | ".join(cells) + " |"
    ours, delong = [one.coverage for one in everywhere], [one.delong_coverage for one in everywhere]
    wide = [one.width / one.oracle_width for one in everywhere]
    yield ""
    yield f"{len(ours)} cells; median width {np.median(wide):.2f} times the oracle's"
    for name, shares in (("auc_interval", ours), ("DeLong's", delong)):
        yield f"{name}: coverage {min(shares):.3f} at least, below .90 in {sum(share < 0.9 for share in shares)} cells"
    yield ""
    yield "| correlation | positives | " + " | ".join(f"AUC {auc}" for auc in AUCS) + " |"
    yield "| --- " * (2 + len(AUCS)) + "|"
    for correlation in (0.5, 0.9):
        for n_positives in POSITIVES[:4]:
            sizes = [size_of_test(Setting(n_positives, NEGATIVES, auc), correlation, runs) for auc in AUCS]
            yield f"| {correlation} | {n_positives} | " + " | ".join(f"{size:.3f}" for size in sizes) + " |"


if __name__ == "__main__":
    for line in lines(int(sys.argv[1]) if len(sys.argv) > 1 else 2000):
        print(line, flush=True)
