"""The blend of two scores against scipy, its sums against loops over rows, leaf weights against dense systems."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit

from opauc.additive.policy import TREE_POLICY
from opauc.additive.trees.blend import (
    ADDITIVE,
    INTERCEPT,
    TREES,
    Blend,
    BlendSums,
    LeafSystem,
    ValidationRows,
    average_ensembles,
    blend_columns,
    blend_sums,
    fit_blend,
    log_losses,
    measure_gain,
    solve_blend,
)
from opauc.additive.trees.grow import CodedRows
from opauc.errors import IncompatibleMomentsError
from tests.additive.basis.test_ensemble import ensemble_of, seeds

NOT_NEGATIVE = [(0.0, None), (0.0, None), (None, None)]
ADDITIVE_WEIGHTS = np.array([0.5, 0.0, -1.0])
# So many steps, and eigenvalues of such different sizes, that the iteration converges.
CONVERGED = replace(TREE_POLICY, chebyshev_steps=1000, condition=1e4)


def draw_scores(seed, n_rows=500, truth=(1.5, 0.5, -0.3)):
    """Two scores that agree somewhat, labels with these log-odds, and weights."""
    rng = np.random.default_rng(seed)
    additive = rng.normal(size=n_rows)
    trees = 0.5 * additive + rng.normal(size=n_rows)
    log_odds = np.array(truth) @ blend_columns(additive, trees)
    return additive, trees, (rng.random(n_rows) < expit(log_odds)).astype(np.int8), rng.uniform(0.2, 3.0, n_rows)


def prior_squares(columns, weight):
    """The prior of a blend, which is worth one row, pulls the weights of both scores to one half."""
    return np.append(np.average(columns[:2] ** 2, axis=1, weights=weight), 0.0)


def logistic_loss(weights, columns, labels, weight):
    prior = 0.5 * float(prior_squares(columns, weight) @ (weights - 0.5) ** 2)
    return prior + float(weight @ np.log1p(np.exp(-(2.0 * labels - 1.0) * (weights @ columns))))


def minimized(columns, labels, weight, bounds=NOT_NEGATIVE):
    """The weights of the lowest logistic loss within bounds, by scipy."""
    sign = 2.0 * labels - 1.0

    def gradient(weights):
        prior = prior_squares(columns, weight) * (weights - 0.5)
        return prior - columns @ (weight * sign * expit(-sign * (weights @ columns)))

    start = np.array([0.5, 0.5 if bounds[TREES] == (0.0, None) else 0.0, 0.0])
    loss = lambda weights: logistic_loss(weights, columns, labels, weight)  # noqa: E731
    return minimize(
        loss, start, jac=gradient, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9}
    ).x


@given(
    seeds, st.sampled_from([(1.5, 0.5, -0.3), (0.0, 2.0, 1.0), (-1.0, 1.0, 0.0), (1.0, -2.0, 0.0), (-1.0, -1.0, 0.5)])
)
def test_the_weights_of_a_blend_are_those_of_the_lowest_loss_within_bounds(seed, truth):
    additive, trees, labels, weight = draw_scores(seed, truth=truth)
    found, columns = fit_blend(additive, trees, labels, weight), blend_columns(additive, trees)
    expected = minimized(columns, labels, weight)
    assert (found[:2] >= 0.0).all()
    lowest = logistic_loss(expected, columns, labels, weight)
    assert logistic_loss(found, columns, labels, weight) <= lowest * (1 + 1e-9)
    assert_allclose(found, expected, atol=2e-4)


@given(seeds)
def test_without_trees_the_additive_score_is_calibrated_alone(seed):
    additive, _, labels, weight = draw_scores(seed)
    columns = blend_columns(additive, np.zeros(additive.size))
    expected = minimized(columns, labels, weight, [(0.0, None), (0.0, 0.0), (None, None)])
    found = fit_blend(additive, None, labels, weight)
    assert found[TREES] == 0.0
    assert_allclose(found, expected, atol=2e-4)


def test_equal_scores_share_their_weight():
    additive, _, labels, weight = draw_scores(0)
    found, alone = (fit_blend(additive, trees, labels, weight) for trees in (additive, None))
    assert_allclose(found[ADDITIVE] + found[TREES], alone[ADDITIVE], atol=0.02)  # the prior is one row of 500
    assert np.isfinite(found).all()


@pytest.mark.parametrize("case", ["separated", "constant", "one class", "no weight"])
def test_degenerate_rows_give_finite_weights(case):
    additive, trees, labels, weight = draw_scores(1)
    if case == "separated":
        additive = 2.0 * labels - 1.0
    elif case == "constant":
        additive, trees = np.zeros_like(additive), np.ones_like(trees)
    elif case == "one class":
        labels = np.ones_like(labels)
    else:
        weight = np.zeros_like(weight)
    found = fit_blend(additive, trees, labels, weight)
    assert np.isfinite(found).all()
    assert (found[:2] >= 0.0).all()


def literal_terms(score, label):
    """Curvature and residual of a row: those of the loss, or on the wrong side the steepest parabola that bounds it."""
    margin = (2.0 * label - 1.0) * score
    wrong = expit(-margin)
    curvature = wrong * (1 - wrong) if margin >= 0 else (0.5 - wrong) / margin
    return curvature, (2.0 * label - 1.0) * wrong


@given(seeds)
def test_sums_of_a_blend_are_those_of_a_loop_over_rows(seed):
    additive, trees, labels, weight = draw_scores(seed, 60)
    point = np.array([0.7, 0.4, -0.2])
    gram, rhs = np.zeros((3, 3)), np.zeros(3)
    for one, two, label, w in zip(additive, trees, labels, weight, strict=True):
        column = np.array([one, two, 1.0])
        curvature, residual = literal_terms(point @ column, label)
        gram += w * curvature * np.outer(column, column)
        rhs += w * (curvature * (point @ column) + residual) * column
    found = blend_sums(blend_columns(additive, trees), point, labels, weight)
    assert_allclose(found[0], gram, rtol=1e-10, atol=1e-12)
    assert_allclose(found[1], rhs, rtol=1e-9, atol=1e-10)


@given(seeds)
def test_a_quadratic_loss_is_minimized_within_bounds(seed):
    rng = np.random.default_rng(seed)
    root, rhs = rng.normal(size=(3, 3)), 3.0 * rng.normal(size=3)
    gram = root @ root.T + 0.1 * np.eye(3)
    found = solve_blend(gram, rhs)

    def loss(weights):
        return 0.5 * weights @ gram @ weights - rhs @ weights

    expected = minimize(loss, np.zeros(3), jac=lambda w: gram @ w - rhs, bounds=NOT_NEGATIVE, options={"gtol": 1e-12})
    assert (found[:2] >= 0.0).all()
    assert loss(found) <= expected.fun + 1e-8 * (1 + abs(expected.fun))


@given(seeds, st.integers(2, 50))
def test_a_gain_has_its_standard_errors_and_its_share_of_the_loss(seed, n_rows):
    before, after = np.random.default_rng(seed).exponential(size=(2, n_rows))
    errors = (before - after).mean() / ((before - after).std() / np.sqrt(n_rows))
    assert_allclose(measure_gain(before, after), (errors, 1.0 - after.sum() / before.sum()), rtol=1e-9, atol=1e-12)


def test_equal_losses_are_no_gain():
    assert measure_gain(np.ones(5), np.ones(5)) == (0.0, 0.0)
    assert measure_gain(np.zeros(5), np.zeros(5)) == (0.0, 0.0)


def test_losses_are_logistic_and_weighted():
    rows = CodedRows(np.zeros((4, 1), np.uint8), np.array([0, 1, 0, 1], np.int8), np.array([1.0, 2.0, 0.5, 3.0]))
    scores = np.array([0.3, -0.7, 2.0, 1.5])
    assert_allclose(log_losses(scores, rows), rows.weight * np.log1p(np.exp([0.3, 0.7, 2.0, -1.5])), rtol=1e-12)
    assert_allclose(log_losses(np.array([800.0, -800.0, 800.0, -800.0]), rows), 800.0 * rows.weight)


def draw_rows(seed, n_rows=400):
    """Coded rows with labels that depend on some leaves of the ensemble of the seed, and additive scores."""
    ensemble, _ = ensemble_of(0)
    rng = np.random.default_rng(seed)
    codes, additive = rng.integers(0, 13, (n_rows, 5)).astype(np.uint8), rng.normal(size=n_rows)
    truth = 2.0 * np.random.default_rng(99).normal(size=ensemble.n_leaves)
    log_odds = additive + truth[ensemble.leaves(codes)].sum(axis=1)
    labels = (rng.random(n_rows) < expit(log_odds)).astype(np.int8)
    return additive, CodedRows(codes, labels, rng.uniform(0.5, 2.0, n_rows))


def begun(frozen=False, policy=TREE_POLICY):
    """A blend before any later row, of an ensemble whose leaves are noisy."""
    ensemble, _ = ensemble_of(0)
    truth = 2.0 * np.random.default_rng(99).normal(size=ensemble.n_leaves)
    ensemble = replace(ensemble, values=truth + np.random.default_rng(7).normal(size=truth.size))
    additive, rows = draw_rows(1)
    validation = ValidationRows(rows, additive, ensemble.products(rows.codes, ensemble.values))
    return Blend.start(ensemble, ADDITIVE_WEIGHTS, validation, draw_rows(2, 300)[1].codes, frozen, policy)


def update(blend, additive, rows, part=slice(None)):
    leaves = blend.ensemble.leaves(rows.codes[part])
    return blend.update(additive[part], leaves, rows.labels[part], rows.weight[part])


def test_a_blend_begins_with_the_weights_that_suit_its_validation_rows():
    blend = begun()
    rows, additive, trees = blend.validation
    assert_allclose(blend.point, minimized(blend_columns(additive, trees), rows.labels, rows.weight), atol=2e-4)
    assert blend.point[TREES] > 0.2
    assert_allclose(blend.weights, blend.point, atol=1e-7)  # one more Newton step changes nothing
    assert_array_equal(blend.leaf_weights(), blend.ensemble.values)
    leaves = blend.ensemble.leaves(rows.codes)
    expected = blend.point @ blend_columns(additive, blend.ensemble.values[leaves].sum(axis=1))
    assert_allclose(blend.scores(additive, leaves), expected, rtol=1e-10, atol=1e-12)


def test_the_gain_is_that_over_the_additive_model_calibrated_on_the_same_rows():
    blend = begun()
    rows, additive, trees = blend.validation
    alone = minimized(blend_columns(additive, 0.0 * trees), rows.labels, rows.weight, [(0, None), (0, 0), (None, None)])
    both = minimized(blend_columns(additive, trees), rows.labels, rows.weight)
    before, after = (
        rows.weight * np.log1p(np.exp(-(2.0 * rows.labels - 1.0) * (weights @ blend_columns(additive, trees))))
        for weights in (alone, both)
    )
    gains = before - after
    assert blend.gain.share == pytest.approx(gains.sum() / before.sum(), abs=1e-6)
    assert blend.gain.errors == pytest.approx(gains.sum() / (gains.std() * np.sqrt(gains.size)), abs=1e-3)


@pytest.mark.parametrize(("limits", "n_kept"), [({}, 300), ({"max_kept_rows": 70}, 70), ({"max_kept_bytes": 501}, 100)])
def test_kept_rows_are_evenly_spaced_and_bounded(limits, n_kept):
    grown = draw_rows(2, 300)[1].codes
    kept = begun(policy=replace(TREE_POLICY, **limits)).kept
    assert kept.shape == (n_kept, 5)
    assert_array_equal(kept, grown[[k * 300 // n_kept for k in range(n_kept)]])


@pytest.mark.parametrize("weighted", [True, False])
def test_later_rows_are_sums_per_leaf_and_of_the_two_scores(weighted):
    blend, (additive, rows) = begun(), draw_rows(3, 150)
    leaves = blend.ensemble.leaves(rows.codes)
    weight = rows.weight if weighted else np.ones(150)
    sums = blend.update(additive, leaves, rows.labels, rows.weight if weighted else None).sums
    residuals, curvatures = np.zeros(blend.ensemble.n_leaves), np.zeros(blend.ensemble.n_leaves)
    gram, rhs = np.zeros((3, 3)), np.zeros(3)
    for score, row, label, w in zip(additive, leaves, rows.labels, weight, strict=True):
        column = np.array([score, sum(blend.ensemble.values[leaf] for leaf in row), 1.0])
        curvature, residual = literal_terms(blend.point @ column, label)
        for leaf in row:
            residuals[leaf] += w * residual
            curvatures[leaf] += w * curvature
        gram += w * curvature * np.outer(column, column)
        rhs += w * (curvature * (blend.point @ column) + residual) * column
    assert_allclose(sums.residuals, residuals, rtol=1e-9, atol=1e-11)
    assert_allclose(sums.curvatures, curvatures, rtol=1e-9, atol=1e-11)
    assert_allclose(sums.gram, gram, rtol=1e-9, atol=1e-10)
    assert_allclose(sums.rhs, rhs, rtol=1e-9, atol=1e-9)
    assert sums.n_rows == pytest.approx(weight.sum())


def assert_same_sums(one, other, atol=1e-9):
    for name, array in one.to_arrays().items():
        assert_allclose(array, other.to_arrays()[name], rtol=1e-9, atol=atol, err_msg=name)


@settings(max_examples=15)
@given(st.lists(st.integers(0, 300), max_size=4))
def test_any_cut_of_later_rows_gives_the_same_sums_and_so_do_merged_and_subtracted_ones(cuts):
    blend, (additive, rows) = begun(), draw_rows(3, 300)
    whole, parts, merged = update(blend, additive, rows), blend, blend.empty_copy()
    for part in np.split(np.arange(300), sorted(cuts)):
        parts = update(parts, additive, rows, part)
        merged = merged.merge(update(blend.empty_copy(), additive, rows, part))
    for found in (parts, merged):
        assert_same_sums(found.sums, whole.sums)
        assert_allclose(found.weights, whole.weights, rtol=1e-9)
        assert_allclose(found.leaf_weights(), whole.leaf_weights(), atol=1e-9)
    rest = whole.subtract(update(blend.empty_copy(), additive, rows, slice(0, 100)))
    assert_same_sums(rest.sums, update(blend, additive, rows, slice(100, 300)).sums)


def test_the_weights_after_later_rows_are_one_newton_step_for_all_rows():
    blend, (additive, rows) = begun(), draw_rows(3, 2000)
    after = update(blend, additive, rows)
    trees = blend.ensemble.products(rows.codes, blend.ensemble.values)
    validated = blend.validation.rows
    columns = np.hstack([blend_columns(*blend.validation[1:]), blend_columns(additive, trees)])
    labels, weight = np.append(validated.labels, rows.labels), np.append(validated.weight, rows.weight)
    gram, rhs = blend_sums(columns, blend.point, labels, weight)
    prior = np.diag(prior_squares(blend_columns(*blend.validation[1:]), validated.weight))
    expected = solve_blend(gram + prior, rhs + prior @ [0.5, 0.5, 0.0])
    assert_allclose(after.weights, expected, rtol=1e-9)
    assert np.abs(after.weights - blend.weights).max() > 1e-3
    # One step leads close to the weights that suit all rows.
    best = minimized(columns, labels, weight)
    assert np.abs(after.weights - best).max() < 0.5 * np.abs(blend.weights - best).max()


def draw_system(seed, n_rows=80, sizes=(3, 4, 2)):
    """Leaf indicators of kept rows, and curvatures and residuals of leaves; one leaf has no kept row."""
    rng = np.random.default_rng(seed)
    leaves = np.column_stack([rng.integers(0, size, n_rows) for size in sizes]) + np.cumsum([0, *sizes[:-1]])
    indicators = np.zeros((n_rows, sum(sizes) + 1))
    np.put_along_axis(indicators, leaves, 1.0, axis=1)
    return indicators, rng.exponential(20.0, sum(sizes) + 1), 5.0 * rng.normal(size=sum(sizes) + 1)


def dense_matrix(indicators, curvatures, ridge):
    """Leaves that occur together, scaled so that the diagonal has the curvatures; plus the ridge and one."""
    counts = np.maximum(indicators.sum(axis=0), 1.0)
    scaled = indicators * np.sqrt(curvatures / counts)
    return scaled.T @ scaled + np.diag(ridge * curvatures + 1.0)


@settings(max_examples=15)
@given(seeds, st.sampled_from([0.0, 0.3, 3.0]))
def test_with_enough_steps_leaf_weights_solve_the_dense_equations(seed, ridge):
    indicators, curvatures, residuals = draw_system(seed)
    matrix = dense_matrix(indicators, curvatures, ridge)
    assert_allclose(np.diagonal(matrix)[:-1], (1.0 + ridge) * curvatures[:-1] + 1.0, rtol=1e-12)
    found = LeafSystem(csr_array(indicators), curvatures).solve(residuals, ridge, CONVERGED)
    assert_allclose(found, np.linalg.solve(matrix, residuals), rtol=1e-6, atol=1e-8)


@given(seeds, st.sampled_from([0.3, 3.0]))
def test_with_the_steps_of_the_policy_leaf_weights_are_close_and_linear_in_the_residuals(seed, ridge):
    indicators, curvatures, residuals = draw_system(seed)
    system = LeafSystem(csr_array(indicators), curvatures)
    exact = np.linalg.solve(dense_matrix(indicators, curvatures, ridge), residuals)
    found = system.solve(residuals, ridge)
    assert np.linalg.norm(found - exact) < {0.3: 0.3, 3.0: 0.1}[ridge] * np.linalg.norm(exact)
    other = np.random.default_rng(seed + 1).normal(size=residuals.size)
    assert_allclose(system.solve(residuals - 3.0 * other, ridge), found - 3.0 * system.solve(other, ridge), atol=1e-10)


def test_leaves_without_curvature_take_their_residual_and_nothing_diverges():
    indicators, curvatures, residuals = draw_system(0)
    zero = LeafSystem(csr_array(indicators), np.zeros_like(curvatures)).solve(residuals, 0.3, CONVERGED)
    assert_allclose(zero, residuals, rtol=1e-6)
    large = LeafSystem(csr_array(indicators), 1e9 * curvatures).solve(residuals, 0.3)
    assert np.abs(large).max() < 1e-5


def literal_leaf_weights(blend, policy):
    """The values as grown plus the step that suits the validation rows best, every candidate tried."""
    rows, additive, trees = blend.validation
    indicators = np.zeros((len(blend.kept), blend.ensemble.n_leaves))
    np.put_along_axis(indicators, blend.ensemble.leaves(blend.kept), 1.0, axis=1)
    leaves, best, lowest = blend.ensemble.leaves(rows.codes), blend.ensemble.values, np.inf
    candidates = [np.zeros(blend.ensemble.n_leaves)]
    for ridge in policy.leaf_ridges:
        matrix = dense_matrix(indicators, blend.sums.curvatures, ridge)
        step = np.linalg.solve(matrix, blend.sums.residuals) / blend.point[TREES]
        candidates += [length * step for length in policy.leaf_steps]
    for change in candidates:
        scores = blend.weights @ blend_columns(additive, trees + change[leaves].sum(axis=1))
        loss = float(rows.weight @ np.log1p(np.exp(-(2.0 * rows.labels - 1.0) * scores)))
        if loss < lowest:
            lowest, best = loss, blend.ensemble.values + change
    return best


def test_later_rows_move_leaves_by_the_candidate_of_the_lowest_validation_loss():
    policy = replace(CONVERGED, leaf_ridges=(3.0, 0.3), leaf_steps=(0.1, 0.35, 1.0))
    blend, (additive, rows) = begun(), draw_rows(3, 2000)
    after = update(blend, additive, rows)
    found = after.leaf_weights(policy)
    assert_allclose(found, literal_leaf_weights(after, policy), rtol=1e-5, atol=1e-7)
    assert np.abs(found - blend.ensemble.values).max() > 0.1
    truth = 2.0 * np.random.default_rng(99).normal(size=blend.ensemble.n_leaves)
    new_additive, new_rows = draw_rows(4, 4000)
    leaves = blend.ensemble.leaves(new_rows.codes)
    expected = truth[leaves].sum(axis=1)
    for values in (found, after.leaf_weights()):  # with the steps of the policy too
        errors = [np.std(each[leaves].sum(axis=1) - expected) for each in (values, blend.ensemble.values)]
        assert errors[0] < 0.9 * errors[1]
    assert new_additive.size == 4000


def test_leaves_stay_as_grown_where_later_rows_are_few_or_mislead_or_leaves_are_frozen():
    blend, (additive, rows) = begun(), draw_rows(3, 2000)
    few = replace(TREE_POLICY, min_later_rows=100.0)
    assert_array_equal(update(blend, additive, rows).leaf_weights(few), blend.ensemble.values)
    assert_array_equal(update(begun(frozen=True), additive, rows).leaf_weights(), blend.ensemble.values)
    wrong = rows._replace(labels=1 - rows.labels)
    assert_array_equal(update(blend, additive, wrong).leaf_weights(), blend.ensemble.values)


def test_leaves_begin_to_move_at_the_share_of_later_rows_of_the_policy():
    blend, (additive, rows) = begun(), draw_rows(3, 2000)
    after = update(blend, additive, rows._replace(weight=np.ones(2000)))
    for later_rows, moves in ((2000.0, True), (2000.5, False)):  # of 300 kept rows
        policy = replace(TREE_POLICY, min_later_rows=later_rows / 300)
        assert bool((after.leaf_weights(policy) != blend.ensemble.values).any()) == moves


@pytest.mark.parametrize("frozen", [False, True])
def test_a_blend_is_restored_from_its_arrays_which_are_copies(frozen):
    blend = update(begun(frozen), *draw_rows(3, 2000))
    again = Blend.from_arrays(blend.ensemble, 3, blend.to_arrays())
    assert again.frozen is frozen
    assert_array_equal(again.additive, ADDITIVE_WEIGHTS)
    assert_array_equal(again.weights, blend.weights)
    assert_array_equal(again.leaf_weights(), blend.leaf_weights())
    assert again.gain == blend.gain
    expected = {name: array.tolist() for name, array in blend.to_arrays().items()}
    for array in blend.to_arrays().values():
        array[...] = 0
    assert {name: array.tolist() for name, array in again.to_arrays().items()} == expected
    assert {name: array.tolist() for name, array in blend.to_arrays().items()} == expected


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("point", lambda a: a[:2]),
        ("point", lambda a: a * np.nan),
        ("additive", lambda a: a[1:]),
        ("additive_at", lambda a: a + 1),
        ("additive_at", lambda a: a[::-1].copy()),
        ("validation_codes", lambda a: a[:, :4]),
        ("validation_codes", lambda a: a[1:]),
        ("validation_codes", lambda a: a.astype(np.int64)),
        ("validation_labels", lambda a: a * 2),
        ("validation_labels", lambda a: -a),
        ("validation_weight", lambda a: -a),
        ("validation_additive", lambda a: a[1:]),
        ("validation_trees", lambda a: a * np.inf),
        ("kept_codes", lambda a: a[:, :4]),
        ("frozen", lambda _: np.array([True, False])),
        ("frozen", lambda _: np.array(2)),
        ("residuals", lambda a: a[1:]),
        ("curvatures", lambda a: np.append(a, 0.0)),
        ("gram", lambda a: a[:2]),
        ("rhs", lambda a: a * np.nan),
        ("n_rows", lambda _: np.array([1.0])),
    ],
)
def test_arrays_that_are_no_blend_of_the_ensemble_raise(name, change):
    blend = begun()
    arrays = blend.to_arrays()
    with pytest.raises(ValueError, match="expected"), np.errstate(invalid="ignore"):
        Blend.from_arrays(blend.ensemble, 3, arrays | {name: change(arrays[name])})
    del arrays[name]
    with pytest.raises(ValueError, match=f"expected arrays .*{name}"):
        Blend.from_arrays(blend.ensemble, 3, arrays)


def test_sums_of_different_ensembles_are_not_merged():
    blend = begun()
    other = replace(blend, point=blend.point + 1.0)
    for attempt in (blend.merge, blend.subtract):
        with pytest.raises(IncompatibleMomentsError, match="different tree ensembles"):
            attempt(other)
    with pytest.raises(IncompatibleMomentsError, match="sums of 2 leaves and of 3"):
        BlendSums.empty(2).merge(BlendSums.empty(3))


def test_of_two_ensembles_the_average_that_ranks_rows_best_is_taken():
    (one, _), (two, _) = ensemble_of(0), ensemble_of(1, (3, 3))
    two = replace(two, codes=one.codes)
    _, rows = draw_rows(5, 2000)
    scores = [part.products(rows.codes, part.values) for part in (one, two)]
    rng = np.random.default_rng(0)
    labels = (rng.random(2000) < expit(2.0 * scores[0] + scores[1])).astype(np.int8)
    rows = rows._replace(labels=labels)
    joined, found = average_ensembles([one, two], scores, rows)
    expected = minimized(blend_columns(*scores), labels, rows.weight)[:2]
    assert_allclose(found, expected / expected.sum() @ np.stack(scores), atol=1e-3)
    assert_allclose(joined.products(rows.codes, joined.values), found, rtol=1e-10, atol=1e-12)
    assert joined.n_trees == 5


def test_an_ensemble_that_does_harm_is_left_out_of_the_average():
    (one, _), (two, _) = ensemble_of(0), ensemble_of(1, (3, 3))
    two = replace(two, codes=one.codes)
    _, rows = draw_rows(5, 2000)
    scores = [part.products(rows.codes, part.values) for part in (one, two)]
    rng = np.random.default_rng(0)
    against = rows._replace(labels=(rng.random(2000) < expit(2.0 * scores[0] - 3.0 * scores[1])).astype(np.int8))
    joined, found = average_ensembles([one, two], scores, against)
    assert joined.n_trees == one.n_trees
    assert_allclose(found, scores[0], rtol=1e-10)
    both = rows._replace(labels=(rng.random(2000) < expit(-3.0 * scores[0] - 3.0 * scores[1])).astype(np.int8))
    joined, found = average_ensembles([one, two], scores, both)
    assert_allclose(found, 0.5 * (scores[0] + scores[1]), rtol=1e-10, atol=1e-12)
    alone, found = average_ensembles([one], scores[:1], rows)
    assert alone is one
    assert found is scores[0]
    assert INTERCEPT == 2
