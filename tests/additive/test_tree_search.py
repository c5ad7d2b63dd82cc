"""Trees are tried on rows held out, and taken where inputs act together beyond pairs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from opauc.additive import search
from opauc.additive import trees as tree_search
from opauc.additive.basis.basis import Basis
from opauc.additive.basis.knots import balance_classes
from opauc.additive.basis.leaf_indicators import LeafIndicators, ValidationGain
from opauc.additive.basis.main_effects import main_effects
from opauc.additive.boosting import FIRST_STRENGTH, FREER, USUAL, Trial
from opauc.additive.fit import PenalizedFit, choose_subset
from opauc.additive.initial_sample import SampleRows
from opauc.additive.policy import SMOOTHING_POLICY
from opauc.additive.settings import AdditiveSettings
from opauc.additive.trees import (
    FEW_JUDGES,
    FEWEST_ERRORS,
    FEWEST_OF_ALL,
    FEWEST_OF_FEW,
    SMALLER_SHARE,
    SMALLEST_SHARE,
    TreeSearch,
    gain,
)

POLICY = replace(SMOOTHING_POLICY, many_rows=1000, min_subset=400)
SCORES = {
    "three": lambda rows: 3.0 * np.sign(rows[:, :3].prod(axis=1)),
    "alone": lambda rows: rows.sum(axis=1) + np.sin(3.0 * rows[:, 0]),
    "pair": lambda rows: 2.0 * rows[:, 0] * rows[:, 1] + rows[:, 2],
    "noise": lambda rows: np.zeros(len(rows)),
    "faint three": lambda rows: 0.6 * np.sign(rows[:, :3].prod(axis=1)),
    "smooth pairs": lambda rows: (
        4.0 * np.sign(rows[:, :3] - 0.5).prod(axis=1) + 1.5 * (rows[:, 3:-1] * rows[:, 4:]).sum(axis=1)
    ),
}


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch):
    monkeypatch.setattr("opauc.additive.search.SMOOTHING_POLICY", POLICY)


def sample(seed, kind, n_rows=4000, rare=0.0):
    """Five numbers, or many, with labels of the kind, positive ones rarer by so much in log-odds."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 19 if kind == "smooth pairs" else 5))
    labels = (rng.random(n_rows) < expit(SCORES[kind](rows) - rare)).astype(np.int8)
    weight = rng.uniform(0.6, 1.5, n_rows)
    return SampleRows(rows, labels, weight, balance_classes(labels, weight))


def searched(some, more_rows=False, **settings):
    """The basis that the search finds, checked with its fit."""
    effects = main_effects(some.numbers, some.mass, some.weight, np.zeros(some.numbers.shape[1], bool), 8)
    settings = AdditiveSettings(**settings)
    basis, fit = search.InteractionSearch(Basis.of_effects(effects), effects, some, settings, more_rows).fitted()
    assert fit.weights.size == basis.n_columns <= settings.max_columns
    assert fit.lambdas.size == basis.groups.kinds.size
    assert_allclose(fit.scores, basis.products(some.numbers, fit.weights), rtol=1e-9, atol=1e-9)
    return basis, fit


def taken(probe, more_rows, n_judges=FEW_JUDGES):
    return TreeSearch(None, None, np.arange(n_judges), more_rows).takes(probe)


@given(st.integers(0, 2**32 - 1), st.integers(2, 50))
def test_a_gain_is_counted_in_its_errors_and_as_a_share_of_the_loss(seed, n_rows):
    before, after = np.random.default_rng(seed).exponential(size=(2, n_rows))
    errors = (before - after).mean() / ((before - after).std() / np.sqrt(n_rows))
    assert_allclose(gain(before, after), (errors, 1.0 - after.sum() / before.sum()), rtol=1e-9, atol=1e-12)


def test_no_gain_is_none_and_a_gain_without_error_is_sure():
    assert gain(np.ones(5), np.ones(5)) == (0.0, 0.0)
    assert gain(np.zeros(5), np.zeros(5)) == (0.0, 0.0)
    assert taken(gain(np.ones(5), np.full(5, 0.5)), True)


