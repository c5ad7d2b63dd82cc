"""OPAUC on mapped rows against OPAUC on rows mapped by NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc import OPAUC
from opauc.baselines.opauc_f import OPAUCf
from opauc.baselines.opauc_pca import OPAUCpca, PrincipalComponents
from opauc.baselines.opauc_rp import OPAUCrp
from tests.problems import problem


@pytest.mark.parametrize("solver", ["exact", "sgd"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_opauc_f_is_opauc_on_the_subset_of_features(solver, make):
    rows, labels = problem(4, 120, 9)
    model = OPAUCf(n_components=4, solver=solver, alpha=0.1, random_state=5).fit(make(rows), labels)
    assert model.n_components_ == 4
    assert len(set(model.features_.tolist())) == 4
    expected = OPAUC(solver=solver, alpha=0.1, standardize=False).fit(rows[:, model.features_], labels)
    assert_allclose(model.coef_[:, model.features_], expected.coef_, rtol=1e-9)
    assert np.count_nonzero(model.coef_) == 4
    assert_allclose(model.predict_proba(rows), expected.predict_proba(rows[:, model.features_]), rtol=1e-7)


def test_opauc_f_draws_every_feature_as_often_as_any_other():
    rows, labels = problem(4, 20, 6)
    subsets = [OPAUCf(n_components=2, random_state=seed).fit(rows, labels).features_ for seed in range(600)]
    # 200 are expected of each, with a standard deviation of 11.5.
    assert np.abs(np.bincount(np.concatenate(subsets)) - 200).max() < 50


@pytest.mark.parametrize("solver", ["exact", "sgd"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_opauc_rp_is_opauc_on_the_projected_rows(solver, make, monkeypatch):
    monkeypatch.setattr("opauc.linear.maps.FEATURES_PER_BLOCK", 4)
    monkeypatch.setattr("opauc.linear.fit.ROWS_PER_BLOCK", 50)
    rows, labels = problem(4, 120, 9)
    rows[:, 5] = 0.0
    model = OPAUCrp(n_components=3, solver=solver, alpha=0.1, random_state=5).fit(make(rows), labels)
    matrix = model.map_.matrix(np.arange(9))
    expected = OPAUC(solver=solver, alpha=0.1, standardize=False).fit(rows @ matrix, labels)
    assert model.n_components_ == 3
    assert_allclose(model.coef_[0], matrix @ expected.coef_[0], rtol=1e-8)
    assert_allclose(model.predict_proba(rows), expected.predict_proba(rows @ matrix), rtol=1e-7)


def test_the_projection_is_gaussian_and_keeps_lengths_on_average():
    rows, labels = problem(4, 20, 2000)
    projection = OPAUCrp(n_components=500, random_state=1).fit(rows, labels).map_
    matrix = projection.matrix(np.arange(2000)) * np.sqrt(500)
    # A million normal numbers: five standard deviations of each estimate.
    assert abs(matrix.mean()) < 5e-3
    assert abs((matrix**2).mean() - 1) < 5 * np.sqrt(2) * 1e-3
    assert abs((matrix**4).mean() - 3) < 5 * np.sqrt(96) * 1e-3
    assert abs(np.corrcoef(matrix[:-1].ravel(), matrix[1:].ravel())[0, 1]) < 5e-3
    assert_allclose((projection.rows(rows) ** 2).sum(), (rows**2).sum(), rtol=0.15)


@pytest.mark.parametrize(
    ("n_rows", "n_features", "n_components"), [(300, 60, 8), (200, 12, 7), (40, 300, 6), (30, 80, 20), (25, 25, 25)]
)
@pytest.mark.parametrize("solver", ["exact", "sgd"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_opauc_pca_is_opauc_on_the_leading_singular_vectors(n_rows, n_features, n_components, solver, make):
    rng = np.random.default_rng(0)
    labels = np.arange(n_rows) % 2
    rows = rng.normal(size=(n_rows, n_features)) * 0.6 ** np.arange(n_features) + 3.0
    rows[:, :3] += labels[:, None] * 0.6 ** np.arange(3)
    model = OPAUCpca(n_components=n_components, solver=solver, alpha=0.1, random_state=5).fit(make(rows), labels)
    _, lengths, turned = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    directions = turned[: model.n_components_].T
    expected = OPAUC(solver=solver, alpha=0.1, standardize=False).fit((rows - rows.mean(axis=0)) @ directions, labels)
    assert model.n_components_ >= min(n_components, n_rows - 1)
    assert_allclose(model.explained_variance_, lengths[: model.n_components_] ** 2 / n_rows, rtol=1e-6, atol=1e-14)
    assert_allclose(model.coef_[0], directions @ expected.coef_[0], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("shape", [(300, 60), (40, 300)])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_principal_components_are_the_projections_on_the_leading_singular_vectors(shape, make):
    rows = np.random.default_rng(1).normal(size=shape) * 0.6 ** np.arange(shape[1]) + 3.0
    left, lengths, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    components = PrincipalComponents(make(rows), 8, 0).transform()
    components = components - components.mean(axis=0)
    signs = np.sign((components * left[:, :8]).sum(axis=0))
    assert_allclose(components, left[:, :8] * lengths[:8] * signs, atol=1e-6)


def test_components_of_a_slowly_decaying_spectrum_lose_next_to_no_variance():
    """The Krylov basis has 180 of 500 dimensions here, so that Lanczos has not converged."""
    rows = np.random.default_rng(2).normal(size=(500, 800)) / np.sqrt(np.arange(1, 801))
    lengths = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)[:40]
    variance = PrincipalComponents(rows, 40, 0).explained_variance
    assert_allclose(variance.sum(), (lengths**2).sum() / 500, rtol=1e-4)
    assert np.all(variance <= lengths**2 / 500 * (1 + 1e-12))


@pytest.mark.parametrize("shape", [(400, 600), (600, 400)])
@pytest.mark.parametrize(("rank", "n_components"), [(1, 3), (30, 60), (119, 60)])
def test_rows_of_low_rank_have_no_more_components_than_their_rank(shape, rank, n_components):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    lengths = np.linalg.svd(rows - rows.mean(axis=0), compute_uv=False)
    size = min(rank, n_components)
    variance = PrincipalComponents(rows, n_components, 0).explained_variance
    assert_allclose(variance, lengths[:size] ** 2 / shape[0], rtol=1e-9)


def test_wide_rows_without_variance_have_one_component_of_variance_zero():
    model = OPAUCpca(n_components=2, random_state=0).fit(np.full((5, 9), 3.0), [0, 1, 0, 1, 1])
    assert model.n_components_ == 1
    assert_array_equal(model.explained_variance_, [0.0])
    assert_array_equal(model.coef_, np.zeros((1, 9)))


def test_all_components_give_opauc_itself():
    rows, labels = problem(4, 120, 6)
    expected = OPAUC(solver="exact", alpha=0.1, standardize=False).fit(rows, labels).coef_
    for model in (OPAUCf(alpha=0.1), OPAUCpca(alpha=0.1)):
        assert_allclose(model.fit(rows, labels).coef_, expected, rtol=1e-8)
        assert model.n_components_ == 6


@pytest.mark.parametrize("kind", [OPAUCf, OPAUCrp])
def test_the_map_depends_on_the_random_state_and_stays_for_all_batches(kind):
    rows, labels = problem(4, 120, 9)
    fit = lambda seed: kind(n_components=3, random_state=seed).fit(rows, labels).coef_  # noqa: E731
    assert_array_equal(fit(1), fit(1))
    assert not np.array_equal(fit(1), fit(2))
    # The second batch has the map of the first, also without a seed.
    model = kind(n_components=3).partial_fit(rows[:60], labels[:60])
    before = model.map_
    assert model.partial_fit(rows[60:], labels[60:]).map_ is before
    assert model.fit(rows, labels).map_ is not before
