"""Where the tests find real data and the vectors of an independent program, both optional."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("opauc", deadline=None, derandomize=True, print_blob=True, max_examples=60)
settings.load_profile("opauc")

SHARED = Path(os.environ.get("OPAUC_SHARED", Path(__file__).parents[2] / "shared"))


def _load(path):
    if not path.exists():
        pytest.skip(f"{path.name} is not here; set OPAUC_SHARED to the folder that holds data/ and golden/")
    with np.load(path) as archive:
        return {name: archive[name] for name in archive.files}


@pytest.fixture(scope="session")
def golden():
    return lambda name: _load(SHARED / "golden" / f"{name}.npz")


@pytest.fixture(scope="session")
def real_data():
    return lambda name: _load(SHARED / "data" / f"{name}.npz")
