"""The wait for the compiler: told once, and no part of any time or rate."""

import json
import os
import subprocess
import sys
import time

import pytest

from tests.tables import rows_and_labels, write_rows


def run(cache, *arguments):
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "opauc", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
    )
    return done, time.perf_counter() - began


@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled")
def test_compiling_is_announced_once_and_not_counted(tmp_path):
    data = write_rows(tmp_path, "svm", *rows_and_labels())
    train = ["train", data, "-o", tmp_path / "model", "--solver", "exact"]
    first, took = run(tmp_path / "one", *train, "--json")
    told = [json.loads(line) for line in first.stdout.splitlines()]
    assert [line["event"] for line in told if line["event"] != "progress"] == ["compiling", "trained"]
    assert told[0]["message"].startswith("opauc is compiling its kernels for this machine, once: they are kept in ")
    assert told[-1]["seconds"] < 0.3 * took
    assert first.stderr == ""
    second, _ = run(tmp_path / "one", *train)
    assert "is compiling" not in second.stderr
