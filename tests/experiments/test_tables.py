"""Peers get the same table as OnePassGAM, and the figures printed are those of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from experiments.datasets import numbered
from experiments.tables import METHODS, Store, Table, Trial, calibration_error, log_loss, trials_of
from experiments.tables_report import difference, read_trials
from scipy.special import expit
from sklearn import metrics


def test_the_log_loss_is_that_of_scikit_learn():
    random = np.random.default_rng(0)
    labels, scores = random.integers(0, 2, 500), random.normal(size=500)
    assert log_loss(labels, scores) == pytest.approx(metrics.log_loss(labels, expit(scores)), rel=1e-12)


def test_the_calibration_error_of_constant_probabilities_is_their_distance_from_the_shares_of_their_rows():
    labels = np.array([0] * 30 + [1] * 10)
    assert calibration_error(labels, np.full(40, 0.25), n_bins=1) == pytest.approx(0.0)
    assert calibration_error(labels, np.full(40, 0.4), n_bins=1) == pytest.approx(0.15)


def test_strings_become_categories_and_dates_their_parts():
    frame = pd.DataFrame(
        {
            "number": [1.5, None, 2.0],
            "month": ["July", "May", "July"],
            "day": ["2024-03-01 10:30", "2023-12-31 00:00", None],
            "digits": ["12", "13", "12"],
        }
    )
    rows, categorical = numbered(frame)
    assert categorical.tolist() == [1, 7]
    np.testing.assert_array_equal(rows[:, 0], [1.5, np.nan, 2.0])
    np.testing.assert_array_equal(rows[:, 1], [0, 1, 0])
    np.testing.assert_array_equal(rows[:, 2:7], [[2024, 3, 1, 4, 10], [2023, 12, 31, 6, 0], [np.nan] * 5])


@pytest.mark.parametrize("method", ["gam", "logistic", "lightgbm", "early31", "catboost", "xgboost", "histgradient"])
def test_every_method_uses_categories_and_numbers(method):
    if method in ("catboost", "xgboost"):
        pytest.importorskip(method)
    random = np.random.default_rng(1)
    rows = np.column_stack([random.normal(size=3000), random.integers(0, 6, 3000)])
    rows[random.random(3000) < 0.1] = np.nan
    log_odds = 2 * np.nan_to_num(rows[:, 0]) + np.where(np.isin(rows[:, 1], [1, 4]), 2.0, -2.0)
    labels = (random.random(3000) < expit(log_odds)).astype(np.int8)
    (trial,) = trials_of(Table(rows, np.array([1])), labels, [method], [0])
    assert trial[method].auc > 0.85
    assert trial[method].log_loss < 0.5
    assert 0.9 < trial[method].rate_ratio < 1.1


def test_a_store_gives_back_the_trials_it_was_given(tmp_path):
    path, trial = tmp_path / "run" / "trials.jsonl", Trial(0.9, 1.0, 2.0, 3.0, 0.4, 0.01, 1.0)
    Store(path).keep("german gam 10 100000 1", trial)
    assert Store(path).known == {"german gam 10 100000 1": trial}


def test_of_early_stopping_the_better_setting_counts_on_the_splits_that_both_have(tmp_path):
    store = Store(tmp_path / "trials.jsonl")
    for key, auc in {
        "german early31 30": 0.7, "german early63 30": 0.9, "german early31 31": 0.8, "german early63 31": 0.5,
        "german early31 32": 0.1, "german gam 30": 0.75, "german gam 31": 0.75, "german gam 33": 0.2,
    }.items():  # fmt: skip
        store.keep(f"{key} 100000 1", Trial(auc, 1.0, 2.0, 3.0, 0.4, 0.01, 1.0))
    store.keep("german gam 30 5000 1", Trial(0.0, 1.0, 2.0, 3.0, 0.4, 0.01, 1.0))
    found = read_trials(store, 100_000, 1)["german"]
    assert {seed: trial.auc for seed, trial in found["early stop"].items()} == {30: 0.7, 31: 0.8}  # .75 beats .7
    assert difference(found["gam"], found["early stop"]) == pytest.approx(0.0)
    assert difference(found["gam"], found["lightgbm"]) is None


def test_methods_are_named_once():
    assert len(set(METHODS.values())) == len(METHODS)
