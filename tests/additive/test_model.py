"""Random effects and trees in one model: columns and effects solve one dense system, blended with the leaves."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import block_diag
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from opauc.additive.basis_model import BasisModel
from opauc.additive.policy import SMOOTHING_POLICY, TREE_POLICY, AdditivePolicy, Growth
from opauc.additive.settings import AdditiveSettings
from opauc.additive.state import AdditiveFit
from opauc.additive.terms.explain import Terms
from opauc.additive.trees.blend import ADDITIVE, INTERCEPT, TREES, Blend

CATEGORICAL = np.array([True, True, False, False, False])
SETTINGS = AdditiveSettings(max_columns=260, init_size=4000, random_state=0)
POLICY = AdditivePolicy(
    smoothing=replace(SMOOTHING_POLICY, many_rows=1500, min_subset=700),
    tree=replace(TREE_POLICY, growth=Growth(min_leaves=15, patience=10), n_folds=2),
)
FEW = replace(SETTINGS, init_size=5000)  # with 4000 rows no others follow: the trees are cross-fitted
SIZES = 2500, 40


def sample(seed, n_rows):
    """A category of very many levels and another, each level with a large effect; three numbers that act together."""
    truth, rng = np.random.default_rng(99), np.random.default_rng(seed)
    levels = np.stack([np.floor(size * rng.random(n_rows) ** 3) for size in SIZES], axis=1)
    numbers = rng.normal(size=(n_rows, 3))
    score = 5.0 * np.sign(numbers.prod(axis=1)) + numbers[:, 0]
    for k, size in enumerate(SIZES):
        score += 3.0 * truth.normal(size=size)[levels[:, k].astype(int)]
    return np.c_[levels, numbers], (rng.random(n_rows) < expit(score)).astype(np.int8)


ROWS, LABELS = sample(0, 9000)
TEST, TRUTH = sample(1, 1000)


def fit(n_rows, settings=SETTINGS):
    """The fit to 4000 rows and more, with validation rows that give both parts of the blend a weight."""
    begun = AdditiveFit.start(settings, CATEGORICAL, 0, POLICY).update(ROWS[:4000], LABELS[:4000]).with_basis()
    basis, model = begun.fixed
    assert basis.trees is not None
    assert basis.random_effects.size > 500
    ensemble, validation = model.blend.ensemble, model.blend.validation
    helpful = validation._replace(additive=validation.additive + 0.3 * validation.rows.labels)
    additive = model.blend.additive
    blend = Blend.start(ensemble, additive, helpful, model.blend.kept, model.blend.frozen, POLICY.tree)
    fitted = replace(begun, fixed=BasisModel(basis, replace(model, blend=blend)))
    fitted = fitted.update(ROWS[4000:n_rows], LABELS[4000:n_rows]) if n_rows > 4000 else fitted
    assert fitted.final.selection.model == "full"
    assert model.blend.frozen is (settings is FEW)
    return fitted


def dense_system(fitted, n_rows):
    """The penalized Gram matrix and rhs of columns and levels, from all rows at once."""
    basis, final, point = fitted.current.basis, fitted.final, fitted.current.model.sums.expansion_point
    columns, levels = basis.rows(ROWS[:n_rows]).toarray(), basis.random_effects.rows(ROWS[:n_rows]).toarray()
    sign, scores = 2.0 * LABELS[:n_rows] - 1.0, columns @ point
    margin = sign * scores
    error_probability = 1.0 / (1.0 + np.exp(margin))
    curvature = np.where(
        margin >= 0,
        error_probability * (1 - error_probability),
        (error_probability - 0.5) / -np.where(margin == 0, 1.0, margin),
    )
    all_columns = np.hstack([columns, levels])
    gram = (all_columns.T * curvature) @ all_columns
    rhs = all_columns.T @ (curvature * scores + sign * error_probability)
    parts = zip(final.lambdas, basis.groups.sizes, basis.roughness, strict=True)
    penalty = block_diag(*(s * (np.eye(size) if rough is None else rough) for s, size, rough in parts))
    of_effects = np.diag(final.effect_lambdas[basis.random_effects.group_index()])
    return gram + block_diag(penalty, of_effects), rhs


@pytest.mark.parametrize(("n_rows", "settings"), [(4000, SETTINGS), (9000, FEW), (4500, SETTINGS)])
def test_columns_and_random_effects_solve_one_dense_system_and_are_blended_with_leaves(n_rows, settings):
    fitted = fit(n_rows, settings)
    basis, model = fitted.current
    weights, blend = fitted.final.weights, model.blend.weights
    matrix, rhs = dense_system(fitted, n_rows)
    solution = np.linalg.solve(matrix, rhs)
    additive, _ = model._fit(POLICY.smoothing.in_float64(), 1.0, narrow=False)  # trees may take its weight away
    unblended = np.concatenate([additive.weights, additive.effects])
    assert_allclose(unblended, solution, atol=1e-6 * np.abs(solution).max())
    assert np.abs(additive.effects).max() > 0.1
    expected = blend[ADDITIVE] * solution
    expected[0] += blend[INTERCEPT]
    n_additive = basis.n_columns + basis.random_effects.size
    assert weights.size == basis.n_weights == n_additive + basis.trees.n_leaves
    assert_allclose(weights[:n_additive], expected, atol=1e-6 * np.abs(expected).max())
    assert_allclose(weights[n_additive:], blend[TREES] * model.blend.leaf_weights(POLICY.tree), rtol=1e-12)
    assert fitted.final.scale == blend[ADDITIVE]
    if n_rows == 4000:
        assert np.abs(weights[basis.n_columns : n_additive]).max() > 0.1
    assert np.abs(weights[n_additive:]).max() > 0.1


def test_standard_errors_are_scaled_as_the_additive_part_is():
    fitted = fit(4000)
    model, final = fitted.current.model, fitted.final
    plain = final._replace(scale=1.0)
    assert_allclose(model.covariance(final), final.scale**2 * model.covariance(plain), rtol=1e-12)
    variances = model.random_effect_variances(plain)
    assert_allclose(model.random_effect_variances(final), final.scale**2 * variances, rtol=1e-12)
    dense = np.linalg.inv(dense_system(fitted, 4000)[0])[
        : fitted.current.basis.n_columns, : fitted.current.basis.n_columns
    ]
    assert_allclose(model.covariance(plain), dense, atol=1e-6 * np.abs(dense).max())


def test_before_later_rows_the_blend_is_that_of_the_validation_rows():
    fitted = fit(4000)
    basis, model = fitted.current
    blend, initial = model.blend, model.initial_weights()
    assert blend.additive.size == basis.n_additive
    assert blend.additive[basis.n_columns :].any()  # effects of categories are part of the point
    expected = np.concatenate([blend.point[ADDITIVE] * blend.additive, blend.point[TREES] * basis.trees.values])
    expected[0] += blend.point[INTERCEPT]
    assert_allclose(initial, expected, rtol=1e-12)


def test_the_full_candidate_scores_later_rows_as_the_blend_does_before_them():
    fitted = fit(4000)
    later = fitted.update(ROWS[4000:], LABELS[4000:])
    scores = fitted.current.basis.products(ROWS[4000:], fitted.current.model.initial_weights())
    aucs = later.final.selection.aucs
    assert list(aucs) == ["linear", "additive", "certain pairs", "pairs", "full"]
    assert aucs["full"] == pytest.approx(roc_auc_score(LABELS[4000:], scores), abs=2e-4)  # scores are binned
    assert aucs["full"] > aucs["pairs"] + 0.02


def test_a_simpler_candidate_that_ranks_better_has_no_leaves():
    fooled = fit(4000).update(ROWS[4000:], 1 - LABELS[4000:])
    final, basis = fooled.final, fooled.current.basis
    assert final.selection.model != "full"
    assert final.weights.size == basis.n_weights
    assert not final.weights[-basis.trees.n_leaves :].any()
    assert final.scale == 1.0


def test_shards_are_one_stream_and_subtracted_rows_leave_no_trace():
    begun, whole = fit(4000), fit(9000)
    merged = begun
    for k in range(5):
        merged = merged.merge(begun.empty_copy().update(ROWS[4000 + k : 9000 : 5], LABELS[4000 + k : 9000 : 5]))
    assert_allclose(merged.scorer.scores(TEST), whole.scorer.scores(TEST), atol=1e-7)
    fewer = whole.subtract(ROWS[6000:], LABELS[6000:])
    assert_allclose(fewer.scorer.scores(TEST), fit(6000).scorer.scores(TEST), atol=1e-7)


@pytest.mark.parametrize("settings", [SETTINGS, FEW])
def test_arrays_restore_the_same_model_and_terms_add_up(settings):
    fitted = fit(4000, settings).update(ROWS[4000:6000], LABELS[4000:6000])
    again = AdditiveFit.from_parts(*fitted.to_parts(), fitted.n_features)
    assert again.current.model.blend.frozen is (settings is FEW)
    assert_array_equal(again.scorer.scores(TEST), fitted.scorer.scores(TEST))
    terms = Terms(fitted, ("who", "where", "a", "b", "c"), ({},) * 5)
    assert_allclose(terms.explain(TEST).scores(), fitted.scorer.scores(TEST), atol=1e-9)
    assert {"a (trees)", "b (trees)", "c (trees)"} <= set(terms.importances())


def test_a_model_without_rows_of_one_class_has_weights_of_zero():
    empty = fit(4000).empty_copy()
    assert not empty.final.weights.any()
    assert empty.final.weights.size == empty.current.basis.n_weights
    one_class = empty.update(ROWS[:50], np.ones(50, np.int8))
    assert not one_class.final.weights.any()


def test_where_classes_change_too_much_the_blend_of_the_initial_sample_serves():
    begun = fit(4000)
    positive = LABELS == 1
    rows = np.repeat(ROWS[4000:][positive[4000:]], 12, axis=0)
    shifted = begun.update(rows, np.ones(len(rows), np.int8))
    final = shifted.final
    assert final.selection.model == "sample"
    initial = shifted.current.model.initial_weights()
    assert_array_equal(final.weights[1:], initial[1:])
    assert final.weights[0] > initial[0] + POLICY.smoothing.max_prior_shift
    assert roc_auc_score(TRUTH, shifted.scorer.scores(TEST)) > 0.75
