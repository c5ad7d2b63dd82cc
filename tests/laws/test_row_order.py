"""The order of the rows does not matter to `fit`: shuffled or sorted, the held-out AUC is the same."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from opauc import OnePassGAM
from opauc.metrics import exact_auc

TOLERANCE = 0.002
MOST_ROWS, HELD_OUT = 40_000, 0.25


def synthetic(n_rows, seed):
    """Return features of which one acts with another, and labels."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n_rows, 4))
    rows[random.random(n_rows) < 0.05, 3] = np.nan
    score = np.sin(2 * rows[:, 0]) + rows[:, 1] * rows[:, 2] + 0.5 * rows[:, 1]
    return rows, (random.random(n_rows) < expit(score)).astype(np.int8)


def aucs_by_order(rows, labels, features):
    """Return the held-out AUC of a model of shuffled rows, and of rows sorted by label and by each feature."""
    order = np.random.default_rng(0).permutation(labels.size)[:MOST_ROWS]
    cut = int(HELD_OUT * order.size)
    test, train = order[:cut], order[cut:]
    orders = {"shuffled": train, "label": train[np.argsort(labels[train], kind="stable")]}
    orders |= {f"feature {j}": train[np.argsort(rows[train, j], kind="stable")] for j in features}
    return {
        name: exact_auc(
            labels[test], OnePassGAM(random_state=0).fit(rows[at], labels[at]).decision_function(rows[test])
        )
        for name, at in orders.items()
    }


def check_orders(aucs):
    """Raise unless the AUCs of all orders are those of shuffled rows."""
    away = {name: auc - aucs["shuffled"] for name, auc in aucs.items() if abs(auc - aucs["shuffled"]) > TOLERANCE}
    assert not away, (away, aucs)


@pytest.mark.parametrize("n_rows", [4000, 40_000])
def test_synthetic_rows_in_any_order_give_the_same_auc(n_rows):
    rows, labels = synthetic(n_rows, seed=0)
    aucs = aucs_by_order(rows, labels, features=(0, 1, 3))
    assert aucs["shuffled"] > 0.74
    check_orders(aucs)


@pytest.mark.parametrize("name", ["magic04", "letter", "a9a", "ijcnn1"])
def test_rows_of_real_tables_in_any_order_give_the_same_auc(name, real_data):
    found = real_data(name)
    if "indptr" in found:
        from scipy import sparse

        shape = tuple(int(side) for side in found["shape"])
        values = found["data"] if "data" in found else np.repeat(found["row_scale"], np.diff(found["indptr"]))
        rows = sparse.csr_array((values.astype(float), found["indices"], found["indptr"]), shape=shape).toarray()
    else:
        rows = found["X"].astype(float)
    labels = found["y"] if "y" in found else found["y_multiclass"] % 2
    labels = (labels > 0).astype(np.int8)
    spread = np.argsort(-rows.std(axis=0) / (np.abs(rows).max(axis=0) + 1e-9), kind="stable")
    check_orders(aucs_by_order(rows, labels, features=spread[:3].tolist()))


def raw_table(n_rows, seed):
    """Return a frame with numbers, strings, many categories and missing values, and labels."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 80, n_rows).astype(float),
            "income": np.where(random.random(n_rows) < 0.1, np.nan, random.lognormal(size=n_rows)),
            "city": random.choice(["Basel", "Bern", "Chur", "Genf"], n_rows, p=[0.4, 0.3, 0.2, 0.1]),
            "shop": random.integers(0, 60, n_rows).astype(str),
        }
    )
    score = 0.05 * (frame["age"] - 50) + np.sin(frame["income"].fillna(0.0)) * (frame["city"] == "Basel")
    score += 0.3 * (frame["shop"].astype(int) % 5 - 2)
    return frame, (random.random(n_rows) < expit(score)).astype(np.int8)


@pytest.mark.parametrize("n_rows", [800, 12_000])
def test_a_table_that_is_fitted_whole_has_the_same_probabilities_in_any_order(n_rows):
    """All rows are in the initial sample: another order changes the rounding of sums and nothing else."""
    frame, labels = raw_table(n_rows, seed=0)
    expected = OnePassGAM(random_state=0).fit(frame, labels).predict_proba(frame)
    for order in (np.random.default_rng(1).permutation(n_rows), np.argsort(labels, kind="stable")):
        model = OnePassGAM(random_state=0).fit(frame.iloc[order], labels[order])
        np.testing.assert_allclose(model.predict_proba(frame), expected, atol=1e-10)
