"""The codes of values against NumPy's search and a loop over levels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from opauc.additive.basis.basis import Basis
from opauc.additive.basis.bins import MAX_CODES, ValueCodes
from tests.additive.basis.test_basis import basis_of, sample

seeds = st.integers(0, 2**32 - 1)
LEVELS = 100


def codes_of(basis, rows, seed=0, weight=None):
    weights = np.random.default_rng(seed).normal(size=basis.n_columns)
    return ValueCodes.of(basis.tables, weights, rows, np.ones(len(rows)) if weight is None else weight), weights


def literal(basis, codes, rows):
    """The codes of rows: a search among cuts, or the code of a level."""
    t, found = basis.tables, np.zeros(rows.shape, np.uint8)
    for j, kind in enumerate(t.kinds):
        cuts = codes.cuts[codes.cut_ends[j] : codes.cut_ends[j + 1]]
        places = t.levels[t.level_ends[j] : t.level_ends[j + 1]]
        own = codes.level_codes[t.n_levels[:j].sum() :][: t.n_levels[j]]
        for i, value in enumerate(rows[:, j]):
            if np.isnan(value):
                found[i, j] = 0
            elif kind == 3:
                found[i, j] = own[places[int(value)]] if 0 <= value < places.size else own[-1]
            else:
                found[i, j] = np.searchsorted(cuts, value, side="left") + 1
    return found


def one_input(values, categorical=False):
    """The basis of one input with these values, and their codes."""
    rows = np.asarray(values, float)[:, None]
    basis = Basis.of(rows, np.ones(len(rows)), np.array([categorical]), n_knots=8)
    return basis, codes_of(basis, rows)[0]


def many_categories(seed, n_rows=4000):
    """Category numbers of very many levels, some of them frequent, and the basis of these."""
    rng = np.random.default_rng(seed)
    rows = np.floor(LEVELS * rng.random((n_rows, 1)) ** 2)
    rows[:LEVELS, 0] = np.arange(LEVELS)
    rows[rng.random(n_rows) < 0.1] = np.nan
    return rows, Basis.of(rows, np.ones(n_rows), np.ones(1, bool), n_knots=8)


@given(seeds, seeds)
def test_codes_are_numpys_search_among_cuts_and_those_of_levels(seed, other):
    basis = basis_of(seed)
    codes, _ = codes_of(basis, sample(seed), other)
    rows = np.vstack([sample(other, 60) * 2.0, np.full((1, 5), np.nan)])
    rows[:3, 2] = 99.0, -1.0, 4.0  # no category has these numbers
    assert_array_equal(codes.of_rows(basis.tables, rows), literal(basis, codes, rows))
    assert (codes.of_rows(basis.tables, rows) < codes.sizes(basis.tables)).all()


@given(seeds)
def test_codes_do_not_depend_on_how_rows_lie_in_memory(seed):
    basis, rows = basis_of(seed), sample(seed)
    codes, _ = codes_of(basis, rows)
    whole = codes.of_rows(basis.tables, rows)
    assert_array_equal(codes.of_rows(basis.tables, np.asfortranarray(rows)), whole)
    assert_array_equal(codes.of_rows(basis.tables, rows[::3]), whole[::3])


def test_a_value_at_a_cut_lies_below_it_and_far_values_take_the_end_codes():
    basis, codes = one_input([0.0, 1.0, 4.0, 4.0, np.nan])
    assert codes.cuts.tolist() == [0.5, 2.5]
    asked = [0.5, np.nextafter(0.5, 1.0), 2.5, np.nextafter(2.5, 3.0), -np.inf, np.inf, -1e308, 1e308, -0.0, np.nan]
    found = codes.of_rows(basis.tables, np.array(asked)[:, None]).ravel()
    assert found.tolist() == [1, 2, 2, 3, 1, 3, 1, 3, 1, 0]
    assert codes.sizes(basis.tables).tolist() == [4]


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 2.0, 3.0],
        np.arange(63.0) ** 3,
        [1.0, np.nextafter(1.0, 2.0), np.nextafter(np.nextafter(1.0, 2.0), 2.0)],
        [-5e-324, 0.0, 5e-324],
        [3.0, np.nextafter(3.0, 4.0)],
        [5.0, 7.0],
        [1e308, 1.5e308],
        [-1.7e308, 1.7e308],
    ],
)
def test_values_that_are_few_have_a_code_each(values):
    basis, codes = one_input(np.tile(values, 3))
    rows = np.tile(values, 3)[:, None]
    assert np.isfinite(codes.cuts).all()
    assert codes.of_rows(basis.tables, rows).ravel().tolist() == [*range(1, len(values) + 1)] * 3
    assert codes.sizes(basis.tables).tolist() == [len(values) + 1]
    again = ValueCodes.from_arrays(basis.tables, codes.to_arrays())
    assert_array_equal(again.of_rows(basis.tables, rows), codes.of_rows(basis.tables, rows))


@given(seeds)
def test_of_many_values_each_code_has_about_as_many_and_heavy_ones_have_their_own(seed):
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(size=6000), np.full(1500, 0.25)])
    basis, codes = one_input(values)
    found = codes.of_rows(basis.tables, values[:, None]).ravel()
    counts = np.bincount(found)
    assert codes.sizes(basis.tables)[0] <= MAX_CODES
    assert 1 <= found.min() <= found.max() < MAX_CODES
    heavy = found[-1]
    assert counts[heavy] < 1500 + 6000 / 20
    assert np.delete(counts, heavy).max() < 6000 / 20


def test_cuts_are_dense_where_the_weight_is():
    rows = np.linspace(0.0, 1.0, 4001)[:, None]
    basis = Basis.of(rows, np.ones(4001), np.zeros(1, bool), n_knots=8)
    codes, _ = codes_of(basis, rows, weight=np.where(rows[:, 0] > 0.75, 100.0, 0.01))
    assert np.mean(codes.cuts > 0.75) > 0.9


def test_two_values_are_cut_at_their_midpoint_and_a_constant_differs_from_missing_only():
    rows = np.array([[5.0, 3.0], [7.0, 3.0], [5.0, np.nan]])
    basis = Basis.of(rows, np.ones(3), np.zeros(2, bool), n_knots=8)
    codes, _ = codes_of(basis, rows)
    assert codes.cuts.tolist() == [6.0]
    asked = np.array([[6.0, 3.0], [6.1, 9.0], [np.nan, np.nan], [np.inf, -np.inf]])
    assert codes.of_rows(basis.tables, asked).tolist() == [[1, 1], [2, 1], [0, 0], [2, 1]]
    assert codes.sizes(basis.tables).tolist() == [3, 2]


def test_an_input_of_many_values_that_is_left_out_has_no_cuts():
    rows = np.random.default_rng(0).normal(size=(500, 2))
    basis = Basis.of(rows, np.ones(500), np.zeros(2, bool), n_knots=8)
    tables = basis.tables._replace(kinds=np.array([0, 2], np.int8))
    codes = ValueCodes.of(tables, np.zeros(basis.n_columns), rows, np.ones(500))
    assert codes.cut_ends[1] == 0
    assert set(codes.of_rows(tables, rows)[:, 0].tolist()) == {1}
    assert codes.sizes(tables)[0] == 2


@given(seeds)
def test_levels_are_in_the_order_of_their_weights(seed):
    rows = sample(seed)
    basis = basis_of(seed)
    codes, weights = codes_of(basis, rows, seed)
    own = weights[basis.effects[(2,)]][: basis.tables.n_levels[2]]
    assert codes.level_codes.tolist() == (1 + np.argsort(np.argsort(own))).tolist()
    assert codes.sizes(basis.tables)[2] == own.size + 1


@given(seeds)
def test_very_many_levels_share_codes_by_weight_in_their_order(seed):
    rows, basis = many_categories(seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2.0, len(rows))
    codes, weights = codes_of(basis, rows, seed, weight)
    n_levels = int(basis.tables.n_levels[0])
    assert n_levels >= MAX_CODES
    own = weights[basis.effects[(0,)]][:n_levels]
    kept = basis.column_numbers(0)
    sizes = np.array([weight[rows[:, 0] == number].sum() for number in kept] + [0.0])
    sizes[-1] = weight[~np.isnan(rows[:, 0])].sum() - sizes.sum()
    before = 0.0
    for level in np.argsort(own):
        share = (before + 0.5 * sizes[level]) / sizes.sum()
        # at the very border of two codes rounding may decide
        assert abs(codes.level_codes[level] - (1.0 + 63.0 * share - 0.5)) < 0.5 + 1e-9
        before += sizes[level]
    assert (np.diff(codes.level_codes[np.argsort(own)].astype(int)) >= 0).all()
    assert codes.sizes(basis.tables)[0] == codes.level_codes.max() + 1 <= MAX_CODES


def test_sixty_three_levels_have_a_code_each():
    for n_levels, alone in ((63, True), (64, False)):
        numbers = np.tile(np.arange(n_levels - 1.0), 9)[:, None]  # and the pooled level
        basis = Basis.of(numbers, np.ones(len(numbers)), np.ones(1, bool), n_knots=8)
        assert basis.tables.n_levels.tolist() == [n_levels]
        codes, _ = codes_of(basis, numbers)
        assert (np.unique(codes.level_codes).size == n_levels) == alone
        assert codes.level_codes.max() == 63


def test_numbers_of_no_category_take_the_code_of_the_pooled_level():
    rows, basis = many_categories(3)
    codes, _ = codes_of(basis, rows)
    asked = np.array([[float(LEVELS)], [1e6], [-1.0], [-7.0], [2.0**40], [np.nan]])
    pooled = int(codes.level_codes[basis.tables.n_levels[0] - 1])
    assert codes.of_rows(basis.tables, asked).ravel().tolist() == [pooled] * 5 + [0]


@given(seeds)
def test_codes_are_restored_from_their_arrays_which_are_copies(seed):
    basis, rows = basis_of(seed), sample(seed)
    codes, _ = codes_of(basis, rows)
    arrays = codes.to_arrays()
    again = ValueCodes.from_arrays(basis.tables, arrays)
    assert_array_equal(again.of_rows(basis.tables, rows), codes.of_rows(basis.tables, rows))
    before = codes.cuts.copy()
    arrays["cuts"] += 1.0
    assert_array_equal(codes.cuts, before)


def damaged(name):
    """Arrays of the codes of a basis, one of them damaged as the name says."""
    basis, rows = basis_of(0), sample(0)
    arrays = codes_of(basis, rows)[0].to_arrays()
    cuts, ends, levels = arrays["cuts"], arrays["cut_ends"], arrays["level_codes"]
    return basis.tables, arrays | {
        "nan": {"cuts": np.where(np.arange(cuts.size) == 3, np.nan, cuts)},
        "infinite": {"cuts": np.where(np.arange(cuts.size) == 3, np.inf, cuts)},
        "narrow": {"cuts": cuts.astype(np.float32)},
        "square": {"cuts": cuts[:, None]},
        "falling": {"cuts": cuts[::-1].copy()},
        "equal": {"cuts": np.where(np.arange(cuts.size) == 1, cuts[0], cuts)},
        "short ends": {"cut_ends": ends[:-1]},
        "narrow ends": {"cut_ends": ends.astype(np.int32)},
        "late": {"cut_ends": np.r_[1, ends[1:]]},
        "beyond": {"cut_ends": np.r_[ends[:-1], ends[-1] + 1]},
        "back": {"cut_ends": np.r_[0, ends[2], ends[1], ends[3:]]},
        "too many": {"cuts": np.arange(70.0), "cut_ends": np.r_[0, np.full(5, 70)]},
        "too few levels": {"level_codes": levels[1:]},
        "signed levels": {"level_codes": levels.astype(np.int8)},
        "level missing": {"level_codes": np.where(np.arange(levels.size) == 0, 0, levels).astype(np.uint8)},
        "level beyond": {"level_codes": np.where(np.arange(levels.size) == 0, 64, levels).astype(np.uint8)},
    }[name]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *((name, "^cuts: expected finite numbers") for name in ("nan", "infinite")),
        *((name, "^cuts: expected float64 numbers of shape") for name in ("narrow", "square")),
        *((name, "^cuts: expected ascending numbers") for name in ("falling", "equal")),
        *((name, r"^cut_ends: expected int64 numbers of shape \(6,\)") for name in ("short ends", "narrow ends")),
        *((name, "^cut_ends: expected numbers that rise from 0 to ") for name in ("late", "beyond", "back")),
        ("too many", "^cut_ends: expected at most 62 cuts of an input"),
        *((name, r"^level_codes: expected uint8 numbers of shape \(5,\)")
          for name in ("too few levels", "signed levels")),
        *((name, "^level_codes: expected numbers from 1 to 63") for name in ("level missing", "level beyond")),
    ],
)  # fmt: skip
def test_arrays_that_are_no_codes_raise(name, message):
    tables, arrays = damaged(name)
    with pytest.raises(ValueError, match=message):
        ValueCodes.from_arrays(tables, arrays)
