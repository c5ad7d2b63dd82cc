"""Terms of a model with trees, against walks in plain Python; shares of the rows along main effects."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import expit

from opauc.additive.basis.basis import Basis
from opauc.additive.drift import BinCounts
from opauc.additive.kernels.trees import add_path_shares
from opauc.additive.policy import ADDITIVE_POLICY, TREE_POLICY, Growth
from opauc.additive.settings import AdditiveSettings
from opauc.additive.state import AdditiveFit
from opauc.additive.terms.explain import Terms
from opauc.additive.terms.term_sums import row_shares

CATEGORICAL = np.array([False, False, True, False, False])
FAST = replace(TREE_POLICY, growth=Growth(min_leaves=15, patience=10), n_folds=3)
POLICY = replace(ADDITIVE_POLICY, tree=FAST)


def draw_rows(seed, n_rows=2500):
    """Three numbers that act together, with missing values, one of them of two values; categories; a constant."""
    rng = np.random.default_rng(seed)
    rows = np.c_[rng.normal(size=(n_rows, 2)), rng.integers(0, 12, n_rows), rng.integers(0, 2, n_rows), np.ones(n_rows)]
    score = (
        3.0 * np.sign(rows[:, 0] * rows[:, 1]) * (2.0 * rows[:, 3] - 1.0) + np.abs(rows[:, 0]) + rows[:, 2] % 3 - 1.5
    )
    rows[rng.random(n_rows) < 0.1, 1] = np.nan
    return rows, (rng.random(n_rows) < expit(score)).astype(np.int8)


ROWS, LABELS = draw_rows(0)
NEW, _ = draw_rows(1, 300)


@pytest.fixture(scope="module", params=[2500, 10_000], ids=["validated by other rows", "cross-fitted"])
def terms(request):
    """The terms of a model with trees; cross-fitted trees split on categories that are coded once for each fold."""
    fitted = AdditiveFit.start(AdditiveSettings(init_size=request.param), CATEGORICAL, 0, POLICY).update(ROWS, LABELS)
    assert fitted.current.basis.trees is not None
    assert fitted.current.model.blend.frozen is (request.param > 2500)
    return Terms(fitted, ("a", "b", "c", "d", "e"), ({},) * 5)


def leaf_weights(terms):
    return terms.solution.final.weights[-terms.basis.trees.n_leaves :]


def test_terms_add_up_to_scores(terms):
    explained = terms.explain(NEW)
    assert_allclose(explained.scores(), terms.solution.scorer.scores(NEW), atol=1e-9, rtol=0)
    assert explained.names == terms.names
    assert terms.explain(NEW[:0]).contributions.shape == (0, len(terms.names))
    assert_allclose(terms.explain(NEW[:1]).contributions, explained.contributions[:1], atol=1e-12)


def path_shares(terms, rows):
    """What the splits on each input add to the score of each row, walked in plain Python."""
    trees, codes = terms.basis.trees, terms.basis.trees.codes.of_rows(rows)
    kept = terms.solution.current.model.blend.kept
    weights, n_splits = leaf_weights(terms), trees.splits.columns.size
    counts = np.bincount(trees.leaves(kept).ravel(), minlength=weights.size)

    def below(node):
        """The leaves below a node."""
        return [~node] if node < 0 else [leaf for child in trees.splits.children[node] for leaf in below(int(child))]

    def value(node):
        if node < 0:
            return weights[~node]
        leaves = below(node)
        if counts[leaves].sum():
            return np.average(weights[leaves], weights=counts[leaves])
        return np.mean([value(int(child)) for child in trees.splits.children[node]])

    values = {node: value(node) for node in [*range(n_splits), *(~leaf for leaf in range(weights.size))]}
    shares = np.zeros((len(rows), 5))
    for i, row in enumerate(codes):
        for root in trees.splits.roots.tolist():
            node = root
            while node >= 0:
                column = trees.splits.columns[node]
                child = int(trees.splits.children[node, int(row[column] > trees.splits.codes[node])])
                shares[i, trees.codes.sources[column]] += values[child] - values[node]
                node = child
    return shares, sum(values[root] for root in trees.splits.roots.tolist())


def test_tree_terms_are_path_shares_without_what_depends_on_the_input_alone(terms):
    shares, roots = path_shares(terms, NEW[:40])
    assert terms.numbers.trees.roots == pytest.approx(roots, abs=1e-10)
    explained = terms.explain(NEW[:40])
    codes, trees = terms.basis.trees.codes.of_rows(NEW[:40]), terms.numbers.trees
    main = trees.main_shares(codes, 5)
    means = dict(zip(terms.names, terms.numbers.means, strict=True))
    for j, name in enumerate("abcd"):
        number = terms.names.index(f"{name} (trees)")
        expected = shares[:, j] - main[:, j] - means[f"{name} (trees)"]
        assert_allclose(explained.contributions[:, number], expected, atol=1e-9)
    assert "e (trees)" not in terms.names
    column = (terms.basis.rows(NEW[:40]) @ terms.numbers.column_weights).toarray()
    for j, name in enumerate("abcd"):
        number = terms.names.index(name)
        expected = column[:, number] + main[:, j] - means[name]
        levels = terms.term_columns[number].levels
        assert levels.start == levels.stop  # no random effects here
        assert_allclose(explained.contributions[:, number], expected, atol=1e-9)


def test_on_kept_rows_a_tree_term_is_zero_on_average_at_every_code_of_its_columns(terms):
    trees, kept = terms.numbers.trees, terms.solution.current.model.blend.kept
    out = np.zeros(kept.shape)
    add_path_shares(kept, trees.ensemble.splits, trees.values, out)
    rest = out - trees.main[np.arange(kept.shape[1]), kept]
    for column in range(kept.shape[1]):
        for code in np.unique(kept[:, column]):
            assert abs(rest[kept[:, column] == code, column].mean()) < 1e-10


def test_the_curve_of_a_main_effect_has_what_trees_do_by_it_alone(terms):
    curve = next(term for term in terms.list_terms() if term.name == "a")
    rows = np.full((len(curve.at[0]), 5), np.nan)
    rows[:, 0] = curve.at[0]
    number = terms.names.index("a")
    column = (terms.basis.rows(rows) @ terms.numbers.column_weights).toarray()[:, number]
    main = terms.numbers.trees.main_shares(terms.basis.trees.codes.of_rows(rows), 5)[:, 0]
    assert_allclose(curve.value, column + main - terms.numbers.means[number], atol=1e-10)
    assert np.ptp(main) > 0.1


def test_importances_are_about_the_deviations_of_contributions(terms):
    found = terms.explain(ROWS).contributions.std(axis=0)
    expected = np.array([terms.importances()[name] for name in terms.names])
    assert_allclose(found, expected, rtol=0.35, atol=0.05)  # columns are weighted by curvature, trees are not
    trees = [k for k, name in enumerate(terms.names) if name.endswith("(trees)")]
    assert_allclose(found[trees], expected[trees], rtol=0.05, atol=0.02)


def test_a_tree_term_has_no_grid_and_standard_errors_scale_with_the_blend(terms):
    scale = terms.solution.final.scale
    for term in terms.list_terms():
        if term.name.endswith("(trees)"):
            assert (term.at, term.value.size, term.error.size) == ((), 0, 0)
        else:
            assert (term.error >= 0.0).all()
            assert term.error.any() == (scale > 0.0)


def test_a_model_whose_leaves_have_no_weight_has_no_tree_terms():
    settings = AdditiveSettings(init_size=2500)
    fitted = AdditiveFit.start(settings, CATEGORICAL, 0, POLICY).update(ROWS, LABELS)
    fooled = fitted.update(NEW.repeat(20, axis=0), 1 - (fitted.scorer.scores(NEW) > 0).astype(np.int8).repeat(20))
    assert fooled.final.selection.model != "full"
    terms = Terms(fooled, ("a", "b", "c", "d", "e"), ({},) * 5)
    assert not [name for name in terms.names if name.endswith("(trees)")]
    assert terms.numbers.trees is None
    assert_allclose(terms.explain(NEW).scores(), fooled.scorer.scores(NEW), atol=1e-9, rtol=0)


def shares_of(column, categorical=False, n_knots=8):
    rows = np.asarray(column, float)[:, None]
    basis = Basis.of(rows, np.ones(len(rows)), np.array([categorical]), n_knots)
    return row_shares(basis, BinCounts.of(basis.rows(rows)), np.empty(0), 0)


def test_values_that_are_knots_are_counted():
    column = [3.0] * 5 + [7.0] * 2 + [9.0] * 12 + [np.nan]
    assert_allclose(shares_of(column), [5 / 20, 2 / 20, 12 / 20, 1 / 20])


def test_booleans_are_counted():
    assert_allclose(shares_of([0.0] * 3 + [1.0] * 6 + [np.nan]), [0.3, 0.6, 0.1])


def test_categories_are_counted_and_those_without_a_column_are_pooled():
    column = [0.0] * 40 + [1.0] * 30 + [2.0] * 2 + [np.nan] * 8
    assert_allclose(shares_of(column, categorical=True), [40 / 80, 30 / 80, 2 / 80, 8 / 80])


@given(seed=st.integers(0, 2**32 - 1), n_knots=st.integers(3, 20))
def test_row_shares_of_a_curve_add_up_to_one(seed, n_knots):
    rng = np.random.default_rng(seed)
    column = np.where(rng.random(300) < 0.1, np.nan, rng.standard_cauchy(300))
    shares = shares_of(column, n_knots=n_knots)
    assert shares.min() >= 0.0
    assert shares.sum() == pytest.approx(1.0)


def test_there_is_a_row_share_for_every_value_of_a_main_effect():
    rng = np.random.default_rng(0)
    rows = np.c_[rng.normal(size=800), rng.integers(0, 2, 800), rng.integers(0, 5, 800), rng.integers(0, 4, 800)]
    rows[rng.random(800) < 0.2, 0] = np.nan
    labels = (np.nan_to_num(rows[:, 0]) + rows[:, 1] + rng.normal(size=800) > 0).astype(np.int8)
    categorical = np.array([False, False, True, False])
    fitted = AdditiveFit.start(AdditiveSettings(interactions=0), categorical, 0).update(rows, labels)
    names = ("number", "boolean", "category", "count")
    terms = {term.name: term for term in Terms(fitted, names, [{}] * 4).list_terms()}
    for j, name in enumerate(names):
        model = fitted.current.model
        shares = row_shares(fitted.current.basis, model.bin_counts, model.random_effects.counts, j)
        assert shares.shape == terms[name].value.shape
        assert shares.sum() == pytest.approx(1.0)


def draw_pair(seed, strength, n_rows=6000):
    """Four numbers with main effects; the first two also act together if there is a strength."""
    rows = np.random.default_rng(seed).normal(size=(n_rows, 4))
    score = rows[:, 0] + np.sin(2.0 * rows[:, 1]) + 0.5 * rows[:, 2] ** 2 - 0.5 + strength * rows[:, 0] * rows[:, 1]
    return rows, (np.random.default_rng(seed + 100).random(n_rows) < expit(score)).astype(np.int8)


def pairs_of(rows, labels, policy=ADDITIVE_POLICY, **settings):
    """Return which pairs are weak, by their inputs."""
    settings = AdditiveSettings(trees=False, **settings)
    fit = AdditiveFit.start(settings, np.zeros(4, bool), 0, policy=policy).update(rows, labels)
    terms = Terms(fit, ("0", "1", "2", "3"), ({},) * 4).list_terms()
    assert not any(term.is_weak for term in terms if len(term.inputs) == 1)
    return {tuple(map(int, term.inputs)): term.is_weak for term in terms if len(term.inputs) == 2}


def test_a_pair_of_chance_is_weak_and_a_true_one_is_not():
    """Over eight draws: at a false-discovery rate of a tenth one of them might have one of chance that is not weak."""
    found = [pairs_of(*draw_pair(seed, 1.0)) for seed in range(8)]
    assert all(pairs.get((0, 1)) is False for pairs in found)
    assert sum(not weak for pairs in found for weak in pairs.values()) <= 8 + 2
    assert sum(not weak for seed in range(8) for weak in pairs_of(*draw_pair(seed, 0.0)).values()) <= 1


def test_a_pair_that_is_asked_for_is_weak_by_its_standard_errors_only():
    asked = pairs_of(*draw_pair(0, 1.0), interactions=((0, 1), (2, 3)))
    assert asked == {(0, 1): False, (2, 3): True}


def test_a_pair_that_only_the_milder_test_finds_is_weak():
    strict = replace(ADDITIVE_POLICY, search=replace(ADDITIVE_POLICY.search, certain_fdr=0.0))
    assert pairs_of(*draw_pair(0, 1.0), policy=strict)[0, 1] is True
