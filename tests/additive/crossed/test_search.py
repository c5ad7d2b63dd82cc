"""The search for crossed codes: its z-score against all pairs of rows, and what it accepts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.crossed_codes import Member
from opauc.additive.basis.main_effects import main_effects
from opauc.additive.crossed.search import (
    CodedInput,
    CombinationTest,
    ForwardSelection,
    code_inputs,
    combine_codes,
    find_crossed_codes,
    fold_of_rows,
    out_of_fold_scores,
)
from opauc.additive.fit import PenalizedFit, finish_fit, fit_intercept, start_fit
from opauc.additive.initial_sample import SampleRows
from opauc.additive.penalties import Penalties
from opauc.additive.policy import CROSSED_POLICY


def coded(rng, n_rows, n_codes, j):
    codes = rng.integers(0, n_codes, n_rows).astype(np.int32)
    return CodedInput(Member(j, np.empty(0), np.empty(0, np.int64)), codes, n_codes, True)


@given(st.integers(0, 2**32 - 1), st.integers(2, 3), st.sampled_from([2, 5, 40]))
def test_the_z_score_is_that_of_all_pairs_of_rows_of_one_level(seed, n_members, n_codes):
    rng = np.random.default_rng(seed)
    inputs, residuals = [coded(rng, 50, n_codes, j) for j in range(n_members)], rng.normal(size=50)
    codes = np.stack([one.codes for one in inputs])
    same = (codes[:, :, None] == codes[:, None, :]).all(axis=0) & ~np.eye(50, dtype=bool)
    products = np.outer(residuals, residuals)
    variance = 2.0 * float((products**2)[same].sum())
    expected = float(products[same].sum()) / np.sqrt(variance) if same.any() else 0.0
    test = CombinationTest(inputs, 50)
    if n_codes**n_members <= 128:  # of more combinations two may share a level
        assert_allclose(test.z_score(tuple(range(n_members)), residuals), expected, rtol=1e-9, atol=1e-9)
    sums = np.bincount(combine_codes(inputs), residuals), np.bincount(combine_codes(inputs), residuals**2)
    literal = (sums[0] ** 2 - sums[1]).sum() / max(np.sqrt(2 * max((sums[1] ** 2).sum() - (residuals**4).sum(), 0)), 1)
    if variance >= 1.0:
        assert_allclose(literal, expected, rtol=1e-7, atol=1e-9)


def table(seed, n_rows=6000, spread=1.0, n_values=25):
    """Return three inputs of many values, of which two together have effects, and a number; main effects are none."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(0, n_values, (n_rows, 3)), rng.normal(size=n_rows)]).astype(float)
    effects = spread * np.random.default_rng(99).normal(size=(n_values, n_values))
    scores = effects[rows[:, 0].astype(int), rows[:, 2].astype(int)] + 0.5 * rows[:, 3]
    return rows, (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-scores))).astype(np.int8)


def fitted(rows, labels, categorical=(True, True, True, False)):
    """Return the basis of main effects, the sample and the fit to it."""
    ones = np.ones(len(rows))
    basis = Basis.of_effects(main_effects(rows, ones, ones, np.array(categorical), n_knots=8))
    penalties, columns = Penalties(basis.groups, basis.roughness), basis.rows(rows)
    started = start_fit(columns, labels, ones, penalties, fit_intercept(labels, ones), 5, np.arange(len(rows)))
    return basis, SampleRows(rows, labels, ones, ones), finish_fit(columns, labels, ones, penalties, started)


def crossed_inputs(rows, labels, policy=CROSSED_POLICY, **how):
    return [code.inputs for code in find_crossed_codes(*fitted(rows, labels, **how), policy=policy).codes]


@pytest.mark.parametrize("seed", range(3))
def test_two_inputs_whose_combinations_have_effects_are_crossed(seed):
    assert crossed_inputs(*table(seed)) == [(0, 2)]


def test_whole_numbers_are_crossed_as_categories_are():
    assert crossed_inputs(*table(0), categorical=(False,) * 4) == [(0, 2)]


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_not_crossed(seed):
    assert crossed_inputs(*table(seed, spread=0.0)) == []


