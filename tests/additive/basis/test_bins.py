"""The codes of values against NumPy's search, and those of categories against a loop over them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from opauc.additive.basis.bins import MAX_CODES, ValueCodes
from opauc.additive.policy import TREE_POLICY
from tests.additive.basis.test_basis import CATEGORICAL, sample

seeds = st.integers(0, 2**32 - 1)
MANY = 900


def draw_labels(seed, n_rows):
    return (np.random.default_rng(seed).random(n_rows) < 0.4).astype(np.int8)


def codes_of(rows, seed=0, weight=None, categorical=CATEGORICAL, labels=None, policy=TREE_POLICY):
    labels = draw_labels(seed, len(rows)) if labels is None else labels
    return ValueCodes.of(rows, labels, np.ones(len(rows)) if weight is None else weight, categorical, policy)


def literal(codes, rows):
    """The codes of rows: a search among cuts, or the code of a category."""
    found = np.zeros((len(rows), codes.n_coded), np.uint8)
    for j, pooled in enumerate(codes.pooled_codes.tolist()):
        cuts = codes.cuts[codes.cut_ends[j] : codes.cut_ends[j + 1]]
        own = codes.category_codes[codes.category_ends[j] : codes.category_ends[j + 1]]
        for i, value in enumerate(rows[:, codes.sources[j]]):
            if np.isnan(value):
                found[i, j] = 0
            elif pooled:
                found[i, j] = own[int(value)] if 0 <= value < own.size else pooled
            else:
                found[i, j] = np.searchsorted(cuts, value, side="left") + 1
    return found


def one_number(values, weight=None):
    """The codes of one numeric input with these values."""
    return codes_of(np.asarray(values, float)[:, None], weight=weight, categorical=np.zeros(1, bool))


def found_codes(codes, values):
    return codes.of_rows(np.asarray(values, float)[:, None]).ravel()


@given(seeds, seeds)
def test_codes_are_numpys_search_among_cuts_and_those_of_categories(seed, other):
    codes = codes_of(sample(seed), seed)
    rows = np.vstack([sample(other, 600) * 2.0, np.full((1, 5), np.nan)])
    rows[:3, 2] = 99.0, -1.0, 4.0  # no category has these numbers
    assert_array_equal(codes.of_rows(rows), literal(codes, rows))
    assert codes.n_coded == 5
    assert codes.sources.tolist() == [0, 1, 2, 3, 4]
    assert (codes.pooled_codes > 0).tolist() == CATEGORICAL.tolist()


@given(seeds)
def test_codes_do_not_depend_on_how_rows_lie_in_memory(seed):
    rows = sample(seed, 600)
    codes = codes_of(rows)
    whole = codes.of_rows(rows)
    assert_array_equal(codes.of_rows(np.asfortranarray(rows)), whole)
    assert_array_equal(codes.of_rows(rows[::3]), whole[::3])
    assert codes.of_rows(rows[:0]).shape == (0, 5)


def test_a_value_at_a_cut_lies_below_it_and_far_values_take_the_end_codes():
    codes = one_number([0.0, 1.0, 4.0, 4.0, np.nan])
    assert codes.cuts.tolist() == [0.5, 2.5]
    asked = [0.5, np.nextafter(0.5, 1.0), 2.5, np.nextafter(2.5, 3.0), -np.inf, np.inf, -1e308, 1e308, -0.0, np.nan]
    assert found_codes(codes, asked).tolist() == [1, 2, 2, 3, 1, 3, 1, 3, 1, 0]


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 2.0, 3.0],
        np.arange(255.0) ** 3,
        [1.0, np.nextafter(1.0, 2.0), np.nextafter(np.nextafter(1.0, 2.0), 2.0)],
        [-5e-324, 0.0, 5e-324],
        [3.0, np.nextafter(3.0, 4.0)],
        [5.0, 7.0],
        [1e308, 1.5e308],
        [-1.7e308, 1.7e308],
        [4.0],
    ],
)
def test_values_that_are_few_have_a_code_each(values):
    repeated = np.tile(values, 3)
    codes = one_number(repeated)
    assert np.isfinite(codes.cuts).all()
    assert found_codes(codes, repeated).tolist() == [*range(1, len(values) + 1)] * 3
    again = ValueCodes.from_arrays(1, codes.to_arrays())
    assert_array_equal(found_codes(again, repeated), found_codes(codes, repeated))


@given(seeds)
def test_of_many_values_each_code_has_about_as_many_and_heavy_ones_have_their_own(seed):
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.normal(size=6000), np.full(1500, 0.25)])
    codes = one_number(values)
    found = found_codes(codes, values)
    counts = np.bincount(found, minlength=MAX_CODES)
    assert 1 <= found.min() <= found.max() < MAX_CODES
    assert np.count_nonzero(counts) > 150
    heavy = found[-1]
    assert counts[heavy] < 1500 + 6000 / 60
    assert np.delete(counts, heavy).max() < 6000 / 60


def test_cuts_are_dense_where_the_weight_is():
    values = np.linspace(0.0, 1.0, 4001)
    codes = one_number(values, weight=np.where(values > 0.75, 100.0, 0.01))
    assert np.mean(codes.cuts > 0.75) > 0.9


def test_cuts_are_dense_where_the_rarer_class_is():
    values = np.linspace(0.0, 1.0, 4001)
    labels = ((values > 0.9) & (np.arange(4001) % 2 == 0)).astype(np.int8)
    codes = codes_of(values[:, None], labels=labels, categorical=np.zeros(1, bool))
    assert np.mean(codes.cuts > 0.9) > 0.4  # a tenth of the rows, half of the mass of balanced classes


def test_an_input_without_values_has_no_cuts_and_its_values_differ_from_missing_ones():
    codes = one_number(np.full(20, np.nan))
    assert codes.cuts.size == 0
    assert found_codes(codes, [np.nan, 3.0, -np.inf]).tolist() == [0, 1, 1]


def literal_category_codes(numbers, labels, weight, policy):
    """The code of each category number and that of all others, one category after the other; at most 254 have one."""
    rate = weight[labels == 1].sum() / weight.sum()
    shares = {}
    for number in range(int(np.nanmax(numbers)) + 1):
        rows = numbers == number
        if weight[rows].sum() >= policy.min_category_rows:
            positive = weight[rows & (labels == 1)].sum() + policy.category_prior * rate
            shares[number] = positive / (weight[rows].sum() + policy.category_prior)
    order = sorted(shares, key=lambda number: shares[number])
    pooled = 1 + sum(shares[number] <= rate for number in order)
    codes = np.full(int(np.nanmax(numbers)) + 1, pooled)
    for place, number in enumerate(order):
        codes[number] = 1 + place + (1 + place >= pooled)
    return codes, pooled


@given(seeds, st.sampled_from([1.0, 10.0, 40.0]))
def test_categories_are_ordered_by_their_shrunk_share_of_positive_rows(seed, min_rows):
    rng = np.random.default_rng(seed)
    numbers = np.floor(30 * rng.random(900) ** 2)
    rates = rng.random(30)
    labels = (rng.random(900) < rates[numbers.astype(int)]).astype(np.int8)
    numbers[rng.random(900) < 0.1] = np.nan
    numbers[rng.random(900) < 0.05] = -1.0
    weight = rng.uniform(0.5, 2.0, 900)
    policy = replace(TREE_POLICY, min_category_rows=min_rows)
    codes = codes_of(numbers[:, None], weight=weight, categorical=np.ones(1, bool), labels=labels, policy=policy)
    expected, pooled = literal_category_codes(numbers, labels, weight, policy)
    assert_array_equal(codes.category_codes, expected)
    assert codes.pooled_codes.tolist() == [pooled]
    assert_array_equal(codes.numbers_of(0), np.flatnonzero(expected != pooled))


@given(seeds)
def test_very_many_categories_share_codes_with_their_neighbors(seed):
    rng = np.random.default_rng(seed)
    numbers = np.concatenate([np.repeat(np.arange(MANY), 12), np.floor(MANY * rng.random(6000) ** 2)])
    labels = (rng.random(numbers.size) < rng.random(MANY)[numbers.astype(int)]).astype(np.int8)
    ones = np.ones(numbers.size)
    codes = codes_of(numbers[:, None], categorical=np.ones(1, bool), labels=labels)
    assert codes.category_codes.size == MANY
    assert codes.category_codes.min() >= 1
    rank, pooled = literal_category_codes(numbers, labels, ones, TREE_POLICY)
    order = np.argsort(rank)
    ordered = codes.category_codes[order].astype(int)
    assert (np.diff(ordered) >= 0).all()  # neighbors by their share stay neighbors
    own = int(codes.pooled_codes[0])
    assert own not in ordered
    assert np.unique(ordered).size > 200
    below = np.flatnonzero(rank < pooled)  # categories with a smaller share than all rows
    assert (codes.category_codes[below] < own).all()
    rows_of_code = np.bincount(codes.category_codes[numbers.astype(int)])
    largest = max(np.bincount(numbers.astype(int)))
    assert rows_of_code.max() <= numbers.size / 254 + largest


@pytest.mark.parametrize(("n_categories", "alone"), [(254, True), (255, False)])
def test_two_hundred_and_fifty_four_categories_have_a_code_each(n_categories, alone):
    numbers = np.tile(np.arange(float(n_categories)), 12)
    codes = codes_of(numbers[:, None], categorical=np.ones(1, bool))
    assert (np.unique(codes.category_codes).size == n_categories) == alone
    assert codes.category_codes.max() <= 255
    assert codes.pooled_codes[0] not in codes.category_codes


@pytest.mark.parametrize("numbers", [[np.nan] * 5, [-1.0] * 5, [2.0] * 5])
def test_categories_of_too_few_rows_are_all_pooled(numbers):
    codes = codes_of(
        np.array(numbers)[:, None], categorical=np.ones(1, bool), labels=np.array([0, 1, 0, 1, 0], np.int8)
    )
    assert codes.pooled_codes.tolist() == [1]
    assert set(found_codes(codes, [0.0, 2.0, 3.0, -1.0]).tolist()) == {1}
    assert codes.numbers_of(0).size == 0


def test_numbers_of_no_category_take_the_pooled_code():
    numbers = np.repeat(np.arange(4.0), 20)
    codes = codes_of(numbers[:, None], categorical=np.ones(1, bool))
    pooled = int(codes.pooled_codes[0])
    assert found_codes(codes, [4.0, 1e6, -1.0, -7.0, 2.0**40, np.nan]).tolist() == [pooled] * 5 + [0]
    assert pooled not in found_codes(codes, numbers)


@given(seeds)
def test_decoded_codes_have_the_same_codes(seed):
    rows = sample(seed, 700)
    codes = codes_of(rows)
    coded = codes.of_rows(rows)
    decoded = codes.decode(coded, coded.shape[1])
    assert_array_equal(codes.of_rows(decoded), coded)
    assert_array_equal(np.isnan(decoded), coded == 0)
    is_number = ~CATEGORICAL & (np.ptp(np.nan_to_num(rows), axis=0) > 0)
    assert np.isfinite(decoded[:, is_number][coded[:, is_number] > 0]).all()


@pytest.mark.parametrize("values", [[-1.0, 1.0], [-3.0, -2.0], [2.0, 3.0], [-1e308, 1e308], [1e308, 1.5e308], [4.0]])
def test_values_on_both_sides_of_the_only_cut_are_decoded_on_their_side(values):
    codes = one_number(np.tile(values, 5))
    coded = codes.of_rows(np.array(values)[:, None])
    assert_array_equal(codes.of_rows(codes.decode(coded, coded.shape[1])), coded)
    assert np.isfinite(codes.decode(coded, coded.shape[1])).all()


def test_the_pooled_code_is_decoded_as_no_category():
    numbers = np.repeat(np.arange(4.0), 20)
    codes = codes_of(numbers[:, None], categorical=np.ones(1, bool))
    assert codes.decode(codes.pooled_codes[None, :], 1).tolist() == [[-1.0]]


@given(seeds, st.lists(st.integers(0, 4), max_size=6), st.lists(st.integers(0, 4), max_size=6))
def test_columns_are_taken_and_joined_with_their_inputs(seed, some, others):
    rows = sample(seed, 50)
    one, two = codes_of(sample(seed), seed), codes_of(sample(seed + 1), seed + 1)
    joined = one.take(np.array(some, int)).join(two.take(np.array(others, int)))
    assert joined.sources.tolist() == [*some, *others]
    expected = np.hstack([one.of_rows(rows)[:, some], two.of_rows(rows)[:, others]])
    assert_array_equal(joined.of_rows(rows), expected)
    assert_array_equal(joined.of_rows(rows), literal(joined, rows))
    restored = ValueCodes.from_arrays(5, joined.to_arrays())
    assert_array_equal(restored.of_rows(rows), expected)
    has_two = 2 in some, 2 in others
    kept = [codes.numbers_of(2) for codes, has in zip((one, two), has_two, strict=True) if has]
    assert_array_equal(joined.numbers_of(2), np.unique(np.concatenate([np.empty(0, int), *kept])))
    decoded = joined.decode(joined.of_rows(rows), 5)
    assert decoded.shape == (50, 5)
    absent = sorted(set(range(5)) - {*some, *others})
    assert np.isnan(decoded[:, absent]).all()
    for j in {*some, *others}:  # the first coded column of an input counts
        first = [*some, *others].index(j)
        coded = joined.take(np.array([first]))
        assert_array_equal(coded.of_rows(decoded), coded.of_rows(rows))


@given(seeds)
def test_codes_are_restored_from_their_arrays_which_are_copies(seed):
    rows = sample(seed)
    codes = codes_of(rows)
    arrays = codes.to_arrays()
    again = ValueCodes.from_arrays(5, arrays)
    found = codes.of_rows(rows)
    assert_array_equal(again.of_rows(rows), found)
    for array in codes.to_arrays().values():
        array[...] = 0
    assert_array_equal(codes.of_rows(rows), found)


def damaged(name):
    """Arrays of the codes of five inputs, one of them damaged as the name says."""
    arrays = codes_of(sample(0)).to_arrays()
    cuts, ends, categories, category_ends = (
        arrays[key] for key in ("cuts", "cut_ends", "category_codes", "category_ends")
    )
    return (
        arrays
        | {
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
            "back": {"cut_ends": np.r_[0, ends[2] + 1, ends[1], ends[3:]]},
            "too many": {"cuts": np.arange(255.0), "cut_ends": np.r_[0, np.full(5, 255)]},
            "too few categories": {"category_codes": categories[1:]},
            "signed categories": {"category_codes": categories.astype(np.int8)},
            "category ends beyond": {"category_ends": np.r_[category_ends[:-1], category_ends[-1] + 1]},
            "category ends back": {"category_ends": np.r_[0, 3, 1, category_ends[3:]]},
            "wide pooled": {"pooled_codes": arrays["pooled_codes"].astype(np.int64)},
            "short pooled": {"pooled_codes": arrays["pooled_codes"][:-1]},
            "no input": {"sources": np.array([0, 1, 2, 3, 5])},
            "negative input": {"sources": np.array([0, -1, 2, 3, 4])},
            "short inputs": {"sources": np.arange(4)},
        }[name]
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *((name, "^cuts: expected finite numbers") for name in ("nan", "infinite")),
        *((name, "^cuts: expected float64 numbers of shape") for name in ("narrow", "square")),
        *((name, "^cuts: expected ascending numbers") for name in ("falling", "equal")),
        ("narrow ends", r"^cut_ends: expected int64 numbers of shape"),
        *((name, "^cut_ends: expected numbers that rise from 0 to ") for name in ("late", "beyond", "back")),
        ("too many", "^cut_ends: expected at most 254 cuts of a column"),
        ("too few categories", "^category_ends: expected numbers that rise from 0 to "),
        ("signed categories", "^category_codes: expected uint8 numbers"),
        *((name, "^category_ends: expected numbers that rise from 0 to ")
          for name in ("category ends beyond", "category ends back")),
        ("wide pooled", r"^pooled_codes: expected uint8 numbers of shape \(5,\)"),
        *((name, r"^[a-z_]*: expected [a-z0-9]* numbers of shape")
          for name in ("short ends", "short pooled", "short inputs")),
        *((name, "^sources: expected numbers from 0 to 4") for name in ("no input", "negative input")),
    ],
)  # fmt: skip
def test_arrays_that_are_no_codes_raise(name, message):
    with pytest.raises(ValueError, match=message):
        ValueCodes.from_arrays(5, damaged(name))
