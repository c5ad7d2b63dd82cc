"""Which rows are held out depends on their numbers and the seed, or is what scikit-learn's folds are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.model_selection import StratifiedKFold

from opauc.metrics import held_out, stratified_folds


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


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_folds_are_those_of_scikit_learn(seed, n_folds):
    labels = (np.random.default_rng(seed).random(83) < 0.3).astype(np.int8)
    theirs = StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(labels, labels)
    for ours, (learned, held) in zip(stratified_folds(labels, n_folds, seed), theirs, strict=True):
        assert_array_equal(ours.learned, learned)
        assert_array_equal(ours.held_out, held)


def test_more_folds_than_rows_of_a_class_are_refused():
    with pytest.raises(ValueError, match="got n_folds=5 for 2 positives and 7 negatives"):
        list(stratified_folds(np.array([0, 0, 0, 1, 0, 0, 1, 0, 0], np.int8)))
    with pytest.raises(ValueError, match=r"at least 2 .* got n_folds=1"):
        list(stratified_folds(np.array([0, 1], np.int8), n_folds=1))
