"""Laws of every estimator of the package, by the registry."""

import copy
import subprocess
import sys
from threading import Barrier, Thread

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import get_tags

import opauc
from opauc import OPAUC, OPAUCCV, OnePassGAM, UnsupportedOperationError
from opauc.core.registry import ESTIMATORS
from opauc.linear.estimator import StreamClassifier
from tests.problems import problem
from tests.scikit_checks import checks_of, order_matters

# Every estimator with its default parameters, and OPAUC and OPAUCCV with each of their solvers.
MODELS = {
    **{name: kind() for name, kind in ESTIMATORS.items()},
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
LINEAR_STREAMS = {name: model for name, model in MODELS.items() if isinstance(model, StreamClassifier)}
# The basis of an additive model is fixed within the rows of these laws: by then a thousand rows of each class are seen.
STREAMS = {**LINEAR_STREAMS, "OnePassGAM": OnePassGAM(init_size=2100, interactions=0, n_knots=5)}
streams = pytest.mark.parametrize("model", STREAMS.values(), ids=list(STREAMS))
ROWS, LABELS = problem(3, 200, 5)
MANY_ROWS, MANY_LABELS = problem(3, 4000, 5, positives=0.5)


def seeded(model):
    return clone(model).set_params(random_state=0) if "random_state" in model.get_params() else clone(model)


def stream_of(model):
    """Return rows and labels: enough to fix the basis of an additive model."""
    return (MANY_ROWS, MANY_LABELS) if isinstance(model, OnePassGAM) else (ROWS, LABELS)


def assert_same_scores(one, other, rows, atol=1e-12):
    """Additive models solve for their weights again, so that rounding shows in the eighth digit."""
    tolerance = {"rtol": 0, "atol": 1e-8} if isinstance(one, OnePassGAM) else {"rtol": 1e-9, "atol": atol}
    assert_allclose(one.decision_function(rows), other.decision_function(rows), **tolerance)


def takes_missing_values(model):
    return get_tags(model).input_tags.allow_nan


@pytest.mark.parametrize(("model", "check"), checks_of(MODELS))
@pytest.mark.filterwarnings("default")
def test_scikit_learns_checks_pass(model, check):
    check(model)


@pytest.mark.parametrize("name", sorted(LINEAR_STREAMS))
def test_weights_mean_copies_where_the_order_of_rows_does_not_matter_and_nowhere_else(name):
    """Nothing is declared an expected failure that could hold; folds by row number, or
    a stream that does not drift, may choose alike."""
    model = seeded(LINEAR_STREAMS[name])
    copies = np.random.default_rng(0).integers(1, 4, ROWS.shape[0])
    weighted = clone(model).fit(ROWS, LABELS, sample_weight=copies).coef_
    repeated = clone(model).fit(np.repeat(ROWS, copies, axis=0), np.repeat(LABELS, copies)).coef_
    alike = np.abs(weighted - repeated).max() <= 1e-7 * np.abs(repeated).max()
    assert alike != order_matters(model) or (alike and name.startswith(("OPAUCCV", "OPAUC drifting")))


# A process that knows how to load and nothing of any model, though packages that models use are imported, which takes
# ten times as long as loading; each model is loaded in a copy of it.
LOADING = """
import os, sys
import lightgbm, numba, scipy.optimize, scipy.sparse, scipy.special, sklearn.metrics, sklearn.utils.validation
import numpy as np
import opauc
opauc.load
assert not [name for name in sys.modules if name.startswith(("opauc.additive", "opauc.baselines", "opauc.linear"))]
for folder in map(str.rstrip, sys.stdin):
    if (copy := os.fork()) == 0:
        os.chdir(folder)
        model, rows = opauc.load("model"), np.load("rows.npy")
        np.savez("scores.npz", model.decision_function(rows), model.predict_proba(rows), model.classes_)
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
    with np.load(tmp_path / "scores.npz") as scores:
        assert_array_equal(scores["arr_0"], fitted.decision_function(ROWS))
        assert_array_equal(scores["arr_1"], fitted.predict_proba(ROWS))
        assert_array_equal(scores["arr_2"], fitted.classes_)


@everyone
def test_loaded_models_have_every_attribute_and_parameter_of_the_saved_one(model, tmp_path):
    fitted = seeded(model).fit(ROWS, LABELS)
    opauc.save(fitted, tmp_path / "model")
    again = opauc.load(tmp_path / "model")
    assert type(again) is type(fitted)
    assert again.get_params() == fitted.get_params()
    assert vars(again).keys() == vars(fitted).keys()
    for name in vars(fitted).keys() - {"_fitted"}:
        assert_array_equal(getattr(again, name), getattr(fitted, name), err_msg=name)


@streams
def test_a_saved_stream_goes_on_to_the_same_scores(model, tmp_path):
    rows, labels = stream_of(model)
    # Before the basis of an additive model is fixed, and after it.
    for at in (len(labels) // 2 - 1, 3 * len(labels) // 5):
        fitted = seeded(model).partial_fit(rows[:at], labels[:at], classes=[0, 1])
        opauc.save(fitted, tmp_path / "model")
        loaded = opauc.load(tmp_path / "model")
        assert_array_equal(loaded.decision_function(rows), fitted.decision_function(rows))
        for each in (loaded, fitted):
            each.partial_fit(rows[at:], labels[at:])
        assert_array_equal(loaded.decision_function(rows), fitted.decision_function(rows))


@streams
def test_chunks_give_what_one_call_gives_weighted_or_not(model):
    rows, labels = stream_of(model)
    n_rows = len(labels)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, n_rows)
    for given in (None, weight):
        whole, chunked = seeded(model), seeded(model)
        whole.partial_fit(rows, labels, classes=[0, 1], sample_weight=given)
        for part in np.split(np.arange(n_rows), [1, 3 * n_rows // 10, 3 * n_rows // 10 + 1, 3 * n_rows // 4]):
            chunked.partial_fit(
                rows[part], labels[part], classes=[0, 1], sample_weight=None if given is None else given[part]
            )
        assert_same_scores(chunked, whole, rows)


@pytest.mark.parametrize("model", LINEAR_STREAMS.values(), ids=list(LINEAR_STREAMS))
def test_partial_fit_gives_the_weights_of_fit(model):
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 200)
    for given in (None, weight):
        whole, chunked = seeded(model).fit(ROWS, LABELS, sample_weight=given), seeded(model)
        for part in np.split(np.arange(200), [1, 60, 61, 150]):
            chunked.partial_fit(
                ROWS[part], LABELS[part], classes=[0, 1], sample_weight=None if given is None else given[part]
            )
        assert_allclose(chunked.coef_, whole.coef_, rtol=1e-9, atol=1e-12)


class BrokenOffError(Exception):
    """Stands for Ctrl-C, or for any error in the middle of a chunk."""


def count_calls(work, stop_at=None):
    """Run the work and return how many functions of the package it calls; raise at the one of that number."""
    calls = 0

    def count(frame, event, _):
        nonlocal calls
        if event == "call" and frame.f_globals.get("__name__", "").startswith("opauc."):
            calls += 1
            if calls == stop_at:
                raise BrokenOffError

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls


@streams
def test_an_error_in_the_middle_of_a_chunk_leaves_the_model_unchanged(model):
    rows, labels = stream_of(model)
    half = len(labels) // 2  # an additive model then waits for a few more rows, and fixes its basis in the chunk
    fitted = seeded(model).partial_fit(rows[:half], labels[:half], classes=[0, 1])
    scores = fitted.decision_function(rows)
    after = copy.deepcopy(fitted).partial_fit(rows[half:], labels[half:]).decision_function(rows)
    n_calls = count_calls(lambda: copy.deepcopy(fitted).partial_fit(rows[half:], labels[half:]))
    for share in (0.05, 0.3, 0.5, 0.7, 0.9):
        stop_at = max(1, int(share * n_calls))
        with pytest.raises(BrokenOffError):
            count_calls(lambda: fitted.partial_fit(rows[half:], labels[half:]), stop_at)
        assert_array_equal(fitted.decision_function(rows), scores, err_msg=f"call {stop_at} of {n_calls}")
    assert_array_equal(fitted.partial_fit(rows[half:], labels[half:]).decision_function(rows), after)


@streams
def test_two_threads_at_once_give_one_of_the_two_orders(model):
    rows, labels = stream_of(model)
    first, one, two = np.split(np.arange(len(labels)), [len(labels) // 2, 3 * len(labels) // 4])
    start = seeded(model).partial_fit(rows[first], labels[first], classes=[0, 1])
    orders = [copy.deepcopy(start) for _ in range(2)]
    for fitted, parts in zip(orders, ((one, two), (two, one)), strict=True):
        for part in parts:
            fitted.partial_fit(rows[part], labels[part])
    expected = [fitted.decision_function(rows) for fitted in orders]
    for _ in range(3):
        fitted, begin = copy.deepcopy(start), Barrier(2)

        def learn(part, fitted=fitted, begin=begin):
            begin.wait()
            fitted.partial_fit(rows[part], labels[part])

        threads = [Thread(target=learn, args=(part,)) for part in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        scores = fitted.decision_function(rows)
        assert any(np.allclose(scores, each, rtol=1e-9, atol=1e-9) for each in expected)


SUMS = {name: model for name, model in STREAMS.items() if hasattr(model, "merge")}
# Where merged shards are not the model of the same rows in one stream, and why; counts and means are the same.
BY_ROW_NUMBER = {
    "OPAUC sketched": "every shard has random codes of its own",
    "OPAUCCV": "folds are numbered within each shard",
    "OPAUCCV auc": "folds are numbered within each shard",
}
# Where not even these are.
BY_AGE = {"OPAUC forgetting_factor": "the weight of a row depends on how many rows of its shard follow it"}


def shards_of(model, rows, labels, n_shards):
    """Return the whole and the shards: those of an additive model begin with one basis."""
    if isinstance(model, OnePassGAM):
        start = seeded(model).partial_fit(rows, labels, classes=[0, 1])
        empty = [start.empty_copy() for _ in range(n_shards + 1)]
    else:
        empty = [seeded(model) for _ in range(n_shards + 1)]
    whole = empty[0].partial_fit(rows, labels, classes=[0, 1])
    return whole, [
        each.partial_fit(rows[i::n_shards], labels[i::n_shards], classes=[0, 1]) for i, each in enumerate(empty[1:])
    ]


@pytest.mark.parametrize("name", sorted(SUMS.keys() - BY_ROW_NUMBER.keys() - BY_AGE.keys()))
def test_merged_shards_give_the_model_of_all_rows_or_merge_is_refused(name):
    model = SUMS[name]
    rows, labels = stream_of(model)
    whole, (merged, *others) = shards_of(model, rows, labels, 4)
    if order_matters(model):
        with pytest.raises(UnsupportedOperationError):
            merged.merge(others[0])
        return
    for shard in others:
        merged.merge(shard)
    assert_same_scores(merged, whole, rows, atol=1e-9)


@pytest.mark.parametrize("name", sorted(BY_ROW_NUMBER))
def test_merged_shards_have_the_counts_and_means_of_all_rows_where_row_numbers_matter(name):
    whole, shards = seeded(SUMS[name]).fit(ROWS, LABELS), []
    for i in range(3):
        shard = seeded(SUMS[name])
        if "random_state" in shard.get_params():
            shard.set_params(random_state=i)
        shards.append(shard.fit(ROWS[i::3], LABELS[i::3]))
    merged = shards[0].merge(shards[1]).merge(shards[2]).moments_
    assert_allclose(merged.counts, whole.moments_.counts, rtol=1e-12)
    assert_allclose(merged.mean_difference(), whole.moments_.mean_difference(), rtol=1e-9, atol=1e-12)


def test_the_basis_of_the_additive_model_is_fixed_within_the_rows_of_these_laws():
    model = STREAMS["OnePassGAM"]
    early = seeded(model).partial_fit(MANY_ROWS[:2000], MANY_LABELS[:2000], classes=[0, 1])
    assert sum(early.selection_.rows) == 0
    late = early.partial_fit(MANY_ROWS[2000:], MANY_LABELS[2000:])
    assert 1000 < sum(late.selection_.rows) < 2000


@pytest.mark.parametrize("name", sorted(SUMS))
def test_a_forgotten_row_was_never_seen_or_forget_is_refused(name):
    model = SUMS[name]
    rows, labels = stream_of(model)
    kept = 4 * len(labels) // 5  # the rows of the initial sample of an additive model are among these
    never = seeded(model).partial_fit(rows[:kept], labels[:kept], classes=[0, 1])
    fitted = seeded(model).partial_fit(rows, labels, classes=[0, 1])
    if order_matters(model):
        with pytest.raises((UnsupportedOperationError, ValueError)):
            fitted.forget(rows[kept:], labels[kept:])
        return
    numbers = {"row_numbers": np.arange(kept, len(labels))} if name in BY_ROW_NUMBER else {}
    fitted.forget(rows[kept:], labels[kept:], **numbers)
    assert_allclose(fitted.decision_function(rows), never.decision_function(rows), rtol=1e-7, atol=1e-8)


@everyone
def test_sparse_rows_give_the_scores_of_dense_ones(model):
    rows = np.where(np.random.default_rng(2).random(ROWS.shape) < 0.6, 0.0, ROWS)
    dense, csr = seeded(model).fit(rows, LABELS), seeded(model).fit(sparse.csr_array(rows), LABELS)
    assert_allclose(csr.decision_function(rows), dense.decision_function(rows), rtol=1e-6, atol=1e-8)


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
    if message.startswith("Only binary") and get_tags(model).classifier_tags.multi_class:
        pytest.skip("three classes are classes here: tests/laws/test_several_classes.py")
    fresh, fitted = seeded(model), seeded(model).fit(ROWS, LABELS)
    scores, attributes = fitted.decision_function(ROWS), vars(fitted).keys()
    for each in (fresh, fitted):
        with pytest.raises(ValueError, match=message):
            each.fit(rows, labels)
    assert vars(fresh).keys() == vars(model).keys()
    assert vars(fitted).keys() == attributes
    assert_array_equal(fitted.decision_function(ROWS), scores)


@everyone
def test_score_is_the_auc_with_weights_or_without(model):
    fitted, weight = seeded(model).fit(ROWS, LABELS), np.random.default_rng(4).uniform(0.0, 2.0, 200)
    scores = fitted.decision_function(ROWS)
    for given in (None, weight):
        expected = roc_auc_score(LABELS, scores, sample_weight=given)
        assert_allclose(fitted.score(ROWS, LABELS, sample_weight=given), expected, rtol=1e-12)


def test_searches_and_cross_validation_go_by_auc_unless_scoring_is_given():
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
