"""`OPAUC` where full covariance does not fit, or a rank is asked for."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from opauc import OPAUC
from opauc.errors import DivergedError, IncompatibleMomentsError
from tests.problems import cuts

KINDS = [
    {"solver": "sgd", "rank": 4},
    {"solver": "exact", "rank": 4},
    {"rank": 0},
    {"solver": "exact", "rank": 0},
    {"solver": "progressive_selection"},
]
every_kind = pytest.mark.parametrize("settings", KINDS, ids=lambda kind: " ".join(map(str, kind.values())))


def texts(seed, n_rows=300, n_features=50, positives=0.3):
    """Sparse rows of unit length whose first features are more frequent in the positive class."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n_rows) < positives).astype(int)
    labels[:2] = 0, 1
    odds = 1.0 / np.arange(1, n_features + 1)
    probabilities = np.clip(odds[None] * np.where(labels[:, None], 2.0, 1.0) ** (np.arange(n_features) % 2), 0, 0.9)
    rows = sparse.csr_array((rng.random((n_rows, n_features)) < probabilities).astype(float))
    lengths = np.sqrt(np.maximum(rows.multiply(rows).sum(axis=1), 1.0))
    rows.data /= np.repeat(lengths, np.diff(rows.indptr))
    return rows, labels


@every_kind
def test_rows_are_ranked_better_than_by_chance(settings):
    rows, labels = texts(0, 3000)
    model = OPAUC(**settings, random_state=0).fit(rows[:2000], labels[:2000])
    assert roc_auc_score(labels[2000:], model.decision_function(rows[2000:])) > 0.6
    assert model.predict_proba(rows).shape == (3000, 2)
    # Probabilities grow with the scores.
    order = np.argsort(model.decision_function(rows))
    assert (np.diff(model.predict_proba(rows)[order, 1]) >= -1e-12).all()


@every_kind
@given(seed=st.integers(0, 2**16), at=cuts(60))
def test_any_cut_of_the_rows_gives_the_same_model(settings, seed, at):
    rows, labels = texts(seed, 60)
    whole, chunked = (OPAUC(**settings, random_state=3) for _ in range(2))
    whole.fit(rows, labels)
    for part in np.split(np.arange(60), at):
        chunked.partial_fit(rows[part], labels[part], classes=[0, 1])
    if settings.get("solver") == "exact":
        assert_allclose(chunked.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    else:
        assert_array_equal(chunked.coef_, whole.coef_)
    assert_allclose(chunked.intercept_, whole.intercept_, rtol=1e-9, atol=1e-12)


@every_kind
def test_every_way_to_write_the_same_sparse_matrix_gives_the_same_model(settings):
    rows, labels = texts(1)
    expected = OPAUC(**settings, random_state=0).fit(rows, labels).coef_
    wide = rows.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    backwards = sparse.csr_array(
        (
            np.concatenate([rows.data[a:b][::-1] for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]),
            np.concatenate([rows.indices[a:b][::-1] for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)]),
            rows.indptr,
        ),
        shape=rows.shape,
    )
    zeros = rows.tolil()
    zeros[5, 49] = 1.0
    zeros = zeros.tocsr()
    zeros.data[zeros.indptr[5] : zeros.indptr[6]][-1] = 0.0
    for same in (wide, backwards, zeros, rows.toarray(), rows.tocsc(), rows.tocoo()):
        kept = copy.deepcopy(same)
        model = OPAUC(**settings, random_state=0).fit(same, labels)
        assert_allclose(model.coef_, expected, rtol=1e-7, atol=1e-10)
        if sparse.issparse(same):
            assert_array_equal(same.toarray(), kept.toarray())


@every_kind
def test_a_matrix_that_is_wrong_about_itself_is_seen_through(settings):
    rows, labels = texts(14)
    expected = OPAUC(**settings, random_state=0).fit(rows, labels).coef_
    double = sparse.csr_array(
        (np.repeat(rows.data / 2, 2), np.repeat(rows.indices, 2), rows.indptr * 2), shape=rows.shape
    )
    double.has_canonical_format = double.has_sorted_indices = True
    assert_allclose(OPAUC(**settings, random_state=0).fit(double, labels).coef_, expected, rtol=1e-7, atol=1e-10)
    for at, wrong in ((0, 3), (5, 0), (300, rows.nnz + 7)):
        broken = rows.copy()
        broken.indptr[at] = wrong
        with pytest.raises(ValueError, match=r"row ends \(indptr\)|index pointer|indptr"):
            OPAUC(**settings).fit(broken, labels)


@every_kind
def test_rows_without_entries_are_rows_all_the_same(settings):
    rows, labels = texts(2)
    rows = sparse.vstack([rows[:100], sparse.csr_array((5, 50)), rows[100:]], format="csr")
    labels = np.concatenate([labels[:100], [0, 1, 0, 1, 1], labels[100:]])
    model = OPAUC(**settings, random_state=0).fit(rows, labels)
    assert np.isfinite(model.coef_).all()
    assert_allclose(model.decision_function(rows[100:105]), model.intercept_[0])


