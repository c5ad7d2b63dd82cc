"""More categories than columns: each has a random effect, and all laws of sums hold."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from opauc import OnePassGAM, load, save
from opauc.additive.settings import AdditiveSettings
from opauc.additive.state import AdditiveFit
from opauc.additive.terms.explain import Terms
from opauc.metrics import exact_auc

CATEGORICAL = np.array([True, True, False])
SETTINGS = AdditiveSettings(max_columns=80, init_size=2500, trees=False, random_state=0)  # test_model.py has trees


def sample(seed, n_rows, sizes=(600, 300)):
    """Two categories of very many levels, each with an effect of its own, and a number."""
    truth, rng = np.random.default_rng(99), np.random.default_rng(seed)
    levels = np.stack([rng.integers(0, size, n_rows) for size in sizes], axis=1)
    number = rng.normal(size=n_rows)
    score = number + sum(truth.normal(size=size)[levels[:, k]] for k, size in enumerate(sizes))
    return np.c_[levels, number].astype(float), (rng.random(n_rows) < expit(score)).astype(np.int8)


@pytest.fixture(scope="module")
def fitted():
    rows, labels = sample(0, 12_000)
    return AdditiveFit.start(SETTINGS, CATEGORICAL, 0).update(rows, labels)


def scores(fit, seed=7):
    return fit.scorer.scores(sample(seed, 2000)[0])


def test_scores_rank_as_a_logistic_regression_with_a_column_per_category_does(fitted):
    (rows, labels), (test, truth) = sample(0, 12_000), sample(7, 4000)
    assert fitted.current.basis.n_columns <= 80
    peer = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=500))
    levels = test[:, :2].astype(int)
    theirs = peer.fit(rows[:, :2].astype(int), labels).decision_function(levels) + test[:, 2]
    ours = exact_auc(truth, fitted.scorer.scores(test))
    assert ours > exact_auc(truth, theirs) - 0.005
    basis, weights = fitted.current.basis, fitted.final.weights
    assert ours > exact_auc(truth, basis.products(test, weights[: basis.n_columns])) + 0.05


def test_sixteen_shards_of_one_basis_score_as_one_stream(fitted):
    rows, labels = sample(1, 4000)
    shards = [fitted.empty_copy().update(rows[k::16], labels[k::16]) for k in range(16)]
    merged = fitted
    for shard in shards:
        merged = merged.merge(shard)
    assert_allclose(scores(merged), scores(fitted.update(rows, labels)), atol=1e-8)


def test_subtracted_rows_leave_no_trace(fitted):
    rows, labels = sample(2, 4000)
    assert_allclose(scores(fitted.update(rows, labels).subtract(rows, labels)), scores(fitted), atol=1e-8)


def test_parts_give_the_same_fit_back(fitted):
    again = AdditiveFit.from_parts(*fitted.to_parts(), fitted.n_features)
    assert np.array_equal(scores(again), scores(fitted))
    header, arrays = fitted.to_parts()
    short = {name: array for name, array in arrays.items() if not name.startswith("model.random_effects.")}
    with pytest.raises(ValueError, match="random_effects"):
        AdditiveFit.from_parts(header, short, fitted.n_features)


def test_terms_add_up_to_the_score_and_name_every_level(fitted):
    terms = Terms(fitted, ("who", "where", "age"), ({}, {}, {}))
    rows = np.vstack([sample(7, 300)[0], [[np.nan, 5000.0, 0.0]]])
    assert_allclose(terms.explain(rows).scores(), fitted.scorer.scores(rows), atol=1e-9)
    found = {term.name: term for term in terms.list_terms()}
    basis = fitted.current.basis
    for j, name in enumerate(("who", "where")):
        [shown] = found[name].at
        assert len(shown) == len(set(shown)) == found[name].value.size == found[name].error.size
        assert len(shown) == basis.kept_numbers()[j].size + 1
        assert (found[name].error > 0).all()
    # Over the training rows, a term has mean zero and the importance is its spread, both weighted by curvature.
    rows, labels = sample(0, 12_000)
    probability = expit(basis.products(rows, fitted.current.model.sums.expansion_point))
    margin = np.where(labels == 1, probability, 1 - probability)
    odds = np.log(margin / (1 - margin))
    curvature = np.where(odds >= 0, margin * (1 - margin), (margin - 0.5) / odds)
    explained = terms.explain(rows)
    means = np.average(explained.contributions, axis=0, weights=curvature)
    assert_allclose(means, 0.0, atol=1e-8)
    spreads = np.sqrt(np.average(explained.contributions**2, axis=0, weights=curvature))
    assert_allclose(spreads, [terms.importances()[name] for name in explained.names], atol=1e-8)


def test_a_table_of_many_categories_is_fitted_saved_and_loaded(tmp_path):
    rows, labels = sample(3, 9000)
    table = pd.DataFrame({"who": [f"w{int(n)}" for n in rows[:, 0]], "where": [f"p{int(n)}" for n in rows[:, 1]]})
    table["age"] = rows[:, 2]
    model = OnePassGAM(max_columns=80, random_state=0).fit(table, labels)
    shown = table.head(50).copy()
    shown.loc[0, "who"], shown.loc[1, "where"] = "never seen", None
    save(model, tmp_path / "model.opauc")
    again = load(tmp_path / "model.opauc")
    assert np.array_equal(again.decision_function(shown), model.decision_function(shown))
    assert_allclose(model.explain(shown).scores(), model.decision_function(shown), atol=1e-9)
    known = {term.name: term.at[0] for term in again.terms_ if len(term.at) == 1}
    assert {"w0", "w599"} <= set(known["who"])
