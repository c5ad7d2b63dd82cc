"""Streaming metrics are saved and loaded as other statistics are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import opauc
from opauc.metrics import StreamingAuc, StreamingGroupAuc, StreamingMulticlassAuc

LABELS, SCORES = np.arange(60) % 2, np.random.default_rng(0).normal(size=(60, 2)).round(1)


@pytest.mark.parametrize(
    "state",
    [
        StreamingAuc.of(LABELS, SCORES[:, 0], size=5),
        StreamingMulticlassAuc.of(LABELS, SCORES, size=5),
        StreamingGroupAuc.of(LABELS, SCORES[:, 0], np.arange(60) % 7, limit=40),
    ],
    ids=lambda state: type(state).__name__,
)
def test_what_save_writes_load_reads(state, tmp_path):
    opauc.save(state, tmp_path / "state")
    loaded = opauc.load(tmp_path / "state")
    assert type(loaded) is type(state)
    for name, part in state.to_arrays().items():
        assert_array_equal(loaded.to_arrays()[name], part)
