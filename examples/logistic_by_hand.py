"""Logistic regression on a messy table: what has to be done to the columns first."""

import csv
from pathlib import Path

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

MISSING = ("", "?")


def logistic_auc(learn: Path, rest: Path, label: str, categorical: list[str], drop: tuple[str, ...] = ()) -> float:
    """Return the AUC on the rest of a model of the training rows."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    categories = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    rows, held_out = (_columns(path, label, categorical, drop) for path in (learn, rest))
    model = LogisticRegression(max_iter=5000)
    model.fit(np.hstack([numbers.fit_transform(rows[0]), categories.fit_transform(rows[1])]), rows[2])
    scores = model.decision_function(np.hstack([numbers.transform(held_out[0]), categories.transform(held_out[1])]))
    return float(roc_auc_score(held_out[2], scores))


def _columns(
    path: Path, label: str, categorical: list[str], drop: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the numbers, nan where missing, the strings, and the labels."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    names = [name for name in rows[0] if name not in (label, *categorical, *drop)]
    numbers = np.array([[np.nan if row[name] in MISSING else float(row[name]) for name in names] for row in rows])
    return (
        numbers,
        np.array([[row[name] for name in categorical] for row in rows]),
        np.array([row[label] for row in rows]),
    )