@pytest.mark.parametrize(
    ("judges", "errors"),
    [
        ((False,), FEWEST_OF_ALL),
        ((False, FEW_JUDGES - 1), FEWEST_OF_FEW),
        ((True,), FEWEST_ERRORS),
        ((True, 9), FEWEST_ERRORS),
    ],
)
def test_a_gain_is_taken_if_it_is_large_and_no_chance(judges, errors):
    assert taken(ValidationGain(errors + 0.1, SMALLEST_SHARE + 0.01), *judges)
    assert not taken(ValidationGain(errors, SMALLEST_SHARE + 0.01), *judges)
    assert not taken(ValidationGain(errors + 0.1, SMALLEST_SHARE), *judges)
    assert not taken(ValidationGain(-9.0, -0.2), *judges)


@pytest.mark.parametrize("n_rows", [400, 999, 1000, 1001, 1602, 4000, 12_345])
def test_rows_that_judge_were_seen_by_no_fit(n_rows):
    some = sample(0, "noise", n_rows)
    basis = Basis.of(some.numbers, some.mass, np.zeros(5, bool), n_knots=8)
    part = choose_subset(n_rows, True, POLICY)
    held = TreeSearch.of(basis, np.zeros(basis.n_columns), some, part).held
    assert not np.isin(held, part).any()
    assert n_rows / 13 <= held.size <= n_rows / 4 + 1
    assert np.unique(held).size == held.size


