"""Which rows are held out depends on their numbers and the seed alone."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from opauc.metrics import held_out


@given(first=st.integers(0, 10**12), cut=st.integers(0, 200), share=st.floats(0.01, 0.99), seed=st.integers(0, 10**6))
def test_the_rows_held_out_do_not_depend_on_how_the_stream_was_cut(first, cut, share, seed):
    whole = held_out(first, 200, share, seed)
    parts = held_out(first, cut, share, seed), held_out(first + cut, 200 - cut, share, seed)
    assert_array_equal(whole, np.concatenate(parts))


def test_the_share_is_kept_and_seeds_choose_independently():
    one, other = held_out(0, 100_000, 0.2, 0), held_out(0, 100_000, 0.2, 1)
    assert abs(one.mean() - 0.2) < 0.005  # four deviations of .0013
    assert abs((one & other).mean() - 0.04) < 0.003
    assert abs((one[1:] & one[:-1]).mean() - 0.04) < 0.003


def test_a_larger_share_holds_out_the_same_rows_and_more():
    assert not (held_out(5, 1000, 0.1, 3) & ~held_out(5, 1000, 0.4, 3)).any()


def test_the_rows_held_out_are_those_of_before():
    assert np.flatnonzero(held_out(0, 30, 0.2, 0)).tolist() == [0, 3, 7, 10, 14, 15, 17, 20, 27]
    assert np.flatnonzero(held_out(1000, 30, 0.2, 7)).tolist() == [4, 8, 10, 11, 22, 24, 25, 29]
