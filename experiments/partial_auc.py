"""Partial AUC up to a false-positive rate of .01, of linear models on ten imbalanced tables.

`python -m experiments.partial_auc [SET ...]`. Three random 70/30 splits of at most
20,000 rows (4,000 above 200 features), seeds that no other study uses. Of sets
with several classes the rarest is positive; "covtype, second" takes the second
rarest. Figures are McClish-standardized partial AUCs of the rows held out.
`LogisticRegressionCV` works on standardized features, with ten penalties and
five folds judged by AUC (six and three above 200 features). LibAUC trains a
linear model with `pAUC_CVaR_Loss` and SOPA on standardized features for 10
epochs, in batches of 64 positives and 512 negatives; its step size, of .01 and
.001, is the best on a fifth of the training rows. It is left out where it is not installed.
"""

import importlib.util
import sys
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from experiments.datasets import FOLDER, load, sparse_or_dense
from experiments.logistic_loss import FEW_FEATURES, Method, of_solver, tuned_regression
from opauc.linear.exact_cv import ExactCV
from opauc.linear.logistic import Logistic
from opauc.linear.partial_auc import PartialAuc
from opauc.types import DenseRows, Floats, Labels

MAX_FPR = 0.01
SEEDS = range(340, 343)
MAX_ROWS, MAX_ROWS_WIDE, SHARE = 20_000, 4_000, 0.7
TABLES = (
    "w8a", "ijcnn1", "kddcup04_bio", "covtype", "covtype, second", "letter", "usps", "connect-4", "rialto", "mnist",
)  # fmt: skip
STEP_SIZES, EPOCHS, POSITIVES, NEGATIVES = (0.01, 0.001), 10, 64, 512


class Difference(NamedTuple):
    """The mean difference of two methods over the splits, and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, first: Floats, second: Floats) -> "Difference":
        """Return that of the first less the second."""
        gains = first - second
        return cls(float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(gains.size)))

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f}"


def partial_auc(labels: Labels, scores: Floats) -> float:
    """Return the standardized partial AUC.

    >>> partial_auc(np.array([0, 0, 1, 1]), np.array([0.0, 1.0, 2.0, 3.0]))
    1.0
    """
    return float(roc_auc_score(labels, scores, max_fpr=MAX_FPR))


def load_table(name: str) -> tuple[DenseRows, Labels]:
    """Return dense rows and labels with few positives."""
    name, _, which = name.partition(", ")
    with np.load(FOLDER / f"{name}.npz") as archive:
        parts = {key: archive[key] for key in archive.files}
    if "y_multiclass" in parts:
        classes, counts = np.unique(parts["y_multiclass"], return_counts=True)
        positive = classes[np.argsort(counts, kind="stable")[1 if which else 0]]
        rows, labels = sparse_or_dense(parts, np.float64), (parts["y_multiclass"] == positive).astype(np.int8)
    else:
        rows, labels = load(name)
    return rows if isinstance(rows, np.ndarray) else rows.toarray(), labels


def libauc_scores(rows: DenseRows, labels: Labels, held_out: DenseRows) -> Floats:
    """Return the scores of a linear model trained by LibAUC's loss for the partial AUC."""
    scaler = StandardScaler().fit(rows)
    scaled, fifth = scaler.transform(rows), np.arange(labels.size) % 5 == 0
    reached = [
        partial_auc(labels[fifth], scaled[fifth] @ _train_libauc(scaled[~fifth], labels[~fifth], size))
        for size in STEP_SIZES
    ]
    weights = _train_libauc(scaled, labels, STEP_SIZES[int(np.argmax(reached))])
    found: Floats = scaler.transform(held_out) @ weights
    return found


def _train_libauc(rows: DenseRows, labels: Labels, step_size: float) -> Floats:
    """Return the weights after all epochs; positives are numbered first, as the loss asks."""
    import torch
    from libauc.losses import pAUC_CVaR_Loss
    from libauc.optimizers import SOPA

    torch.manual_seed(0)
    random = np.random.default_rng(0)
    positives, negatives = (torch.tensor(rows[labels == k], dtype=torch.float32) for k in (1, 0))
    model: Any = torch.nn.Linear(rows.shape[1], 1)
    loss = pAUC_CVaR_Loss(data_len=labels.size, pos_len=len(positives), beta=MAX_FPR, device="cpu")
    optimizer = SOPA(model.parameters(), mode="adam", lr=step_size, device="cpu")
    n_positives, n_negatives = min(POSITIVES, len(positives)), min(NEGATIVES, len(negatives))
    truth = torch.cat([torch.ones(n_positives), torch.zeros(n_negatives)])
    for _ in range(EPOCHS):
        order = random.permutation(len(negatives))
        for start in range(0, len(order) - n_negatives + 1, n_negatives):
            index = random.choice(len(positives), n_positives, replace=False)
            batch = torch.cat([positives[index], negatives[order[start : start + n_negatives]]])
            value = loss(model(batch), truth, torch.tensor(index))
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
    found: Floats = model.weight.detach().numpy()[0].astype(np.float64)
    return found


def methods() -> dict[str, Method]:
    """Return the methods that are here."""
    found = {
        "square": of_solver(ExactCV()),
        "logistic": of_solver(Logistic()),
        "pauc": of_solver(PartialAuc(max_fpr=MAX_FPR)),
        "LogisticRegressionCV": tuned_regression,
    }
    return found | ({"LibAUC": libauc_scores} if importlib.util.find_spec("libauc") else {})


def evaluate(rows: DenseRows, labels: Labels, compared: dict[str, Method]) -> Floats:
    """Return the partial AUC of each method (rows) on each split.

    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(2000) % 10 == 0).astype(np.int8)
    >>> rows = rng.normal(size=(2000, 3)) + labels[:, None]
    >>> evaluate(rows, labels, {"pauc": of_solver(PartialAuc())}).shape
    (1, 3)
    """
    most = MAX_ROWS_WIDE if rows.shape[1] > FEW_FEATURES else MAX_ROWS
    columns = []
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(labels.size)[:most]
        train, test = np.split(order, [int(SHARE * order.size)])
        columns.append(
            [partial_auc(labels[test], one(rows[train], labels[train], rows[test])) for one in compared.values()]
        )
    return np.array(columns).T


def main() -> None:
    """Print a line per table."""
    compared = methods()
    others = [name for name in compared if name != "pauc"]
    print(f"| table | positives | {' | '.join(compared)} | {' | '.join(f'pauc less {name} ± SE' for name in others)} |")
    print("| --- " * (2 + len(compared) + len(others)) + "|")
    for name in sys.argv[1:] or TABLES:
        rows, labels = load_table(name)
        found = dict(zip(compared, evaluate(rows, labels, compared), strict=True))
        cells = [f"{found[one].mean():.4f}" for one in compared]
        cells += [str(Difference.of(found["pauc"], found[one])) for one in others]
        print(f"| {name} | {labels.mean():.2%} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
