"""`OnePassGAM`: sums that merge and forget, raw tables, terms that add up."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import opauc
from opauc import IncompatibleMomentsError, OnePassGAM


def stream(seed, n_rows=4000):
    """Two curves, an interaction of two features, a column of noise with missing values."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 5))
    score = np.sin(2 * rows[:, 0]) * 2 + rows[:, 1] ** 2 - 1 + 1.5 * np.sign(rows[:, 2] * rows[:, 3])
    labels = (rng.random(n_rows) < expit(score)).astype(np.int8)
    rows[rng.random(n_rows) < 0.1, 4] = np.nan
    return rows, labels


def table(seed, n_rows=3000):
    """Categories, booleans, dates and missing values that matter."""
    rng = np.random.default_rng(seed)
    city, paid = (
        rng.choice(["Bern", "Chur", "Genf", "Rare"], n_rows, p=[0.5, 0.3, 0.199, 0.001]),
        rng.random(n_rows) < 0.4,
    )
    age = rng.normal(40, 10, n_rows)
    days = rng.integers(0, 700, n_rows)
    score = (city == "Bern") * 1.5 - paid + 0.05 * (age - 40) + np.where(np.isin(days % 7, (2, 3)), 1.5, 0)
    labels = np.where(rng.random(n_rows) < expit(score), "yes", "no")
    frame = pd.DataFrame(
        {"city": city, "paid": paid, "age": age, "when": pd.Timestamp("2023-01-01") + pd.to_timedelta(days, "D")}
    )
    frame.loc[rng.random(n_rows) < 0.2, "age"] = np.nan
    frame.loc[rng.random(n_rows) < 0.1, "city"] = None
    return frame, labels


def gam(**settings):
    return OnePassGAM(**{"init_size": 1500, "random_state": 0, "max_columns": 300} | settings)


ROWS, LABELS = stream(0, 8000)
TEST, TRUTH = stream(1)


def test_curves_and_interactions_are_found():
    model = gam().fit(ROWS, LABELS)
    linear = LogisticRegression().fit(np.nan_to_num(ROWS), LABELS).decision_function(np.nan_to_num(TEST))
    auc = roc_auc_score(TRUTH, model.decision_function(TEST))
    assert auc > roc_auc_score(TRUTH, linear) + 0.1
    assert auc > roc_auc_score(TRUTH, gam(interactions=0).fit(ROWS, LABELS).decision_function(TEST)) + 0.03
    assert "x2 × x3" in model.term_importances_
    strongest = sorted(model.term_importances_, key=model.term_importances_.get)[-4:]
    assert {"x0", "x1", "x2 × x3"} <= set(strongest)


def test_probabilities_are_calibrated():
    probabilities = gam().fit(ROWS, LABELS).predict_proba(TEST)[:, 1]
    for low in (0.0, 0.25, 0.5, 0.75):
        there = (probabilities >= low) & (probabilities < low + 0.25)
        assert_allclose(TRUTH[there].mean(), probabilities[there].mean(), atol=0.05)


def test_sixteen_shards_with_one_basis_are_one_stream():
    model = gam().partial_fit(ROWS[:2000], LABELS[:2000], classes=[0, 1])
    one = model.empty_copy().partial_fit(ROWS, LABELS)
    shards = [model.empty_copy().partial_fit(ROWS[i::16], LABELS[i::16]) for i in range(16)]
    merged = shards[0]
    for shard in shards[1:]:
        merged.merge(shard)
    assert merged._fitted.counts == one._fitted.counts
    assert_allclose(merged.decision_function(TEST), one.decision_function(TEST), atol=1e-8, rtol=0)
    assert merged.selection_.model == one.selection_.model


def test_forgetting_a_third_is_never_having_seen_it():
    model = gam().partial_fit(ROWS[:2000], LABELS[:2000], classes=[0, 1])
    kept, gone = slice(2000, 6000), slice(6000, 8000)
    never = clone(model).partial_fit(ROWS[:2000], LABELS[:2000], classes=[0, 1]).partial_fit(ROWS[kept], LABELS[kept])
    model.partial_fit(ROWS[2000:], LABELS[2000:]).forget(ROWS[gone], LABELS[gone])
    assert_allclose(model.decision_function(TEST), never.decision_function(TEST), atol=1e-8, rtol=0)
    assert model.selection_.rows == never.selection_.rows


@pytest.mark.parametrize("cuts", [[1, 1499, 1500, 1501, 4000], [700], [3000, 3001]])
def test_any_cut_of_the_rows_gives_what_one_partial_fit_gives(cuts):
    whole, parts = gam().partial_fit(ROWS, LABELS), gam()
    for part in np.split(np.arange(8000), cuts):
        parts.partial_fit(ROWS[part], LABELS[part], classes=[0, 1])
    assert_allclose(parts.decision_function(TEST), whole.decision_function(TEST), atol=1e-8, rtol=0)


def test_a_weight_of_two_is_the_row_twice_after_the_basis():
    model = gam().partial_fit(ROWS[:2000], LABELS[:2000], classes=[0, 1])
    twice = model.empty_copy().partial_fit(np.repeat(ROWS[2000:], 2, axis=0), np.repeat(LABELS[2000:], 2))
    weighed = model.empty_copy().partial_fit(ROWS[2000:], LABELS[2000:], sample_weight=np.full(6000, 2.0))
    assert_allclose(weighed.decision_function(TEST), twice.decision_function(TEST), atol=1e-8, rtol=0)


