"""Random effects and trees in one model: the weights of both solve one dense system."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import block_diag
from scipy.special import expit

from opauc.additive import trees as tree_search
from opauc.additive.explain import Terms
from opauc.additive.policy import SMOOTHING_POLICY, AdditivePolicy
from opauc.additive.settings import AdditiveSettings
from opauc.additive.state import AdditiveFit

CATEGORICAL = np.array([True, True, False, False, False])
SETTINGS = AdditiveSettings(max_columns=260, init_size=4000, random_state=0)
POLICY = AdditivePolicy(smoothing=replace(SMOOTHING_POLICY, many_rows=1500, min_subset=700))
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
TEST, _ = sample(1, 1000)


@pytest.fixture(params=[False, True])
def frozen(request, monkeypatch):
    """Whether leaves are to keep the values they were grown with while rows are few."""
    evaluate = tree_search.evaluate_candidate
    monkeypatch.setattr(tree_search, "evaluate_candidate", lambda *rows: evaluate(*rows)._replace(frozen=request.param))
    return request.param


def fit(n_rows):
    fitted = AdditiveFit.start(SETTINGS, CATEGORICAL, 0, POLICY).update(ROWS[:n_rows], LABELS[:n_rows])
    basis = fitted.current.basis
    assert basis.trees is not None
    assert basis.random_effects.size > 500
    assert fitted.final.selection.model == "full"
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


@pytest.mark.parametrize("n_rows", [4000, 7999, 8000, 9000])
def test_weights_of_columns_leaves_and_random_effects_solve_one_dense_system(n_rows, frozen):
    fitted = fit(n_rows)
    basis, weights = fitted.current.basis, fitted.final.weights
    matrix, rhs = dense_system(fitted, n_rows)
    expected = np.linalg.solve(matrix, rhs)
    leaves = np.zeros(weights.size, bool)
    leaves[basis.effects[()]] = True
    if frozen and n_rows < 8000:
        expected[leaves] = fitted.current.model.sums.expansion_point[basis.effects[()]]
        assert_array_equal(weights[leaves], expected[leaves])
        rest = rhs[~leaves] - matrix[np.ix_(~leaves, leaves)] @ expected[leaves]
        expected[~leaves] = np.linalg.solve(matrix[np.ix_(~leaves, ~leaves)], rest)
    else:
        assert np.abs(weights[leaves] - fitted.current.model.sums.expansion_point[basis.effects[()]]).max() > 0.1
    assert_allclose(weights, expected, atol=1e-6 * np.abs(expected).max())
    assert np.abs(weights[basis.n_columns :]).max() > 0.1
    assert np.abs(weights[leaves]).max() > 0.1


def test_shards_are_one_stream_and_subtracted_rows_leave_no_trace(frozen):
    begun, whole = fit(4000), fit(9000)
    assert begun.current.basis.trees.frozen is frozen
    merged = begun
    for k in range(5):
        merged = merged.merge(begun.empty_copy().update(ROWS[4000 + k : 9000 : 5], LABELS[4000 + k : 9000 : 5]))
    assert_allclose(merged.scorer.scores(TEST), whole.scorer.scores(TEST), atol=1e-7)
    fewer = whole.subtract(ROWS[6000:], LABELS[6000:])
    assert_allclose(fewer.scorer.scores(TEST), fit(6000).scorer.scores(TEST), atol=1e-7)


def test_arrays_restore_the_same_model_and_terms_add_up(frozen):
    fitted = fit(5000)
    again = AdditiveFit.from_parts(*fitted.to_parts(), fitted.n_features)
    assert again.current.basis.trees.frozen is frozen
    assert_array_equal(again.scorer.scores(TEST), fitted.scorer.scores(TEST))
    terms = Terms(fitted, ("who", "where", "a", "b", "c"), ({},) * 5)
    assert_allclose(terms.explain(TEST).scores(), fitted.scorer.scores(TEST), atol=1e-9)
    assert {"a (trees)", "b (trees)", "c (trees)"} <= set(terms.importances())
