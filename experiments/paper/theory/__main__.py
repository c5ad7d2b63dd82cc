"""`python -m experiments.paper.theory [FOLDER]`: measure the theory and write the page with its figures."""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from experiments.paper.catalogue import Catalogue
from experiments.paper.data_folder import load_task
from experiments.paper.data_set import Task
from experiments.paper.theory import consistency, low_rank, ranks, regret, unbiasedness
from experiments.paper.theory.figures import low_rank_figure, regret_figure
from experiments.paper.theory.page import Measurements, render_page
from opauc.core.atomic_write import atomic_write

FOLDER = Path(__file__).parents[3] / "docs" / "research"
REGRET_SETS = ("diabetes", "fourclass", "german", "splice", "usps", "magic04", "a9a", "ijcnn1")
# Ranks that the corrected condition covers are affordable on few features only.
LOW_RANKS = {
    "diabetes": (1, 2, 5, 10, 50, 200, 1000, 12_000), "german": (1, 2, 5, 10, 20, 50, 100, 200),
    "splice": (1, 2, 5, 10, 20, 50, 100, 200), "usps": (1, 2, 5, 10, 20, 50, 100, 200),
}  # fmt: skip
ALPHA = 2.0**-10
N_ORDERS = 200
FEW_SCORES, FEW_LABELS = np.array([0.1, 0.5, -0.3, 0.9, 0.2, -1.0]), np.array([0, 1, 1, 0, 1, 0], np.int8)


def tell(what: str) -> None:
    """Say what is being measured, and the processor time so far."""
    print(f"{time.process_time():6.0f} s  {what}", file=sys.stderr, flush=True)


def measure() -> Measurements:
    """Measure everything."""
    sets = Catalogue().sets()

    def task(name: str) -> Task:
        tell(name)
        return load_task(sets[name])

    tell("Theorem 1")
    square, hinge = consistency.count_square(), consistency.count_hinge()
    bias = max(map(abs, unbiasedness.bias_of_all_orders(FEW_SCORES, FEW_LABELS).values()))
    unbiased = {name: unbiasedness.measure(task(name), ALPHA, N_ORDERS) for name in REGRET_SETS}
    tell("Theorem 2")
    regrets = {name: regret.measure(task(name)) for name in REGRET_SETS}
    tell("Theorem 3")
    sizes = sorted(sets.values(), key=lambda one: (one.suite, one.shape.n_rows))
    found = [ranks.measure(one.name, task(one.name), regret.ALPHAS) for one in sizes]
    by_rank = {name: low_rank.measure(task(name), ALPHA, some, (0, 1, 2)) for name, some in LOW_RANKS.items()}
    tell("counterexample")
    return Measurements(
        square, hinge, bias, unbiased, regrets, found, by_rank, ALPHA, low_rank.counterexample(),
        time.strftime("%Y-%m-%d"),
    )  # fmt: skip


def main() -> None:
    """Write the page and its figures."""
    parser = argparse.ArgumentParser(prog="python -m experiments.paper.theory", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="where to write the page and its figures")
    folder: Path = parser.parse_args().folder
    found = measure()
    texts = {"theory.md": render_page(found), "theory-rank.svg": low_rank_figure(found.low_rank)}
    for alpha in regret.ALPHAS:
        texts[f"theory-regret{int(np.log2(alpha))}.svg"] = regret_figure(found.regrets, alpha)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with atomic_write(folder / name) as partial:
            partial.write_text(text, encoding="utf-8")
        print(folder / name)
    tell("done")


if __name__ == "__main__":
    main()
