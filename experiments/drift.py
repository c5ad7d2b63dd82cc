"""Forgetting on a stream that drifts: `python -m experiments.drift [SET]`.

Rows in the order in which they were recorded. Each block of 50 rows is scored
by weights that are renewed every so many rows, always before it is learned; what
is printed is the mean, over all blocks but those of the first 5,000 rows, of
the AUC within the block.
"""

import sys
import time
from typing import NamedTuple

import numpy as np

from experiments.datasets import available, load
from opauc import OPAUC
from opauc.metrics import exact_auc
from opauc.types import Floats, Labels, Rows

BLOCK = 50
# Rows between two updates of the model.
UPDATES = (50, 200, 1000, 5000)
FACTORS = (1.0, 0.9999, 0.999, 0.99)
WINDOWS = (1000, 4000, 16_000)


class Found(NamedTuple):
    """The AUC of each block, the factors in use after each update, and seconds spent on learning."""

    aucs: Floats
    factors: Floats
    seconds: float


def progressive(
    model: OPAUC, rows: Rows, labels: Labels, update: int, window: int | None = None, first: int = UPDATES[-1]
) -> Found:
    """Return how well each block is ranked by a model that learns every `update` rows, of the last `window` alone.

    >>> rows, labels = np.arange(2000.0)[:, None] % 2, (np.arange(2000) % 2).astype(np.int8)
    >>> progressive(OPAUC(), rows, labels, 1000, first=1000).aucs.tolist() == [1.0] * 20
    True
    """
    aucs, factors, seconds = [], [], 0.0
    for begin in range(0, labels.size, update):
        end = min(begin + update, labels.size)
        for place in range(begin, end, BLOCK) if begin >= first else ():
            block = slice(place, min(place + BLOCK, end))
            if np.ptp(labels[block]):
                aucs.append(exact_auc(labels[block], model.decision_function(rows[block])))
        began = time.perf_counter()
        model.partial_fit(rows[begin:end], labels[begin:end], classes=[0, 1])
        if window is not None and end > window:
            gone = slice(max(0, begin - window), end - window)
            model.forget(rows[gone], labels[gone])
        seconds += time.perf_counter() - began
        factors.append(model.forgetting_factor_)
    return Found(np.array(aucs), np.array(factors), seconds)


def table(rows: Rows, labels: Labels) -> None:
    """Print a line for each way to forget, with a column for each interval between updates."""
    print("| | " + " | ".join(f"every {update:,} rows" for update in UPDATES) + " | µs a row |")
    print("| --- " * (len(UPDATES) + 2) + "|")

    def line(name: str, found: list[Found]) -> None:
        means = " | ".join(f"{one.aucs.mean():.4f}" for one in found)
        print(f"| {name} | {means} | {1e6 * found[2].seconds / labels.size:.2f} |", flush=True)

    for factor in FACTORS:
        settings = {"solver": "exact", "forgetting_factor": factor}
        line(
            f"forgetting_factor={factor:g}",
            [progressive(OPAUC(**settings), rows, labels, update) for update in UPDATES],
        )
    chosen = [progressive(OPAUC(forgetting_factor="auto", horizon=update), rows, labels, update) for update in UPDATES]
    line('forgetting_factor="auto", horizon as the updates', chosen)
    line(
        'forgetting_factor="auto"',
        [progressive(OPAUC(forgetting_factor="auto"), rows, labels, update) for update in UPDATES],
    )
    for width in WINDOWS:
        line(
            f"window of {width:,} rows",
            [progressive(OPAUC(solver="exact"), rows, labels, update, width) for update in UPDATES],
        )
    for update, found in zip(UPDATES, chosen, strict=True):
        kinds, times = np.unique(found.factors, return_counts=True)
        shares = ", ".join(f"{kind:g} ({share / times.sum():.0%})" for kind, share in zip(kinds, times, strict=True))
        print(f"\nhorizon {update:,} chose {shares}", end="")
    print()


def main() -> None:
    """Print the table of a set."""
    for name in sys.argv[1:] or available(("rialto",)):
        rows, labels = load(name)
        progressive(OPAUC(forgetting_factor="auto"), rows[:2000], labels[:2000], 1000)  # compiles
        print(f"{name}: {labels.size:,} rows, {rows.shape[1]} features, in their order\n")
        table(rows, labels)


if __name__ == "__main__":
    main()
