import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from opauc.linear.kernels.panel_product import PANEL, block_times_panel, move_column, row_times_panel


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 54, 101])
def test_products_with_a_panel_are_those_of_matrices(size):
    rng = np.random.default_rng(size)
    matrix, panel, out = rng.normal(size=(size, size)), rng.normal(size=(size, PANEL)), np.full((size, PANEL), 9.0)
    block_times_panel(matrix, 0, size, panel.reshape(-1), out.reshape(-1))
    assert_allclose(out, matrix @ panel, rtol=1e-12, atol=1e-13)
    wide = rng.normal(size=(size, 2 * size + 1))
    block_times_panel(wide, size, size, panel.reshape(-1), out.reshape(-1))
    assert_allclose(out, wide[:, size : 2 * size] @ panel, rtol=1e-12, atol=1e-13)
    line = np.full(2 * PANEL, 9.0)
    row_times_panel(matrix[0], panel.reshape(-1), line, PANEL)
    assert_allclose(line[PANEL:], matrix[0] @ panel, rtol=1e-12, atol=1e-13)
    assert_array_equal(line[:PANEL], 9.0)


def test_a_column_that_is_no_number_spoils_no_other():
    rng = np.random.default_rng(0)
    matrix, panel = rng.normal(size=(9, 9)), rng.normal(size=(9, PANEL))
    expected = matrix @ panel
    for spoilt in (0, 9, PANEL - 1):
        bad, out = panel.copy(), np.empty((9, PANEL))
        bad[:, spoilt] = np.nan, np.inf, *panel[2:, spoilt]
        block_times_panel(matrix, 0, 9, bad.reshape(-1), out.reshape(-1))
        others = np.delete(np.arange(PANEL), spoilt)
        assert_allclose(out[:, others], expected[:, others], rtol=1e-12)


def test_a_column_moves_and_leaves_zeros():
    panels = np.random.default_rng(1).normal(size=(3, 5, PANEL))
    before = panels.copy()
    move_column(panels, 1, PANEL + 2)
    assert_array_equal(panels[0, :, 1], before[1, :, 2])
    assert not panels[1, :, 2].any()
    assert np.count_nonzero(panels != before) == 10
    move_column(panels, 2 * PANEL, 2 * PANEL)
    assert not panels[2, :, 0].any()
