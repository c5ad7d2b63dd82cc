"""Simulated rows whose first feature ranks best, the second less well and the third not at all."""

import numpy as np
import pytest


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    labels = (rng.random(1000) < 0.3).astype(np.int8)
    rows = rng.normal(size=(1000, 3))
    rows[:, 0] += labels
    rows[:, 1] += labels / 2
    return rows, labels
