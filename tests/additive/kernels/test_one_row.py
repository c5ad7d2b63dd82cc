"""The score of one row from packed tables has the bits of that from the tables."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

from opauc.additive.basis.packed_tables import PackedTables
from opauc.additive.basis.score_tables import ScoreTables
from tests.additive.basis.test_ensemble import seeds
from tests.additive.kernels.test_scores import odd_rows, rich_basis


@given(seeds, seeds)
def test_one_row_has_the_bits_of_many(seed, other):
    with np.errstate(over="ignore"):  # hashes, where the kernels are not compiled
        basis, rows = rich_basis(seed), odd_rows(other, 8)
        weights = np.random.default_rng(other).normal(size=basis.n_weights)
        for of_zero in (slice(0), slice(basis.n_columns, -basis.trees.n_leaves), slice(basis.n_additive, None)):
            some = weights.copy()
            some[of_zero] = 0.0
            tables = ScoreTables.of(basis, some)
            packed = PackedTables.of(tables)
            assert_array_equal([packed.score(rows[i : i + 1]) for i in range(8)], tables.scores(rows))


def test_packed_tables_do_not_change_with_the_tables():
    with np.errstate(over="ignore"):
        tables = ScoreTables.of(rich_basis(1), np.ones(rich_basis(1).n_weights))
        packed, rows = PackedTables.of(tables), odd_rows(2, 1)
        before = packed.score(rows)
        for array in (tables.weights.columns, tables.weights.leaves):
            array[:] = 7.0
        assert packed.score(rows) == before
        assert tables.scores(rows)[0] != pytest.approx(before)
