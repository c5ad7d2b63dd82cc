"""The batch and projected estimators and the reference scorers, each against its formula."""

import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import minmax_scale

from opauc.baselines.batch_uni_squ import BatchUniSqu
from opauc.baselines.ls_svm import LSSVM
from opauc.baselines.mean_difference import MeanDifference
from opauc.baselines.opauc_f import OPAUCf
from opauc.baselines.opauc_pca import OPAUCpca
from opauc.baselines.opauc_rp import OPAUCrp
from opauc.baselines.random_weights import RandomWeights
from opauc.baselines.svm_or import SVMOR
from opauc.baselines.svm_perf import SVMPerf
from opauc.baselines.uni_log import UniLog
from opauc.errors import MissingEngineError, StatisticsOverflowError
from tests import literal
from tests.problems import cuts, problem
from tests.scikit_checks import checks_of

BATCH = [SVMPerf(), SVMOR(C=10.0), LSSVM(), UniLog(), BatchUniSqu()]


PROJECTED = [OPAUCf(random_state=0), OPAUCrp(random_state=0), OPAUCpca(random_state=0)]


NULL = [RandomWeights(random_state=0), MeanDifference()]


VARIANTS = [
    LSSVM(alpha=0.0),
    BatchUniSqu(alpha=0.0),
    OPAUCf(n_components=2, solver="sgd", random_state=3),
    OPAUCrp(n_components=2, solver="sgd", random_state=3),
    OPAUCpca(n_components=2, solver="sgd", random_state=3),
]


ALL = BATCH + PROJECTED + NULL


every_model = pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)


streaming = pytest.mark.parametrize("model", [*PROJECTED[:2], MeanDifference()], ids=lambda model: type(model).__name__)


@pytest.mark.parametrize(("model", "check"), checks_of({repr(model): model for model in VARIANTS}))
@pytest.mark.filterwarnings("default")
def test_scikit_learns_checks_pass_with_other_settings(model, check):
    check(model)


@every_model
def test_rows_of_real_data_are_ranked_well(model):
    X, y = load_breast_cancer(return_X_y=True)
    auc = roc_auc_score(y, clone(model).fit(minmax_scale(X), y).decision_function(minmax_scale(X)))
    assert auc > 0.97 or isinstance(model, RandomWeights)


@every_model
def test_sparse_rows_in_any_type_of_number_give_the_model_of_dense_ones(model):
    rows, labels = problem(1, 200, 12)
    rows = np.round(rows * 4) / 4
    rows[np.random.default_rng(1).random(rows.shape) < 0.6] = 0.0
    expected = clone(model).fit(rows, labels)
    for other in (sparse.csr_array(rows), sparse.csc_matrix(rows), rows.astype(np.float32), np.asfortranarray(rows)):
        found = clone(model).fit(other, labels)
        # Quarters are exact in float32; iterative solvers stop elsewhere on the way.
        assert_allclose(found.coef_, expected.coef_, rtol=1e-4, atol=1e-4 * np.abs(expected.coef_).max())
        assert_allclose(found.predict_proba(other), expected.predict_proba(rows), atol=1e-3)
        assert found.coef_.dtype == np.float64


@every_model
def test_one_class_or_one_row_raises_and_leaves_the_model_unchanged(model):
    rows, labels = problem(0, 20, 3)
    fitted = clone(model).fit(rows, labels)
    before = fitted.coef_.copy()
    for one_class in (rows, rows[:1]):
        with pytest.raises(
            ValueError, match=f"{type(model).__name__} needs rows of two classes, got one class: .*'no'"
        ):
            fitted.fit(one_class, ["no"] * len(one_class))
    assert_array_equal(fitted.coef_, before)
    assert fitted.classes_.tolist() == [0, 1]


@every_model
def test_two_rows_and_constant_features_are_enough_to_fit(model):
    assert np.isfinite(clone(model).fit([[0.0, 3.0], [1.0, 3.0]], [0, 1]).coef_).all()
    constant = clone(model).fit(np.full((5, 2), 3.0), [0, 1, 0, 1, 1])
    assert np.isfinite(constant.coef_).all()
    assert_allclose(constant.decision_function(np.full((2, 2), 3.0)), 0.0, atol=1e-12)


