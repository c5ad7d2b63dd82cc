"""Boosted trees on bin codes, against literal code and scikit-learn's trees; leaf weights, against dense equations."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.tree import DecisionTreeRegressor

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.knots import balance_classes
from opauc.additive.basis.leaf_indicators import ValidationGain
from opauc.additive.fit import PenalizedFit, choose_subset
from opauc.additive.initial_sample import SampleRows
from opauc.additive.kernels.trees import TreeLimits, write_leaves
from opauc.additive.policy import LARGE_TREES, SMALL_TREES, SMOOTHING_POLICY, TREE_POLICY, Growth, TreePolicy
from opauc.additive.trees import (
    BinnedRows,
    TreeCandidate,
    TreeSearch,
    evaluate_candidate,
    join_trees,
    measure_gain,
    solve_leaf_weights,
)
from tests import literal

seeds = st.integers(0, 2**32 - 1)
N_CODES = 6
CODE_COUNTS = np.full(4, N_CODES)
LEAF_COUNTS = 3, 5, 4


def draw_codes(seed, n_rows=400, noise=0.2, n_inputs=4):
    """Codes of which three interact, labels, weights and initial scores; the share `noise` of labels is random."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, N_CODES, (n_rows, n_inputs)).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.2] = 3
    labels = ((codes[:, :3] > 2).sum(axis=1) % 2).astype(np.int8)
    random = rng.random(n_rows) < noise
    labels[random] = rng.integers(0, 2, random.sum())
    return codes, labels, rng.uniform(0.5, 2.0, n_rows), 0.3 * rng.normal(size=n_rows)


def bin_rows(codes, labels, weight):
    return BinnedRows.of(codes, CODE_COUNTS[: codes.shape[1]], labels, weight)


def grow(rows, scores, training, max_trees, growth=LARGE_TREES):
    return list(rows.grow_trees(scores, training, max_trees, growth))


def leaves_of(splits, codes):
    leaves = np.empty((len(codes), splits.roots.size), np.int32)
    write_leaves(codes, splits, leaves)
    return leaves


def logistic_losses(labels, weight, scores):
    return weight * np.log1p(np.exp(-(2.0 * labels - 1.0) * scores))


