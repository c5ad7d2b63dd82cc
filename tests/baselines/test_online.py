"""The online estimators: scikit-learn's checks, batches, labels, seeds, matrix types."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, minmax_scale

import opauc.baselines
from opauc.baselines import FSAUC, OAM, SOLAM, SPAUC, AdaOAM, UniExp, UniSqu
from opauc.core.registry import BASELINES
from opauc.errors import DivergedError, StatisticsOverflowError
from tests.problems import cuts, problem
from tests.scikit_checks import checks_of

DEFAULTS = [
    OAM(random_state=0),
    OAM(update="gradient", random_state=0),
    UniExp(),
    UniSqu(),
    SOLAM(),
    FSAUC(),
    SPAUC(),
    AdaOAM(),
]
AS_PUBLISHED = [
    OAM(C=0.01, buffer_size=7, random_state=1),
    UniExp(eta0=0.01, learning_rate="constant", average=False),
    UniSqu(eta0=0.001, learning_rate="invsqrt", average=False),
    SPAUC(eta0=0.01, learning_rate="constant", average=False, alpha=0.1),
    AdaOAM(average=True),
    FSAUC(eta0=0.05, radius=1.0, n_rows=60),
]
every_model = pytest.mark.parametrize("model", DEFAULTS + AS_PUBLISHED, ids=repr)
default_models = pytest.mark.parametrize("model", DEFAULTS, ids=repr)


@pytest.mark.parametrize(("model", "check"), checks_of({repr(model): model for model in AS_PUBLISHED}))
@pytest.mark.filterwarnings("default")
def test_scikit_learns_checks_pass_with_other_settings(model, check):
    check(model)


def test_every_registered_estimator_is_exported():
    found = BASELINES
    assert {"OAM", "UniExp", "UniSqu", "SOLAM", "SPAUC", "AdaOAM"} <= set(found)
    assert set(opauc.baselines.__all__) == set(found)
    assert all(getattr(opauc.baselines, name) is kind for name, kind in found.items())


@every_model
@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), cuts(60), st.booleans())
def test_fit_in_one_call_or_in_batches_gives_the_same_bits(model, seed, at, as_sparse):
    rows, labels = problem(seed, 60, 5)
    rows = sparse.csr_array(rows) if as_sparse else rows
    whole, chunked = clone(model).fit(rows, labels), clone(model)
    for part in np.split(np.arange(60), at):
        chunked.partial_fit(rows[part], labels[part], classes=[0, 1])
    assert_array_equal(chunked.coef_, whole.coef_)
    assert_array_equal(chunked.intercept_, whole.intercept_)
    assert_array_equal(chunked.predict_proba(rows), whole.predict_proba(rows))


@every_model
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("make", [np.asfortranarray, sparse.csr_matrix, sparse.csc_array])
def test_every_matrix_type_gives_the_same_model(model, dtype, make):
    rows, labels = problem(0, 80, 4, scale=3.0)
    rows = rows.astype(dtype)
    expected = clone(model).fit(rows.astype(float), labels)
    found = clone(model).fit(make(rows), labels)
    assert_allclose(found.coef_, expected.coef_, rtol=1e-9, atol=1e-12 * np.abs(expected.coef_).max())
    assert found.coef_.dtype == np.float64


@default_models
def test_any_two_labels_are_accepted_and_a_single_class_raises(model):
    rows, labels = problem(0, 60, 3)
    names = np.array(["ham", "spam"])[labels]
    found = clone(model).fit(rows, names)
    assert found.classes_.tolist() == ["ham", "spam"]
    assert_array_equal(found.coef_, clone(model).fit(rows, labels).coef_)
    with pytest.raises(ValueError, match="one class: every row is of class 'spam'"):
        clone(model).fit(rows, np.full(60, "spam"))
    with pytest.raises(ValueError, match=r"classes must be passed on the first call to partial_fit.*here 'spam'"):
        clone(model).partial_fit(rows, np.full(60, "spam"))


@default_models
def test_a_batch_that_raises_changes_nothing(model):
    rows, labels = problem(1, 60, 3)
    found = clone(model).fit(rows, labels)
    before = found.coef_.copy()
    for bad in (rows * np.nan, rows[:, :2], np.full((60, 3), 1e200)):
        with pytest.raises(ValueError, match=r"NaN|features|overflow"):
            found.partial_fit(bad, labels)
        assert_array_equal(found.coef_, before)
    with pytest.raises(ValueError, match=r"classes=\[0, 2\]"):
        found.partial_fit(rows, labels, classes=[0, 2])
    again = clone(model).fit(rows, labels).partial_fit(rows, labels)
    assert_array_equal(found.partial_fit(rows, labels).coef_, again.coef_)


@default_models
def test_defaults_rank_real_data_well(model):
    X, y = load_breast_cancer(return_X_y=True)
    X = minmax_scale(X, (-1, 1))
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:400], order[400:]
    scores = clone(model).fit(X[train], y[train]).decision_function(X[test])
    assert roc_auc_score(y[test], scores) > 0.97


@default_models
def test_mean_probability_is_the_share_of_positives(model):
    """Probabilities depend on score means and variances, which some solvers estimate progressively."""
    rows, labels = problem(2, 4000, 4, positives=0.2)
    probabilities = clone(model).fit(rows, labels).predict_proba(rows)[:, 1]
    assert probabilities.mean() == pytest.approx(labels.mean(), abs=0.05)


def test_reservoirs_depend_on_the_seed_alone():
    rows, labels = problem(3, 500, 4)
    coefs = [OAM(buffer_size=5, C=0.1, random_state=seed).fit(rows, labels).coef_ for seed in (0, 0, 1)]
    assert_array_equal(coefs[0], coefs[1])
    assert np.abs(coefs[0] - coefs[2]).max() > 1e-6 * np.abs(coefs[0]).max()
    unseeded = [OAM(buffer_size=5, C=0.1).fit(rows, labels).coef_ for _ in range(2)]
    assert np.abs(unseeded[0] - unseeded[1]).max() > 0.0
    shared = np.random.RandomState(0)
    drawn = [OAM(buffer_size=5, C=0.1, random_state=shared).fit(rows, labels).coef_ for _ in range(2)]
    assert np.abs(drawn[0] - drawn[1]).max() > 0.0


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (OAM(update="both"), "'update' parameter of OAM must be one of {'sequential', 'gradient'}. Got 'both'"),
        (OAM(buffer_size=0), r"'buffer_size' parameter of OAM must be an int in the range \[1, inf\). Got 0"),
        (OAM(buffer_size=True), "Got True"),
        (OAM(C=0.0), r"'C' parameter of OAM must be a float in the range \(0.0, inf\). Got 0.0"),
        (UniExp(eta0=-1), "'eta0' parameter of UniExp"),
        (UniSqu(learning_rate="fast"), "'learning_rate' parameter of UniSqu"),
        (UniSqu(average=None), "'average' parameter of UniSqu"),
        (SOLAM(radius=0.0), "'radius' parameter of SOLAM"),
        (SPAUC(alpha=-1.0), "'alpha' parameter of SPAUC"),
        (AdaOAM(epsilon=-1.0), "'epsilon' parameter of AdaOAM"),
    ],
)
def test_a_wrong_parameter_is_named_with_its_value(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit([[0.0], [1.0]], [0, 1])


def test_buffer_size_cannot_change_between_calls():
    rows, labels = problem(4, 60, 3)
    model = OAM(buffer_size=5, random_state=0).fit(rows, labels).set_params(buffer_size=6)
    with pytest.raises(ValueError, match="buffer_size was 5 at the start, now it is 6"):
        model.partial_fit(rows, labels)


def test_ada_oam_raises_where_two_matrices_do_not_fit():
    rows = sparse.csr_array((np.ones(2), [0, 1], [0, 1, 2]), shape=(2, 20_000))
    with pytest.raises(
        ValueError, match=r"two covariance matrices of 20000 features take 6\.0 GiB; AdaOAM uses at most 2"
    ):
        AdaOAM().fit(rows, [0, 1])


@pytest.mark.parametrize(
    ("model", "error"),
    [
        (UniSqu(eta0=1e9, learning_rate="constant"), DivergedError),
        (SPAUC(eta0=1e9, learning_rate="constant"), DivergedError),
        (AdaOAM(eta0=1e200), DivergedError),
        (OAM(C=1e290), StatisticsOverflowError),
        (SOLAM(eta0=1e150), StatisticsOverflowError),
    ],
    ids=repr,
)
def test_steps_that_overflow_raise_and_name_the_parameter(model, error):
    rows, labels = problem(5, 200, 4)
    with pytest.raises(error, match=r"eta0=1e\+|C=1e\+290|eta0=10"):
        model.fit(rows, labels)
    assert not hasattr(model, "_fitted")


def test_estimators_work_inside_pipelines_and_searches():
    rows, labels = problem(6, 300, 4)
    pipeline = make_pipeline(MinMaxScaler((-1, 1)), OAM(random_state=0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(pipeline, {"oam__C": [1e-4, 1e-2]}, scoring="roc_auc", cv=3).fit(rows, labels)
    assert 0.5 < search.best_score_ <= 1.0
