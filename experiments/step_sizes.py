"""Which step size serves the plain form of solver="sgd", standardize=False, without tuning.

Run `python -m experiments.step_sizes`; the table goes to docs/research/step-sizes.md.
Each set is read once, in random order, 80 % to learn from and 20 % held out;
the figures are held-out AUC less that of the exact minimizer.
"""

from collections import defaultdict
from collections.abc import Callable

import numpy as np
from sklearn.preprocessing import StandardScaler

from experiments.datasets import available, load, scaled
from experiments.methods import aucs_on, estimator_method
from experiments.splits import Split
from opauc import OPAUC
from opauc.types import DenseRows, Labels, Rows

GRID = [("curvature", eta0) for eta0 in (1.0, 1e2, 1e4, 1e6)] + [("constant", eta0) for eta0 in (1e-3, 1e-2, 1e-1)]
SCALINGS: dict[str, Callable[[DenseRows], DenseRows]] = {
    "to [-1, 1]": scaled,
    "to unit variance": lambda rows: StandardScaler().fit_transform(rows),
    "not at all": lambda rows: rows,
}
MOST_ROWS = 40_000


def main() -> None:
    """Measure and print the table."""
    gaps: dict[tuple[str, str, float, bool], list[float]] = defaultdict(list)
    names = [name for name in available() if name not in ("covtype", "mnist")]
    for name in names:
        raw, labels = load(name)
        order = np.random.default_rng(1).permutation(len(labels))[:MOST_ROWS]
        dense, y = (raw if isinstance(raw, np.ndarray) else raw.toarray())[order], labels[order]
        cut = len(y) * 4 // 5
        for scaling, change in SCALINGS.items():
            rows = change(dense)
            best = held_out(OPAUC(solver="exact", standardize=False), rows, y, cut)
            for learning_rate, eta0 in GRID:
                for average in (True, False):
                    settings = {"learning_rate": learning_rate, "eta0": eta0, "average": average}
                    model = OPAUC(solver="sgd", standardize=False, **settings)
                    gaps[scaling, learning_rate, eta0, average].append(held_out(model, rows, y, cut) - best)
    print(f"{len(names)} sets: {', '.join(names)}\n")
    print("| features scaled | learning_rate | eta0 | mean iterate: mean | worst | last iterate: mean | worst |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for scaling in SCALINGS:
        for learning_rate, eta0 in GRID:
            cells = [
                f(gaps[scaling, learning_rate, eta0, average]) for average in (True, False) for f in (np.mean, min)
            ]
            print(f"| {scaling} | {learning_rate} | {eta0:g} | " + " | ".join(f"{cell:+.4f}" for cell in cells) + " |")


def held_out(model: OPAUC, rows: Rows, labels: Labels, cut: int) -> float:
    """AUC on the rows after the cut of a model fitted on those before; 0.5 if it diverged."""
    split = Split(*np.split(np.arange(labels.size), [cut]))
    return float(aucs_on([estimator_method("OPAUC", model)], rows, labels, [split])[0, 0])


if __name__ == "__main__":
    main()