@pytest.mark.parametrize("more_rows", [False, True])
@pytest.mark.parametrize("rare", [0.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_trees_are_taken_where_three_inputs_act_together(seed, rare, more_rows):
    basis, _ = searched(sample(seed, "three", 4000 if rare == 0.0 else 8000, rare), more_rows)
    assert isinstance(basis.trees, LeafIndicators)
    assert taken(basis.validation_gain, more_rows)
    assert basis.validation_gain.share > (0.2 if rare else 0.4)


@pytest.mark.parametrize("more_rows", [False, True])
@pytest.mark.parametrize("rare", [0.0, 2.94])
@pytest.mark.parametrize("kind", ["alone", "pair", "noise"])
@pytest.mark.parametrize("seed", range(3))
def test_they_are_refused_where_inputs_act_alone_or_in_pairs_or_not_at_all(seed, kind, rare, more_rows):
    some = sample(seed, kind, 4000 if rare == 0.0 else 12_000, rare)
    assert kind != "noise" or rare == 0.0 or 0.04 < some.labels.mean() < 0.06
    basis, _ = searched(some, more_rows)
    assert basis.trees is None
    assert basis.validation_gain is not None
    assert not taken(basis.validation_gain, more_rows)


@pytest.mark.parametrize("more_rows", [False, True])
def test_a_small_gain_that_is_beyond_doubt_is_taken(monkeypatch, more_rows):
    some = sample(1, "faint three", 16_000)
    basis, _ = searched(some, more_rows)
    assert isinstance(basis.trees, LeafIndicators)
    assert SMALLER_SHARE < basis.validation_gain.share < SMALLEST_SHARE
    monkeypatch.setattr(tree_search, "FEWEST_ERRORS" if more_rows else "BEYOND_DOUBT", 20.0)
    assert searched(some, more_rows)[0].trees is None


def test_a_small_gain_is_held_against_all_pairs(monkeypatch):
    monkeypatch.setattr(search, "FEW_PAIRS", 0.0)  # where few are enough there are none
    monkeypatch.setattr(search, "ENOUGH_FOR_FEW", 0)
    some = sample(0, "pair", 12_000)
    for smallest, kept in ((0.9, True), (0.02, False)):
        for module in (search, tree_search):
            monkeypatch.setattr(module, "SMALLEST_SHARE", smallest)
        basis, _ = searched(some, more_rows=True)
        assert (basis.trees is None) == kept
        assert bool(len(basis.tables.pairs)) == kept


@pytest.mark.parametrize("seed", range(3))
def test_pairs_stay_beside_trees_where_they_are_smooth_and_matter(seed):
    some = sample(seed, "smooth pairs", 8000)
    basis, _ = searched(some, more_rows=True)
    assert isinstance(basis.trees, LeafIndicators)
    assert {(j, j + 1) for j in range(3, 18)} <= set(map(tuple, basis.tables.pairs.tolist()))
    plain, _ = searched(sample(seed, "three", 8000), more_rows=True)
    assert isinstance(plain.trees, LeafIndicators)
    assert not len(plain.tables.pairs)


@pytest.mark.parametrize("surely", [-1e9, 1e9])
def test_where_more_rows_come_pairs_must_be_better_by_more(monkeypatch, surely):
    monkeypatch.setattr(search, "PAIRS_STAY", surely)
    some = sample(0, "smooth pairs", 8000)
    assert bool(len(searched(some, more_rows=True)[0].tables.pairs)) == (surely < 0)
    assert len(searched(some, more_rows=False)[0].tables.pairs)


def test_trees_are_held_against_few_pairs_where_that_saves_columns_of_many_rows(monkeypatch):
    some = sample(0, "smooth pairs", 8000)
    monkeypatch.setattr(search, "PAIRS_STAY", -1e9)
    assert len(searched(some, more_rows=True)[0].tables.pairs)
    monkeypatch.setattr(search, "ENOUGH_FOR_FEW", 0)
    monkeypatch.setattr(search, "FEW_PAIRS", 0.02)  # all columns of the share are curves
    basis, _ = searched(some, more_rows=True)
    assert isinstance(basis.trees, LeafIndicators)
    assert not len(basis.tables.pairs)


@pytest.mark.parametrize(("beside", "taken"), [(-1, False), (0, True), (140, True)])
def test_there_are_no_trees_without_room_for_them(beside, taken):
    some = sample(0, "three")
    mains = Basis.of(some.numbers, some.mass, np.zeros(5, bool), n_knots=8).n_columns
    beside += search.FEWEST_LEAVES
    basis, _ = searched(some, max_columns=mains + beside)
    assert (basis.trees is not None) == (basis.validation_gain is not None) == taken
    if taken:
        assert basis.trees.n_entries <= beside // FREER.limits.n_leaves


@pytest.mark.parametrize("interactions", [0, 2, 100, ((0, 1), (1, 2)), ()])
def test_there_are_none_where_pairs_were_asked_for(interactions):
    basis, _ = searched(sample(0, "three"), interactions=interactions)
    assert basis.trees is None
    assert basis.validation_gain is None


@pytest.mark.parametrize(
    ("n_rows", "rare", "tried"), [(399, 0.0, False), (450, 0.0, True), (450, 3.0, False), (4000, 6.0, False)]
)
def test_there_are_none_where_rows_are_too_few_to_try_them_on(n_rows, rare, tried):
    some = sample(0, "three", n_rows, rare)
    assert n_rows == 399 or (some.rarer >= 200) == tried
    basis, _ = searched(some)
    assert (basis.validation_gain is not None) == tried
    assert tried or basis.trees is None


def test_of_few_rows_that_can_be_explained_whole_trees_are_grown_more_freely(monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (900, 8)).astype(float)
    labels, ones = (rows[:, :4].sum(axis=1) % 2).astype(np.int8), np.ones(900)
    some = SampleRows(rows, labels, ones, balance_classes(labels, ones))
    basis = Basis.of(rows, some.mass, np.zeros(8, bool), n_knots=8)
    kept = TreeSearch.of(basis, np.zeros(basis.n_columns), some, choose_subset(900, True, POLICY))
    found = kept.tried(np.zeros(900), room=2000)
    assert found.growth == FREER
    monkeypatch.setattr(tree_search, "MANY_ROWS", 900)
    usual = kept.tried(np.zeros(900), room=2000)
    assert usual.growth == USUAL
    assert found.losses.sum() < 0.5 * usual.losses.sum()
    grown = kept.fitted(
        basis,
        PenalizedFit(np.zeros(basis.n_columns), np.ones(basis.groups.kinds.size), np.zeros(900)),
        found,
        ValidationGain(9.0, 0.9),
    )[0]
    assert (
        max(np.bincount(np.cumsum(np.isin(np.arange(len(grown.trees.splits.inputs)), grown.trees.splits.roots))))
        < FREER.limits.n_leaves
    )


@pytest.mark.parametrize("stay", [False, True])
def test_the_trees_of_a_card_are_grown_on_all_rows_from_its_fit(stay):
    some = sample(1, "three")
    basis = Basis.of(some.numbers, some.mass, np.zeros(5, bool), n_knots=8)
    rng = np.random.default_rng(0)
    weights, strengths = rng.normal(size=basis.n_columns), np.ones(basis.groups.kinds.size)
    fit = PenalizedFit(weights, strengths, basis.products(some.numbers, weights))
    tries = TreeSearch.of(basis, weights, some, choose_subset(4000, True, POLICY))
    trees = list(tries.rows.trees(fit.scores, np.arange(4000), 4))
    worse = tuple(tree._replace(values=-tree.values) for tree in trees)
    after, found = tries.fitted(basis, fit, Trial(worse, np.zeros(9), USUAL, stay), ValidationGain(5.0, 0.3))
    assert after.trees.n_entries == 4
    assert after.trees.frozen is stay
    assert after.validation_gain == (5.0, 0.3)
    assert_array_equal(found.weights, np.concatenate([weights, *(tree.values for tree in trees)]))
    assert_array_equal(found.lambdas, np.append(strengths, FIRST_STRENGTH))
    assert_allclose(found.scores, trees[-1].scores, rtol=1e-12, atol=1e-12)
    assert_allclose(after.products(some.numbers, found.weights), found.scores, rtol=1e-9, atol=1e-9)
    again = Basis.from_arrays(after.to_arrays())
    assert_array_equal(again.products(some.numbers, found.weights), after.products(some.numbers, found.weights))


def test_a_card_on_which_no_tree_can_be_grown_stays_as_it_is():
    some = sample(0, "noise")
    some.numbers[:] = 1.0
    some.numbers[:10] = 2.0  # so few rows are no leaf
    basis = Basis.of(some.numbers, some.mass, np.zeros(5, bool), n_knots=8)
    fit = PenalizedFit(np.zeros(basis.n_columns), np.ones(basis.groups.kinds.size), np.zeros(4000))
    tries = TreeSearch.of(basis, fit.weights, some, choose_subset(4000, True, POLICY))
    assert tries.tried(fit.scores, 1000).n_trees == 0
    assert searched(some)[0].trees is None


def test_trees_that_were_judged_are_kept_where_those_grown_on_all_rows_are_worse(monkeypatch):
    some = sample(1, "three")
    basis = Basis.of(some.numbers, some.mass, np.zeros(5, bool), n_knots=8)
    fit = PenalizedFit(np.zeros(basis.n_columns), np.ones(basis.groups.kinds.size), np.zeros(4000))
    tries = TreeSearch.of(basis, fit.weights, some, choose_subset(4000, True, POLICY))
    trial = tries.tried(np.full(4000, 0.1), 400)
    poor = [tree._replace(values=np.zeros_like(tree.values)) for tree in trial.trees]
    monkeypatch.setattr(type(tries.rows), "trees", lambda *_: iter(poor))
    after, found = tries.fitted(basis, fit, trial, ValidationGain(5.0, 0.3))
    assert_array_equal(found.weights[basis.n_columns :], np.concatenate([tree.values for tree in trial.trees]))
    assert_allclose(after.products(some.numbers, found.weights), found.scores, rtol=1e-9, atol=1e-9)


def test_trees_are_no_more_than_most(monkeypatch):
    some = sample(0, "three")
    assert searched(some)[0].trees.n_entries > 2
    monkeypatch.setattr(tree_search, "MOST_LEAVES", 3 * FREER.limits.n_leaves)
    assert searched(some)[0].trees.n_entries == 3
    assert searched(some, more_rows=True)[0].trees.n_entries == 1


@pytest.mark.parametrize("case", ["constant", "missing", "repeated", "huge", "binary"])
def test_inputs_without_values_and_rows_that_repeat_do_no_harm(case):
    some = sample(0, "three")
    if case == "constant":
        some.numbers[:, 3:] = 5.0
    elif case == "missing":
        some.numbers[::2, 3] = np.nan
        some.numbers[:, 4] = np.nan
    elif case == "repeated":
        some.numbers[:] = np.round(some.numbers)
    elif case == "huge":
        some.numbers[:] *= 1e150
    else:
        some.numbers[:] = some.numbers > 0
    basis, fit = searched(some)
    assert isinstance(basis.trees, LeafIndicators)
    assert np.isfinite(fit.weights).all()
    assert_array_equal(Basis.from_arrays(basis.to_arrays()).rows(some.numbers).data, basis.rows(some.numbers).data)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_levels_does_not_tell_trees_of_the_rows_that_judge_them(seed):
    rng = np.random.default_rng(seed)
    numbers = np.column_stack([rng.integers(0, 300, 4000), rng.integers(0, 200, 4000), rng.normal(size=4000)])
    labels, ones, words = rng.integers(0, 2, 4000).astype(np.int8), np.ones(4000), np.array([True, True, False])
    some = SampleRows(numbers, labels, ones, balance_classes(labels, ones))
    effects = main_effects(numbers, some.mass, ones, words, 8, 450)
    basis, _ = search.InteractionSearch(Basis.of_effects(effects), effects, some, AdditiveSettings()).fitted()
    assert basis.trees is None
    assert basis.validation_gain.share < 0.01
