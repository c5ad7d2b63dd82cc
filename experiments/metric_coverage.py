"""How often the 95 % intervals of the metrics cover the true value, and the size of their paired tests, by simulation.

Run `python -m experiments.metric_coverage [RUNS [TABLE...]]`; the tables are metrics, classes, groups, clusters, tests.
Rows are drawn at random: the number of positives is random too, and the tables say what it is on average, of 2,000
rows. A cell holds the coverage and, after it, the mean width divided by what an oracle needs: 3.92 times the true
standard deviation of the metric. The true value is that of all quantiles of the score distributions. "ties" are normal
scores cut into ten values.

Further tables have Hand and Till's M, the mean of one class against the rest, the mean AUC within groups, intervals of
rows in clusters, and how often the paired test finds two scorers of equal quality to differ at 5 %.
"""

import sys
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from experiments.interval_coverage import KINDS, distance
from opauc.metrics import ClassMean, GroupAuc, MulticlassAuc, ranking_metric
from opauc.metrics.exact_auc import Flags
from opauc.metrics.ranking_metric import RankingMetric
from opauc.types import Floats

N_ROWS = 2000
POSITIVES = (20, 50, 200)
AUCS = (0.7, 0.9, 0.97)
SCORES = {"normal": "normal", "t, 2 degrees": "t, 2 degrees", "exponential": "exponential", "ties": "10 values"}
METRICS = (
    "pauc@0.01", "pauc@0.1", "pauc@0.3:0.5", "ap", "precision@50", "precision@0.05", "recall@0.05", "lift@0.1",
)  # fmt: skip
GRID = 100_000


class Setting(NamedTuple):
    """What is drawn: rows of both classes at random, of the given scores and AUC."""

    n_positives: int  # on average
    auc: float
    scores: str = "normal"
    n_rows: int = N_ROWS

    @property
    def prior(self) -> float:
        """Share of positives."""
        return self.n_positives / self.n_rows

    def draw(self, rng: np.random.Generator) -> tuple[Flags, Floats]:
        """Labels and scores, positives first; at least five of each class."""
        n_positives = int(np.clip(rng.binomial(self.n_rows, self.prior), 5, self.n_rows - 5))
        return np.arange(self.n_rows) < n_positives, self.of(rng.random(self.n_rows), n_positives)

    def of(self, quantiles: Floats, n_positives: int) -> Floats:
        """Scores at quantiles, positives first."""
        kind = SCORES[self.scores]
        return KINDS[kind].of(quantiles, n_positives, distance(kind, self.auc))


@cache
def true_value(setting: Setting, name: str) -> float:
    """The metric of all quantiles of both classes."""
    grid = (np.arange(GRID) + 0.5) / GRID
    labels = np.arange(2 * GRID) < GRID
    weight = np.where(labels, setting.prior, 1 - setting.prior) * setting.n_rows / GRID
    return ranking_metric(name)(labels, setting.of(np.append(grid, grid), GRID), weight)


class Found(NamedTuple):
    """Coverage of an interval, and its mean width divided by the oracle's; NaN where the metric does not vary."""

    coverage: float
    width: float

    @classmethod
    def of(cls, intervals: list[tuple[float, ...]], truth: float) -> "Found":
        """From intervals that begin with value, lower and upper limit."""
        values, lows, highs = np.array([interval[:3] for interval in intervals]).T
        error = float(np.std(values))
        width = float(np.mean(highs - lows)) / (3.92 * error) if error > 1e-6 else np.nan
        # The truth is a sum of shares, rounded.
        return cls(float(np.mean((lows <= truth + 1e-9) & (truth - 1e-9 <= highs))), width)


def coverage(setting: Setting, names: tuple[str, ...], runs: int, seed: int = 0) -> dict[str, Found]:
    """Draw rows again and again and count how often the intervals of the metrics hold the true values.

    >>> found = coverage(Setting(50, 0.9), ("ap",), 40)["ap"]
    >>> bool(found.coverage > 0.85), bool(found.width < 1.5)
    (True, True)
    """
    rng, metrics = np.random.default_rng(seed), [ranking_metric(name) for name in names]
    found: dict[str, list[tuple[float, ...]]] = {name: [] for name in names}
    for _ in range(runs):
        labels, scores = setting.draw(rng)
        for name, metric in zip(names, metrics, strict=True):
            found[name].append(metric.interval(labels, scores))
    return {name: Found.of(found[name], true_value(setting, name)) for name in names}


