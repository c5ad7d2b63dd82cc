"""The logistic loss in one pass, against literal formulas and scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import opauc
from opauc import OPAUC, OPAUCCV
from opauc.errors import IncompatibleMomentsError, ParameterError, UnsupportedOperationError
from opauc.linear.logistic import BALANCED, ExpansionPolicy, Logistic
from opauc.linear.moments.linearized import NEGATIVE, POSITIVE
from opauc.linear.resolve import opauc_factory
from tests.problems import problem


def simulated(n_rows=2000, seed=0, positives=-1.0):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n_rows, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 50.0, 0.0, -3.0]
    score = positives + rows[:, 0] + 0.1 * (rows[:, 1] - 50.0) - 3.0 * rows[:, 2]
    return rows, (random.random(n_rows) < expit(score)).astype(np.int8)


def literal(state, rows, labels, weight, alpha, scale):
    """Return the minimizer of the sum of the quadratics of the rows plus the penalty, by solving for all at once."""
    point = state.expansion
    scores = (rows - point.center) @ point.weights[0] + point.intercepts[0]
    sign = 2.0 * labels - 1.0
    margin, p = sign * scores, expit(scores)
    curvature = np.where(margin >= 0, p * (1 - p), np.tanh(np.abs(margin) / 2) / (2 * np.abs(margin)))
    factor = weight * np.where(labels == 1, point.row_weights[0, POSITIVE], point.row_weights[0, NEGATIVE])
    columns = np.column_stack([np.ones(len(rows)), rows - point.center])
    penalty = alpha * weight.sum() * np.diag(np.r_[0.0, scale**2])
    matrix = columns.T @ (columns * (factor * curvature)[:, None]) + penalty
    start = np.r_[point.intercepts[0], point.weights[0]]
    right = columns.T @ (factor * ((labels - p) + curvature * scores))
    found = np.linalg.solve(matrix, right)

    def loss(step_to, part):
        change = columns[part] @ (step_to - start)
        value = np.logaddexp(0.0, -margin[part]) - (labels - p)[part] * change + curvature[part] * change**2 / 2
        return float(np.sum((factor * value)[part] if value.size == factor.size else factor[part] * value))

    return found, loss


@pytest.mark.parametrize("loss", ["logistic", BALANCED])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_and_held_out_losses_are_those_of_the_literal_sums(loss, weighted):
    rows, labels = simulated()
    weight = np.random.default_rng(1).uniform(0.2, 3.0, labels.size) if weighted else np.ones(labels.size)
    solver = Logistic(loss=loss, init_size=400, alphas=(1e-3, 1e-2, 0.1), cv=3)
    state = solver.step(solver.start(4), rows, labels, weight)
    selection = solver.selection(state)
    scale = solver._scale(state.whole())
    found, _ = literal(state, rows, labels, weight, selection.alpha, scale)
    assert_allclose(solver.weights(state), found[1:], rtol=1e-9)
    folds = state.folds.empty_copy().next_folds(labels.size) // 2
    for row, alpha in enumerate(selection.alphas):
        for fold in range(3):
            others, inside = folds != fold, folds == fold
            trained, _ = literal(state, rows[others], labels[others], weight[others], alpha, scale)
            _, loss_of = literal(state, rows[inside], labels[inside], weight[inside], alpha, scale)
            expected = -loss_of(trained, slice(None)) / weight[inside].sum()
            assert_allclose(selection.scores[row, fold], expected, rtol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", BALANCED])
def test_the_expansion_is_the_penalized_minimizer_of_the_first_rows(loss):
    rows, labels = simulated(900)
    solver = Logistic(loss=loss, alphas=(0.01,), standardize=False)
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    state = solver.fix(solver.step(solver.start(4), rows, labels))
    class_weight = None if loss == "logistic" else "balanced"
    peer = LogisticRegression(C=1 / (0.01 * 900), class_weight=class_weight, tol=1e-10).fit(rows, labels)
    assert_allclose(state.expansion.weights[0], peer.coef_[0], rtol=2e-3)
    assert_allclose(solver.weights(state), peer.coef_[0], rtol=2e-4)


def test_one_step_from_few_first_rows_comes_close_to_the_minimizer_of_all():
    rows, labels = simulated(20_000)
    model = OPAUC(loss="logistic", init_size=2000).fit(rows, labels)
    scale = rows.std(axis=0)
    peer = LogisticRegression(C=100.0).fit(rows / scale, labels).coef_[0]
    first = LogisticRegression(C=100.0).fit(rows[:2000] / scale, labels[:2000]).coef_[0]

    def angle(weights):  # what matters to a ranking
        return np.arccos(weights @ peer / np.linalg.norm(weights) / np.linalg.norm(peer))

    assert angle(model.coef_[0] * scale) < 0.02
    assert angle(model.coef_[0] * scale) < 0.25 * angle(first)


@pytest.mark.parametrize(("looks", "low", "high"), [(1, 1.4, 1.6), (2, 1.0, 1.15)])
def test_where_one_class_is_rare_a_second_look_brings_the_expansion_near_the_minimizer(looks, low, high, monkeypatch):
    policy, minimize_on = ExpansionPolicy(looks=looks), Logistic.minimize_on
    monkeypatch.setattr(
        Logistic, "minimize_on", lambda self, first, start, loss: minimize_on(self, first, start, loss, policy)
    )
    random = np.random.default_rng(0)
    rows, truth = random.normal(size=(8000, 40)), random.normal(size=40) / np.sqrt(10.0)
    labels = (random.random(8000) < expit(-5.0 + rows @ truth)).astype(np.int8)
    sign = np.where(labels == 1, -1.0, 1.0)
    peer = LogisticRegression(C=100.0).fit(rows, labels).decision_function(rows)
    solver = Logistic()
    state = solver.fix(solver.step(solver.start(40), rows, labels))
    scores = state.expansion.scores(rows)[:, 0]
    ratio = np.logaddexp(0.0, sign * scores).sum() / np.logaddexp(0.0, sign * peer).sum()
    assert low < ratio < high


def test_first_rows_that_can_be_separated_do_not_reverse_the_ranking_of_the_others():
    rows, labels = problem(9, 2000, 4)
    rows[:, 0] += 2 * labels
    solver = Logistic(init_size=30)
    assert roc_auc_score(labels, rows @ solver.weights(solver.step(solver.start(4), rows, labels))) > 0.99


def test_rows_are_kept_until_the_rarer_class_has_enough_of_them_or_they_are_too_many():
    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(1000, 2)), (np.arange(1000) % 100 == 99).astype(np.int8)
    solver = Logistic(init_size=64)
    assert not solver.step(solver.start(2), rows[:399], labels[:399]).fixed
    assert solver.step(solver.start(2), rows[:400], labels[:400]).fixed  # the fourth positive
    none = np.zeros(1000, np.int8)
    assert not solver.step(solver.start(2), rows[:511], none[:511]).fixed
    assert solver.step(solver.start(2), rows[:512], none[:512]).fixed  # eight times as many


def test_rows_of_one_class_first_still_give_a_model():
    rows, labels = simulated(3000)
    order = np.argsort(labels, kind="stable")
    model = OPAUC(loss="logistic", init_size=100).fit(rows[order], labels[order])
    shuffled = OPAUC(loss="logistic", init_size=100).fit(rows, labels)
    assert model.score(rows, labels) > shuffled.score(rows, labels) - 0.002


def test_models_from_empty_copies_merge_to_the_model_of_all_rows():
    rows, labels = simulated(3000)
    groups = np.arange(3000) // 3
    whole = OPAUCCV(loss="logistic", init_size=500).fit(rows, labels, groups=groups)
    first = OPAUCCV(loss="logistic", init_size=500).fit(rows[:1000], labels[:1000], groups=groups[:1000])
    others = [
        first.empty_copy().partial_fit(rows[part], labels[part], groups=groups[part])
        for part in (slice(1000, 1700), slice(1700, 3000))
    ]
    merged = first.merge(others[1]).merge(others[0])
    assert_allclose(merged.coef_, whole.coef_, rtol=1e-9)
    assert merged.alpha_ == pytest.approx(whole.alpha_)


def test_models_whose_first_rows_fixed_different_points_do_not_merge():
    rows, labels = simulated(2000)
    one = OPAUC(loss="logistic", init_size=100).fit(rows[:1000], labels[:1000])
    other = OPAUC(loss="logistic", init_size=100).fit(rows[1000:], labels[1000:])
    before = one.coef_.copy()
    with pytest.raises(IncompatibleMomentsError, match="different expansion points; start one from an empty copy"):
        one.merge(other)
    assert_array_equal(one.coef_, before)
    waiting = OPAUC(loss="logistic").fit(rows[:500], labels[:500])
    assert waiting.merge(other).moments_.fixed  # rows that are still kept take the point of the other
    with pytest.raises(UnsupportedOperationError, match="an empty copy needs the expansion point"):
        OPAUC(loss="logistic").partial_fit([[0.0]], [0], classes=[0, 1]).empty_copy()


@pytest.mark.parametrize("init_size", [300, 5000])
def test_rows_forgotten_are_as_if_never_seen(init_size):
    rows, labels = simulated(2000)
    gone = np.arange(700, 1100)
    model = OPAUC(loss="logistic", init_size=init_size).fit(rows, labels)
    model.forget(rows[gone], labels[gone], row_numbers=gone)
    solver = Logistic(init_size=init_size)
    state = solver.step(solver.start(4), rows[:700], labels[:700])
    later = solver.step(state.numbered_from(1100), rows[1100:], labels[1100:])
    assert_allclose(model.coef_[0], solver.weights(state.merge(later)), rtol=1e-7)
    with pytest.raises(ValueError, match="forget needs row_numbers"):
        model.forget(rows[:1], labels[:1])


def test_a_row_that_was_never_seen_is_not_among_the_first_rows():
    rows, labels = simulated(100)
    model = OPAUC(loss="logistic").fit(rows, labels)
    with pytest.raises(ValueError, match="never seen"):
        model.forget(rows[:1] + 1e-9, labels[:1], row_numbers=[0])


def test_saved_models_go_on_to_the_same_bits(tmp_path):
    rows, labels = simulated(2000)
    for init_size in (300, 5000):
        model = OPAUC(loss="logistic", init_size=init_size).fit(rows[:1000], labels[:1000])
        opauc.save(model, tmp_path / "model.opauc")
        again = opauc.load(tmp_path / "model.opauc")
        assert_array_equal(again.coef_, model.coef_)
        again.partial_fit(rows[1000:], labels[1000:])
        assert_array_equal(again.coef_, model.partial_fit(rows[1000:], labels[1000:]).coef_)
        assert again.selection_.criterion == "log_loss"


def test_sparse_rows_far_wider_than_the_first_batch_give_the_weights_of_dense_ones():
    rows, labels = simulated(1500)
    wide = np.zeros((1500, 30))
    wide[:, :4] = rows
    wide[600:, 20] = labels[600:]
    dense = OPAUC(loss="logistic", init_size=300).fit(wide, labels)
    assert_allclose(OPAUC(loss="logistic", init_size=300).fit(sparse.csr_array(wide), labels).coef_, dense.coef_)
    assert dense.coef_[0, 20] > 1.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "logit"}, r"The 'loss' parameter of OPAUC must be one of \{'square', 'logistic', 'balanced_log"),
        ({"loss": "logistic", "solver": "sgd"}, "loss='logistic' needs solver='exact', here it is 'sgd'"),
        ({"loss": "logistic", "rank": 3}, "loss='logistic' needs rank=None, here it is 3"),
        ({"loss": "logistic", "forgetting_factor": 0.9}, r"needs forgetting_factor=1.0, here it is 0.9"),
        ({"loss": "logistic", "device": "cpu"}, "device='cpu' needs loss='square'"),
        ({"loss": "logistic", "init_size": 1}, r"'init_size' parameter of OPAUC must be an int in the range \[2"),
        ({"init_size": 1}, r"'init_size' parameter of OPAUC must be an int in the range \[2"),
    ],
)
def test_parameters_that_do_not_fit_say_what_would(parameters, message):
    rows, labels = simulated(50)
    with pytest.raises(ValueError, match=message):
        OPAUC(**parameters).fit(rows, labels)


def test_the_binormal_criterion_is_for_the_square_loss():
    with pytest.raises(ValueError, match="loss='logistic' needs criterion='pair_loss', here it is 'auc'"):
        OPAUCCV(loss="logistic", criterion="auc").fit([[0.0], [1.0]], [0, 1])


def test_too_many_features_for_the_folds_are_refused_before_any_memory_is_taken():
    wide = sparse.csr_array((2, 4300))
    with pytest.raises(ValueError, match=r"15 covariance matrices of 4300 features take 2.1 GiB; loss='logistic'"):
        OPAUC(loss="logistic").fit(wide, [0, 1])


def test_the_loss_cannot_change_between_batches():
    rows, labels = simulated(100)
    model = OPAUC(loss="logistic").fit(rows, labels)
    with pytest.raises(ValueError, match="solver was 'logistic'"):
        model.set_params(loss="square").partial_fit(rows, labels)


def test_files_are_trained_with_the_loss_and_refuse_what_does_not_fit(tmp_path):
    rows, labels = simulated(400)
    table = tmp_path / "table.csv"
    np.savetxt(table, np.column_stack([rows, labels]), delimiter=",", header="a,b,c,d,y", comments="")
    trained = opauc.train(table, label="y", loss="logistic")
    assert isinstance(trained, OPAUC)
    assert_allclose(trained.coef_[0], OPAUC(loss="logistic").fit(np.loadtxt(table, delimiter=",", skiprows=1)[:, :4],
                                                                 labels).coef_[0], rtol=1e-6)  # fmt: skip
    with pytest.raises(ParameterError, match="alpha is chosen inside the pass with loss='logistic'"):
        opauc.train(table, label="y", loss="logistic", alpha=0.5)
    with pytest.raises(UnsupportedOperationError, match="each shard would fix an expansion point of its own"):
        opauc_factory({"loss": "logistic"}).sharding(rows)
