"""What every estimator of the package promises, found by looking in its folders."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import get_tags

import opauc
from opauc import OPAUC, OPAUCCV
from opauc.core.registry import ESTIMATORS
from opauc.linear.estimator import StreamClassifier
from tests.problems import problem
from tests.scikit_checks import checks_of, order_matters

KINDS = ESTIMATORS
# Every estimator as it is, and OPAUC for each learner that it may choose.
MODELS = {
    **{name: kind() for name, kind in KINDS.items()},
    "OPAUC sgd": OPAUC(solver="sgd"),
    "OPAUC two threads": OPAUC(solver="exact", n_jobs=2, alpha=0.0),
    "OPAUC forgetting_factor": OPAUC(forgetting_factor=0.999),
    "OPAUC drifting": OPAUC(forgetting_factor="auto", horizon=100),
    "OPAUC sketched": OPAUC(solver="exact", rank=3),
    "OPAUC sketched sgd": OPAUC(solver="sgd", rank=3),
    "OPAUC means": OPAUC(rank=0),
    "OPAUC selection": OPAUC(solver="progressive_selection"),
    "OPAUCCV sgd": OPAUCCV(solver="sgd"),
    "OPAUCCV sketched sgd": OPAUCCV(solver="sgd", rank=3),
    "OPAUCCV auc": OPAUCCV(cv=3, criterion="auc", one_standard_error=True, standardize=False, n_jobs=2),
}
everyone = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
STREAMS = {name: model for name, model in MODELS.items() if isinstance(model, StreamClassifier)}
streams = pytest.mark.parametrize("model", STREAMS.values(), ids=list(STREAMS))
ROWS, LABELS = problem(3, 200, 5)


def seeded(model):
    return clone(model).set_params(random_state=0) if "random_state" in model.get_params() else clone(model)


def takes_missing_values(model):
    return get_tags(model).input_tags.allow_nan


@pytest.mark.parametrize(("model", "check"), checks_of(MODELS))
@pytest.mark.filterwarnings("default")
def test_scikit_learns_checks_pass(model, check):
    check(model)


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_weights_mean_copies_where_the_order_of_rows_does_not_matter_and_nowhere_else(name):
    """Nothing is declared an expected failure that could hold; folds by row number, or
    a stream that does not drift, may choose alike."""
    model = seeded(STREAMS[name])
    copies = np.random.default_rng(0).integers(1, 4, ROWS.shape[0])
    weighted = clone(model).fit(ROWS, LABELS, sample_weight=copies).coef_
    repeated = clone(model).fit(np.repeat(ROWS, copies, axis=0), np.repeat(LABELS, copies)).coef_
    alike = np.abs(weighted - repeated).max() <= 1e-7 * np.abs(repeated).max()
    assert alike != order_matters(model) or (alike and name.startswith(("OPAUCCV", "OPAUC drifting")))


# A process that knows how to load and nothing of any model; each model is loaded in a copy of it.
LOADING = """
import os, sys
import numpy as np
import opauc
opauc.load
for folder in map(str.rstrip, sys.stdin):
    if (copy := os.fork()) == 0:
        os.chdir(folder)
        model, rows = opauc.load("model"), np.load("rows.npy")
        np.savez("found.npz", model.decision_function(rows), model.predict_proba(rows), model.classes_)
        os._exit(print(type(model).__name__, flush=True) or 0)
    if os.waitpid(copy, 0)[1]:
        print("nothing", flush=True)
