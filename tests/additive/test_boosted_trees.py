"""Boosting on codes, held against a few literal lines and against scikit-learn's trees."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.tree import DecisionTreeRegressor

from opauc.additive.boosting import (
    FEWEST_TREES,
    FREER,
    PATIENCE,
    USUAL,
    BoostedRows,
    Growth,
    joined,
    leaf_weights,
    tried,
)
from opauc.additive.kernels.trees import TreeLimits, write_leaves
from tests.additive.kernels.test_trees import literal_tree

seeds = st.integers(0, 2**32 - 1)
N_CODES = 6
SIZES = np.full(4, N_CODES)


def drawn(seed, n_rows=400, noise=0.2, n_inputs=4):
    """Codes of which three act together, weights, and scores to begin with; the share `noise` of labels is random."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, N_CODES, (n_rows, n_inputs)).astype(np.uint8)
    codes[rng.random(codes.shape) < 0.2] = 3
    labels = ((codes[:, :3] > 2).sum(axis=1) % 2).astype(np.int8)
    random = rng.random(n_rows) < noise
    labels[random] = rng.integers(0, 2, random.sum())
    return codes, labels, rng.uniform(0.5, 2.0, n_rows), 0.3 * rng.normal(size=n_rows)


def rows_of(codes, labels, weight):
    return BoostedRows.of(codes, SIZES[: codes.shape[1]], labels, weight)


def grown(rows, scores, some, most, growth=USUAL):
    return list(rows.trees(scores, some, most, growth))


def leaves_of(splits, codes):
    found = np.empty((len(codes), splits.roots.size), np.int32)
    write_leaves(codes, splits, found)
    return found


def losses_of(labels, weight, scores):
    return weight * np.log1p(np.exp(-(2.0 * labels - 1.0) * scores))


