import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare, kstest

from opauc.core.kernels.random_signs import add_signs, random_bits, write_gaussians, write_sign_rows, write_signs

# Products of 64-bit words wrap round on purpose; plain NumPy, with the compiler off, warns of it.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")

KEY = np.uint64(12345)


def sign_rows(rank, n_rows, gaussian=False, key=KEY, width=None):
    out = np.full((n_rows, width or rank + 1), np.nan)
    write_sign_rows(key, np.arange(n_rows), rank, gaussian, out)
    return out


@pytest.mark.parametrize("rank", [1, 7, 63, 64, 65, 130])
def test_signs_have_the_size_one_over_root_rank_and_end_in_a_one(rank):
    drawn = sign_rows(rank, 20, width=rank + 4)
    assert_allclose(np.abs(drawn[:, :rank]), 1 / np.sqrt(rank))
    assert not drawn[:, rank:-1].any()
    assert_array_equal(drawn[:, -1], np.ones(20))


def test_signs_depend_on_key_and_row_number_alone():
    one, other = np.empty(9), np.empty(9)
    write_signs(KEY, 77, 8, one)
    assert_array_equal(one, sign_rows(8, 100)[77])
    write_signs(np.uint64(12346), 77, 8, other)
    drawn, shifted = sign_rows(64, 200)[:, :64] * 8, sign_rows(64, 200, key=np.uint64(12346))[:, :64] * 8
    assert abs((drawn * shifted).mean()) < 5 / np.sqrt(drawn.size)


def test_signs_are_fair_and_independent_of_each_other():
    bits = sign_rows(128, 400)[:, :128] > 0
    assert chisquare([bits.sum(), (~bits).sum()]).pvalue > 1e-3
    signs = np.where(bits, 1.0, -1.0)
    for products in (signs[:, :-1] * signs[:, 1:], signs[:-1] * signs[1:], signs[:, :64] * signs[:, 64:]):
        assert abs(products.mean()) < 4 / np.sqrt(products.size)
    # rows of signs are nearly orthogonal: E[R R^T] = I
    gram = signs @ signs.T / 128
    assert_allclose(np.diagonal(gram), 1.0)
    assert abs(gram[np.triu_indices(400, 1)].std() * np.sqrt(128) - 1) < 0.05


def test_gaussian_vectors_are_normal():
    drawn = sign_rows(25, 400, gaussian=True)[:, :25] * 5
    assert kstest(drawn.ravel(), "norm").pvalue > 1e-3
    one = np.empty(26)
    write_gaussians(KEY, 3, 25, one)
    assert_allclose(one[:25] * 5, drawn[3])


def test_adding_signs_is_adding_the_written_signs():
    for rank, width in ((5, 8), (70, 72), (0, 4)):
        written, out = np.empty(width), np.arange(float(width))
        write_signs(KEY, 9, rank, written)
        add_signs(KEY, 9, rank, -2.5, out)
        assert_allclose(out, np.arange(width) - 2.5 * written, atol=1e-14)


def test_random_bits_of_nearby_rows_and_keys_differ_in_half_their_bits():
    words = [int(random_bits(np.uint64(key), row, 0)) for key in range(30) for row in range(30)]
    assert len(set(words)) == 900
    flips = [bin(a ^ b).count("1") for a, b in itertools.pairwise(words)]
    assert abs(np.mean(flips) - 32) < 1
