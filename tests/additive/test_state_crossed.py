"""A model with a crossed code: all laws of sums hold, and its terms add up to the score."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import opauc
from opauc import OnePassGAM, load, save
from opauc.additive.settings import AdditiveSettings
from opauc.additive.state import AdditiveFit
from opauc.additive.terms.explain import Terms
from opauc.metrics import exact_auc

CATEGORICAL = np.array([True, False, True, False])
NAMES = ("shop", "hour", "kind", "age")
SETTINGS = AdditiveSettings(max_columns=120, init_size=5000, random_state=0)


def sample(seed, n_rows, n_shops=60):
    """Shops whose effects depend on the hour, a category without effect, and a number."""
    truth, rng = np.random.default_rng(99), np.random.default_rng(seed)
    shop, hour, kind = (rng.integers(0, size, n_rows) for size in (n_shops, 24, 5))
    age = rng.normal(size=n_rows)
    score = 0.5 * age + 1.5 * truth.normal(size=(n_shops, 24))[shop, hour]
    return np.c_[shop, hour, kind, age].astype(float), (rng.random(n_rows) < expit(score)).astype(np.int8)


@pytest.fixture(scope="module")
def fitted():
    rows, labels = sample(0, 15_000)
    return AdditiveFit.start(SETTINGS, CATEGORICAL, 0).update(rows, labels)


def scores(fit, seed=7):
    return fit.scorer.scores(sample(seed, 2000)[0])


def test_the_combinations_are_found_and_rank_better_than_the_columns_alone(fitted):
    basis, weights = fitted.current.basis, fitted.final.weights
    assert [code.inputs for code in basis.crossed.codes] == [(0, 1)]
    assert weights.size == basis.n_weights
    test, truth = sample(7, 5000)
    alone = exact_auc(truth, basis.products(test, weights[: basis.n_columns]))
    assert exact_auc(truth, fitted.scorer.scores(test)) > alone + 0.05


def test_later_rows_give_effects_to_combinations_that_the_initial_sample_lacks():
    def with_new_shops(seed, n_rows):
        rows, labels = sample(seed, n_rows, n_shops=60)
        return rows + np.array([1000.0, 0.0, 0.0, 0.0]), labels

    numbers = np.array([False, False, True, False])
    first = AdditiveFit.start(SETTINGS, numbers, 0).update(*sample(0, 5000))
    assert [code.inputs for code in first.current.basis.crossed.codes] == [(0, 1)]
    later = first.update(*with_new_shops(1, 20_000))
    test, truth = with_new_shops(7, 4000)
    assert exact_auc(truth, later.scorer.scores(test)) > exact_auc(truth, first.scorer.scores(test)) + 0.05


def test_sixteen_shards_of_one_basis_score_as_one_stream(fitted):
    rows, labels = sample(1, 4000)
    merged = fitted
    for shard in [fitted.empty_copy().update(rows[k::16], labels[k::16]) for k in range(16)]:
        merged = merged.merge(shard)
    assert_allclose(scores(merged), scores(fitted.update(rows, labels)), atol=1e-8)


def test_subtracted_rows_leave_no_trace(fitted):
    rows, labels = sample(2, 4000)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 4000)
    rest = fitted.update(rows, labels, weight).subtract(rows, labels, weight)
    assert_allclose(scores(rest), scores(fitted), atol=1e-8)


def test_any_cut_of_the_rows_gives_the_same(fitted):
    rows, labels = sample(0, 15_000)
    fit = AdditiveFit.start(SETTINGS, CATEGORICAL, 0)
    for part in np.array_split(np.arange(15_000), 7):
        fit = fit.update(rows[part], labels[part])
    assert_allclose(scores(fit), scores(fitted), atol=1e-10)


def test_a_weight_counts_as_that_many_rows(fitted):
    rows, labels = sample(3, 1000)
    twice = fitted.update(np.vstack([rows, rows]), np.concatenate([labels, labels])).current.model
    weighted = fitted.update(rows, labels, np.full(1000, 2.0)).current.model
    codes = twice.columns.crossed
    assert_allclose(weighted.crossed.effects(codes), twice.crossed.effects(codes), atol=1e-12)


def test_parts_give_the_same_fit_back(fitted):
    again = AdditiveFit.from_parts(*fitted.to_parts(), fitted.n_features)
    assert np.array_equal(scores(again), scores(fitted))
    header, arrays = fitted.to_parts()
    short = {name: array for name, array in arrays.items() if not name.startswith("model.crossed.")}
    with pytest.raises(ValueError, match="crossed"):
        AdditiveFit.from_parts(header, short, fitted.n_features)
    fewer = arrays | {"model.crossed.n_levels": np.array(2**18)}
    with pytest.raises(ValueError, match="expected sums of 524288 levels"):
        AdditiveFit.from_parts(header, fewer, fitted.n_features)


def test_a_fit_for_scoring_only_scores_and_explains_the_same(fitted):
    small = fitted.scoring_only()
    header, arrays = small.to_parts()
    assert sum(array.nbytes for array in arrays.values()) < 2**20, "only levels with rows are written"
    again = type(small).from_parts(header, arrays, small.n_features)
    rows = sample(7, 300)[0]
    assert np.array_equal(again.scorer.scores(rows), small.scorer.scores(rows))
    assert_allclose(again.scorer.scores(rows), fitted.scorer.scores(rows), rtol=0.0, atol=1e-6)  # float32 effects
    mine, theirs = (Terms(fit, NAMES, ({},) * 4) for fit in (again, fitted))
    assert_allclose(mine.explain(rows).contributions, theirs.explain(rows).contributions, rtol=0.0, atol=1e-6)
    assert mine.importances() == theirs.importances()


def test_terms_add_up_to_the_score_and_name_the_most_frequent_combinations(fitted):
    terms = Terms(fitted, NAMES, ({}, {}, {}, {}))
    rows = np.vstack([sample(7, 300)[0], [[np.nan, 50.0, 1.0, 0.0]]])
    assert_allclose(terms.explain(rows).scores(), fitted.scorer.scores(rows), atol=1e-9)
    term = {term.name: term for term in terms.list_terms()}["shop × hour (codes)"]
    [shown] = term.at
    assert term.inputs == ("shop", "hour")
    assert len(shown) == len(set(shown)) == term.value.size == term.error.size == 100
    assert (term.error > 0).all()
    shop, hour = map(float, shown[0].split(" × "))
    alone = terms.explain(np.array([[shop, hour, 0.0, 0.0]]))
    assert_allclose(alone.contributions[0][alone.names.index(term.name)], term.value[0], atol=1e-12)
    # The mean over the training rows is nearly zero, and the importance nearly the spread: few combinations share
    # both of their levels with others.
    explained = terms.explain(sample(0, 15_000)[0])
    contributions = explained.contributions[:, explained.names.index(term.name)]
    assert abs(contributions.mean()) < 0.05
    assert_allclose(contributions.std(), term.importance, rtol=0.05)
    assert terms.input_importances()[1] > 0.1


def test_a_table_is_fitted_saved_loaded_and_reported(tmp_path):
    rows, labels = sample(3, 12_000)
    table = pd.DataFrame({"shop": [f"s{n:.0f}" for n in rows[:, 0]], "hour": rows[:, 1].astype(int), "age": rows[:, 3]})
    model = OnePassGAM(random_state=0).fit(table, labels)
    assert "shop × hour (codes)" in {term.name for term in model.terms_}
    shown = table.head(50).copy()
    shown.loc[0, "shop"], shown.loc[1, "hour"], shown.loc[2, "shop"] = "never seen", 99, None
    save(model, tmp_path / "model.opauc")
    again = load(tmp_path / "model.opauc")
    assert np.array_equal(again.decision_function(shown), model.decision_function(shown))
    assert_allclose(again.explain(shown).scores(), again.decision_function(shown), atol=1e-9)
    table.assign(y=labels).to_csv(tmp_path / "rows.csv", index=False)
    trained = opauc.train([tmp_path / "rows.csv"], "y", random_state=0)
    assert_allclose(trained.decision_function(shown), model.decision_function(shown), atol=1e-8)


def test_no_interactions_means_no_crossed_codes():
    rows, labels = sample(3, 12_000)
    model = OnePassGAM(random_state=0, interactions=0, categorical=[0, 2]).fit(rows, labels)
    assert not model.basis_.crossed.codes