def multiclass_coverage(average: str, n_per_class: tuple[int, ...], runs: int, seed: int = 0) -> Found:
    """The same for the mean AUC of several classes; rows have normal scores, one unit up in the column of their class.

    >>> bool(multiclass_coverage("ovo", (20, 20, 20), 40).coverage > 0.85)
    True
    """
    rng, metric = np.random.default_rng(seed), MulticlassAuc(average)
    labels, n_classes = np.repeat(np.arange(len(n_per_class)), n_per_class), len(n_per_class)
    found: list[tuple[float, ...]] = []
    for _ in range(runs):
        scores = rng.normal(size=(labels.size, n_classes)) + (labels[:, None] == np.arange(n_classes))
        found.append(metric.interval(labels, scores))
    return Found.of(found, float(ndtr(1 / np.sqrt(2))))


def class_mean_coverage(name: str, n_per_class: tuple[int, ...], runs: int, seed: int = 0) -> Found:
    """The same for a metric of each class against the rest, and for the mean over the classes.

    >>> bool(class_mean_coverage("ap", (20, 20, 20), 40).coverage > 0.85)
    True
    """
    rng, metric = np.random.default_rng(seed), ClassMean(ranking_metric(name))
    labels, n_classes = np.repeat(np.arange(len(n_per_class)), n_per_class), len(n_per_class)
    found: list[tuple[float, ...]] = []
    for _ in range(runs):
        scores = rng.normal(size=(labels.size, n_classes)) + 1.5 * (labels[:, None] == np.arange(n_classes))
        found.append(metric.intervals(labels, scores).mean)
    grid = ndtri((np.arange(GRID) + 0.5) / GRID)
    quantiles, is_positive = np.append(grid + 1.5, grid), np.arange(2 * GRID) < GRID
    truths = [
        ranking_metric(name)(
            is_positive, quantiles, np.where(is_positive, positives, labels.size - positives) / GRID
        )
        for positives in n_per_class
    ]  # fmt: skip
    return Found.of(found, float(np.mean(truths)))


def group_coverage(weight: str, n_groups: int, runs: int, seed: int = 0) -> Found:
    """The same for the mean AUC within groups of 2 to 20 rows, whose base rates and AUCs differ."""
    rng, metric = np.random.default_rng(seed), GroupAuc(weight)
    found: list[tuple[float, ...]] = [metric.interval(*draw_groups(rng, n_groups)) for _ in range(runs)]
    return Found.of(found, true_group_auc(weight))


def draw_groups(rng: np.random.Generator, n_groups: int) -> tuple[Flags, Floats, Floats]:
    """Labels, scores and groups: the scores of a group share an offset, and their quality differs."""
    groups = np.repeat(np.arange(n_groups), rng.integers(2, 21, n_groups))
    offsets, apart = rng.normal(size=n_groups), 1 + 0.5 * rng.normal(size=n_groups)
    labels = rng.random(groups.size) < ndtr(-1 + offsets[groups])
    return labels, rng.normal(size=groups.size) + apart[groups] * labels + offsets[groups], groups.astype(float)


@cache
def true_group_auc(weight: str) -> float:
    """The mean over 200,000 groups."""
    return GroupAuc(weight)(*draw_groups(np.random.default_rng(99), 200_000))


def cluster_coverage(name: str, n_clusters: int, runs: int, use_clusters: bool, seed: int = 0) -> Found:
    """The same for rows in clusters of ten that share half the variance of their scores."""
    rng, metric = np.random.default_rng(seed), ranking_metric(name)
    clusters = np.repeat(np.arange(n_clusters), 10)
    found: list[tuple[float, ...]] = []
    for _ in range(runs):
        labels, scores = draw_clusters(rng, clusters)
        found.append(metric.interval(labels, scores, groups=clusters if use_clusters else None))
    return Found.of(found, true_cluster_value(name, n_clusters))


def draw_clusters(rng: np.random.Generator, clusters: Floats) -> tuple[Flags, Floats]:
    """Labels and scores: a fifth of the rows is positive."""
    shared = rng.normal(size=int(clusters[-1]) + 1)[clusters]
    labels = rng.random(clusters.size) < 0.2
    return labels, (rng.normal(size=clusters.size) + shared) / np.sqrt(2) + 1.5 * labels


@cache
def true_cluster_value(name: str, n_clusters: int) -> float:
    """The metric of all quantiles; a number of rows is that among the rows of the clusters."""
    grid = (np.arange(GRID) + 0.5) / GRID
    labels = np.arange(2 * GRID) < GRID
    weight = np.where(labels, 0.2, 0.8) * 10 * n_clusters / GRID
    return ranking_metric(name)(labels, ndtri(np.append(grid, grid)) + 1.5 * labels, weight)


