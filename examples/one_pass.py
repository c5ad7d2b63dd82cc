"""The main job, start to finish: split a real data set, read its training part once, score the rest.

The data are scikit-learn's bundled breast-cancer measurements. Run it with `python examples/one_pass.py`.
"""

import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opauc import OPAUC

CHUNK = 50


def main() -> None:
    """Train in batches, compare held-out AUC, print what was done."""
    X, y = load_breast_cancer(return_X_y=True)
    rows, held, labels, held_labels = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    print(f"breast cancer: {len(rows)} training rows, {len(held)} held out, {X.shape[1]} features")

    OPAUC().fit(rows[:50], labels[:50])  # compiles the kernels, once per machine
    start = time.perf_counter()
    model = OPAUC()
    for begin in range(0, len(rows), CHUNK):
        model.partial_fit(rows[begin : begin + CHUNK], labels[begin : begin + CHUNK], classes=[0, 1])
    weights = model.coef_[0]
    ours = time.perf_counter() - start

    start = time.perf_counter()
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(rows, labels)
    theirs = time.perf_counter() - start

    settings = f"solver={model.solver_}, rank={model.rank_}, alpha={model.alpha:g}"
    print(f"opauc: {settings}; {CHUNK} rows per batch, each read once")
    print()
    print(f"{'':24}{'held-out AUC':>14}{'seconds':>10}")
    for name, scorer, seconds in (
        ("OPAUC, one pass", model, ours),
        ("logistic regression", logistic, theirs),
    ):
        print(f"{name:24}{roc_auc_score(held_labels, scorer.decision_function(held)):14.4f}{seconds:10.4f}")
    print()
    print(f"AUC that the statistics alone predict on the training rows: {model.moments_.binormal_auc(weights):.4f}")
    names = load_breast_cancer().feature_names
    scale = np.sqrt(np.diagonal(model.moments_.covariance_sum()) / 2)
    strongest = np.argsort(-np.abs(weights * scale))[:3]
    print("strongest features:", ", ".join(f"{names[j]} ({weights[j] * scale[j]:+.2f})" for j in strongest))


if __name__ == "__main__":
    main()