@given(seeds, st.booleans(), st.sampled_from([USUAL, FREER]))
def test_each_tree_is_grown_on_what_the_scores_so_far_leave(seed, part, growth):
    codes, labels, weight, scores = drawn(seed)
    some = np.flatnonzero(np.random.default_rng(seed).random(400) < 0.7) if part else np.arange(400)
    trees = grown(rows_of(codes, labels, weight), scores, some, 3, growth)
    assert len(trees) == 3
    for tree in trees:
        chance = 1.0 / (1.0 + np.exp(-scores))
        terms = np.column_stack([weight * (labels - chance), weight * chance * (1 - chance), weight])
        leaves = [some[rows] for rows in literal_tree(codes[some], terms[some], growth.limits, N_CODES)]
        values = [growth.rate * terms[rows, 0].sum() / (terms[rows, 1].sum() + growth.limits.ridge) for rows in leaves]
        assert_allclose(tree.values, values, rtol=1e-9, atol=1e-12)
        ends = leaves_of(tree.splits, codes)[:, 0]
        for k, rows in enumerate(leaves):
            assert (ends[rows] == k).all()
        scores = scores + np.array(values)[ends]  # of all rows, those that it was not grown on too
        assert_allclose(tree.scores, scores, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_without_ridge_at_scores_of_zero_is_scikit_learns(seed):
    plain = Growth(TreeLimits(9, 20.0, 0.0), 1.0)
    codes, labels, weight, _ = drawn(seed, 2000)
    [tree] = grown(rows_of(codes, labels, weight), np.zeros(2000), np.arange(2000), 1, plain)
    theirs = DecisionTreeRegressor(max_leaf_nodes=9, min_weight_fraction_leaf=20.0 / weight.sum(), random_state=0)
    theirs.fit(codes, 4.0 * (labels - 0.5), sample_weight=weight)
    assert tree.values.size == theirs.get_n_leaves() == 9
    assert_allclose(tree.scores, theirs.predict(codes), rtol=1e-9)


@given(seeds, st.sampled_from([1.0, 20.0]))
def test_rows_held_out_say_nothing_to_the_trees(seed, far):
    codes, labels, weight, scores = drawn(seed)
    scores = far * scores  # most rows pull little where these are far
    held = np.arange(3, 400, 4)
    some = np.setdiff1d(np.arange(400), held)
    other_labels, other_weight, other_scores = labels.copy(), weight.copy(), scores.copy()
    other_labels[held] = 1 - labels[held]
    other_weight[held] *= 7.0
    other_scores[held] += 3.0
    trees = grown(rows_of(codes, labels, weight), scores, some, 4)
    others = grown(rows_of(codes, other_labels, other_weight), other_scores, some, 4)
    for tree, other in zip(trees, others, strict=True):
        for one, two in zip((*tree.splits, tree.values), (*other.splits, other.values), strict=True):
            assert_array_equal(one, two)
        assert_array_equal(tree.scores[some], other.scores[some])


@given(seeds)
def test_weights_of_rows_count_as_rows_that_repeat(seed):
    codes, labels, _, scores = drawn(seed)
    often = np.random.default_rng(seed).integers(1, 4, 400)
    again = np.repeat(np.arange(400), often)
    weighted = grown(rows_of(codes, labels, often.astype(float)), scores, np.arange(400), 3)
    repeated = rows_of(codes[again], labels[again], np.ones(again.size))
    for tree, other in zip(weighted, grown(repeated, scores[again], np.arange(again.size), 3), strict=True):
        for one, two in zip(tree.splits, other.splits, strict=True):
            assert_array_equal(one, two)
        assert_allclose(tree.values, other.values, rtol=1e-9, atol=1e-12)
        assert_allclose(tree.scores[again], other.scores, rtol=1e-9, atol=1e-12)


@given(seeds, st.integers(1, 4))
def test_joined_trees_number_their_leaves_through(seed, n_trees):
    codes, labels, weight, scores = drawn(seed)
    trees = grown(rows_of(codes, labels, weight), scores, np.arange(400), n_trees)
    splits, values = joined(trees)
    assert [part.dtype for part in splits] == [np.int32, np.uint8, np.int32, np.int32]
    found = leaves_of(splits, codes)
    firsts = np.cumsum([0, *(tree.values.size for tree in trees)])
    for t, (tree, (first, end)) in enumerate(zip(trees, pairwise(firsts.tolist()), strict=True)):
        assert_array_equal(found[:, t], first + leaves_of(tree.splits, codes)[:, 0])
        assert_array_equal(values[first:end], tree.values)
        assert splits.roots[t] == first - t
        assert tree.values.size <= USUAL.limits.n_leaves
    assert_allclose(trees[-1].scores, scores + values[found].sum(axis=1), rtol=1e-9, atol=1e-12)


def test_there_is_no_tree_where_no_input_tells_rows_apart():
    rows = rows_of(np.full((300, 4), 2, np.uint8), np.arange(300).astype(np.int8) % 2, np.ones(300))
    assert grown(rows, np.zeros(300), np.arange(300), 5) == []
    trial = tried(rows, np.zeros(300), np.arange(0, 300, 4), 5)
    assert (trial.n_trees, trial.stay) == (0, True)
    assert_allclose(trial.losses, np.log(2.0))


def literal_trial(rows, scores, held, most):
    """The number of trees that serves the rows held out best, and their losses both ways."""
    some = np.setdiff1d(np.arange(scores.size), held)

    def lost(scores):
        return losses_of(rows.labels[held], rows.weight[held], scores[held])

    trees = grown(rows, scores, some, most)
    sums = [lost(scores).sum(), *(lost(tree.scores).sum() for tree in trees)]
    best = 0
    for number, total in enumerate(sums):
        best = number if total < sums[best] else best
        if number - best >= PATIENCE:
            break
    if not best:
        return 0, lost(scores), None
    splits, values = joined(trees[:best])
    ends = leaves_of(splits, rows.coded.codes)
    weights = leaf_weights(ends[some], values, scores[some], rows.labels[some], rows.weight[some])
    return best, lost(trees[best - 1].scores), lost(scores + weights[ends].sum(axis=1))


@pytest.mark.parametrize(("noise", "stay"), [(0.0, {False}), (0.3, None), (0.6, None), (0.8, {True}), (1.0, {True})])
def test_trees_are_as_many_as_serve_rows_held_out_best_with_the_better_weights(noise, stay):
    stays, numbers = set(), set()
    for seed in range(8):
        codes, labels, weight, scores = drawn(seed, 1200, noise)
        rows, held = rows_of(codes, labels, weight), np.arange(1, 1200, 4)
        n_trees, as_grown, learned = literal_trial(rows, scores, held, 40)
        trial = tried(rows, scores, held, 40)
        assert trial.n_trees == n_trees
        if n_trees:
            assert trial.stay == (as_grown.sum() <= learned.sum())
            stays.add(trial.stay)
        expected = as_grown if trial.stay else learned
        assert_allclose(trial.losses, expected, rtol=1e-9)
        numbers.add(n_trees)
    assert stay in (None, stays)
    assert (0 in numbers) == (noise == 1.0)


def test_no_more_trees_are_tried_than_there_is_room_for():
    codes, labels, weight, scores = drawn(0, 1200, 0.0)
    rows, held = rows_of(codes, labels, weight), np.arange(1, 1200, 4)
    assert tried(rows, scores, held, 40).n_trees > 3
    assert tried(rows, scores, held, 3).n_trees == 3
    assert tried(rows, scores, held, 0).n_trees == 0


def test_growing_ends_when_trees_bring_nothing_to_rows_held_out(monkeypatch):
    codes, labels, weight, scores = drawn(0, 1200, noise=1.0)
    made = []
    trees = BoostedRows.trees

    def counted(self, *arguments):
        for tree in trees(self, *arguments):
            made.append(tree)
            yield tree

    monkeypatch.setattr(BoostedRows, "trees", counted)
    trial = tried(rows_of(codes, labels, weight), scores, np.arange(1, 1200, 4), 40)
    assert len(made) == max(trial.n_trees + PATIENCE, FEWEST_TREES)


@given(seeds)
def test_losses_are_logistic_and_weighted(seed):
    codes, labels, weight, scores = drawn(seed)
    some = np.arange(0, 400, 7)
    expected = losses_of(labels[some], weight[some], scores[some])
    assert_allclose(rows_of(codes, labels, weight).losses(scores, some), expected, rtol=1e-12)
    far = rows_of(codes, labels, weight).losses(np.where(labels == 1, -800.0, 800.0), some)
    assert_allclose(far, 800.0 * weight[some])
