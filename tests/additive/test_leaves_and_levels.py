"""Categories of more levels than there are columns, beside trees: the weights of both solve one dense system."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import block_diag
from scipy.special import expit

from opauc.additive import fit as penalized_fit
from opauc.additive import trees as tree_search
from opauc.additive.basis.leaves import Leaves
from opauc.additive.explain import Terms
from opauc.additive.settings import AdditiveSettings
from opauc.additive.state import AdditiveFit

CATEGORICAL = np.array([True, True, False, False, False])
SETTINGS = AdditiveSettings(max_columns=260, init_size=4000, random_state=0)
SIZES = 2500, 40


def drawn(seed, n_rows):
    """A category of very many levels and another, each level with a large effect; three numbers that act together."""
    truth, rng = np.random.default_rng(99), np.random.default_rng(seed)
    levels = np.stack([np.floor(size * rng.random(n_rows) ** 3) for size in SIZES], axis=1)
    numbers = rng.normal(size=(n_rows, 3))
    score = 5.0 * np.sign(numbers.prod(axis=1)) + numbers[:, 0]
    for k, size in enumerate(SIZES):
        score += 3.0 * truth.normal(size=size)[levels[:, k].astype(int)]
    return np.c_[levels, numbers], (rng.random(n_rows) < expit(score)).astype(np.int8)


ROWS, LABELS = drawn(0, 9000)
TEST, _ = drawn(1, 1000)


@pytest.fixture(params=[False, True])
def stay(request, monkeypatch):
    """Whether leaves are to keep the values they were grown with while rows are few."""
    monkeypatch.setattr(penalized_fit, "MANY_ROWS", 1500)
    monkeypatch.setattr(penalized_fit, "LEAST_PART", 700)
    evaluate = tree_search.evaluate_candidate
    monkeypatch.setattr(tree_search, "evaluate_candidate", lambda *rows: evaluate(*rows)._replace(frozen=request.param))
    return request.param


def learned(n_rows):
    solution = AdditiveFit.start(SETTINGS, CATEGORICAL, 0).after(ROWS[:n_rows], LABELS[:n_rows])
    basis = solution.current.basis
    assert isinstance(basis.together, Leaves)
    assert basis.finer.size > 500
    assert solution.final.selection.rung == "full"
    return solution


def dense_system(solution, n_rows):
    """The penalized Gram matrix and moment of columns and levels, from all rows at once."""
    basis, final, point = solution.current.basis, solution.final, solution.current.model.sums.point
    columns, levels = basis.rows(ROWS[:n_rows]).toarray(), basis.finer.rows(ROWS[:n_rows]).toarray()
    sign, known = 2.0 * LABELS[:n_rows] - 1.0, columns @ point
    margin = sign * known
    doubt = 1.0 / (1.0 + np.exp(margin))
    curvature = np.where(margin >= 0, doubt * (1 - doubt), (doubt - 0.5) / -np.where(margin == 0, 1.0, margin))
    all_columns = np.hstack([columns, levels])
    gram = (all_columns.T * curvature) @ all_columns
    moment = all_columns.T @ (curvature * known + sign * doubt)
    parts = zip(final.strengths, basis.groups.sizes, basis.roughness, strict=True)
    penalty = block_diag(*(s * (np.eye(size) if rough is None else rough) for s, size, rough in parts))
    of_levels = np.diag(final.level_strengths[basis.finer.owners()])
    return gram + block_diag(penalty, of_levels), moment


@pytest.mark.parametrize("n_rows", [4000, 7999, 8000, 9000])
def test_weights_of_columns_leaves_and_levels_solve_one_dense_system(n_rows, stay):
    solution = learned(n_rows)
    basis, weights = solution.current.basis, solution.final.weights
    matrix, moment = dense_system(solution, n_rows)
    expected = np.linalg.solve(matrix, moment)
    leaves = np.zeros(weights.size, bool)
    leaves[basis.effects[()]] = True
    if stay and n_rows < 8000:
        expected[leaves] = solution.current.model.sums.point[basis.effects[()]]
        assert_array_equal(weights[leaves], expected[leaves])
        rest = moment[~leaves] - matrix[np.ix_(~leaves, leaves)] @ expected[leaves]
        expected[~leaves] = np.linalg.solve(matrix[np.ix_(~leaves, ~leaves)], rest)
    else:
        assert np.abs(weights[leaves] - solution.current.model.sums.point[basis.effects[()]]).max() > 0.1
    assert_allclose(weights, expected, atol=1e-6 * np.abs(expected).max())
    assert np.abs(weights[basis.n_columns :]).max() > 0.1
    assert np.abs(weights[leaves]).max() > 0.1


def test_shards_are_one_stream_and_what_is_forgotten_was_never_seen(stay):
    begun, whole = learned(4000), learned(9000)
    assert begun.current.basis.together.stay is stay
    merged = begun
    for k in range(5):
        merged = merged.merged(begun.empty_copy().after(ROWS[4000 + k : 9000 : 5], LABELS[4000 + k : 9000 : 5]))
    assert_allclose(merged.scorer.scores(TEST), whole.scorer.scores(TEST), atol=1e-7)
    fewer = whole.subtract(ROWS[6000:], LABELS[6000:])
    assert_allclose(fewer.scorer.scores(TEST), learned(6000).scorer.scores(TEST), atol=1e-7)


def test_arrays_give_the_same_solution_back_and_effects_add_up(stay):
    solution = learned(5000)
    again = AdditiveFit.from_arrays(solution.settings, solution.to_arrays())
    assert again.current.basis.together.stay is stay
    assert_array_equal(again.scorer.scores(TEST), solution.scorer.scores(TEST))
    effects = Terms(solution, ("who", "where", "a", "b", "c"), ({},) * 5)
    assert_allclose(effects.explain(TEST).scores(), solution.scorer.scores(TEST), atol=1e-9)
    assert {"a (trees)", "b (trees)", "c (trees)"} <= set(effects.importances())
