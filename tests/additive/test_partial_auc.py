"""The partial AUC as the objective of additive models: weights and choice written out, and all laws of sums."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import opauc
from opauc import OnePassGAM, load, save
from opauc.additive.initial_fit import fit_basis
from opauc.additive.initial_sample import WarmUpBuffer
from opauc.additive.labeled_sample import encode_rows
from opauc.additive.model import AdditiveLogistic
from opauc.additive.objective import Objective
from opauc.additive.policy import ADDITIVE_POLICY
from opauc.additive.settings import AdditiveSettings
from opauc.additive.state import AdditiveFit
from opauc.core.partial_auc import TopWeight
from opauc.errors import IncompatibleMomentsError

MAX_FPR, N_INITIAL = 0.05, 3000
CATEGORICAL = np.array([False, False, False, True])
# The best mixture is taken, however bad it is.
FORCED = replace(ADDITIVE_POLICY, top=replace(ADDITIVE_POLICY.top, min_errors=-1e9))
SETTINGS = AdditiveSettings(objective="pauc", max_fpr=MAX_FPR, init_size=N_INITIAL, max_columns=150)


def table(seed, n_rows):
    """Return numbers of which three interact, a category with many levels, and labels of which few are positive."""
    random, truth = np.random.default_rng(seed), np.random.default_rng(99)
    numbers, shop = random.normal(size=(n_rows, 3)), random.integers(0, 120, n_rows)
    score = 2.0 * np.sign(numbers.prod(axis=1)) + numbers[:, 0] + truth.normal(size=120)[shop] - 2.5
    return np.c_[numbers, shop], (random.random(n_rows) < expit(score)).astype(np.int8)


def begin(policy=FORCED, given=SETTINGS):
    return AdditiveFit.start(given, CATEGORICAL, 0, policy)


@pytest.fixture(scope="module")
def fitted():
    fit = begin().update(*table(0, N_INITIAL)).with_basis()
    objective = fit.fixed.model.objective
    assert objective.is_weighted
    assert fit.fixed.basis.trees is not None
    assert fit.fixed.basis.random_effects.size
    return fit


def scores(fit, seed=7):
    return fit.scorer.scores(table(seed, 1000)[0])


def literal_weights(fit, rows, labels):
    """Return the weights of rows in the loss, from a score at the expansion point."""
    basis, model = fit.fixed
    z = np.concatenate([block.toarray() for _, block in basis.blocks(rows)])
    share, threshold, width, mean = model.objective.top
    top = expit((z @ model.sums.expansion_point - threshold) / width)
    return z, np.where(labels == 1, 1.0, 1.0 - share + share * top / mean)


@pytest.mark.parametrize("later", [0, 700])
def test_sums_are_those_of_weighted_rows_and_counts_those_of_rows(fitted, later):
    parts = [table(0, N_INITIAL), table(1, later)]
    fit = fitted.update(*parts[1]) if later else fitted
    rows, labels = (np.concatenate(part) for part in zip(*parts, strict=True))
    z, weights = literal_weights(fit, rows, labels)
    model = fit.fixed.model
    score = z @ model.sums.expansion_point
    p = expit(score)
    wrong = (score > 0) != (labels == 1)
    curvature = weights * np.where(wrong, np.tanh(np.abs(score) / 2) / (2 * np.abs(score)), p * (1 - p))
    assert_allclose(model.sums.gram, np.tril(z.T @ (z * curvature[:, None])), rtol=1e-9, atol=1e-9)
    assert_allclose(model.sums.rhs, z.T @ (curvature * score + weights * (labels - p)), rtol=1e-9, atol=1e-8)
    indicators = fit.fixed.basis.random_effects.rows(rows)
    assert_allclose(model.random_effects.curvature, indicators.T @ curvature, rtol=1e-9, atol=1e-9)
    assert_array_equal(model.random_effects.counts, indicators.T @ np.ones(labels.size))
    assert_array_equal(model.sums.class_counts, np.bincount(labels))
    assert fit.counts == tuple(np.bincount(labels))


def test_the_leaves_are_summed_with_the_same_weights(fitted):
    rows, labels = table(1, 700)
    _, weights = literal_weights(fitted, rows, labels)
    model = fitted.update(rows, labels).fixed.model
    assert model.blend.sums.n_rows == pytest.approx(weights.sum())
    validation = model.blend.validation
    plain = begin(given=replace(SETTINGS, objective="auc")).update(*table(0, N_INITIAL)).current.model.blend
    share, threshold, width, mean = model.objective.top
    top = expit((validation.additive - threshold) / width)
    factors = np.where(validation.rows.labels == 1, 1.0, 1.0 - share + share * top / mean)
    assert_allclose(validation.rows.weight, plain.validation.rows.weight * factors)


def test_the_threshold_is_a_quantile_of_the_scores_of_the_negatives(fitted):
    rows, labels = table(0, N_INITIAL)
    z, _ = literal_weights(fitted, rows, labels)
    objective = fitted.fixed.model.objective
    negatives = (z @ fitted.fixed.model.sums.expansion_point)[labels == 0]
    assert_array_equal(objective.mixtures, [[0.3, MAX_FPR], [0.3, 0.25]])
    assert objective.top.threshold == pytest.approx(
        np.quantile(negatives, 1 - objective.mixtures[objective.chosen - 1, 1])
    )


def test_candidates_are_judged_on_rows_that_their_weights_have_not_seen():
    rows, labels = table(0, N_INITIAL)
    buffer = WarmUpBuffer.empty(4).with_rows(rows, labels, None)
    given = replace(SETTINGS, trees=False)
    basis, model = fit_basis(buffer, given, CATEGORICAL, 0)
    order = buffer.order_by_content(CATEGORICAL)
    folds = np.empty(N_INITIAL, int)
    for label in (0, 1):
        of_class = order[labels[order] == label]
        folds[of_class] = np.arange(of_class.size) % 5
    held_out = np.empty(N_INITIAL)
    plain = replace(model, objective=None)
    for fold in range(5):
        others = np.flatnonzero(folds != fold)
        rest = plain.empty_copy().update_initial(encode_rows(basis, rows[others], labels[others], None))
        held_out[folds == fold] = basis.products(rows[folds == fold], rest.solve().weights)
    expected = roc_auc_score(labels, held_out, max_fpr=MAX_FPR)
    assert model.objective.partial_aucs[0] == pytest.approx(expected, abs=0.003)  # the lambdas begin elsewhere
    without = [roc_auc_score(labels[folds != k], held_out[folds != k], max_fpr=MAX_FPR) for k in range(5)]
    assert len(set(without)) == 5
    assert model.objective.errors[0] == 0.0
    assert (model.objective.errors[1:] > 0.0).all()


def test_shards_of_one_basis_score_as_one_stream(fitted):
    rows, labels = table(1, 1600)
    merged = fitted
    for shard in [fitted.empty_copy().update(rows[k::4], labels[k::4]) for k in range(4)]:
        merged = merged.merge(shard)
    assert_allclose(scores(merged), scores(fitted.update(rows, labels)), atol=1e-8)


@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(0, 400), max_size=3))
@settings(max_examples=8, deadline=None)
def test_any_cut_of_the_rows_gives_the_same(fitted, seed, cuts):
    rows, labels = table(seed, 400)
    whole, fit = fitted.update(rows, labels), fitted
    for part in np.split(np.arange(400), sorted(cuts)):
        fit = fit.update(rows[part], labels[part])
    assert_allclose(fit.fixed.model.sums.gram, whole.fixed.model.sums.gram, rtol=1e-12, atol=1e-12)
    assert_allclose(scores(fit), scores(whole), atol=1e-9)


def test_subtracted_rows_leave_no_trace(fitted):
    rows, labels = table(2, 1500)
    weight = np.random.default_rng(2).uniform(0.5, 2.0, 1500)
    rest = fitted.update(rows, labels, weight).subtract(rows, labels, weight)
    assert_allclose(scores(rest), scores(fitted), atol=1e-8)
    other = fitted.empty_copy().update(rows, labels)
    assert_allclose(scores(fitted.merge(other).without(other)), scores(fitted), atol=1e-8)


def test_segments_add_up_to_the_same_fit(fitted):
    rows, labels = table(3, 1000)
    begun = fitted.empty_copy()
    segments = [(begun.update(rows[k::2], labels[k::2]).segment_sums(), 1.0) for k in (0, 1)]
    assert_allclose(scores(begun.sum_segments(segments)), scores(begun.update(rows, labels)), atol=1e-8)


@pytest.mark.parametrize("scoring_only", [False, True])
def test_the_choice_is_in_the_file(tmp_path, scoring_only):
    rows, labels = table(0, N_INITIAL)
    model = OnePassGAM(objective="pauc", max_fpr=MAX_FPR, init_size=1000, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.partial_fit(rows, labels)
    save(model, tmp_path / "m.opauc", scoring_only=scoring_only)
    again = load(tmp_path / "m.opauc")
    assert again.objective_selection_ == model.objective_selection_
    assert (again.objective, again.max_fpr) == ("pauc", MAX_FPR)
    assert_allclose(again.decision_function(rows), model.decision_function(rows), atol=1e-5 if scoring_only else 0.0)


def test_parts_give_the_same_fit_back_and_broken_ones_are_refused(fitted):
    header, arrays = fitted.to_parts()
    assert_array_equal(scores(AdditiveFit.from_parts(header, arrays, 4)), scores(fitted))
    name = "model.objective."
    for part, value in [
        ("top", np.array([0.3, 0.0, 0.0, 1.0])),
        ("top", np.array([1.0, 0.0, 1.0, 1.0])),
        ("top", np.array([0.3, 0.0, 1.0, -1.0])),
        ("chosen", np.array(3)),
        ("max_fpr", np.array(0.0)),
        ("max_fpr", np.array(1.5)),
        ("errors", np.array([0.0, -1.0, 0.0])),
        ("partial_aucs", np.zeros(2)),
    ]:
        with pytest.raises(ValueError, match=r"objective|max_fpr|errors|chosen|partial_aucs"):
            AdditiveFit.from_parts(header, arrays | {f"{name}{part}": value}, 4)
    with pytest.raises(ValueError, match="objective"):
        AdditiveFit.from_parts(header, {key: part for key, part in arrays.items() if key != f"{name}top"}, 4)


def test_models_of_different_objectives_do_not_merge(fitted):
    basis, model = fitted.fixed
    plain = replace(fitted, fixed=type(fitted.fixed)(basis, replace(model, objective=None)))
    other = Objective(0.1, model.objective.mixtures, model.objective.partial_aucs, model.objective.errors, 1,
                      TopWeight(0.3, 0.0, 1.0, 0.5))  # fmt: skip
    third = replace(fitted, fixed=type(fitted.fixed)(basis, replace(model, objective=other)))
    for one, two in ((fitted, plain), (plain, fitted), (fitted, third)):
        with pytest.raises(IncompatibleMomentsError, match="different objectives do not merge"):
            one.merge(two.empty_copy())
        with pytest.raises(IncompatibleMomentsError, match="different objectives do not merge"):
            one.fixed.model.without(two.fixed.model)
    assert isinstance(fitted.fixed.model.merge(model.empty_copy()), AdditiveLogistic)


@pytest.mark.parametrize("max_fpr", [0.05, 1.0])
def test_the_plain_likelihood_is_taken_unless_a_mixture_is_better_beyond_doubt(max_fpr):
    rows, labels = table(0, 4000)
    doubtful = replace(ADDITIVE_POLICY, top=replace(ADDITIVE_POLICY.top, min_errors=1e9))
    plain = begin(given=replace(SETTINGS, objective="auc")).update(rows, labels)
    fit = begin(doubtful, replace(SETTINGS, max_fpr=max_fpr)).update(rows, labels)
    assert fit.current.model.objective.chosen == 0
    assert len(fit.current.model.objective.selection.candidates) == 3
    assert_array_equal(scores(fit), scores(plain))
    assert plain.current.model.objective is None


@pytest.mark.parametrize(
    ("n_rows", "max_fpr", "few"),
    [(300, 0.1, "positives"), (3000, 0.001, "negatives on top")],
)
def test_too_few_rows_of_a_class_leave_the_plain_likelihood(n_rows, max_fpr, few):
    rows, labels = table(0, n_rows)
    if few == "positives":
        labels[np.flatnonzero(labels)[45:]] = 0
    model = OnePassGAM(objective="pauc", max_fpr=max_fpr, random_state=0).fit(rows, labels)
    assert model.objective_selection_ == (("logistic",), (), (), 0)
    expected = OnePassGAM(random_state=0).fit(rows, labels)
    assert_array_equal(model.decision_function(rows), expected.decision_function(rows))


def hard_negatives(seed, n_rows):
    """Return rows in which one feature tells positives from few negatives, and misleads about all others."""
    random = np.random.default_rng(seed)
    labels = (random.random(n_rows) < 0.08).astype(np.int8)
    hard = (labels == 0) & (random.random(n_rows) < 0.04)
    rows = random.normal(size=(n_rows, 3))
    rows[:, 0] += np.where(labels == 1, 2.5, np.where(hard, 3.5, 0.0))
    rows[:, 1] += np.where(labels == 1, 0.0, np.where(hard, -1.5, 1.5))
    return rows, labels


def test_a_mixture_ranks_the_top_better_where_curves_alone_cannot():
    rows, labels = hard_negatives(0, 10_000)
    later, truth = hard_negatives(1, 40_000)
    given = {"interactions": 0, "random_state": 0}
    model = OnePassGAM(objective="pauc", max_fpr=0.02, **given).fit(rows, labels)
    plain = OnePassGAM(**given).fit(rows, labels)
    assert model.objective_selection_.chosen == 2
    gain = [roc_auc_score(truth, one.decision_function(later), max_fpr=0.02) for one in (model, plain)]
    assert gain[0] > gain[1] + 0.004


@pytest.mark.parametrize("max_fpr", [0.0, -0.1, 1.5, float("nan"), "a"])
def test_the_false_positive_rate_is_a_share(max_fpr):
    with pytest.raises(
        ValueError, match=r"'max_fpr' parameter of OnePassGAM must be a float in the range \(0.0, 1.0\]"
    ):
        OnePassGAM(objective="pauc", max_fpr=max_fpr).fit(*table(0, 100))


def test_other_objectives_are_refused_and_the_choice_needs_one():
    with pytest.raises(ValueError, match=r"'objective' parameter of OnePassGAM must be one of \{'auc', 'pauc'\}"):
        OnePassGAM(objective="f1").fit(*table(0, 100))
    with pytest.raises(AttributeError, match="objective_selection_ needs objective='pauc'"):
        _ = OnePassGAM().fit(*table(0, 100)).objective_selection_


def test_constraints_hold_for_the_objective_too():
    rows, labels = hard_negatives(0, 6000)
    given = {"monotone_constraints": [0, -1, 0], "objective": "pauc", "max_fpr": 0.02, "random_state": 0}
    model = OnePassGAM(interactions=0, **given).fit(rows, labels)
    line = np.column_stack([np.zeros(200), np.linspace(-3.0, 4.0, 200), np.zeros(200)])
    assert (np.diff(model.decision_function(line)) <= 1e-9).all()
    plain = OnePassGAM(interactions=0, objective="pauc", max_fpr=0.02, random_state=0).fit(rows, labels)
    assert (np.diff(plain.decision_function(line)) > 0.01).any(), "else the constraint says nothing"
    assert len(model.objective_selection_.candidates) == 3


def test_shards_of_a_file_give_the_model_of_the_file(tmp_path):
    rows, labels = hard_negatives(0, 30_000)
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([rows, labels]), delimiter=",", header="a,b,c,y", comments="", fmt="%.9g")
    given = {"label": "y", "objective": "pauc", "max_fpr": 0.02, "init_size": 6000}
    one, two = (opauc.train(path, n_jobs=n_jobs, **given) for n_jobs in (1, 2))
    assert one.objective_selection_ == two.objective_selection_
    assert len(one.objective_selection_.candidates) == 3
    assert_allclose(two.decision_function(path), one.decision_function(path), atol=1e-8)
