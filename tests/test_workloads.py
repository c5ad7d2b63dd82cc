"""The benchmark's stand-ins for data that is not at hand: named as such, and no larger than what they stand for."""

import numpy as np
import pytest
from benchmarks import workloads


@pytest.mark.parametrize("per_row", [None, 20])
def test_without_the_data_a_random_set_of_the_same_shape_is_made_and_named_so(monkeypatch, per_row):
    monkeypatch.setattr(workloads, "available", lambda _: [])
    load = workloads.workload("covtype", 500, 1_000_000 if per_row else 7, np.float32, per_row)
    assert load.name.startswith("synthetic 500 x")
    assert load.rows.shape == (500, 1_000_000 if per_row else 7)
    assert load.rows.dtype == np.float32
    assert set(load.labels.tolist()) == {-1, 1}
    if per_row:
        assert load.rows.indices.dtype == np.int32
        assert load.rows.has_canonical_format
        assert 0 < load.rows.nnz <= 500 * per_row
