"""What nothing-to-set costs against tuning, on every dense set: `python -m experiments.untuned [SET ...]`.

Five random 80/20 splits of each set; the figures are held-out AUCs. Of the
larger sets a random part is taken, the same for all methods.

"Best penalty" is the exact minimizer, on features as they are or standardized,
with the penalty that is best on the held-out part itself. Plain descent is
tuned on features scaled to [-1, 1] over the paper's 23 step sizes and 13
penalties, last iterate, in two ways: with the pair that is best on the
held-out part itself, which no one can know, and with the pair that five-fold
cross-validation inside the other part takes, as the paper does. Untuned
descent is OPAUC(solver="sgd"), once on features as they are, once scaled.
"""

import sys
from typing import NamedTuple

import numpy as np

from experiments.datasets import available, load, scaled
from opauc import OPAUC, OPAUCCV
from opauc.linear.grid import GridSGD
from opauc.metrics import exact_auc
from opauc.types import DenseRows, Floats, Labels

SPLITS, FOLDS = 5, 5
# The 299 pairs cost 4 ms a row at 780 features, and five times that where they are cross-validated.
MOST_ROWS, MOST_ROWS_WIDE, WIDE, MOST_VALIDATED = 50_000, 10_000, 500, 150
PENALTIES = 10.0 ** np.linspace(-9.0, 3.0, 40)  # in units of the mean variance of the features
GRID = GridSGD(average=False)


class Found(NamedTuple):
    """Held-out AUCs of one split."""

    best_penalty: float
    default_penalty: float
    chosen_penalty: float
    plain: float
    best_pair: float
    validated_pair: float
    untuned: float
    untuned_scaled: float


def one_split(rows: DenseRows, labels: Labels, seed: int) -> Found:
    """Return what a split says.

    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(400) % 2).astype(np.int8)
    >>> found = one_split(rng.normal(size=(400, 3)) + labels[:, None], labels, 0)
    >>> bool(0.8 < min(found) <= max(found) <= 1.0)
    True
    """
    order, unit = np.random.default_rng(seed).permutation(labels.size), scaled(rows)
    learned, held_out = np.split(order, [int(0.8 * labels.size)])

    def auc(weights: Floats, features: DenseRows = rows) -> float:
        return float(exact_auc(labels[held_out], features[held_out] @ weights))

    def fitted(model: OPAUC | OPAUCCV, features: DenseRows = rows) -> float:
        return auc(model.fit(features[learned], labels[learned]).coef_[0], features)

    paths = []
    for standardize in (False, True):
        exact = OPAUC(solver="exact", standardize=standardize).fit(rows[learned], labels[learned])
        variance = np.diagonal(exact.moments_.covariance_sum()).mean()
        paths.append(exact.path((PENALTIES * (2.0 if standardize else variance)).tolist()))
    return Found(
        best_penalty=max(map(auc, np.concatenate(paths))),
        default_penalty=fitted(OPAUC(solver="exact")),
        chosen_penalty=fitted(OPAUCCV()),
        plain=fitted(OPAUC(solver="sgd", standardize=False)),
        best_pair=pair_aucs(unit, labels, learned, held_out).max(),
        validated_pair=auc(validated(unit[learned], labels[learned]), unit)
        if rows.shape[1] <= MOST_VALIDATED
        else np.nan,
        untuned=fitted(OPAUC(solver="sgd")),
        untuned_scaled=fitted(OPAUC(solver="sgd"), unit),
    )


def pair_aucs(rows: DenseRows, labels: Labels, learned: Floats, held_out: Floats) -> Floats:
    """AUC of each pair of the grid, 0.5 for those that diverged."""
    weights = pair_weights(rows[learned], labels[learned])
    return np.array([exact_auc(labels[held_out], rows[held_out] @ pair) for pair in weights])


def pair_weights(rows: DenseRows, labels: Labels) -> Floats:
    """Last iterate of each pair of the grid, zero for those that diverged."""
    return GRID.candidates(GRID.step(GRID.start(rows.shape[1]), rows, labels)).weights


def validated(rows: DenseRows, labels: Labels) -> Floats:
    """Weights of the pair that is best on the folds of these rows."""
    numbers, total = np.arange(labels.size), 0.0
    for fold in range(FOLDS):
        total = total + pair_aucs(rows, labels, numbers[numbers % FOLDS != fold], numbers[numbers % FOLDS == fold])
    weights: Floats = pair_weights(rows, labels)[np.argmax(total)]
    return weights


def main() -> None:
    """Print two lines of tables a set: first the exact minimizer's, then descent's."""
    lines = []
    for name in sys.argv[1:] or available():
        rows, labels = load(name)
        most = MOST_ROWS_WIDE if rows.shape[1] > WIDE else MOST_ROWS
        part = np.sort(np.random.default_rng(0).permutation(labels.size)[:most])
        dense = rows[part] if isinstance(rows, np.ndarray) else rows[part].toarray()
        found = Found(*np.mean([one_split(dense, labels[part], seed) for seed in range(SPLITS)], axis=0))
        lines.append((name, dense.shape, found))
        print(name, *(f"{value:.4f}" for value in found), file=sys.stderr, flush=True)
    print("| set | rows x features | best penalty | OPAUCCV() | difference | OPAUC() | difference |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, (n_rows, width), found in lines:
        cells = [f"{n_rows:,} x {width}", f"{found.best_penalty:.4f}"]
        for value in (found.chosen_penalty, found.default_penalty):
            cells += [f"{value:.4f}", f"{value - found.best_penalty:+.4f}"]
        print(f"| {name} | {' | '.join(cells)} |")
    print(
        "\n| set | tuned on the held-out part | cross-validated | untuned, as it comes | less tuned | less validated ",
        end="",
    )
    print("| scaled | less tuned | plain, as it comes |\n" + "| --- " * 9 + "|")
    for name, _, found in lines:
        known = np.isfinite(found.validated_pair)
        cells = [f"{found.best_pair:.4f}", f"{found.validated_pair:.4f}" if known else ""]
        cells += [f"{found.untuned:.4f}", f"{found.untuned - found.best_pair:+.4f}"]
        cells += [f"{found.untuned - found.validated_pair:+.4f}" if known else ""]
        cells += [f"{found.untuned_scaled:.4f}", f"{found.untuned_scaled - found.best_pair:+.4f}", f"{found.plain:.4f}"]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
