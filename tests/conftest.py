"""Settings of all tests, and the fixtures that load golden vectors and, where present, real data sets."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from numba.core import event

settings.register_profile("opauc", deadline=None, derandomize=True, print_blob=True, max_examples=60)
settings.register_profile("quick", settings.get_profile("opauc"), max_examples=8)
settings.load_profile("opauc")

ROOT = Path(__file__).parent
GOLDEN = ROOT / "golden"
SHARED = Path(os.environ.get("OPAUC_SHARED", Path(__file__).parents[2] / "shared"))


# What `make test-quick` leaves out: `slow` is added to all tests of these folders and files, to those that use these
# fixtures, and to those that start processes.
SLOW_PATHS = (
    "api", "baselines", "cli", "engines", "estimators", "experiments", "report", "test_benchmarks.py",
    "test_examples.py", "test_import.py", "test_readme.py", "test_workloads.py", "training/test_hostile_files.py",
)  # fmt: skip
QUICK_PATHS = ("cli/test_train_and_use.py", "cli/test_refused_merges.py", "estimators/test_opauc.py")
SLOW_FIXTURES = {"load_afresh", "real_data"}
QUICK = "not slow"


def pytest_configure(config):
    if config.option.markexpr == QUICK:
        settings.load_profile("quick")


def pytest_collection_modifyitems(items):
    for item in items:
        if is_slow(item):
            item.add_marker(pytest.mark.slow)


def is_slow(item):
    path = item.path.relative_to(ROOT).as_posix() if item.path.is_relative_to(ROOT) else ""
    by_path = path.startswith(SLOW_PATHS) and not path.startswith(QUICK_PATHS)
    code = getattr(getattr(item, "function", None), "__code__", None)
    return (
        by_path
        or not SLOW_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))
        or (code is not None and "subprocess" in code.co_names)
    )


class NoText(event.Listener):
    """Fail the test that compiles a kernel with text in it, which takes seconds to compile."""

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
