"""Settings of all tests, and the fixtures that load golden vectors and, where present, real data sets."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from numba.core import event

settings.register_profile("opauc", deadline=None, derandomize=True, print_blob=True, max_examples=60)
settings.load_profile("opauc")

GOLDEN = Path(__file__).parent / "golden"
SHARED = Path(os.environ.get("OPAUC_SHARED", Path(__file__).parents[2] / "shared"))


class NoText(event.Listener):
    """Fails whatever compiles a kernel that has to do with text, which takes seconds to compile."""

    def on_start(self, event):
        module = str(event.data["dispatcher"].py_func.__module__)
        assert "unicode" not in module, f"text has no place in a kernel: {module}"

    def on_end(self, event):
        pass


event.register("numba:compile", NoText())


def load_arrays(path):
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


@pytest.fixture(scope="session")
def golden():
    """Load the vectors of an independent program; tests/golden/README.md describes them."""
    return lambda name: load_arrays(GOLDEN / f"{name}.npz")


@pytest.fixture(scope="session")
def real_data():
    """Load a real data set, or skip the test where it is absent."""

    def load(name):
        path = SHARED / "data" / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"{path.name} is absent; set OPAUC_SHARED to the folder that holds data/")
        return load_arrays(path)

    return load