def test_auto_takes_what_the_study_found_where_full_covariance_does_not_fit():
    rows, labels = texts(3, 400, 20_000)
    model = OPAUC().fit(rows, labels)
    assert (model.solver_, model.rank_) == ("progressive_selection", 0)
    assert model.selection_.winner in range(8)
    assert (OPAUC(solver="sgd").fit(rows, labels).rank_, OPAUC(solver="exact").fit(rows, labels).rank_) == (0, 50)
    assert OPAUC().fit(rows[:, :50], labels).solver_ == "exact"


def test_a_rank_alone_means_opaucr():
    rows, labels = texts(4)
    model = OPAUC(rank=5, random_state=0).fit(rows, labels)
    assert (model.solver_, model.rank_) == ("sgd", 5)
    assert_array_equal(model.coef_, OPAUC(rank=5, random_state=0).fit(rows, labels).coef_)
    assert np.abs(model.coef_ - OPAUC(rank=5, random_state=1).fit(rows, labels).coef_).max() > 0


def test_a_rank_above_the_number_of_features_is_allowed_with_a_warning():
    rows, labels = texts(5)
    with pytest.warns(UserWarning, match="rank=60 is more than n_features=50"):
        OPAUC(rank=60).fit(rows, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OPAUC(rank=50).fit(rows, labels)


def test_sketches_merge_if_their_codes_differ():
    rows, labels = texts(6, 600)
    make = OPAUC(solver="exact", rank=30, alpha=0.1)
    one, other = (clone(make).set_params(random_state=i).fit(rows[i::2], labels[i::2]) for i in (0, 1))
    merged = one.merge(other)
    assert_allclose(merged.moments_.counts, [(labels == 0).sum(), (labels == 1).sum()])
    assert_allclose(merged.moments_.means[1], rows[labels == 1].mean(axis=0))
    with pytest.raises(IncompatibleMomentsError, match="random_state of its own"):
        merged.merge(other)
    with pytest.raises(ValueError, match="needs solver='exact'"):
        OPAUC(rank=3).fit(rows, labels).merge(one)


def test_a_sketch_forgets_rows_by_number():
    rows, labels = texts(7)
    model = OPAUC(solver="exact", rank=6, random_state=0).fit(rows, labels)
    kept = OPAUC(solver="exact", rank=6, random_state=0).fit(rows[:200], labels[:200])
    with pytest.raises(ValueError, match="forget needs row_numbers"):
        model.forget(rows[200:], labels[200:])
    model.forget(rows[200:], labels[200:], row_numbers=np.arange(200, 300))
    assert_allclose(model.coef_, kept.coef_, rtol=1e-7, atol=1e-10)


def test_a_path_from_a_sketch_holds_the_weights_of_every_alpha():
    rows, labels = texts(8)
    model = OPAUC(solver="exact", rank=6, random_state=0).fit(rows, labels)
    for w, alpha in zip(model.path([0.01, 1.0]), (0.01, 1.0), strict=True):
        expected = OPAUC(solver="exact", rank=6, random_state=0, alpha=alpha).fit(rows, labels)
        assert_allclose(w, expected.coef_[0], rtol=1e-9)


def test_float32_rows_are_kept_in_float32_tables():
    rows, labels = texts(9)
    small = OPAUC(rank=5, random_state=0).fit(rows.astype(np.float32), labels)
    assert small._fitted.state.table.rows.dtype == np.float32
    assert_allclose(small.coef_, OPAUC(rank=5, random_state=0).fit(rows, labels).coef_, rtol=1e-3, atol=1e-4)


@every_kind
def test_models_survive_pickling_and_learn_on(settings):
    rows, labels = texts(10)
    model = OPAUC(**settings, random_state=0).fit(rows[:150], labels[:150])
    back = pickle.loads(pickle.dumps(model))
    for one in (model, back):
        one.partial_fit(rows[150:], labels[150:])
    assert_array_equal(model.coef_, back.coef_)


@pytest.mark.parametrize("rank", [0, 4])
def test_divergence_names_eta0_and_keeps_the_model(rank):
    rows, labels = texts(11)
    model = OPAUC(solver="sgd", rank=rank, random_state=0).fit(rows, labels)
    before = model.coef_.copy()
    with pytest.raises(DivergedError, match=r"eta0=50.0 is too large"):
        model.set_params(learning_rate="constant", eta0=50.0).partial_fit(rows * 100, labels)
    assert_array_equal(model.coef_, before)
    again = OPAUC(solver="sgd", rank=rank, random_state=0).fit(rows, labels)
    model.set_params(learning_rate="curvature", eta0=1e4)
    assert_array_equal(model.partial_fit(rows, labels).coef_, again.partial_fit(rows, labels).coef_)


@every_kind
def test_bad_rows_leave_the_model_as_it_was(settings):
    rows, labels = texts(13)
    model = OPAUC(**settings, random_state=0).fit(rows, labels)
    before = model.coef_.copy()
    bad = rows.copy()
    bad.data[3] = np.nan
    outside = sparse.csr_matrix((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 50))
    outside.indices[1] = -1
    for wrong, y in ((bad, labels), (rows[:, :20], labels), (outside, [0, 1]), (rows, np.full(300, 7))):
        with pytest.raises(ValueError, match=r"NaN|features|column indices|label 7, besides the classes 0 and 1"):
            model.partial_fit(wrong, y)
    assert_array_equal(model.coef_, before)
