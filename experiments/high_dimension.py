"""What wins on sparse data of tens of thousands of features and more, in one pass.

The study of docs/research/high-dimension.md.

Run `python -m experiments.high_dimension STORE.jsonl`: results are appended
one a line, so a run that was cut short goes on where it stopped, and the
tables are printed at the end. Random 80/20 splits. "Untuned" is a method's
default; "tuned" the best of its grid on the held-out part itself, an upper
bound that favors the method tuned.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC

from experiments.datasets import FOLDER, available, load
from experiments.methods import aucs_on, weights_method
from experiments.one_pass_competitors import adagrad_logistic
from experiments.splits import Split
from opauc.baselines.uni_exp import UniExpSolver
from opauc.baselines.uni_squ import UniSquSolver
from opauc.core.solver import Solver
from opauc.linear.means import ClassMeans
from opauc.linear.progressive_selection import ProgressiveSelection
from opauc.linear.sketch_exact import SketchedExact
from opauc.linear.sketch_sgd import SketchedSGD
from opauc.types import Floats, Labels, Rows

SETS = ("reuters21578", "webkb", "news20", "news20_binary_rebuilt", "sector_part", "nsmc")
RARE = ("reuters21578: sugar", "webkb: staff", "news20: one class", "nsmc: rare")
SPLITS = (1, 2, 3, 4, 5)
ONE_PASS, BATCH = "one pass", "batch"
Fit: TypeAlias = Callable[[Rows, Labels], Floats]


def learned(learner: Solver[Any]) -> Fit:
    """Weights of a learner after one pass."""
    return lambda rows, labels: learner.weights(learner.step(learner.start(rows.shape[1]), rows, labels))


def candidates(n_rows: int) -> Iterator[tuple[str, str, bool, Fit]]:
    """Family, kind, whether it is the untuned default, and how to fit it."""
    yield "default (progressive selection)", ONE_PASS, True, learned(ProgressiveSelection())
    yield "means only", ONE_PASS, True, learned(ClassMeans())
    for alpha, power, average in product((0.0, 1e-5, 1e-4, 1e-3), (0.0, 0.25, 0.5), (True, False)):
        yield "means only", ONE_PASS, False, learned(ClassMeans(alpha=alpha, scale_power=power, average=average))
    yield "OPAUCr, rank 50", ONE_PASS, True, learned(SketchedSGD(rank=50))
    for alpha, eta0, average in product((1e-5, 1e-4, 1e-3), (0.1, 0.5, 1.0), (True, False)):
        setting = SketchedSGD(alpha, eta0, "constant", average, rank=50)
        yield "OPAUCr, rank 50", ONE_PASS, False, learned(setting)
    for alpha in (1e-3, 1e-2, 1e-1, 1.0):
        yield "closed form of the sketch", ONE_PASS, False, learned(SketchedExact(alpha, rank=50))
    for alpha, average in product((1e-3, 1e-4, 1e-5, 1e-6, 1e-7), (False, True)):
        yield "SGDClassifier, one epoch", ONE_PASS, False, lambda rows, labels, alpha=alpha, average=average: (
            SGDClassifier(loss="log_loss", alpha=alpha, average=average, max_iter=1, tol=None, random_state=0)
            .fit(rows, labels).coef_[0]
        )  # fmt: skip
    for loss, eta0 in product(("Uni-Squ", "Uni-Exp"), 2.0 ** np.arange(-6, 3)):
        univariate = UniExpSolver if loss == "Uni-Exp" else UniSquSolver
        yield f"online {loss}", ONE_PASS, False, learned(univariate(float(eta0), "constant", average=False))
    for eta0, start in product((0.1, 0.3, 1.0), (1e-4, 1e-2, 1.0)):
        yield (
            "AdaGrad, balanced logistic",
            ONE_PASS,
            False,
            lambda rows, labels, eta0=eta0, start=start: adagrad_logistic(rows, labels, eta0, start),
        )
    sizes = (0.1, 1.0) if n_rows > 100_000 else (0.1, 1.0, 10.0, 100.0)
    for size in sizes:
        yield (
            "LogisticRegression",
            BATCH,
            False,
            lambda rows, labels, size=size: (
                LogisticRegression(C=size, class_weight="balanced", max_iter=300).fit(rows, labels).coef_[0]
            ),
        )
        yield (
            "LinearSVC",
            BATCH,
            False,
            lambda rows, labels, size=size: LinearSVC(C=size / 10, class_weight="balanced").fit(rows, labels).coef_[0],
        )
    for alpha in (1e-5, 1e-4, 1e-3, 1e-2):
        yield (
            "pairwise least squares by CG",
            BATCH,
            False,
            lambda rows, labels, alpha=alpha: pairwise_least_squares(rows, labels, alpha),
        )
    for alpha, eta0, average in product((1e-5, 1e-4, 1e-3), (0.1, 0.5, 1.0), (True, False)):
        setting = SketchedSGD(alpha, eta0, "constant", average, rank=50, centering="printed")
        yield "OPAUCr as printed", ONE_PASS, False, learned(setting)


def pairwise_least_squares(rows: csr_array, labels: Labels, alpha: float) -> Floats:
    """The exact minimizer of the pair loss, covariances only ever multiplied with vectors."""
    parts = [rows[labels == k] for k in (0, 1)]
    means = [np.asarray(part.mean(axis=0)).ravel() for part in parts]
    difference = means[1] - means[0]

    def product_with(vector: Floats) -> Floats:
        out = alpha * vector + difference * (difference @ vector)
        for part, mean in zip(parts, means, strict=True):
            out += part.T @ (part @ vector) / part.shape[0] - mean * (mean @ vector)
        return out

    operator = LinearOperator((rows.shape[1],) * 2, matvec=product_with)
    return cg(operator, difference, rtol=1e-4, maxiter=200)[0]


def task(name: str) -> tuple[csr_array, Labels]:
    """Rows of unit length and labels; after a colon, a task with 1 to 2 % positives."""
    base, _, variant = name.partition(": ")
    rows, labels = load(base)
    if base == "news20":
        rows = rows.copy()
        rows.data /= np.repeat(np.sqrt(np.add.reduceat(rows.data**2, rows.indptr[:-1])), np.diff(rows.indptr))
    with np.load(FOLDER / f"{base}.npz", allow_pickle=False) as archive:
        if variant == "sugar":
            wanted = [str(topic) for topic in archive["topic_names"]].index("sugar")
            hits = np.flatnonzero(archive["topic_indices"] == wanted)
            labels = np.zeros(rows.shape[0], np.int8)
            labels[np.searchsorted(archive["topic_indptr"], hits, side="right") - 1] = 1
        elif variant == "staff":
            labels = (archive["y_multiclass"] == 6).astype(np.int8)
        elif variant == "one class":
            rows, labels = thinned(rows, (archive["y_multiclass"] == 1).astype(np.int8))
        elif variant == "rare":
            rows, labels = thinned(rows, 1 - labels)
    return rows, labels


def thinned(rows: csr_array, labels: Labels, share: float = 0.015) -> tuple[csr_array, Labels]:
    """Leave only so many positives that they are 1.5 % of the rows."""
    negative, positive = np.flatnonzero(labels == 0), np.flatnonzero(labels == 1)
    few = np.random.default_rng(7).choice(positive, round(share / (1 - share) * negative.size), replace=False)
    kept = np.sort(np.concatenate([negative, few]))
    return rows[kept], labels[kept]


def measure(store: Path) -> list[dict[str, Any]]:
    """Fill the store and return what it holds."""
    known = [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    done = {(entry["set"], entry["split"], entry["number"]) for entry in known}
    names = [name for name in (*SETS, *RARE) if available((name.partition(": ")[0],))]
    for name in names:
        rows, labels = task(name)
        for split in SPLITS[:2] if name.startswith("nsmc") else SPLITS:
            order = np.random.RandomState(split).permutation(len(labels))
            train, held = np.split(order, [len(labels) * 4 // 5])
            for number, (family, kind, default, fit) in enumerate(candidates(len(labels))):
                if (name, split, number) in done:
                    continue
                entry = {"set": name, "split": split, "number": number, "family": family, "kind": kind}
                found = aucs_on([weights_method(family, fit)], rows, labels, [Split(train, held)])
                entry |= {"default": default, "auc": float(found[0, 0])}
                known.append(entry)
                with store.open("a") as file:
                    file.write(json.dumps(entry) + "\n")
        print(f"{name}: done", file=sys.stderr, flush=True)
    return known


def report(known: list[dict[str, Any]]) -> None:
    """Print the tables."""
    runs: dict[tuple[str, str, bool, int], list[float]] = defaultdict(list)
    kinds = {}
    for entry in known:
        runs[entry["set"], entry["family"], entry["default"], entry["number"]].append(entry["auc"])
        kinds[entry["family"]] = entry["kind"]
    names = [name for name in (*SETS, *RARE) if any(key[0] == name for key in runs)]
    print("| method | setting | " + " | ".join(names) + " |")
    print("| --- | --- | " + " | ".join("---" for _ in names) + " |")
    best_one_pass = dict.fromkeys(names, 0.0)
    for kind in (ONE_PASS, BATCH):
        for family in [family for family in kinds if kinds[family] == kind]:
            for default in (True, False):
                cells = []
                for name in names:
                    means = [np.mean(v) for k, v in runs.items() if k[:3] == (name, family, default)]
                    cells.append(f"{max(means):.4f}" if means else "")
                    if means and kind == ONE_PASS:
                        best_one_pass[name] = max(best_one_pass[name], max(means))
                if any(cells):
                    setting = "untuned" if default else "tuned" if kind == ONE_PASS else "batch, tuned"
                    print(f"| {family} | {setting} | " + " | ".join(cells) + " |")
    gaps = []
    for name in names:
        mine = [np.mean(v) for k, v in runs.items() if k[:3] == (name, "default (progressive selection)", True)]
        gaps.append(f"{mine[0] - best_one_pass[name]:+.4f}")
    print("| default less the best one-pass method tuned | | " + " | ".join(gaps) + " |")


if __name__ == "__main__":
    report(measure(Path(sys.argv[1])))
