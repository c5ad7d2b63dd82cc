"""Sets that are made in no time, and one that is nowhere."""

import numpy as np
from experiments.paper.data_set import BENCHMARK, DataSet, Shape


def arrays(seed=0):
    rng = np.random.default_rng(seed)
    y = (np.arange(120) % 3 == 0).astype(np.int8)
    return {"X": rng.normal(size=(120, 4)) + 0.8 * y[:, None], "y": y}


def other_arrays():
    return arrays(1)


ONE = DataSet("one", BENCHMARK, Shape(120, 4, 4), "made", bundled=arrays, printed_as="diabetes")
TWO = DataSet("two", BENCHMARK, Shape(120, 4, 4), "made", bundled=other_arrays)
NOWHERE = DataSet("nowhere", BENCHMARK, Shape(120, 4, 4), "missing", archive="nowhere.npz", sha256="0" * 64)
