"""Pairs within groups against all pairs, by the AUC within groups: `python -m experiments.within_groups [TABLE ...]`.

A simulated table whose groups differ in base rate, and real tables with a
natural group: the country of a hotel guest, the airport of a flight, the
disease of a patient. The column of groups is no feature; strings are one-hot.
Three random 80/20 splits of the rows, seeds that no other study uses. A group
counts where the held-out rows have both classes; its AUCs are averaged over
the splits, and the standard error is over groups. Means over groups are
weighted equally and by held-out rows.
"""

import sys
from typing import NamedTuple

import numpy as np
import pandas as pd

from experiments.datasets import raw_frame
from opauc import OPAUC
from opauc.metrics import exact_auc
from opauc.types import Array, Floats, Labels

SEEDS = range(330, 333)
TABLES = (
    ("hotel_bookings", "country"), ("hotel_bookings", "market_segment"), ("flight_delays", "Origin"),
    ("flight_delays", "UniqueCarrier"), ("marvel", "Year"), ("support2", "dzgroup"),
)  # fmt: skip
# Categories with fewer rows are one feature.
MIN_CATEGORY_ROWS = 50
MODELS = {
    "all pairs": OPAUC(),
    "within, equal": OPAUC(pairs="within_groups"),
    "within, rows": OPAUC(pairs="within_groups", group_weight="rows"),
    "within, pairs": OPAUC(pairs="within_groups", group_weight="pairs"),
}


class GroupResult(NamedTuple):
    """The mean AUC within each group over the splits, one column per model, and its held-out rows."""

    aucs: Floats
    rows: Floats

    def gain(self, model: int, by_rows: bool) -> tuple[float, float]:
        """Return the mean gain of a model over the first one, and its standard error over groups."""
        gains, weight = self.aucs[:, model] - self.aucs[:, 0], self.rows if by_rows else np.ones(len(self.rows))
        mean = float(np.average(gains, weights=weight))
        error = np.sqrt(np.sum((weight * (gains - mean)) ** 2)) / weight.sum()
        return mean, float(error)


def simulated(n_rows: int = 40_000, n_groups: int = 800) -> tuple[Floats, Labels, Array]:
    """Return rows, labels and groups: one feature follows the base rate of the group and is noise within it."""
    random = np.random.default_rng(0)
    groups = random.integers(0, n_groups, n_rows)
    level = random.normal(size=n_groups)[groups]
    rows = random.normal(size=(n_rows, 10))
    rows[:, 0] += 2.0 * level
    score = 2.0 * level + rows[:, 1:4].sum(axis=1) * 0.5
    return rows, (random.random(n_rows) < 1.0 / (1.0 + np.exp(-score))).astype(np.int8), groups


def load_table(name: str, column: str) -> tuple[Floats, Labels, Array]:
    """Return one-hot features of a raw table without one column, labels, and that column as groups."""
    frame, labels = raw_frame(name)
    groups = frame.pop(column).fillna("unknown").astype(str).to_numpy()
    for title in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[title]):
            texts = frame[title].astype(str)
            rare = texts.map(texts.value_counts()) < MIN_CATEGORY_ROWS
            frame[title] = texts.mask(rare, "other")
    return pd.get_dummies(frame).fillna(0.0).to_numpy(np.float64), labels, groups


def evaluate(rows: Floats, labels: Labels, groups: Array) -> GroupResult:
    """Return the AUCs within groups.

    >>> found = evaluate(*simulated(3000, 60))
    >>> found.aucs.shape[1], bool(found.gain(1, by_rows=True)[0] > 0.0)
    (4, True)
    """
    found: dict[object, list[list[float]]] = {}
    sizes: dict[object, int] = {}
    for seed in SEEDS:
        train, test = np.split(np.random.default_rng(seed).permutation(labels.size), [int(0.8 * labels.size)])
        scores = []
        for model in MODELS.values():
            given = {} if model.pairs == "all" else {"groups": groups[train]}
            scores.append(model.fit(rows[train], labels[train], **given).decision_function(rows[test]))
        order = np.argsort(groups[test], kind="stable")
        names, starts = np.unique(groups[test][order], return_index=True)
        for name, part in zip(names.tolist(), np.split(order, starts[1:]), strict=True):
            truth = labels[test][part]
            if 0 < truth.sum() < truth.size:
                found.setdefault(name, []).append([exact_auc(truth, one[part]) for one in scores])
                sizes[name] = sizes.get(name, 0) + truth.size
    aucs = np.array([np.mean(lines, axis=0) for lines in found.values()])
    return GroupResult(aucs, np.array([sizes[name] for name in found], float))


def main() -> None:
    """Print two lines per table: groups weighted equally, and by rows."""
    print(
        f"| table, group | groups | mean over groups | {' | '.join(MODELS)} | gain ± SE of equal | of rows | of pairs |"
    )
    print("| --- " * (len(MODELS) + 6) + "|")
    tables = {"simulated": simulated()} | {f"{name}, {column}": (name, column) for name, column in TABLES}
    for title, where in tables.items():
        if sys.argv[1:] and title not in sys.argv[1:]:
            continue
        found = evaluate(*(where if len(where) == 3 else load_table(*where)))
        for by_rows in (False, True):
            weight = found.rows if by_rows else None
            cells = [f"{auc:.4f}" for auc in np.average(found.aucs, axis=0, weights=weight)]
            gains = ["{:+.4f} ± {:.4f}".format(*found.gain(model, by_rows)) for model in range(1, len(MODELS))]
            kind = "by rows" if by_rows else "equal"
            print(f"| {title} | {len(found.rows)} | {kind} | {' | '.join(cells + gains)} |", flush=True)


if __name__ == "__main__":
    main()