"""


@pytest.fixture(scope="module")
def load_afresh():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", LOADING], **pipes) as process:

        def load(folder):
            print(folder, file=process.stdin, flush=True)
            return process.stdout.readline().strip()

        yield load
        process.stdin.close()


@everyone
def test_a_saved_model_is_loaded_in_a_fresh_process_and_scores_to_the_bit(model, tmp_path, load_afresh):
    fitted = seeded(model).fit(ROWS, LABELS)
    opauc.save(fitted, tmp_path / "model")
    np.save(tmp_path / "rows.npy", ROWS)
    assert load_afresh(tmp_path) == type(model).__name__
    with np.load(tmp_path / "found.npz") as found:
        assert_array_equal(found["arr_0"], fitted.decision_function(ROWS))
        assert_array_equal(found["arr_1"], fitted.predict_proba(ROWS))
        assert_array_equal(found["arr_2"], fitted.classes_)


@everyone
def test_loaded_models_have_every_attribute_and_parameter_of_the_saved_one(model, tmp_path):
    fitted = seeded(model).fit(ROWS, LABELS)
    opauc.save(fitted, tmp_path / "model")
    again = opauc.load(tmp_path / "model")
    assert type(again) is type(fitted)
    assert again.get_params() == fitted.get_params()
    assert vars(again).keys() == vars(fitted).keys()
    for name in vars(fitted).keys() - {"solution_"}:
        assert_array_equal(getattr(again, name), getattr(fitted, name), err_msg=name)


@streams
def test_a_saved_stream_goes_on_learning_to_the_same_bits(model, tmp_path):
    fitted = seeded(model).fit(ROWS[:120], LABELS[:120])
    opauc.save(fitted, tmp_path / "model")
    again = opauc.load(tmp_path / "model").partial_fit(ROWS[120:], LABELS[120:])
    assert_array_equal(again.coef_, fitted.partial_fit(ROWS[120:], LABELS[120:]).coef_)


@streams
def test_chunks_give_what_fit_gives_weighted_or_not(model):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 200)
    for given in (None, weight):
        whole, chunked = seeded(model).fit(ROWS, LABELS, sample_weight=given), seeded(model)
        for part in np.split(np.arange(200), [1, 60, 61, 150]):
            chunked.partial_fit(
                ROWS[part], LABELS[part], classes=[0, 1], sample_weight=None if given is None else given[part]
            )
        assert_allclose(chunked.coef_, whole.coef_, rtol=1e-9, atol=1e-12)


@everyone
def test_sparse_rows_give_the_scores_of_dense_ones(model):
    rows = np.where(np.random.default_rng(2).random(ROWS.shape) < 0.6, 0.0, ROWS)
    dense, thin = seeded(model).fit(rows, LABELS), seeded(model).fit(sparse.csr_array(rows), LABELS)
    assert_allclose(thin.decision_function(rows), dense.decision_function(rows), rtol=1e-6, atol=1e-8)


BAD = [
    (np.where(ROWS[3, 1] == ROWS, np.nan, ROWS), LABELS, "contains NaN"),
    (ROWS[:5], LABELS, "inconsistent numbers of samples"),
    (ROWS, np.arange(200) % 3, "Only binary classification"),
    (ROWS, np.linspace(0, 1, 200), "Unknown label type"),
    (ROWS[:0], LABELS[:0], r"0 sample\(s\)"),
    (ROWS, np.ones(200), "one class"),
]


@everyone
@pytest.mark.parametrize(("rows", "labels", "message"), BAD, ids=[case[2] for case in BAD])
def test_bad_input_is_refused_and_leaves_the_model_as_it_was(model, rows, labels, message):
    if message == "contains NaN" and takes_missing_values(model):
        pytest.skip("missing values are values here")
    fresh, fitted = seeded(model), seeded(model).fit(ROWS, LABELS)
    scores, known = fitted.decision_function(ROWS), vars(fitted).keys()
    for each in (fresh, fitted):
        with pytest.raises(ValueError, match=message):
            each.fit(rows, labels)
    assert vars(fresh).keys() == vars(model).keys()
    assert vars(fitted).keys() == known
    assert_array_equal(fitted.decision_function(ROWS), scores)


@everyone
def test_score_is_the_auc_with_weights_or_without(model):
    fitted, weight = seeded(model).fit(ROWS, LABELS), np.random.default_rng(4).uniform(0.0, 2.0, 200)
    scores = fitted.decision_function(ROWS)
    for given in (None, weight):
        expected = roc_auc_score(LABELS, scores, sample_weight=given)
        assert_allclose(fitted.score(ROWS, LABELS, sample_weight=given), expected, rtol=1e-12)


def test_searches_and_cross_validation_go_by_auc_unless_told_otherwise():
    names = np.array(["no", "yes"])[LABELS]
    default = cross_val_score(OPAUC(), ROWS, names, cv=4)
    assert_allclose(default, cross_val_score(OPAUC(), ROWS, names, cv=4, scoring="roc_auc"), rtol=1e-12)
    accuracy = cross_val_score(OPAUC(), ROWS, names, cv=4, scoring="accuracy")
    assert_allclose(accuracy * 50, np.round(accuracy * 50))
    search = GridSearchCV(OPAUC(), {"alpha": [1e-4, 1.0]}, cv=4).fit(ROWS, names)
    assert_allclose(search.cv_results_["mean_test_score"][0], default.mean(), rtol=1e-12)
    with pytest.raises(ValueError, match="both classes"):
        OPAUC().fit(ROWS, names).score(ROWS[:1], names[:1])


@everyone
def test_rows_to_be_scored_are_checked(model):
    fitted = seeded(model).fit(ROWS, LABELS)
    with pytest.raises(ValueError, match="X has 3 features"):
        fitted.decision_function(ROWS[:, :3])
    if not takes_missing_values(model):
        with pytest.raises(ValueError, match="contains NaN"):
            fitted.predict_proba(np.full((1, 5), np.nan))