@given(seeds, st.booleans(), st.sampled_from([LARGE_TREES, SMALL_TREES]))
def test_each_tree_fits_the_residuals_of_the_scores_so_far(seed, on_part, growth):
    codes, labels, weight, scores = draw_codes(seed)
    training = np.flatnonzero(np.random.default_rng(seed).random(400) < 0.7) if on_part else np.arange(400)
    trees = grow(bin_rows(codes, labels, weight), scores, training, 3, growth)
    assert len(trees) == 3
    for tree in trees:
        probabilities = 1.0 / (1.0 + np.exp(-scores))
        curvatures = weight * probabilities * (1 - probabilities)
        terms = np.column_stack([weight * (labels - probabilities), curvatures, weight])
        leaves = [
            training[rows] for rows in literal.grow_tree(codes[training], terms[training], growth.limits, N_CODES)
        ]
        values = [
            growth.learning_rate * terms[rows, 0].sum() / (terms[rows, 1].sum() + growth.limits.ridge)
            for rows in leaves
        ]
        assert_allclose(tree.values, values, rtol=1e-9, atol=1e-12)
        leaf_of_row = leaves_of(tree.splits, codes)[:, 0]
        for k, rows in enumerate(leaves):
            assert (leaf_of_row[rows] == k).all()
        scores = scores + np.array(values)[leaf_of_row]  # of all rows, not only the training rows
        assert_allclose(tree.scores, scores, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_without_ridge_at_scores_of_zero_is_scikit_learns(seed):
    plain = Growth(TreeLimits(9, 20.0, 0.0), 1.0)
    codes, labels, weight, _ = draw_codes(seed, 2000)
    [tree] = grow(bin_rows(codes, labels, weight), np.zeros(2000), np.arange(2000), 1, plain)
    theirs = DecisionTreeRegressor(max_leaf_nodes=9, min_weight_fraction_leaf=20.0 / weight.sum(), random_state=0)
    theirs.fit(codes, 4.0 * (labels - 0.5), sample_weight=weight)
    assert tree.values.size == theirs.get_n_leaves() == 9
    assert_allclose(tree.scores, theirs.predict(codes), rtol=1e-9)


@given(seeds, st.sampled_from([1.0, 20.0]))
def test_validation_rows_do_not_influence_the_trees(seed, scale):
    codes, labels, weight, scores = draw_codes(seed)
    scores = scale * scores  # most residuals are small where scores are large
    validation = np.arange(3, 400, 4)
    training = np.setdiff1d(np.arange(400), validation)
    other_labels, other_weight, other_scores = labels.copy(), weight.copy(), scores.copy()
    other_labels[validation] = 1 - labels[validation]
    other_weight[validation] *= 7.0
    other_scores[validation] += 3.0
    trees = grow(bin_rows(codes, labels, weight), scores, training, 4)
    others = grow(bin_rows(codes, other_labels, other_weight), other_scores, training, 4)
    for tree, other in zip(trees, others, strict=True):
        for one, two in zip((*tree.splits, tree.values), (*other.splits, other.values), strict=True):
            assert_array_equal(one, two)
        assert_array_equal(tree.scores[training], other.scores[training])


@given(seeds)
def test_trees_of_weighted_rows_are_those_of_repeated_rows(seed):
    codes, labels, _, scores = draw_codes(seed)
    times = np.random.default_rng(seed).integers(1, 4, 400)
    repeats = np.repeat(np.arange(400), times)
    weighted = grow(bin_rows(codes, labels, times.astype(float)), scores, np.arange(400), 3)
    repeated = bin_rows(codes[repeats], labels[repeats], np.ones(repeats.size))
    for tree, other in zip(weighted, grow(repeated, scores[repeats], np.arange(repeats.size), 3), strict=True):
        for one, two in zip(tree.splits, other.splits, strict=True):
            assert_array_equal(one, two)
        assert_allclose(tree.values, other.values, rtol=1e-9, atol=1e-12)
        assert_allclose(tree.scores[repeats], other.scores, rtol=1e-9, atol=1e-12)


@given(seeds, st.integers(1, 4))
def test_joined_trees_number_their_leaves_consecutively(seed, n_trees):
    codes, labels, weight, scores = draw_codes(seed)
    trees = grow(bin_rows(codes, labels, weight), scores, np.arange(400), n_trees)
    splits, values = join_trees(trees)
    assert [part.dtype for part in splits] == [np.int32, np.uint8, np.int32, np.int32]
    leaves = leaves_of(splits, codes)
    bounds = np.cumsum([0, *(tree.values.size for tree in trees)])
    for t, (tree, (first, end)) in enumerate(zip(trees, pairwise(bounds.tolist()), strict=True)):
        assert_array_equal(leaves[:, t], first + leaves_of(tree.splits, codes)[:, 0])
        assert_array_equal(values[first:end], tree.values)
        assert splits.roots[t] == first - t
        assert tree.values.size <= LARGE_TREES.limits.n_leaves
    assert_allclose(trees[-1].scores, scores + values[leaves].sum(axis=1), rtol=1e-9, atol=1e-12)


def test_there_is_no_tree_where_all_inputs_are_constant():
    rows = bin_rows(np.full((300, 4), 2, np.uint8), np.arange(300).astype(np.int8) % 2, np.ones(300))
    assert grow(rows, np.zeros(300), np.arange(300), 5) == []
    candidate = evaluate_candidate(rows, np.zeros(300), np.arange(0, 300, 4), 5)
    assert (candidate.n_trees, candidate.frozen) == (0, True)
    assert_allclose(candidate.validation_losses, np.log(2.0))


def literal_candidate(rows, scores, validation, max_trees):
    """The number of trees of the lowest validation loss, and the losses with frozen and with solved leaf values."""
    training = np.setdiff1d(np.arange(scores.size), validation)

    def losses_of(scores):
        return logistic_losses(rows.labels[validation], rows.weight[validation], scores[validation])

    trees = grow(rows, scores, training, max_trees)
    sums = [losses_of(scores).sum(), *(losses_of(tree.scores).sum() for tree in trees)]
    best = 0
    for number, total in enumerate(sums):
        best = number if total < sums[best] else best
        if number - best >= TREE_POLICY.patience:
            break
    if not best:
        return 0, losses_of(scores), None
    splits, values = join_trees(trees[:best])
    leaves = leaves_of(splits, rows.coded.codes)
    weights = solve_leaf_weights(
        leaves[training], values, scores[training], rows.labels[training], rows.weight[training]
    )
    return best, losses_of(trees[best - 1].scores), losses_of(scores + weights[leaves].sum(axis=1))


@pytest.mark.parametrize(("noise", "frozen"), [(0.0, {False}), (0.3, None), (0.6, None), (0.8, {True}), (1.0, {True})])
def test_a_candidate_has_the_number_of_trees_and_the_leaf_values_of_the_lowest_validation_loss(noise, frozen):
    seen_frozen, seen_numbers = set(), set()
    for seed in range(8):
        codes, labels, weight, scores = draw_codes(seed, 1200, noise)
        rows, validation = bin_rows(codes, labels, weight), np.arange(1, 1200, 4)
        n_trees, frozen_losses, solved_losses = literal_candidate(rows, scores, validation, 40)
        candidate = evaluate_candidate(rows, scores, validation, 40)
        assert candidate.n_trees == n_trees
        if n_trees:
            assert candidate.frozen == (frozen_losses.sum() <= solved_losses.sum())
            seen_frozen.add(candidate.frozen)
        expected = frozen_losses if candidate.frozen else solved_losses
        assert_allclose(candidate.validation_losses, expected, rtol=1e-9)
        seen_numbers.add(n_trees)
    assert frozen in (None, seen_frozen)
    assert (0 in seen_numbers) == (noise == 1.0)


def test_a_candidate_has_at_most_max_trees():
    codes, labels, weight, scores = draw_codes(0, 1200, 0.0)
    rows, validation = bin_rows(codes, labels, weight), np.arange(1, 1200, 4)
    assert evaluate_candidate(rows, scores, validation, 40).n_trees > 3
    assert evaluate_candidate(rows, scores, validation, 3).n_trees == 3
    assert evaluate_candidate(rows, scores, validation, 0).n_trees == 0


@pytest.mark.parametrize(("min_trees", "patience"), [(16, 8), (3, 2), (20, 1)])
def test_growing_stops_early_without_progress(monkeypatch, min_trees, patience):
    codes, labels, weight, scores = draw_codes(0, 1200, noise=1.0)
    grown = []
    grow_trees = BinnedRows.grow_trees

    def count_trees(self, *arguments):
        for tree in grow_trees(self, *arguments):
            grown.append(tree)
            yield tree

    monkeypatch.setattr(BinnedRows, "grow_trees", count_trees)
    policy = replace(TREE_POLICY, min_trees=min_trees, patience=patience)
    rows = bin_rows(codes, labels, weight)
    candidate = evaluate_candidate(rows, scores, np.arange(1, 1200, 4), 40, policy=policy)
    assert len(grown) == max(candidate.n_trees + patience, min_trees)


@given(seeds)
def test_losses_are_logistic_and_weighted(seed):
    codes, labels, weight, scores = draw_codes(seed)
    part = np.arange(0, 400, 7)
    expected = logistic_losses(labels[part], weight[part], scores[part])
    assert_allclose(bin_rows(codes, labels, weight).losses(scores, part), expected, rtol=1e-12)
    large = bin_rows(codes, labels, weight).losses(np.where(labels == 1, -800.0, 800.0), part)
    assert_allclose(large, 800.0 * weight[part])


def draw_leaves(seed, n_rows=300):
    """Leaves of three trees, their values, scores, labels and weights."""
    rng = np.random.default_rng(seed)
    leaves = np.column_stack([rng.integers(0, size, n_rows) for size in LEAF_COUNTS])
    leaves = (leaves + np.cumsum([0, *LEAF_COUNTS[:-1]])).astype(np.int32)
    labels, weight = rng.integers(0, 2, n_rows).astype(np.int8), rng.uniform(0.2, 3.0, n_rows)
    return leaves, rng.normal(size=sum(LEAF_COUNTS)), 2.0 * rng.normal(size=n_rows), labels, weight


def dense_leaf_weights(leaves, values, scores, labels, weight, n_steps):
    """One step from the values, each loss bounded by a parabola; the smoothing parameter by Fellner and Schall."""
    columns = np.zeros((labels.size, values.size))
    np.put_along_axis(columns, leaves, 1.0, axis=1)
    products = columns @ values
    margin = (2.0 * labels - 1.0) * (scores + products)
    residual = 1.0 / (1.0 + np.exp(margin))
    curvature = np.where(margin >= 0, residual * (1 - residual), (residual - 0.5) / -np.where(margin == 0, 1.0, margin))
    gram = (columns.T * (weight * curvature)) @ columns
    moment = columns.T @ (weight * (curvature * products + (2.0 * labels - 1.0) * residual))
    penalty = TREE_POLICY.leaf_penalty
    for _ in range(n_steps):
        inverse = np.linalg.inv(gram + penalty * np.eye(values.size))
        weights = inverse @ moment
        freedom = values.size - penalty * np.trace(inverse)
        before, penalty = penalty, np.clip(max(freedom, 1e-6) / (weights @ weights + 1e-12), 0.02, 1e5)
        if abs(np.log(penalty / before)) < 0.15:
            break
    return weights


@given(seeds)
def test_leaf_weights_are_those_of_dense_equations(seed):
    rows = draw_leaves(seed)
    expected = dense_leaf_weights(*rows, TREE_POLICY.leaf_penalty_steps)
    assert_allclose(solve_leaf_weights(*rows), expected, rtol=1e-7, atol=1e-9)


def test_the_first_step_of_leaf_weights_has_the_penalty_of_the_policy():
    rows, one_step = draw_leaves(0), replace(TREE_POLICY, leaf_penalty_steps=1)
    assert_allclose(solve_leaf_weights(*rows, one_step), dense_leaf_weights(*rows, 1), rtol=1e-9)
    large = replace(one_step, leaf_penalty=1e9)
    assert_allclose(solve_leaf_weights(*rows, large), 0.0, atol=1e-6)


@given(seeds)
def test_leaf_weights_of_weighted_rows_are_those_of_repeated_rows(seed):
    leaves, values, scores, labels, _ = draw_leaves(seed)
    times = np.random.default_rng(seed).integers(1, 4, labels.size)
    rows = np.repeat(np.arange(labels.size), times)
    repeated = solve_leaf_weights(leaves[rows], values, scores[rows], labels[rows], np.ones(rows.size))
    weighted = solve_leaf_weights(leaves, values, scores, labels, times.astype(float))
    assert_allclose(weighted, repeated, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("margin", [0.0, 300.0])
def test_leaf_weights_do_not_repeat_what_the_scores_have(margin):
    rng = np.random.default_rng(0)
    leaves = rng.integers(0, 4, (20_000, 1)).astype(np.int32)
    true_values = np.array([-2.0, -1.0, 1.0, 2.0])
    true_scores = true_values[leaves[:, 0]]
    labels = (rng.random(20_000) < 1.0 / (1.0 + np.exp(-true_scores))).astype(np.int8)
    scores = true_scores + np.where(labels == 1, margin, -margin)
    weights = solve_leaf_weights(leaves, np.zeros(4), scores, labels, np.ones(20_000))
    assert np.abs(weights).max() < 0.1
    weights = solve_leaf_weights(leaves, 0.8 * true_values, np.zeros(20_000), labels, np.ones(20_000))
    assert_allclose(weights, true_values, atol=0.1)


def test_leaves_without_rows_have_no_weight():
    leaves, values, scores, labels, weight = draw_leaves(1)
    more_values = np.append(values, [3.0, -2.0])
    assert_allclose(solve_leaf_weights(leaves, more_values, scores, labels, weight)[-2:], 0.0, atol=1e-12)


@given(seeds, st.integers(2, 50))
def test_a_gain_has_its_standard_errors_and_its_share_of_the_loss(seed, n_rows):
    before, after = np.random.default_rng(seed).exponential(size=(2, n_rows))
    errors = (before - after).mean() / ((before - after).std() / np.sqrt(n_rows))
    assert_allclose(measure_gain(before, after), (errors, 1.0 - after.sum() / before.sum()), rtol=1e-9, atol=1e-12)


# Round numbers that differ from the defaults: what is tested is the rule.
RULE = TreePolicy(
    min_share=0.5,
    min_share_over_all_pairs=0.25,
    stream_z=10.0,
    final_z=20.0,
    final_z_small_validation=30.0,
    small_validation=100,
    final_z_small_gain=40.0,
)


def accepts(gain, min_share, more_rows, n_validation=100, policy=RULE):
    return TreeSearch(None, None, np.arange(n_validation), more_rows, policy).accepts(gain, min_share)


def test_equal_losses_are_no_gain_and_a_gain_without_error_is_accepted():
    assert measure_gain(np.ones(5), np.ones(5)) == (0.0, 0.0)
    assert measure_gain(np.zeros(5), np.zeros(5)) == (0.0, 0.0)
    assert accepts(measure_gain(np.ones(5), np.full(5, 0.4)), 0.5, more_rows=True)


@pytest.mark.parametrize(
    ("min_share", "more_rows", "n_validation", "min_z"),
    [
        (0.5, True, 100, 10.0),
        (0.5, True, 99, 10.0),
        (0.25, True, 100, 10.0),
        (0.5, False, 100, 20.0),
        (0.5, False, 99, 30.0),
        (0.25, False, 100, 40.0),
        (0.25, False, 99, 40.0),
    ],
)
def test_a_gain_is_accepted_above_its_share_and_its_standard_errors(min_share, more_rows, n_validation, min_z):
    def accepted(z, share):
        return accepts(ValidationGain(z, share), min_share, more_rows, n_validation)

    assert accepted(min_z + 1.0, min_share + 0.1)
    assert not accepted(min_z, min_share + 0.1)
    assert not accepted(min_z + 1.0, min_share)
    assert not accepted(-min_z - 1.0, -min_share - 0.1)


def draw_sample(seed, n_rows=4000, interact=True):
    """Five numbers, of which three interact or none matters."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 5))
    scores = 3.0 * np.sign(rows[:, :3].prod(axis=1)) if interact else np.zeros(n_rows)
    labels = (rng.random(n_rows) < expit(scores)).astype(np.int8)
    weight = rng.uniform(0.6, 1.5, n_rows)
    return SampleRows(rows, labels, weight, balance_classes(labels, weight))


def main_basis(sample):
    return Basis.of(sample.numbers, sample.mass, np.zeros(sample.numbers.shape[1], bool), n_knots=8)


@pytest.mark.parametrize("n_rows", [400, 999, 1000, 1001, 1602, 4000, 12_345])
@pytest.mark.parametrize("many_rows", [1000, 6144])
def test_validation_rows_are_used_by_no_fit(n_rows, many_rows):
    policy = replace(SMOOTHING_POLICY, many_rows=many_rows, min_subset=400)
    sample = draw_sample(0, n_rows, interact=False)
    basis = main_basis(sample)
    fitted_rows = choose_subset(n_rows, leave_some_out=True, policy=policy)
    validation = TreeSearch.of(basis, np.zeros(basis.n_columns), sample, fitted_rows).validation
    assert not np.isin(validation, fitted_rows).any()
    assert n_rows / 13 <= validation.size <= n_rows / 4 + 1
    assert np.unique(validation).size == validation.size


def test_small_samples_without_noise_have_the_growth_for_small_samples():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (900, 8)).astype(float)
    labels, ones = (rows[:, :4].sum(axis=1) % 2).astype(np.int8), np.ones(900)
    sample = SampleRows(rows, labels, ones, balance_classes(labels, ones))
    basis, fitted_rows = main_basis(sample), choose_subset(900, leave_some_out=True)

    def search_below(small_sample_rows):
        policy = replace(TREE_POLICY, small_sample_rows=small_sample_rows)
        return TreeSearch.of(basis, np.zeros(basis.n_columns), sample, fitted_rows, policy=policy)

    small = search_below(901).choose_candidate(np.zeros(900), max_columns=2000)
    assert small.growth == SMALL_TREES
    large = search_below(900).choose_candidate(np.zeros(900), max_columns=2000)
    assert large.growth == LARGE_TREES
    assert small.validation_losses.sum() < 0.5 * large.validation_losses.sum()
    fit = PenalizedFit(np.zeros(basis.n_columns), np.ones(basis.groups.kinds.size), np.zeros(900))
    splits = search_below(901).add_trees(basis, fit, small, ValidationGain(9.0, 0.9))[0].trees.splits
    tree_of_split = np.cumsum(np.isin(np.arange(len(splits.inputs)), splits.roots))
    assert max(np.bincount(tree_of_split)) < SMALL_TREES.limits.n_leaves


@pytest.mark.parametrize("frozen", [False, True])
def test_trees_are_regrown_on_all_rows_from_the_fit(frozen):
    sample = draw_sample(1)
    basis = main_basis(sample)
    rng = np.random.default_rng(0)
    weights, lambdas = rng.normal(size=basis.n_columns), np.ones(basis.groups.kinds.size)
    fit = PenalizedFit(weights, lambdas, basis.products(sample.numbers, weights))
    search = TreeSearch.of(basis, weights, sample, choose_subset(4000, leave_some_out=True))
    trees = list(search.rows.grow_trees(fit.scores, np.arange(4000), 4))
    worse = tuple(tree._replace(values=-tree.values) for tree in trees)
    candidate = TreeCandidate(worse, np.zeros(9), LARGE_TREES, frozen)
    with_trees, tree_fit = search.add_trees(basis, fit, candidate, ValidationGain(5.0, 0.3))
    assert with_trees.trees.n_entries == 4
    assert with_trees.trees.frozen is frozen
    assert with_trees.validation_gain == (5.0, 0.3)
    assert_array_equal(tree_fit.weights, np.concatenate([weights, *(tree.values for tree in trees)]))
    assert_array_equal(tree_fit.lambdas, np.append(lambdas, TREE_POLICY.leaf_penalty))
    assert_allclose(tree_fit.scores, trees[-1].scores, rtol=1e-12, atol=1e-12)
    products = with_trees.products(sample.numbers, tree_fit.weights)
    assert_allclose(products, tree_fit.scores, rtol=1e-9, atol=1e-9)
    restored = Basis.from_arrays(with_trees.to_arrays())
    assert_array_equal(restored.products(sample.numbers, tree_fit.weights), products)


def test_the_trees_of_the_candidate_are_used_where_regrown_trees_fit_worse(monkeypatch):
    sample = draw_sample(1)
    basis = main_basis(sample)
    fit = PenalizedFit(np.zeros(basis.n_columns), np.ones(basis.groups.kinds.size), np.zeros(4000))
    search = TreeSearch.of(basis, fit.weights, sample, choose_subset(4000, leave_some_out=True))
    candidate = search.choose_candidate(np.full(4000, 0.1), 400)
    poor = [tree._replace(values=np.zeros_like(tree.values)) for tree in candidate.trees]
    monkeypatch.setattr(BinnedRows, "grow_trees", lambda *_: iter(poor))
    with_trees, tree_fit = search.add_trees(basis, fit, candidate, ValidationGain(5.0, 0.3))
    leaf_values = np.concatenate([tree.values for tree in candidate.trees])
    assert_array_equal(tree_fit.weights[basis.n_columns :], leaf_values)
    assert_allclose(with_trees.products(sample.numbers, tree_fit.weights), tree_fit.scores, rtol=1e-9, atol=1e-9)


def test_a_sample_on_which_no_tree_can_grow_has_an_empty_candidate():
    sample = draw_sample(0, interact=False)
    sample.numbers[:] = 1.0
    sample.numbers[:10] = 2.0  # too few rows for a leaf
    basis = main_basis(sample)
    search = TreeSearch.of(basis, np.zeros(basis.n_columns), sample, choose_subset(4000, leave_some_out=True))
    assert search.choose_candidate(np.zeros(4000), 1000).n_trees == 0
