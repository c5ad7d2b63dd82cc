"""The partial AUC as the objective, against scikit-learn's and literal counts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import opauc
from opauc import OPAUC, OPAUCCV
from opauc.errors import ParameterError
from opauc.linear.exact_cv import ExactCV
from opauc.linear.logistic import Logistic
from opauc.linear.moments.held_out_scores import HeldOutScores
from opauc.linear.partial_auc import PartialAuc
from opauc.linear.resolve import opauc_factory


def simulated(n_rows=4000, seed=0):
    """Return rows in which few negatives look like positives in all but one feature, which tells those apart."""
    random = np.random.default_rng(seed)
    labels = (random.random(n_rows) < 0.08).astype(np.int8)
    rows = random.normal(size=(n_rows, 4))
    rows[:, 0] += 4.0 * labels
    hard = (labels == 0) & (random.random(n_rows) < 0.05)
    rows[hard, 0] += 4.0
    rows[:, 1] += 1.5 * labels - 1.5 * hard
    rows[labels == 0, 2] += 0.3
    return rows, labels


@pytest.mark.parametrize("max_fpr", [0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_partial_auc_of_binned_scores_is_nearly_that_of_the_scores(max_fpr, weighted):
    rows, labels = simulated(20_000)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, labels.size) if weighted else None
    vector = np.array([1.0, 0.5, -0.2, 0.0])
    numbers = labels.copy()
    state = HeldOutScores.of(vector[None, None], np.zeros((1, 1)), rows[:5000], numbers[:5000])
    found = state.update(rows, numbers, weight).partial_aucs(max_fpr)[0]
    expected = roc_auc_score(labels, rows @ vector, max_fpr=max_fpr, sample_weight=weight)
    assert found == pytest.approx(expected, abs=0.005)


def test_every_row_is_scored_by_scorers_of_the_first_rows_of_other_folds():
    rows, labels = simulated(1500)
    solver = PartialAuc(max_fpr=0.1, init_size=500, alphas=(0.01,), cv=3)
    state = solver.step(solver.start(4), rows, labels)
    first = solver.start(4)
    n_first = next(n for n in range(400, 1500) if solver.step(first, rows[:n], labels[:n]).fixed)
    folds = state.folds.empty_copy().next_folds(1500) // 2
    counts = np.zeros_like(state.scores.counts)
    for fold in range(3):
        outside = np.flatnonzero(folds[:n_first] != fold)
        square = ExactCV(alphas=(0.01,)).path(
            ExactCV().start(4).with_numbers(rows[outside], labels[outside]), [0.01]
        )[0]  # fmt: skip
        assert_allclose(state.scores.weights[0, fold] / square, 1.0, rtol=0.05)  # the scale is that of all first rows
        for candidate in range(4):
            inside = folds == fold
            scores = rows[inside] @ state.scores.weights[candidate, fold] + state.scores.offsets[candidate, fold]
            bins = np.searchsorted(state.scores.edges[candidate], scores, side="right")
            for label in (0, 1):
                counts[candidate, fold, label] += np.bincount(bins[labels[inside] == label], minlength=193)
    assert_array_equal(state.scores.counts, counts)


def test_mixtures_give_their_share_of_the_weight_of_the_negatives_to_the_top():
    rows, labels = simulated()
    solver = PartialAuc(max_fpr=0.02)
    state = solver.fix(solver.step(solver.start(4), rows, labels))
    scores = state.expansion.scores(rows)
    plain = Logistic(loss="logistic")
    assert_allclose(
        state.expansion.weights[0], plain.fix(plain.step(plain.start(4), rows, labels)).expansion.weights[0]
    )
    for loss, (share, top) in enumerate([(0.3, 0.02), (0.6, 0.1)], start=1):
        weight = state.expansion.weights_of_rows(loss, scores, labels)
        assert_array_equal(weight[labels == 1], 1.0)
        negative = labels == 0
        assert weight[negative].mean() == pytest.approx(1.0)
        threshold = np.quantile(scores[negative, 0], 1.0 - top)
        below = scores[:, 0] < np.quantile(scores[negative, 0], 0.5)
        assert_allclose(weight[negative & below], 1.0 - share, atol=0.02)
        above = weight[negative & (scores[:, 0] >= threshold)].sum() / negative.sum()
        assert above > 0.6 * share


def test_it_ranks_the_top_better_than_the_square_and_the_logistic_loss():
    rows, labels = simulated(12_000)
    held_rows, held_labels = simulated(40_000, seed=1)

    def reached(solver):
        weights = solver.weights(solver.step(solver.start(4), rows, labels))
        return roc_auc_score(held_labels, held_rows @ weights, max_fpr=0.01)

    best = reached(PartialAuc(max_fpr=0.01, init_size=4000))
    assert best > reached(ExactCV()) + 0.02
    assert best > reached(Logistic(init_size=4000)) - 0.002


def test_a_mixture_is_taken_only_where_it_is_better_by_a_standard_error():
    random = np.random.default_rng(0)
    labels = (random.random(3000) < 0.2).astype(np.int8)
    rows = random.normal(size=(3000, 3)) + labels[:, None]  # normal classes of one covariance: no mixture helps
    solver = PartialAuc(max_fpr=0.05)
    chosen = solver.objective_selection(solver.step(solver.start(3), rows, labels))
    best = max(chosen.partial_aucs[:2])
    for number in (2, 3):
        if chosen.partial_aucs[number] - best <= chosen.errors[number]:
            assert chosen.chosen != number
    assert chosen.partial_aucs[chosen.chosen] >= best


@pytest.mark.parametrize("init_size", [500, 5000])
def test_it_is_saved_and_rows_are_forgotten(tmp_path, init_size):
    rows, labels = simulated(2500)
    model = OPAUC(objective="pauc", max_fpr=0.05, init_size=init_size).fit(rows[:2000], labels[:2000])
    opauc.save(model, tmp_path / "model.opauc")
    again = opauc.load(tmp_path / "model.opauc")
    before = model.objective_selection_
    assert_array_equal(again.coef_, model.coef_)
    assert again.objective_selection_ == before
    again.partial_fit(rows[2000:], labels[2000:])
    again.forget(rows[2000:], labels[2000:], row_numbers=np.arange(2000, 2500))
    assert_allclose(again.coef_, model.coef_, rtol=1e-7)
    assert again.objective_selection_ == before


def test_models_from_empty_copies_merge_to_the_model_of_all_rows():
    rows, labels = simulated(3000)
    groups = np.arange(3000)
    whole = OPAUCCV(objective="pauc", init_size=500).fit(rows, labels, groups=groups)
    first = OPAUCCV(objective="pauc", init_size=500).fit(rows[:1200], labels[:1200], groups=groups[:1200])
    other = first.empty_copy().partial_fit(rows[1200:], labels[1200:], groups=groups[1200:])
    first.merge(other)
    assert_allclose(first.coef_, whole.coef_, rtol=1e-8)
    assert first.objective_selection_ == whole.objective_selection_


def test_sparse_rows_give_the_model_of_dense_ones():
    rows, labels = simulated(1500)
    rows[np.random.default_rng(0).random(rows.shape) < 0.5] = 0.0
    dense = OPAUC(objective="pauc", init_size=400).fit(rows, labels)
    assert_allclose(OPAUC(objective="pauc", init_size=400).fit(sparse.csr_array(rows), labels).coef_, dense.coef_)


@pytest.mark.parametrize("max_fpr", [1e-6, 1.0])
def test_rates_with_no_negative_or_all_of_them_above_give_a_model(max_fpr):
    rows, labels = simulated(600)
    model = OPAUC(objective="pauc", max_fpr=max_fpr).fit(rows, labels)
    assert model.score(rows, labels) > 0.9
    constant = OPAUC(objective="pauc", max_fpr=max_fpr).fit(np.ones((20, 2)), [0, 1] * 10)
    assert not constant.coef_.any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"objective": "partial"}, r"'objective' parameter of OPAUC must be one of \{'auc', 'pauc'\}"),
        ({"objective": "pauc", "max_fpr": 0.0}, r"'max_fpr' parameter of OPAUC must be a float in the range \(0.0, 1"),
        ({"max_fpr": 1.5}, r"'max_fpr' parameter of OPAUC must be a float in the range \(0.0, 1.0\]"),
        ({"objective": "pauc", "loss": "logistic"}, "objective='pauc' needs loss='square', here it is 'logistic'"),
        ({"objective": "pauc", "solver": "sgd"}, "objective='pauc' needs solver='exact', here it is 'sgd'"),
    ],
)
def test_parameters_that_do_not_fit_say_what_would(parameters, message):
    with pytest.raises(ValueError, match=message):
        OPAUC(**parameters).fit([[0.0], [1.0]], [0, 1])


def test_other_models_have_no_selection_of_an_objective():
    with pytest.raises(AttributeError, match="objective_selection_ needs objective='pauc'"):
        _ = OPAUC().fit([[0.0], [1.0]], [0, 1]).objective_selection_


def test_files_are_trained_for_the_objective(tmp_path):
    rows, labels = simulated(400)
    table = tmp_path / "table.csv"
    columns = np.column_stack([rows, labels])
    np.savetxt(table, columns, delimiter=",", header="a,b,c,d,y", comments="", fmt="%.17g")
    trained = opauc.train(table, label="y", solver="auto", objective="pauc", max_fpr=0.05)
    assert_allclose(trained.coef_, OPAUC(objective="pauc", max_fpr=0.05).fit(rows, labels).coef_, rtol=1e-9)
    with pytest.raises(ParameterError, match="max_fpr is for objective='pauc'"):
        opauc.train(table, label="y", max_fpr=0.05)
    with pytest.raises(ParameterError, match="alpha is chosen inside the pass with objective='pauc'"):
        opauc.train(table, label="y", objective="pauc", alpha=0.1)
    assert opauc_factory({"objective": "pauc"}).resolved(4).solver.n_covariances == 25


def test_expit_of_the_threshold_is_the_weight_of_a_row():
    """The weight of a row in a mixture is the formula of the docstring, row by row."""
    rows, labels = simulated(800)
    solver = PartialAuc(max_fpr=0.05)
    point = solver.fix(solver.step(solver.start(4), rows, labels)).expansion
    scores = (rows - point.center) @ point.weights[0] + point.intercepts[0]
    for loss in (1, 2):
        positive, negative, top, threshold, width = point.row_weights[loss]
        expected = np.where(labels == 1, positive, negative + top * expit((scores - threshold) / width))
        assert_allclose(point.weights_of_rows(loss, point.scores(rows), labels), expected, rtol=1e-9)
