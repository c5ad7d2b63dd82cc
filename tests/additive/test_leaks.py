"""A column that alone ranks nearly all rows rightly is measured, warned of once, kept and shown."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import opauc
from opauc import OnePassGAM
from opauc.additive.initial_sample import SampleRows
from opauc.additive.leaks import Leak, measure_inputs
from opauc.additive.policy import LEAK_POLICY
from opauc.cli import main


def sample(rows, labels):
    ones = np.ones(len(labels))
    return SampleRows(rows, labels.astype(np.int8), ones, np.where(labels, 0.5 / labels.sum(), 0.5 / (~labels).sum()))


def bookings(n_rows=3000, noise=0.0):
    """A refund that exists only after a cancellation, but for some noise; a price that matters a little."""
    random = np.random.default_rng(0)
    price = random.normal(100, 20, n_rows)
    canceled = random.random(n_rows) < 1.0 / (1.0 + np.exp(-(price - 110) / 20))
    refunded = canceled ^ (random.random(n_rows) < noise)
    reason = np.where(refunded, random.choice(["rain", "price"], n_rows), "none yet")
    return pd.DataFrame({"price": price, "reason": reason}), canceled.astype(int)


@pytest.mark.parametrize("seed", range(3))
def test_the_auc_of_a_column_is_that_of_its_values_by_themselves(seed):
    random = np.random.default_rng(seed)
    labels = random.random(6000) < 0.2
    rising = random.normal(size=6000) + 1.5 * labels
    few = random.integers(0, 5, 6000) + 2 * labels
    peaked = np.abs(rising)
    rows = np.c_[rising, few, np.where(labels & (random.random(6000) < 0.5), np.nan, random.normal(size=6000))]
    all_rows = replace(LEAK_POLICY, screened_auc=0.0)
    found = measure_inputs(sample(np.c_[rows, peaked], labels), np.array([False, True, False, False]), all_rows)
    rates = pd.Series(labels).groupby(few).transform("mean")
    assert found[0] == pytest.approx(roc_auc_score(labels, rising), abs=0.02)
    assert found[1] == pytest.approx(roc_auc_score(labels, rates), abs=0.02)
    assert found[2] == pytest.approx(roc_auc_score(labels, np.isnan(rows[:, 2])), abs=0.02)


@pytest.mark.parametrize("share", [0.015, 0.03, 0.2, 0.5])
@pytest.mark.parametrize("seed", range(5))
def test_few_rows_screen_out_no_column_that_ranks_nearly_all_rows_rightly(seed, share):
    random = np.random.default_rng(seed)
    labels = random.random(9000) < share
    score = random.normal(size=9000)
    leaks = np.c_[
        np.where(labels, 5.0 + score**2, -(score**2)),
        np.where(labels, random.integers(0, 30, 9000), 30 + random.integers(0, 300, 9000)),
        np.where(labels, np.nan, score),
        np.where(labels, 1.0, np.where(random.random(9000) < 0.001, 1.0, 0.0)),
    ]
    rows = sample(np.c_[leaks, score + labels], labels)
    screened = measure_inputs(rows, np.array([False, True, False, False, False]))
    on_all = measure_inputs(rows, np.array([False, True, False, False, False]), replace(LEAK_POLICY, screened_auc=0.0))
    np.testing.assert_array_equal(screened > LEAK_POLICY.min_auc, on_all > LEAK_POLICY.min_auc)
    assert (screened > LEAK_POLICY.min_auc)[[2, 3]].all()
    assert screened[4] < 0.95


def test_a_column_that_is_all_different_or_of_rare_categories_ranks_nothing():
    random = np.random.default_rng(0)
    labels = random.random(6000) < 0.3
    rows = np.c_[np.arange(6000.0), random.integers(0, 4000, 6000), random.normal(size=6000), np.full(6000, np.nan)]
    found = measure_inputs(sample(rows, labels), np.array([True, True, False, False]))
    assert np.abs(found - 0.5).max() < 0.03


@pytest.mark.parametrize("rarer", [0.5, 0.02])
def test_a_threshold_anywhere_is_found_however_rare_a_class(rarer):
    values = np.random.default_rng(0).normal(size=8000)
    labels = values > np.quantile(values, 1.0 - rarer)
    assert measure_inputs(sample(values[:, None], labels), np.array([False]))[0] > LEAK_POLICY.min_auc


def test_few_rows_of_a_class_tell_nothing():
    values = np.arange(400.0)
    assert measure_inputs(sample(values[:, None], values < 99), np.array([False])) is None
    policy = replace(LEAK_POLICY, min_rare_rows=99)
    assert measure_inputs(sample(values[:, None], values < 99), np.array([False]), policy)[0] > 0.99


def test_fit_warns_of_a_leak_and_the_model_keeps_it(tmp_path):
    frame, canceled = bookings()
    with pytest.warns(Leak, match=r"^reason: this column alone ranks the rows with AUC 1\.0000; if its value is not"):
        model = OnePassGAM(random_state=0).fit(frame, canceled)
    opauc.save(model, tmp_path / "model")
    for one in (model, opauc.load(tmp_path / "model")):
        assert [(leak.name, leak.auc) for leak in one.leaks_] == [("reason", 1.0)]
    assert OnePassGAM(random_state=0, drop=["reason"]).fit(frame, canceled).leaks_ == []


def test_a_column_that_ranks_well_is_no_leak():
    assert OnePassGAM(random_state=0).fit(*bookings(noise=0.01)).leaks_ == []


def test_partial_fit_warns_once_when_the_basis_is_fixed(recwarn):
    frame, canceled = bookings()
    model = OnePassGAM(random_state=0, init_size=1000)
    counts = []
    for at in range(0, 3000, 500):
        model.partial_fit(frame[at : at + 500], canceled[at : at + 500])
        counts.append(sum(isinstance(one.message, Leak) for one in recwarn))
    assert counts == [0, 1, 1, 1, 1, 1]


def test_train_inspect_and_the_page_name_a_leak(tmp_path, capsys, monkeypatch):
    frame, canceled = bookings()
    monkeypatch.chdir(tmp_path)
    frame.assign(label=canceled).to_csv("rows.csv", index=False)

    def run(*words):
        monkeypatch.setattr("sys.argv", ["opauc", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 0
        return capsys.readouterr()

    assert run("train", "rows.csv", "-o", "model").err.count("reason: this column alone ranks the rows") == 1
    assert "reason (AUC 1.0000)" in run("inspect", "model").out
    assert json.loads(run("inspect", "model", "--json").out.splitlines()[-1])["additive"]["leaks"] == {"reason": 1.0}
    run("report", "model", "rows.csv", "-o", "page.html")
    assert "Columns that suffice alone" in (tmp_path / "page.html").read_text()
    with pytest.warns(Leak, match="reason"):
        opauc.train("rows.csv")