def test_no_code_is_accepted_without_a_gain_on_rows_held_out():
    policy = replace(CROSSED_POLICY, min_gain_z=1e3)
    assert crossed_inputs(*table(0), policy) == []
    assert crossed_inputs(*table(0), replace(CROSSED_POLICY, min_z=1e3)) == []
    assert crossed_inputs(*table(0), replace(CROSSED_POLICY, max_codes=0)) == []


def test_few_rows_of_a_class_are_not_enough():
    rows, labels = table(0)
    labels[np.flatnonzero(labels)[150:]] = 0
    assert crossed_inputs(rows, labels) == []


def test_inputs_of_two_values_and_triples_of_numbers_in_bins_are_not_tested():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 2, (3000, 4)), rng.normal(size=(3000, 3)) * 0.01])
    basis, sample, _ = fitted(rows, rng.integers(0, 2, 3000).astype(np.int8), (False,) * 7)
    assert CombinationTest(code_inputs(basis, sample), 3000).z_scores(np.ones(3000)) == {}


def test_of_many_inputs_those_of_the_most_values_are_crossed():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(0, 4 + j, 3000) for j in range(40)]).astype(float)
    basis, sample, _ = fitted(rows, rng.integers(0, 2, 3000).astype(np.int8), (True,) * 40)
    inputs = code_inputs(basis, sample)
    assert [one.member.input for one in inputs] == list(range(16, 40))
    n_pairs, n_triples = 24 * 23 // 2, CROSSED_POLICY.max_extended_pairs * 22
    assert n_pairs < len(CombinationTest(inputs, 3000).z_scores(rng.normal(size=3000))) <= n_pairs + n_triples


def test_the_whole_part_of_a_date_with_its_time_is_a_calendar_day_and_a_wide_number_has_bins():
    rng = np.random.default_rng(0)
    rows = np.column_stack([19_000 + rng.random(3000) * 90, 1e7 * rng.random(3000)])
    basis, sample, _ = fitted(rows, rng.integers(0, 2, 3000).astype(np.int8), (False, False))
    days, binned_days, wide = code_inputs(basis, sample)
    assert (days.member.input, days.n_codes, days.is_code) == (0, 90, True)
    assert (binned_days.n_codes, wide.member.input, wide.n_codes, wide.is_code) == (16, 1, 16, False)
    declared = code_inputs(basis, sample, numeric=[0])
    assert [one.is_code for one in declared] == [False, False]


def test_out_of_fold_scores_are_nearly_those_of_fits_without_the_fold():
    rows, labels = table(1, 3000)
    basis, sample, fit = fitted(rows, labels)
    scores, folds = out_of_fold_scores(basis, sample, fit), fold_of_rows(3000)
    penalties, columns, ones = Penalties(basis.groups, basis.roughness), basis.rows(rows), np.ones(3000)
    others = np.flatnonzero(folds != 2)
    start = PenalizedFit(fit.weights, fit.lambdas, fit.scores)
    again = start_fit(columns[others], labels[others], ones[others], penalties, start, 4, np.arange(others.size))
    own, refitted = np.flatnonzero(folds == 2), columns[folds == 2] @ again.fit.weights
    spread = float(np.std(refitted - fit.scores[own]))
    assert np.std(refitted - scores[own]) < 0.5 * spread
    assert np.corrcoef(refitted, scores[own])[0, 1] > 0.99


def test_effects_on_a_row_do_not_depend_on_the_labels_of_its_fold():
    rows, labels = table(2, 2000)
    basis, sample, fit = fitted(rows, labels)
    inputs = code_inputs(basis, sample)
    levels = combine_codes([inputs[0], inputs[2]])

    def effects(own_labels):
        changed = sample._replace(labels=own_labels)
        selection = ForwardSelection(inputs, [], CombinationTest(inputs, 2000), changed, np.zeros(2000), np.zeros(2000))
        return selection._effects(levels, 1.0)

    own = fold_of_rows(2000) == 0
    # As many labels of each class as before: the mean residual of all rows is subtracted.
    shuffled = labels.copy()
    shuffled[own] = np.random.default_rng(0).permutation(labels[own])
    assert_allclose(effects(shuffled)[own], effects(labels)[own], atol=1e-12)
    assert np.abs(effects(shuffled)[~own] - effects(labels)[~own]).max() > 0.1
    assert fit.scores.size == 2000
