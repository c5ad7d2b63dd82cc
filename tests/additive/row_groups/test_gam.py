"""`OnePassGAM.fit(groups=...)`: ranks within groups, and all that holds of models without groups."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import opauc
from opauc import OnePassGAM
from opauc.errors import IncompatibleMomentsError, InputError, UnsupportedOperationError
from opauc.metrics import GroupAuc, exact_auc

N_GROUPS, N_ROWS = 120, 6000
LATER = slice(2500, None)


def simulated(seed=0, n_rows=N_ROWS, n_groups=N_GROUPS):
    """Rows whose first number follows the base rate of their user and is noise within, labels, and users."""
    rng = np.random.default_rng(seed)
    users = rng.integers(0, n_groups, n_rows)
    level = np.random.default_rng(99).normal(size=n_groups)[users]
    rows = rng.normal(size=(n_rows, 4))
    rows[:, 0] += 2.0 * level
    score = 2.0 * level + np.sin(2.0 * rows[:, 1]) + 0.7 * rows[:, 2]
    return rows, (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-score))).astype(np.int8), users


def group_aucs(labels, scores, users):
    """The AUC within each user with rows of both classes."""
    return np.array(
        [
            exact_auc(labels[users == one], scores[users == one])
            for one in range(N_GROUPS)
            if np.ptp(labels[users == one])
        ]
    )


def new_model(**settings):
    return OnePassGAM(**{"init_size": 2500, "random_state": 0, "n_jobs": 1, **settings})


@pytest.fixture(scope="module")
def streamed():
    """A model of a stream with a basis and later rows, which tests must copy."""
    rows, labels, users = simulated()
    return new_model().partial_fit(rows, labels, groups=users)


def copy_of(model):
    return model.empty_copy().merge(model)


@pytest.mark.parametrize("trees", [False, True])
def test_rows_are_ranked_better_within_groups_of_different_base_rates(trees):
    rows, labels, users = simulated()
    later, truth, theirs = simulated(1)
    model = new_model(init_size="auto", trees=trees)
    plain = group_aucs(truth, model.fit(rows, labels).decision_function(later), theirs)
    within = group_aucs(truth, model.fit(rows, labels, groups=users).decision_function(later), theirs)
    gains = within - plain
    assert gains.mean() > 2.0 * gains.std() / np.sqrt(gains.size)
    assert gains.mean() > 0.03


def test_what_follows_the_base_rate_alone_has_no_weight():
    rows, labels, users = simulated()
    model = new_model(init_size="auto")
    plain = model.fit(rows, labels).term_importances_["x0"]
    assert plain > 1.0
    assert model.fit(rows, labels, groups=users).term_importances_["x0"] < 0.15


def test_scores_need_no_groups_and_are_sums_of_terms(streamed):
    rows, _, _ = simulated(1)
    scores = streamed.decision_function(rows)
    assert np.ptp(scores) > 1.0
    found = streamed.explain(rows[:200])
    assert_allclose(found.baseline + found.contributions.sum(axis=1), scores[:200], rtol=1e-9, atol=1e-9)
    assert {term.name.split(" ")[0] for term in streamed.terms_} <= {"x0", "x1", "x2", "x3"}
    assert streamed.n_features_in_ == 4


def test_probabilities_are_those_of_the_mean_group(streamed):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(4000, 4))
    rows[:, 0] += 2.0 * rng.normal(size=4000)
    expected = 1.0 / (1.0 + np.exp(-(np.sin(2.0 * rows[:, 1]) + 0.7 * rows[:, 2])))  # at level zero, about the mean
    assert_allclose(streamed.predict_proba(rows)[:, 1].mean(), expected.mean(), atol=0.06)


def test_the_order_of_batches_and_their_cuts_make_no_difference():
    rows, labels, users = simulated()
    whole = new_model().partial_fit(rows, labels, groups=users)
    parts = new_model()
    for at in np.array_split(np.arange(N_ROWS), 7):
        parts.partial_fit(rows[at], labels[at], classes=[0, 1], groups=users[at])
    assert_allclose(parts.decision_function(rows), whole.decision_function(rows), rtol=1e-8, atol=1e-8)
    assert parts.group_counts_ == whole.group_counts_


def test_shards_merge_into_the_model_of_all_rows(streamed):
    rows, labels, users = simulated()
    first = new_model().partial_fit(rows[:2500], labels[:2500], groups=users[:2500])
    merged = copy_of(first)
    for at in np.array_split(np.arange(2500, N_ROWS), 4)[::-1]:
        merged.merge(first.empty_copy().partial_fit(rows[at], labels[at], groups=users[at]))
    assert_allclose(merged.decision_function(rows), streamed.decision_function(rows), rtol=1e-8, atol=1e-8)
    assert merged.group_counts_ == streamed.group_counts_


def test_rows_that_are_forgotten_were_never_there(streamed):
    rows, labels, users = simulated()
    later = np.arange(N_ROWS)[LATER]
    gone = later[::3]
    kept = np.setdiff1d(np.arange(N_ROWS), gone)
    left = copy_of(streamed).forget(rows[gone], labels[gone], groups=users[gone])
    without = new_model().partial_fit(rows[kept], labels[kept], groups=users[kept])
    assert_allclose(left.decision_function(rows), without.decision_function(rows), rtol=1e-8, atol=1e-8)
    assert left.group_counts_ == without.group_counts_
    assert left.forget_report_ == (gone.size, 0)


def test_rows_of_the_warm_up_buffer_can_be_forgotten():
    rows, labels, users = simulated(n_rows=1200)
    model = OnePassGAM(random_state=0).partial_fit(rows, labels, groups=users)
    model.forget(rows[:200], labels[:200], groups=users[:200])
    rest = OnePassGAM(random_state=0).partial_fit(rows[200:], labels[200:], groups=users[200:])
    assert_array_equal(model.decision_function(rows), rest.decision_function(rows))


def test_a_day_of_rows_is_subtracted_by_its_model(streamed):
    rows, labels, users = simulated(3)
    before = streamed.decision_function(rows)
    day = streamed.empty_copy().partial_fit(rows, labels, groups=users)
    model = copy_of(streamed).merge(day).subtract(day)
    assert_allclose(model.decision_function(rows), before, rtol=1e-7, atol=1e-7)
    assert model.group_counts_ == streamed.group_counts_


def test_saved_models_are_the_same_and_train_on(streamed, tmp_path):
    rows, labels, users = simulated(2)
    opauc.save(streamed, tmp_path / "m.opauc")
    loaded = opauc.load(tmp_path / "m.opauc")
    assert_array_equal(loaded.decision_function(rows), streamed.decision_function(rows))
    assert loaded.group_counts_ == streamed.group_counts_
    on, other = (copy_of(one).partial_fit(rows, labels, groups=users) for one in (loaded, streamed))
    assert_allclose(on.decision_function(rows), other.decision_function(rows), rtol=1e-10, atol=1e-10)


def test_a_model_for_scoring_only_knows_no_groups(streamed, tmp_path):
    rows, _, _ = simulated(2)
    opauc.save(streamed, tmp_path / "s.opauc", scoring_only=True)
    loaded = opauc.load(tmp_path / "s.opauc")
    assert_allclose(loaded.decision_function(rows), streamed.decision_function(rows), rtol=1e-5, atol=1e-5)
    assert loaded.basis_.group_levels is None
    with pytest.raises(AttributeError, match="group_counts_ needs groups"):
        _ = loaded.group_counts_


def test_weights_count_as_copies_of_rows():
    rows, labels, users = simulated(n_rows=3000)
    times = np.random.default_rng(0).integers(0, 3, 3000)
    weighted = new_model(trees=False).partial_fit(rows[:2500], labels[:2500], groups=users[:2500])
    copied = copy_of(weighted)
    at = np.arange(2500, 3000)
    weighted.partial_fit(rows[at], labels[at], sample_weight=times[at], groups=users[at])
    again = np.repeat(at, times[at])
    copied.partial_fit(rows[again], labels[again], groups=users[again])
    assert_allclose(weighted.decision_function(rows), copied.decision_function(rows), rtol=1e-3, atol=1e-3)
    assert weighted.group_counts_ == copied.group_counts_


def test_groups_are_counted():
    rng = np.random.default_rng(0)
    users = np.repeat(["a", "b", "c", "d", "e"], [400, 400, 300, 200, 1])
    labels = np.r_[rng.integers(0, 2, 800), np.ones(300), np.zeros(200), 1].astype(int)
    model = OnePassGAM(random_state=0).fit(rng.normal(size=(users.size, 2)), labels, groups=users)
    assert model.group_counts_ == (2, 2, 1.0)


def test_groups_beside_categories_without_a_column():
    rng = np.random.default_rng(4)
    n, n_shops = 9000, 400
    user, shop = rng.integers(0, 60, n), rng.integers(0, n_shops, n)
    level, effect = rng.normal(size=60)[user], rng.normal(size=n_shops)[shop]
    shops = [f"s{k}" for k in shop]
    table = pd.DataFrame({"shop": shops, "x": rng.normal(size=n) + 2 * level, "z": rng.normal(size=n)})
    labels = (rng.random(n) < 1 / (1 + np.exp(-2 * level - effect - table["z"]))).astype(int)
    train, test = slice(0, 7000), slice(7000, None)
    model = OnePassGAM(random_state=0, n_jobs=1, categorical=["shop"], init_size=5000, max_columns=150)
    model.partial_fit(table[train], labels[train], groups=user[train])
    assert model.basis_.random_effects.size > 100  # shops and users have levels at once
    scores = model.decision_function(table[test])
    oracle = (effect + table["z"].to_numpy())[test]
    found, best = (GroupAuc()(labels[test], one, groups=user[test]) for one in (scores, oracle))
    assert found > best - 0.05
    assert model.term_importances_["x"] < 0.3
    explained = model.explain(table[test])
    assert_allclose(explained.baseline + explained.contributions.sum(axis=1), scores, rtol=1e-9, atol=1e-9)


def test_rows_of_groups_without_a_level_are_not_used(streamed):
    rows, labels, users = simulated(6)
    scores = streamed.decision_function(rows)
    later = copy_of(streamed).partial_fit(rows, labels, groups=users + N_GROUPS)  # all new
    assert_allclose(later.decision_function(rows), scores, rtol=1e-9, atol=1e-9)
    assert later.group_counts_ == streamed.group_counts_._replace(unused_rows=float(labels.size))
    assert sum(later._fitted.counts) == sum(streamed._fitted.counts) + labels.size
    later.forget(rows[:100], labels[:100], groups=users[:100] + N_GROUPS)
    assert later.group_counts_.unused_rows == labels.size - 100


def test_single_rows_of_groups_are_not_used():
    rows, labels, users = simulated(n_rows=3000)
    alone = np.r_[np.zeros(3000, bool), np.ones(1000, bool)]
    more, their_labels, _ = simulated(8, n_rows=1000)
    model = OnePassGAM(random_state=0, trees=False)
    model.fit(np.r_[rows, more], np.r_[labels, their_labels], groups=np.r_[users, 1000 + np.arange(1000)])
    assert model.group_counts_.unused_rows == alone.sum()
    scores = model.decision_function(more)
    expected = model.fit(rows, labels, groups=users).decision_function(more)
    assert np.corrcoef(scores, expected)[0, 1] > 0.99
    for apart in (np.arange(3000), labels):  # rows by themselves, and groups of one class
        with pytest.raises(InputError, match="groups: expected groups with rows of both classes"):
            model.fit(rows, labels, groups=apart)


def test_values_that_look_alike_are_one_group():
    rows, labels, users = simulated(n_rows=1500)
    scores = [
        OnePassGAM(random_state=0).fit(rows, labels, groups=given).decision_function(rows)
        for given in (users, users.astype(str), users.astype(float).tolist())
    ]
    assert_array_equal(scores[0], scores[1])
    assert_array_equal(scores[0], scores[2])


@pytest.mark.parametrize("trees", [False, True])
def test_a_large_sample_is_drawn_and_all_rows_are_processed(trees):
    rows, labels, users = simulated(n_rows=12_000)
    model = new_model(init_size=4000, trees=trees).fit(rows, labels, groups=users)
    assert sum(model._fitted.counts) == 12_000
    tally = model._fitted.current.model.tally
    assert tally.counts.sum() == 12_000
    later, truth, theirs = simulated(1)
    assert group_aucs(truth, model.decision_function(later), theirs).mean() > 0.68


def test_mistakes_name_the_parameter(streamed):
    rows, labels, users = simulated(n_rows=300)
    lines = [
        (
            lambda: new_model().fit(rows, labels, groups=users[:-1]),
            ValueError,
            "groups must hold one value for each of",
        ),
        (lambda: new_model().fit(rows, labels, groups=[None, *users[1:]]), ValueError, "groups must have no missing"),
        (lambda: copy_of(streamed).partial_fit(rows, labels), InputError, "groups: the model began with groups"),
        (
            lambda: new_model().partial_fit(rows, labels).partial_fit(rows, labels, groups=users),
            InputError,
            "groups: the model began without groups",
        ),
        (lambda: copy_of(streamed).forget(rows, labels), InputError, "groups: the model began with groups"),
        (
            lambda: new_model().fit(rows, np.arange(300) % 3, groups=users),
            InputError,
            "groups: an additive model with groups takes two classes, got 3",
        ),
        (
            lambda: new_model(objective="pauc").fit(rows, labels, groups=users),
            InputError,
            "groups: a model with groups takes no objective",
        ),
        (
            lambda: new_model(monotone_constraints={1: 1}).fit(rows, labels, groups=users),
            InputError,
            "groups: a model with groups takes no monotone_constraints",
        ),
        (
            lambda: new_model().fit(pd.DataFrame(rows).assign(y=labels), label="y", groups=users),
            InputError,
            "groups are for rows in memory",
        ),
        (lambda: streamed.remove("x1"), UnsupportedOperationError, "a model with groups takes no edits"),
        (
            lambda: copy_of(streamed).merge(new_model().partial_fit(rows, labels)),
            IncompatibleMomentsError,
            "a model with groups and one without do not merge",
        ),
    ]
    for run, kind, message in lines:
        with pytest.raises(kind, match=re.escape(message)) as caught:
            run()
        assert "\n" not in str(caught.value)


def test_models_without_groups_have_no_counts_of_them():
    rows, labels, _ = simulated(n_rows=300)
    with pytest.raises(AttributeError, match="group_counts_ needs groups in fit"):
        _ = OnePassGAM().fit(rows, labels).group_counts_