@every_model
def test_the_intercept_lies_midway_between_the_class_means_of_the_scores(model):
    rows, labels = problem(3, 100, 6, offset=5.0)
    fitted = clone(model).fit(rows, labels)
    means = [fitted.decision_function(rows[labels == k]).mean() for k in (0, 1)]
    assert_allclose(sum(means), 0.0, atol=1e-8 * (1 + np.abs(fitted.intercept_[0])))


@pytest.mark.parametrize(
    ("model", "name", "expected"),
    [
        (SVMOR(C=0.0), "C", r"in the range \(0\.0, inf\)\. Got 0\.0"),
        (SVMPerf(tol=-1), "tol", r"in the range \(0\.0, inf\)\. Got -1"),
        (SVMOR(max_iter=0), "max_iter", r"an int in the range \[1, inf\)\. Got 0"),
        (LSSVM(alpha=-1.0), "alpha", r"in the range \[0\.0, inf\)\. Got -1\.0"),
        (UniLog(max_iter=1.5), "max_iter", r"an int in the range \[1, inf\)\. Got 1\.5"),
        (BatchUniSqu(alpha="much"), "alpha", "Got 'much'"),
        (OPAUCf(n_components=True), "n_components", r"an int in the range \[1, inf\)\. Got True"),
        (OPAUCrp(solver="auto"), "solver", r"one of {'exact', 'sgd'}\. Got 'auto'"),
        (OPAUCpca(eta0=0.0), "eta0", r"in the range \(0\.0, inf\)"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_value(model, name, expected):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of {type(model).__name__} must be.*{expected}"):
        model.fit(*problem(0, 20, 3))


@pytest.mark.parametrize("C", [1e-2, 1.0, 30.0])
def test_both_support_vector_machines_minimize_the_hinge_over_all_pairs(C):
    rows, labels = problem(7, 80, 6)
    least = literal.hinge_minimum(rows, labels, C)
    one, other = SVMOR(C=C).fit(rows, labels), SVMPerf(C=C / 100, tol=1e-4).fit(rows, labels)
    for model in (one, other):
        assert_allclose(literal.hinge_objective(model.coef_[0], rows, labels, C), least, rtol=1e-3)
        assert_allclose(model.objective_, least, rtol=1e-3)
    assert_allclose(one.objective_, other.objective_, rtol=1e-3)


def test_svm_or_agrees_with_dlib():
    dlib = pytest.importorskip("dlib", reason="dlib-bin has no wheel for this platform")
    rows, labels = problem(7, 150, 6)
    data = dlib.ranking_pair()
    for row, label in zip(rows, labels, strict=True):
        (data.relevant if label else data.nonrelevant).append(dlib.vector(row.tolist()))
    for C in (0.1, 1.0, 20.0):
        trainer = dlib.svm_rank_trainer()
        trainer.c, trainer.epsilon = C, 1e-7
        theirs = np.array(trainer.train(data).weights)
        ours = SVMOR(C=C, tol=1e-7).fit(rows, labels).coef_[0]
        assert_allclose(
            literal.hinge_objective(ours, rows, labels, C), literal.hinge_objective(theirs, rows, labels, C), rtol=1e-5
        )
        # Objectives within e of the least have weights within sqrt(2 e) of each other.
        assert np.linalg.norm(ours - theirs) < 2 * np.sqrt(2e-5 * C)


def test_tolerance_and_rounds_are_reported():
    rows, labels = problem(7, 300, 20)
    rough, fine = SVMOR(C=100.0, tol=0.1).fit(rows, labels), SVMOR(C=100.0, tol=1e-4).fit(rows, labels)
    assert 1 < rough.n_iter_ < fine.n_iter_
    assert 0.0 <= fine.gap_ <= 1e-4 < rough.gap_ <= 0.1
    assert rough.objective_ - fine.objective_ <= rough.gap_ * rough.objective_
    for kind in (SVMOR, SVMPerf):
        with pytest.warns(ConvergenceWarning, match=rf"{kind.__name__} stopped after 3 planes .* more than tol=1e-06"):
            model = kind(C=100.0, tol=1e-6, max_iter=3).fit(rows, labels)
        assert model.n_iter_ == 3
        assert model.gap_ > 1e-6


def test_the_gap_of_svm_perf_is_the_violation_of_its_worst_constraint():
    rows, labels = problem(7, 300, 20)
    model = SVMPerf(C=2.0, tol=1e-3).fit(rows, labels)
    least = SVMPerf(C=2.0, tol=1e-7).fit(rows, labels).objective_
    assert model.objective_ - least <= 100 * 2.0 * model.gap_ <= 100 * 2.0 * 1e-3


@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_any_penalty_gives_weights_that_rank(C):
    rows, labels = problem(9, 200, 4)
    rows[:, 0] += 3 * labels
    for model in (SVMOR(C=C), SVMPerf(C=C)):
        assert roc_auc_score(labels, model.fit(rows, labels).decision_function(rows)) > 0.85


def test_without_the_quadratic_solver_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(
        MissingEngineError, match=r"clarabel is not installed; install opauc with its extra: opauc\[baselines\]"
    ):
        SVMPerf().fit([[0.0], [1.0]], [0, 1])


@streaming
@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), cuts(60), st.booleans())
def test_any_cut_of_the_rows_gives_the_same_model(model, seed, at, as_sparse):
    rows, labels = problem(seed, 60, 5)
    rows = sparse.csr_array(rows) if as_sparse else rows
    whole, chunked = clone(model).fit(rows, labels), clone(model)
    for part in np.split(np.arange(60), at):
        chunked.partial_fit(rows[part], labels[part], classes=[0, 1])
    assert_allclose(chunked.coef_, whole.coef_, rtol=1e-7, atol=1e-9 * np.abs(whole.coef_).max())
    assert_allclose(chunked.predict_proba(rows), whole.predict_proba(rows), rtol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        OPAUCf(n_components=20, random_state=0),
        OPAUCrp(n_components=20, random_state=0),
        OPAUCpca(n_components=20, random_state=0),
        OPAUCpca(n_components=120, random_state=0),
        SVMOR(),
        UniLog(),
        BatchUniSqu(),
        MeanDifference(),
        RandomWeights(),
    ],
    ids=repr,
)
def test_sparse_rows_are_never_written_out(model):
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 2
    rows = sparse.random_array((200, 150_000), density=2e-4, rng=rng, format="csr")
    model.fit(rows[:2], labels[:2])  # compiles
    tracemalloc.start()
    model.fit(rows, labels).decision_function(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The rows take 240 MB dense.
    assert peak < 120e6


def test_random_weights_come_from_the_seed_and_not_from_the_labels():
    rows, labels = problem(0, 50, 4)
    one, other = RandomWeights(random_state=3).fit(rows, labels), RandomWeights(random_state=3).fit(rows, 1 - labels)
    assert_array_equal(one.coef_, other.coef_)
    assert not np.array_equal(one.coef_, RandomWeights(random_state=4).fit(rows, labels).coef_)


def test_random_weights_rank_like_chance_on_average():
    rows, labels = problem(0, 400, 8)
    scored = [RandomWeights(random_state=seed).fit(rows, labels).decision_function(rows) for seed in range(200)]
    # One weight vector and its negative are equally likely.
    assert abs(np.mean([roc_auc_score(labels, scores) for scores in scored]) - 0.5) < 0.05


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_mean_difference_is_accurate_far_from_the_origin(make):
    rows, labels = problem(0, 300, 4, offset=1e6)
    model = MeanDifference().partial_fit(make(rows[:100]), labels[:100]).partial_fit(make(rows[100:]), labels[100:])
    assert_allclose(model.coef_[0], rows[labels == 1].mean(0) - rows[labels == 0].mean(0), rtol=1e-8)
    expected = np.array([rows[labels == k].var(0) for k in (0, 1)])
    # Sums of squares of sparse rows lose the digits by which variance is smaller than the square: 12 of 16.
    assert_allclose(
        model.moments_.scatters / np.array(model.moments_.counts)[:, None],
        expected,
        rtol=1e-2 if make is sparse.csr_array else 1e-6,
    )


def test_mean_difference_raises_for_rows_that_overflow():
    with pytest.raises(StatisticsOverflowError, match="scale the features down"):
        MeanDifference().fit([[1e200], [-1e200], [0.0]], [0, 0, 1])


def test_mean_difference_is_zero_until_both_classes_are_seen():
    model = MeanDifference().partial_fit([[1.0], [2.0]], [0, 0], classes=[0, 1])
    assert not model.coef_.any()
    assert_array_equal(model.partial_fit([[5.0]], [1]).coef_, [[3.5]])
