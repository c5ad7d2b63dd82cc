import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from opauc.core.kernels.symmetric_matrix import (
    add_low_rank_product,
    add_lower,
    add_outer_products,
    add_two_outer,
    mirror_lower,
    symmetric_product,
)

SIZES = [1, 2, 3, 4, 5, 7, 8, 13, 33, 70]


def lower_only(matrix):
    """The matrix with nonsense above the diagonal, which no kernel may read."""
    out = np.tril(matrix)
    out[np.triu_indices_from(out, 1)] = np.nan
    return out


@pytest.mark.parametrize("size", SIZES)
def test_product_reads_the_lower_triangle_only(size):
    rng = np.random.default_rng(size)
    matrix = rng.normal(size=(size, size))
    matrix += matrix.T
    vector, out = rng.normal(size=size), np.full(size, np.nan)
    symmetric_product(lower_only(matrix), vector, out)
    assert_allclose(out, matrix @ vector, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("n_rows", [4, 8, 32])
def test_outer_products_add_the_gram_matrix_below_the_diagonal(size, n_rows):
    rows = np.random.default_rng(size).normal(size=(n_rows, size))
    lower = np.ones((size, size))
    add_outer_products(lower, rows)
    assert_allclose(np.tril(lower), np.tril(1 + rows.T @ rows), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_rows", range(10))
def test_low_rank_product_takes_any_number_of_rows(n_rows):
    rng = np.random.default_rng(n_rows)
    rows, vector = rng.normal(size=(n_rows, 6)), rng.normal(size=6)
    out = np.ones(6)
    add_low_rank_product(rows, vector, out)
    assert_allclose(out, 1 + rows.T @ (rows @ vector), rtol=1e-12)


@pytest.mark.parametrize("size", SIZES)
def test_mirror_makes_the_matrix_symmetric_to_the_last_bit(size):
    matrix = np.random.default_rng(size).normal(size=(size, size))
    expected = np.tril(matrix) + np.tril(matrix, -1).T
    mirror_lower(matrix)
    assert_array_equal(matrix, expected)


def test_two_outer_products_and_a_float32_part_add_up():
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(2, 5))
    part = rng.normal(size=(5, 5)).astype(np.float32)
    expected = 2 * np.outer(one, one) - 3 * np.outer(two, two) + part
    lower = np.zeros((5, 5))
    add_two_outer(lower, one, 2.0, two, -3.0)
    add_lower(lower, part)
    assert_allclose(np.tril(lower), np.tril(expected), rtol=1e-12)
    assert not np.tril(part).any()
