"""How often a batch changes packages on its way: the bounds of "The walk of a row" in CONTRIBUTING.md."""

import os
import sys
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

import opauc
from opauc.api.observer import CallbackObserver
from opauc.data import sources
from opauc.data.stream import DataStream

ROOT = os.path.dirname(opauc.__file__) + os.sep
# Kernels, numeric helpers that run per block, lookups of parameters and names, and array types.
LEFT_OUT = (
    "core/kernels", "core/blas.py", "core/logistic.py", "core/row_blocks.py", "core/threads.py", "core/parameters.py",
    "core/registry.py", "types.py",
)  # fmt: skip


class PackageWalk:
    """Records the package of each call, one entry per change."""

    def __init__(self):
        self.packages = []

    def __call__(self, frame, event, _):
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(ROOT) or name.removeprefix(ROOT).startswith(LEFT_OUT):
            return
        package = name.removeprefix(ROOT).split(os.sep)[0]
        if self.packages[-1:] != [package]:
            self.packages.append(package)

    @contextmanager
    def recording(self):
        before = sys.getprofile()
        sys.setprofile(self)
        try:
            yield
        finally:
            sys.setprofile(before)

    @property
    def n_changes(self):
        return len(self.packages) - 1


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"a": random.normal(size=30_000), "b": random.choice(list("xyz"), 30_000)})
    return frame.assign(y=np.where(frame.a + random.normal(size=30_000) > 0, "yes", "no"))


def test_a_batch_of_csv_changes_packages_at_most_12_times(table, tmp_path, monkeypatch):
    table.to_csv(tmp_path / "rows.csv", index=False)
    monkeypatch.setattr(sources, "BLOCK_BYTES", 2**17)
    read = DataStream.batches
    monkeypatch.setattr(DataStream, "batches", lambda self: read(self, ahead=False))  # in the thread that is profiled
    walk, batches, before = PackageWalk(), [], sys.getprofile()

    @contextmanager
    def progress(*_):
        def show(rows, *_):
            batches.append(rows)
            sys.setprofile(walk if len(batches) == 3 else before)

        yield show

    monkeypatch.setattr(CallbackObserver, "progress", progress)
    opauc.train(tmp_path / "rows.csv", label="y")
    assert len(batches) > 4
    assert {"api", "data", "core", "additive", "metrics"} == set(walk.packages)
    assert walk.n_changes <= 12, walk.packages


def test_a_frame_changes_packages_at_most_12_times_in_fit_and_8_in_predict(table):
    small, walk = table.head(2000), PackageWalk()
    X, y = small[["a", "b"]], small["y"]
    model = opauc.OnePassGAM().fit(X, y)
    with walk.recording():
        opauc.OnePassGAM(trees=False).fit(X, y)
    assert walk.n_changes <= 12, walk.packages
    with_folds = PackageWalk()
    with with_folds.recording():
        model.fit(X, y)
    # Sums of core are merged and subtracted for each of five folds.
    assert with_folds.n_changes <= 12 + 5 * 4, with_folds.packages
    model.predict(X)
    walk = PackageWalk()
    with walk.recording():
        model.predict(X)
    assert walk.n_changes <= 8, walk.packages
