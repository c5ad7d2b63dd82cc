"""The columns of landmarks, held against a few lines of NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.groups import GroupKind
from opauc.additive.basis.landmarks import JITTER, Landmarks
from opauc.additive.basis.leaves import Probe
from tests.additive.basis.test_card import INPUTS, card_of, sample

seeds = st.integers(0, 2**32 - 1)


def landmarks_of(basis, seed, size=12):
    rng = np.random.default_rng(seed)
    n_levels = int(basis.tables.n_levels.sum())
    plain = Landmarks(rng.uniform(0, 2, 5), rng.random(5), rng.random(n_levels), np.empty((0, 5)), 1.0)
    places = plain.positions(basis.tables, sample(seed + 1, size))
    return Landmarks(plain.scales, plain.middles, plain.level_places, places, 0.7)


def literal_position(basis, landmarks, row):
    """Where one row lies, input by input."""
    t, found = basis.tables, []
    for j, value in enumerate(row):
        knots = t.knots[t.knot_ends[j] : t.knot_ends[j + 1]]
        if np.isnan(value):
            place = landmarks.middles[j]
        elif j in (0, 3):
            place = np.interp(value, knots, np.linspace(0.0, 1.0, knots.size))
        elif j == 1:
            place = np.clip(value, 0.0, 1.0)
        elif j == 2:  # the only input with levels, so theirs are all there are
            levels = t.levels[t.level_ends[2] : t.level_ends[3]]
            known = 0 <= value < levels.size
            place = landmarks.level_places[levels[int(value)] if known else t.n_levels[2] - 1]
        else:  # a constant is left out
            place = landmarks.middles[j]
        found.append(landmarks.scales[j] * place)
    return np.array(found)


@given(seeds, seeds)
def test_columns_are_the_gaussian_kernel_of_positions_whatever_is_missing_new_or_constant(seed, other):
    basis = card_of(seed)
    landmarks, rows = landmarks_of(basis, other), sample(other, 40) * 2.0
    rows[0] = np.nan
    rows[1, 2] = 99.0
    expected = [
        [np.exp(-np.sum((literal_position(basis, landmarks, row) - mark) ** 2) / (2 * 0.7**2))
         for mark in landmarks.places] for row in rows
    ]  # fmt: skip
    assert_allclose(landmarks.columns(basis.tables, rows), expected, rtol=1e-9, atol=1e-12)


@given(seeds)
def test_a_row_is_as_like_to_landmarks_alone_as_among_others(seed):
    basis = card_of(seed)
    landmarks, rows = landmarks_of(basis, seed), sample(seed, 600)
    whole = landmarks.columns(basis.tables, rows)
    assert_allclose(landmarks.columns(basis.tables, rows[300:301]), whole[300:301], rtol=0, atol=1e-13)


@given(seeds)
def test_the_penalty_is_the_squared_length_of_the_function_in_the_space_of_the_kernel(seed):
    landmarks = landmarks_of(card_of(seed), seed)
    apart = ((landmarks.places[:, None] - landmarks.places) ** 2).sum(axis=2)
    expected = np.exp(-apart / (2 * 0.7**2)) + JITTER * np.eye(12)
    assert_allclose(landmarks.roughness, expected, rtol=1e-9, atol=1e-12)
    assert np.linalg.eigvalsh(landmarks.roughness).min() > 0.5 * JITTER


@given(seeds)
def test_a_card_has_them_behind_its_other_columns(seed):
    plain, rows = card_of(seed), sample(seed + 2)
    landmarks = landmarks_of(plain, seed)
    basis = plain.with_together(landmarks, Probe(9.0, 0.2))
    made = basis.rows(rows)
    assert basis.n_columns == plain.n_columns + 12 == len(basis.column_names(INPUTS))
    assert_array_equal(made[:, : plain.n_columns].toarray(), plain.rows(rows).toarray())
    assert_allclose(made[:, plain.n_columns :].toarray(), landmarks.columns(basis.tables, rows), rtol=0, atol=1e-13)
    assert made.has_canonical_format
    assert np.all(np.diff(made.indptr) <= basis.n_columns)
    assert basis.groups.kinds[-1] == GroupKind.LANDMARKS
    assert basis.groups.n_columns == basis.n_columns
    assert basis.certain_columns() == plain.certain_columns() == plain.n_columns
    assert basis.effects[()] == slice(plain.n_columns, basis.n_columns)
    assert basis.column_names(INPUTS)[-1] == "all features together: landmark 11"


@given(seeds)
def test_a_card_with_landmarks_comes_back_from_its_arrays(seed):
    plain = card_of(seed)
    for basis in (
        plain.with_together(landmarks_of(plain, seed), Probe(9.0, 0.2)),
        plain.with_together(None, Probe(1.0, 0.0)),
    ):
        again, rows = Basis.from_arrays(basis.to_arrays()), sample(seed)
        assert again.probe == basis.probe
        assert_array_equal(again.rows(rows).toarray(), basis.rows(rows).toarray())


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("landmarks.scales", np.ones(4), r"landmarks: scales: expected finite float64 numbers of shape \(5,\)"),
        ("landmarks.places", np.full((12, 5), np.nan), r"landmarks: places: expected finite float64 numbers"),
        (
            "landmarks.places",
            np.ones((12, 4)),
            r"landmarks: places: expected finite float64 numbers of shape \(12, 5\)",
        ),
        ("landmarks.level_places", np.ones(1), r"landmarks: level_places: expected"),
        ("landmarks.width", np.zeros(1), "landmarks: expected one or more, and a width above zero"),
        ("landmarks.places", np.empty((0, 5)), "landmarks: expected one or more"),
        ("landmarks.more", np.zeros(1), "landmarks: expected arrays scales, middles"),
        ("probe", np.zeros(3), "probe: expected two finite numbers"),
    ],
)
def test_arrays_that_are_no_landmarks_are_refused(name, wrong, message):
    plain = card_of(0)
    arrays = plain.with_together(landmarks_of(plain, 0), Probe(9.0, 0.2)).to_arrays() | {name: wrong}
    with pytest.raises(ValueError, match=message):
        Basis.from_arrays(arrays)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("marked", [0.0, 1.0])
def test_products_are_those_of_the_sparse_rows(form, marked):
    basis = card_of(3)
    basis = basis.with_together(landmarks_of(basis, 4), Probe(9.0, 0.1))
    rows, weights = np.nan_to_num(sample(5, 50)), np.random.default_rng(6).normal(size=basis.n_columns)
    weights[-basis.together.size :] *= marked
    assert_allclose(basis.products(form(rows), weights), basis.rows(rows).toarray() @ weights, rtol=1e-10, atol=1e-12)


def test_positions_that_are_nearly_all_zero_give_the_same_columns():
    rng = np.random.default_rng(7)
    rows = (rng.random((300, 60)) < 0.02).astype(float)
    basis = Basis.of(np.vstack([rows, np.ones(60), np.zeros(60)]), np.ones(302), np.zeros(60, bool), n_knots=4)
    landmarks = Landmarks(np.full(60, 2.0), np.zeros(60), np.empty(0), 2.0 * rows[:9], 1.5)
    apart = np.sum((2.0 * rows[:, None] - 2.0 * rows[None, :9]) ** 2, axis=2)
    assert_allclose(landmarks.columns(basis.tables, rows), np.exp(-apart / (2 * 1.5**2)), rtol=1e-12)
