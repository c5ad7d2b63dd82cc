"""Numbers and categories as features: what pandas makes of them, whatever the cut, and nothing new once frozen."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from opauc.data.encode.number_features import NumberFeatures
from opauc.data.schema.column import UNSEEN

CATEGORICAL = np.array([False, True, False, True])


def drawn(seed, n_rows=60):
    random = np.random.default_rng(seed)
    rows = np.column_stack(
        [
            random.normal(1e3, 5.0, n_rows),
            random.integers(0, 4, n_rows),
            random.exponential(size=n_rows),
            random.integers(0, 7, n_rows),
        ]
    )
    rows[random.random(rows.shape) < 0.2] = np.nan
    rows[:, 2] = np.nan_to_num(rows[:, 2], nan=1.0)
    return rows


@given(seed=st.integers(0, 2**32 - 1))
def test_features_are_standard_scores_missing_indicators_and_dummies(seed):
    rows = drawn(seed)
    frame = pd.DataFrame(rows)
    numbers = frame[[0, 2]]
    expected = [((numbers - numbers.mean()) / numbers.std(ddof=0)).fillna(0.0)]
    expected += [frame[[0]].isna().astype(float)] if frame[0].isna().any() else []
    for column in (1, 3):
        levels = frame[column].fillna(-9.0)
        expected.append(pd.get_dummies(levels)[levels.unique()].astype(float))
    found = NumberFeatures(rows, CATEGORICAL).rows(rows, grow=True)
    assert sparse.issparse(found)
    assert_allclose(found.toarray(), pd.concat(expected, axis=1).to_numpy(), atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), cut=st.integers(0, 60))
def test_features_of_a_batch_are_a_subset_of_those_of_the_whole(seed, cut):
    rows = drawn(seed)
    features = NumberFeatures(rows, CATEGORICAL)
    parts = [features.rows(part, grow=True).toarray() for part in (rows[:cut], rows[cut:])]
    assert parts[0].shape[1] <= parts[1].shape[1] == features.n_features
    whole = np.concatenate([np.pad(parts[0], ((0, 0), (0, features.n_features - parts[0].shape[1]))), parts[1]])
    assert_array_equal(features.rows(rows, grow=False).toarray(), whole)
    # The same columns, in another order perhaps: categories are numbered as they come.
    at_once = NumberFeatures(rows, CATEGORICAL).rows(rows, grow=True).toarray()
    assert sorted(map(tuple, at_once.T)) == sorted(map(tuple, whole.T))


@pytest.mark.parametrize("strange", [UNSEEN, 99.0])
def test_once_the_encoder_is_frozen_a_new_category_has_no_feature(strange):
    rows = drawn(0)
    features = NumberFeatures(rows, CATEGORICAL)
    known = features.rows(rows, grow=True).toarray()
    new = rows.copy()
    new[:, 1] = strange
    found = features.rows(new, grow=False).toarray()
    assert found.shape == known.shape
    assert_array_equal((known != found).any(axis=0).sum(), np.unique(rows[:, 1]).size)
    assert_array_equal(features.rows(rows, grow=False).toarray(), known)


def test_numbers_alone_stay_dense_and_constants_are_zero():
    rows = np.array([[1.0, 7.0, np.nan], [3.0, 7.0, np.nan]])
    found = NumberFeatures(rows, np.zeros(3, np.bool_)).rows(rows, grow=True)
    assert_array_equal(found, [[-1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]])
