"""Settings of all tests, and the fixtures that load golden vectors and, where present, real data sets."""

import os
from fnmatch import fnmatch
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from numba.core import event

settings.register_profile("opauc", deadline=None, derandomize=True, print_blob=True, max_examples=60)
settings.register_profile("quick", settings.get_profile("opauc"), max_examples=8)
settings.load_profile("opauc")

# Plots need no display.
os.environ.setdefault("MPLBACKEND", "Agg")

ROOT = Path(__file__).parent
GOLDEN = ROOT / "golden"
SHARED = Path(os.environ.get("OPAUC_SHARED", Path(__file__).parents[2] / "shared"))


# What `make test-quick` leaves out: files by pattern, tests by a part of their name, those that use one of these
# fixtures, and those that start processes. All get the marker `slow`.
SLOW_FILES = (
    "api/*", "baselines/*", "cli/*", "engines/*", "estimators/*", "experiments/*", "report/*", "security/*",
    "additive/*tree*", "additive/*ensemble*", "additive/*initial_fit*", "additive/*level*", "additive/*pair*",
    "additive/*search*", "linear/*sketched*", "linear/*_path*", "data/*fuzz*", "core/test_files.py",
    "exports/c/*", "exports/onnx/*", "exports/test_js_code.py", "exports/*random*",
    "serving/test_fuzz.py", "training/test_*file*", "test_benchmarks.py", "test_examples.py", "test_import.py",
    "test_readme.py", "test_workloads.py",
)  # fmt: skip
QUICK_FILES = ("cli/test_train_and_use.py", "estimators/test_opauc.py", "*level_sums.py")
SLOW_NAMES = ("million", "memory_does_not_grow", "agree_after_one_hundred_and_twenty_thousand", "old_scores_make_room")
SLOW_FIXTURES = {"load_afresh", "real_data"}
QUICK = "not slow"


def pytest_configure(config):
    if config.option.markexpr == QUICK:
        settings.load_profile("quick")


def pytest_collection_modifyitems(items):
    without_plots = find_spec("matplotlib") is None
    for item in items:
        if without_plots and isinstance(item, pytest.DoctestItem) and "plot" in item.name:
            item.add_marker(pytest.mark.skip("an example that draws needs matplotlib"))
        if is_slow(item):
            item.add_marker(pytest.mark.slow)


def is_slow(item):
    code = getattr(getattr(item, "function", None), "__code__", None)
    return (
        is_slow_file(item.path)
        or any(part in item.name for part in SLOW_NAMES)
        or not SLOW_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))
        or (code is not None and "subprocess" in code.co_names)
    )


@cache
def is_slow_file(path):
    name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    return matches(name, SLOW_FILES) and not matches(name, QUICK_FILES)


def matches(path, patterns):
    return any(fnmatch(path, pattern) for pattern in patterns)


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