def test_before_the_basis_is_fixed_it_scores_by_the_warm_up_buffer_and_goes_on():
    model = gam().partial_fit(ROWS[:600], LABELS[:600], classes=[0, 1])
    assert model._fitted.fixed is None
    early = roc_auc_score(TRUTH, model.decision_function(TEST))
    assert early > 0.7
    model.partial_fit(ROWS[600:], LABELS[600:])
    assert model._fitted.fixed is not None
    assert roc_auc_score(TRUTH, model.decision_function(TEST)) > early


@pytest.mark.parametrize("n_rows", [600, 4000], ids=["waiting", "basis"])
def test_a_saved_model_goes_on_to_the_same_bits(n_rows, tmp_path):
    frame, labels = table(3)
    model = gam().fit(frame[: n_rows // 2], labels[: n_rows // 2])
    opauc.save(model, tmp_path / "model")
    again = opauc.load(tmp_path / "model")
    assert again.get_params() == model.get_params()
    assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    for each in (again, model):
        each.partial_fit(frame[n_rows // 2 :], labels[n_rows // 2 :])
    assert_array_equal(again.decision_function(frame), model.decision_function(frame))
    assert [term.name for term in again.terms_] == [term.name for term in model.terms_]


def test_categories_dates_booleans_and_missing_values_count_and_new_categories_are_pooled():
    frame, labels = table(0)
    fresh, truth = table(1)
    model = gam().fit(frame, labels)
    assert roc_auc_score(truth == "yes", model.decision_function(fresh)) > 0.75
    assert model.term_importances_["when weekday"] > model.term_importances_["when month"]
    assert {"city", "paid", "age"} <= set(model.term_importances_)
    strange = fresh.assign(city="Zug")
    assert_array_equal(model.decision_function(strange), model.decision_function(fresh.assign(city="Rare")))
    (city,) = (term for term in model.terms_ if term.name == "city")
    assert set(city.at[0]) == {"Bern", "Chur", "Genf", "(others)", "missing"}
    assert np.argmax(city.value) == city.at[0].index("Bern")


def test_memory_of_categories_does_not_grow_after_the_basis():
    rng = np.random.default_rng(0)
    names = np.array([f"w{number}" for number in range(60_000)])
    labels = rng.integers(0, 2, 60_000)
    frame = pd.DataFrame({"id": names, "x": labels + rng.normal(size=60_000)})
    model = gam().fit(frame, labels)
    assert sum(len(column.categories) for column in model._columns.columns) == 0
    assert roc_auc_score(labels, model.decision_function(frame)) > 0.7


def test_a_rows_score_is_the_sum_of_its_terms_and_terms_are_centered():
    frame, labels = table(5)
    model = gam(interactions=[("age", "paid"), (0, 2)]).fit(frame, labels)
    explained = model.explain(frame)
    assert_allclose(explained.scores(), model.decision_function(frame), atol=1e-9)
    assert {"paid × age", "age × paid"} & set(explained.names)
    assert set(explained.names) == set(model.term_importances_)
    for term in model.terms_:
        assert term.value.shape == term.error.shape == tuple(len(side) for side in term.at)
        assert (term.error >= 0).all()
        assert np.isfinite(term.value).all()


def test_standard_errors_shrink_with_the_rows_and_hold_the_truth():
    rng = np.random.default_rng(2)
    rows = rng.uniform(-2, 2, size=(20_000, 1))
    truth = np.sin(2 * rows[:, 0])
    labels = (rng.random(20_000) < expit(truth)).astype(np.int8)
    few, many = (gam(n_knots=12).fit(rows[:n], labels[:n]).terms_[0] for n in (2000, 20_000))
    assert many.error.mean() < 0.6 * few.error.mean()
    at = np.array(many.at[0])
    away = np.abs(many.value - np.sin(2 * at)) / many.error
    assert np.mean(away < 3.0) > 0.9


def test_the_same_seed_gives_the_same_model_and_pairs_can_be_limited():
    rows, labels = stream(7, 3000)
    labels[::2] = 0  # so that a sample is drawn by class
    one, two = (gam(init_size=500).fit(rows, labels).decision_function(TEST) for _ in range(2))
    assert_array_equal(one, two)
    assert sum(" × " in name for name in gam(interactions=1).fit(ROWS, LABELS).term_importances_) <= 1


def test_models_that_do_not_belong_together_are_refused_and_stay():
    one, other = gam().fit(ROWS, LABELS), gam().fit(TEST, TRUTH)
    before = one.decision_function(TEST)
    with pytest.raises(IncompatibleMomentsError, match="different bases"):
        one.merge(other)
    with pytest.raises(IncompatibleMomentsError, match="classes"):
        one.merge(gam().fit(ROWS, LABELS + 1))
    with pytest.raises(IncompatibleMomentsError, match="cannot take out"):
        one.forget(np.repeat(ROWS, 2, axis=0), np.repeat(LABELS, 2))
    assert_array_equal(one.decision_function(TEST), before)
