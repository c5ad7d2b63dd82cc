"""Logistic regression on a table nobody cleaned: what has to be done to the columns first."""

import csv
from pathlib import Path

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

ID, WORDS, GAPS = "patient", ["texture"], ("", "?")


def logistic_auc(learn: Path, rest: Path, label: str) -> float:
    """Return the AUC on the rest of a model of the rows to learn from."""
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    rows, held_out = _columns(learn, label), _columns(rest, label)
    model = LogisticRegression(max_iter=5000)
    model.fit(np.hstack([numbers.fit_transform(rows[0]), words.fit_transform(rows[1])]), rows[2])
    scores = model.decision_function(np.hstack([numbers.transform(held_out[0]), words.transform(held_out[1])]))
    return float(roc_auc_score(held_out[2], scores))


def _columns(path: Path, label: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the numbers, nan where there are gaps, the words, and the labels."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    names = [name for name in rows[0] if name not in (ID, label, *WORDS)]
    numbers = np.array([[np.nan if row[name] in GAPS else float(row[name]) for name in names] for row in rows])
    return numbers, np.array([[row[name] for name in WORDS] for row in rows]), np.array([row[label] for row in rows])
