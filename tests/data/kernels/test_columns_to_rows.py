import numpy as np
import pytest

from opauc.data.kernels.rows import write_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (7, 50), (8, 8), (9, 9), (2048, 8), (2051, 50), (5000, 17)])
def test_columns_become_the_rows_of_a_matrix(shape, dtype):
    random = np.random.default_rng(0)
    columns = [random.normal(size=shape[0] + 3).astype(dtype)[3:] for _ in range(shape[1])]
    out = np.full((shape[0] + 1, *shape[1:]), np.nan, dtype)
    assert write_rows(columns, out[:-1])
    np.testing.assert_array_equal(out[:-1], np.column_stack(columns))
    assert np.isnan(out[-1]).all()  # nothing is written beyond
    for value in (np.nan, np.inf, -np.inf):
        place = random.integers(shape[0]), random.integers(shape[1])
        columns[place[1]][place[0]], before = value, columns[place[1]][place[0]]
        assert not write_rows(columns, out[:-1])
        np.testing.assert_array_equal(out[:-1], np.column_stack(columns))
        columns[place[1]][place[0]] = before
