"""Levels of crossed codes: equal for equal combinations, within range for any number, the same after a file."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from opauc.additive.basis.crossed_codes import CrossedCode, CrossedCodes, Member
from opauc.additive.kernels.rows import CATEGORICAL, LEFT_OUT, NUMERIC
from opauc.errors import IncompatibleMomentsError

NONE, NO_EDGES = np.empty(0, np.int64), np.empty(0)
KINDS = np.array([CATEGORICAL, NUMERIC, NUMERIC, LEFT_OUT], np.int8)
MEMBERS = Member(0, NO_EDGES, np.arange(5)), Member(1, NO_EDGES, NONE), Member(2, np.array([-1.0, 0.0, 2.5]), NONE)
numbers = st.floats(allow_nan=True, allow_infinity=True)


def codes_of(n_levels=2**12):
    examples = np.array([[2.0, np.nan, -1.0], [0.0, 7.0, 2.5]])
    return CrossedCodes(
        (CrossedCode(MEMBERS, n_levels, 0.3, 0.5, examples), CrossedCode(MEMBERS[:2], 64, 3.0, 1.0, examples[:, :2]))
    )


@given(st.lists(st.tuples(st.integers(-1, 6), numbers, numbers), min_size=1, max_size=20))
def test_every_number_has_two_levels_of_each_code(given_rows):
    rows, codes = np.array([[*row, 0.0] for row in given_rows], float), codes_of()
    levels = codes.levels(rows)
    assert levels.shape == (len(rows), 4)
    for code, part in enumerate(codes.parts()):
        own = levels[:, 2 * code : 2 * code + 2]
        assert ((own >= part.start) & (own < part.stop)).all()


def test_rows_share_levels_exactly_if_they_share_category_whole_part_and_bin():
    rng = np.random.default_rng(0)
    rows = np.c_[rng.integers(-1, 5, 2000), rng.uniform(-3, 3, 2000), rng.normal(size=2000), np.zeros(2000)]
    rows[rng.random(2000) < 0.1, 1] = np.nan
    codes = CrossedCodes((CrossedCode(MEMBERS, 2**20, 1.0, 1.0, np.empty((0, 3))),))
    edges = MEMBERS[2].edges
    literal = [(row[0], str(np.floor(row[1])), int((row[2] >= edges).sum())) for row in rows]
    levels = [tuple(pair) for pair in codes.levels(rows).tolist()]
    assert len(set(literal)) == len(set(levels)) == len(set(zip(literal, levels, strict=True)))


def test_zero_and_minus_zero_are_one_value():
    code = CrossedCode(MEMBERS[:2], 2**10, 1.0, 1.0, np.empty((0, 2)))
    zero, minus = code.levels(np.array([[0.0, 0.0], [0.0, -0.0]]))
    assert_array_equal(zero, minus)


def test_the_effect_of_a_combination_is_the_smaller_one_of_its_two_levels():
    codes, rows = codes_of(), np.array([[1.0, 2.0, 3.0, 0.0], [1.0, 2.0, 0.0, 0.0]])
    effects, (one, other, *rest) = np.zeros(codes.size), codes.levels(rows)[0].tolist()
    effects[[one, other]] = 0.5, -0.25
    effects[rest] = 2.0
    assert codes.contributions(rows, effects)[0].tolist() == [-0.25, 2.0]
    assert codes.contributions(rows, effects)[1].tolist() == [0.0, 2.0]


def test_examples_of_bins_lie_in_them():
    member = MEMBERS[2]
    values = np.array([0.0, 1.0, 2.0, 3.0, np.nan])
    assert_array_equal(member.values(member.representatives(values)), values)


def test_arrays_give_the_same_codes_back():
    codes, rows = codes_of(), np.random.default_rng(1).normal(size=(50, 4)) * 3
    again = CrossedCodes.from_arrays(KINDS, codes.to_arrays())
    assert_array_equal(again.levels(rows), codes.levels(rows))
    for mine, theirs in zip(again.codes, codes.codes, strict=True):
        assert (mine.n_levels, mine.lambda_, mine.factor) == (theirs.n_levels, theirs.lambda_, theirs.factor)
        assert_array_equal(mine.examples, theirs.examples)
    assert_array_equal(again.kept_numbers(0), np.arange(5))
    assert_array_equal(again.kept_numbers(1), NONE)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("n_levels", np.array([2**12, 63]), "powers of two"),
        ("n_levels", np.array([2**12, 2**40]), "numbers from 2 to"),
        ("inputs", np.array([0, 1, 2, 0, 0]), "different inputs"),
        ("inputs", np.array([0, 1, 2, 0, 3]), "bins of numbers, or categories"),
        ("inputs", np.array([0, 1, 2, 0, 9]), "numbers from 0 to 3"),
        ("inputs", np.array([1, 0, 2, 0, 1]), "bins of numbers, or categories"),
        ("edges", np.array([0.0, 0.0, 1.0]), "ascending order"),
        ("categories", np.array([0, 1, 2, 3, 3, 0, 1, 2, 3, 4]), "ascending order"),
        ("member_ends", np.array([0, 4, 5]), "2 to 3 inputs each"),
        ("factors", np.array([0.5, 1.5]), "numbers from 0 to 1"),
        ("lambdas", np.array([0.0, 1.0]), "lambdas: expected"),
        ("edges", np.array([0.0, np.nan, 1.0]), "finite"),
    ],
)
def test_arrays_that_are_not_those_of_codes_are_refused(name, array, message):
    with pytest.raises((ValueError, IncompatibleMomentsError), match=message):
        CrossedCodes.from_arrays(KINDS, codes_of().to_arrays() | {name: array})


def test_more_codes_than_a_basis_may_have_are_refused():
    codes = CrossedCodes(codes_of().codes * 5)
    with pytest.raises(ValueError, match="1 to 8 of them, got 10"):
        CrossedCodes.from_arrays(KINDS, codes.to_arrays())