def size_of_test(setting: Setting, metric: RankingMetric, runs: int, seed: int = 0) -> float:
    """How often two scorers of equal quality, with normal scores of correlation .5, are found to differ at 5 %."""
    rng, hits = np.random.default_rng(seed), 0
    for _ in range(runs):
        labels = rng.random(setting.n_rows) < setting.prior
        up = labels * np.sqrt(2) * ndtri(setting.auc)
        noise = rng.normal(size=(3, labels.size)) / np.sqrt(2)
        hits += metric.compare(labels, noise[0] + noise[1] + up, noise[0] + noise[2] + up).p_value < 0.05
    return hits / runs


def metric_lines(runs: int) -> Iterator[str]:
    """The metrics of two classes, a line per kind of scores, number of positives and AUC."""
    yield f"| scores | positives | AUC | {' | '.join(METRICS)} |"
    yield "| --- " * (3 + len(METRICS)) + "|"
    everywhere: dict[str, list[float]] = {name: [] for name in METRICS}
    for scores in SCORES:
        for n_positives in POSITIVES:
            for auc in AUCS:
                found = coverage(Setting(n_positives, auc, scores), METRICS, runs)
                for name, one in found.items():
                    everywhere[name].append(one.coverage)
                yield f"| {scores} | {n_positives} | {auc} | {cells(found.values())} |"
    yield f"| least | | | {' | '.join(f'{min(shares):.3f}' for shares in everywhere.values())} |"
    low = [f"{sum(share < 0.93 for share in shares)} of {len(shares)}" for shares in everywhere.values()]
    yield f"| below .93 | | | {' | '.join(low)} |"


def class_lines(runs: int) -> Iterator[str]:
    """The mean AUC of several classes, and the mean over classes of other metrics."""
    names = ("ap", "pauc@0.2", "precision@0.1", "recall@0.1")
    yield f"| rows of each class | auc_ovo | auc_ovr | {' | '.join(names)} |"
    yield "| --- " * (3 + len(names)) + "|"
    for sizes in ((20, 20, 20), (20, 100, 500), (50, 50, 50, 50, 50)):
        aucs = (multiclass_coverage(average, sizes, runs) for average in ("ovo", "ovr"))
        means = (class_mean_coverage(name, sizes, runs) for name in names)
        yield f"| {sizes} | {cells(aucs)} | {cells(means)} |"


def group_lines(runs: int) -> Iterator[str]:
    """The mean AUC within groups."""
    weights = ("equal", "rows", "positives", "pairs")
    yield f"| groups | {' | '.join(weights)} |"
    yield "| --- | --- | --- | --- | --- |"
    for n_groups in (10, 20, 50, 200):
        yield f"| {n_groups} | {cells(group_coverage(weight, n_groups, runs) for weight in weights)} |"


def cluster_lines(runs: int) -> Iterator[str]:
    """Rows in clusters, with intervals for independent rows and for clusters."""
    names = ("auc", "pauc@0.1", "ap", "recall@0.1")
    yield f"| clusters of 10 rows | intervals | {' | '.join(names)} |"
    yield "| --- " * (2 + len(names)) + "|"
    for n_clusters in (20, 50, 200):
        for title, use in (("of rows", False), ("of clusters", True)):
            found = (cluster_coverage(name, n_clusters, runs, use) for name in names)
            yield f"| {n_clusters} | {title} | {cells(found)} |"


def paired_test_lines(runs: int) -> Iterator[str]:
    """The size of the paired tests at 5 %."""
    yield f"| size of the test: positives | AUC | {' | '.join(METRICS)} |"
    yield "| --- " * (2 + len(METRICS)) + "|"
    for n_positives in POSITIVES:
        for auc in (0.7, 0.9):
            sizes = [size_of_test(Setting(n_positives, auc), ranking_metric(name), runs) for name in METRICS]
            yield f"| {n_positives} | {auc} | {' | '.join(f'{size:.3f}' for size in sizes)} |"


def cells(found: Iterable[Found]) -> str:
    """Coverage and width in the cells of a line."""
    return " | ".join(f"{one.coverage:.3f} {one.width:.2f}" for one in found)


TABLES = {
    "metrics": metric_lines,
    "classes": class_lines,
    "groups": group_lines,
    "clusters": cluster_lines,
    "tests": paired_test_lines,
}


if __name__ == "__main__":
    for table in sys.argv[2:] or TABLES:
        for line in TABLES[table](int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
            print(line, flush=True)
        print()
