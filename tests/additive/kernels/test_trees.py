"""Trees grown from sums over codes, against a few lines that try every split of every leaf."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from opauc.additive.kernels.trees import (
    N_TERMS,
    CodedRows,
    TreeLimits,
    TreeSplits,
    grow_tree,
    write_entries,
    write_leaves,
)
from tests import literal


def coded_rows(codes, n_codes):
    frequent = np.array([np.bincount(column, minlength=n_codes).argmax() for column in codes.T], np.uint8)
    starts = (np.arange(codes.shape[1] + 1) * n_codes).astype(np.int32)
    ends, entries = np.zeros(len(codes) + 1, np.int64), np.empty(codes.size, np.int32)
    write_entries(codes, frequent, starts, ends, entries)
    return CodedRows(np.asfortranarray(codes), frequent, starts, entries, ends)


def grown(codes, terms, limits, n_codes):
    inputs, cuts = np.zeros(limits.n_leaves, np.int32), np.zeros(limits.n_leaves, np.uint8)
    children, totals = np.zeros((limits.n_leaves, 2), np.int32), np.full((limits.n_leaves, N_TERMS), np.nan)
    order, bounds = np.arange(len(codes), dtype=np.int32), np.zeros((limits.n_leaves, 2), np.int64)
    coded, terms = coded_rows(codes, n_codes), np.pad(terms, [(0, 0), (0, N_TERMS - terms.shape[1])])
    tables = np.full((limits.n_leaves, coded.starts[-1], N_TERMS), np.nan)  # whatever an earlier tree left there
    n_leaves = grow_tree(coded, order, terms, limits, tables, inputs, cuts, children, totals, bounds)
    splits = TreeSplits(inputs[: n_leaves - 1], cuts[: n_leaves - 1], children[: n_leaves - 1], np.zeros(1, np.int32))
    return splits, totals[:n_leaves, :3], order, bounds[:n_leaves]


@given(
    seed=st.integers(0, 2**32 - 1),
    n_inputs=st.integers(1, 4),
    n_codes=st.integers(2, 6),
    rare=st.booleans(),
    unweighted=st.sampled_from([0.0, 0.3]),
)
def test_each_split_is_the_one_that_gains_most(seed, n_inputs, n_codes, rare, unweighted):
    random = np.random.default_rng(seed)
    codes = random.integers(0, n_codes, (60, n_inputs)).astype(np.uint8)
    if rare:
        codes[random.random(codes.shape) < 0.8] = n_codes - 1
    terms = np.column_stack([random.normal(size=60), random.uniform(0.01, 0.25, 60), random.uniform(0.5, 2.0, 60)])
    terms[random.random(60) < unweighted] = 0.0
    limits = TreeLimits(6, 5.0, 0.5)
    _, totals, order, bounds = grown(codes, terms, limits, n_codes)
    expected = literal.grow_tree(codes, terms, limits, n_codes)
    assert len(totals) == len(expected)
    assert_array_equal(np.sort(order), np.arange(60))
    for (begin, end), total, rows in zip(bounds, totals, expected, strict=True):
        assert_array_equal(order[begin:end], rows)
        assert_allclose(total, terms[rows].sum(axis=0), atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1))
def test_a_row_ends_in_the_leaf_that_it_was_put_into(seed):
    random = np.random.default_rng(seed)
    codes = random.integers(0, 5, (200, 3)).astype(np.uint8)
    terms = np.column_stack([random.normal(size=200), np.full(200, 0.2), np.ones(200)])
    splits, _, order, bounds = grown(codes, terms, TreeLimits(12, 3.0, 1.0), 5)
    leaves = np.empty((200, 1), np.int32)
    write_leaves(codes, splits, leaves)
    for k, (begin, end) in enumerate(bounds):
        assert (leaves[order[begin:end], 0] == k).all()


@pytest.mark.parametrize("constant", [False, True])
def test_a_tree_that_nothing_can_be_gained_from_has_one_leaf(constant):
    codes = np.zeros((50, 2), np.uint8) if constant else np.arange(100, dtype=np.uint8).reshape(50, 2) % 4
    terms = np.column_stack([np.ones(50), np.full(50, 0.2), np.ones(50)])
    limits = TreeLimits(8, 1.0 if constant else 26.0, 1.0)  # no split leaves 26 of 50 rows on both sides
    _, totals, _, _ = grown(codes, terms, limits, 4)
    assert_allclose(totals, [[50.0, 10.0, 50.0]])
