"""What importing the package costs and survives."""

import json
import os
import subprocess
import sys

import pytest
from numba import njit

from opauc.core.kernels.compile import compile_message, compile_notice

WITHOUT_CACHE = """
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
from opauc import OPAUC
print(OPAUC().fit([[0.0], [1.0], [3.0]], [0, 1, 1]).coef_[0, 0] > 0)
"""

SECONDS = """
import json, time
import numpy, scipy.linalg, scipy.special, scipy.sparse, sklearn.base
import sklearn.utils.multiclass, sklearn.utils.validation
start = time.process_time()
import opauc
print(json.dumps(time.process_time() - start))
"""

FITTED = """
import time
import numpy as np
from numba.core import event
from opauc import OPAUC
rows, labels = np.random.default_rng(0).normal(size=(100, 5)), np.arange(100) % 2
start = time.perf_counter()
with event.install_recorder("numba:compile") as compiled:
    for model in {models}:
        model.fit(rows, labels).coef_
print(time.perf_counter() - start, len(compiled.buffer))
"""

# A user without a home, whose only folder for machine code would be `~` in the working directory.
HOMELESS = """
import os
import numba.core.caching as caching
kinds = caching.CacheImpl._locator_classes
caching.CacheImpl._locator_classes = [kind for kind in kinds if "User" in kind.__name__]
os.access = lambda *_: False
from opauc.core.kernels.symmetric_matrix import mirror_lower
import numpy as np
mirror_lower(np.eye(2))
mirror_lower(np.eye(2, dtype=np.float32))
print(os.listdir())
"""


def ran(code, cwd=None, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return done


def python(code, **environment):
    return ran(code, **environment).stdout.strip()


def test_no_folder_to_keep_machine_code_in_does_not_matter_but_is_reported_once():
    done = ran(WITHOUT_CACHE)
    assert done.stdout.strip() == "True"
    assert done.stderr.splitlines() == [compile_message(None)]


@pytest.mark.parametrize("where", [{"HOME": "~", "NUMBA_CACHE_DIR": ""}, {"NUMBA_CACHE_DIR": "~/kernels"}])
def test_no_folder_called_tilde_is_made(tmp_path, where):
    done = ran(HOMELESS, tmp_path, **where)
    assert done.stdout.strip() == "[]"
    assert done.stderr.splitlines() == [compile_message(None)]


def test_importing_takes_little_more_than_its_dependencies():
    assert any(json.loads(python(SECONDS)) <= 0.6 for _ in range(3))


def test_functions_of_others_that_have_no_module_can_be_compiled():
    names = {"__name__": None}
    exec("def twice(x): return 2 * x", names)
    with compile_notice(print):
        assert njit(names["twice"])(2) == 4


def test_the_second_process_does_not_compile_again(tmp_path):
    runs = [ran(FITTED.format(models="[OPAUC()]"), NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2)]
    (first, _), (second, compiled) = (map(float, run.stdout.split()) for run in runs)
    assert second < 0.2 * first
    assert second < 1.0
    assert compiled == 0
    assert "once: they are kept in" in runs[0].stderr
    assert [run.stderr.count("\n") for run in runs] == [1, 0]


def test_the_largest_kernels_are_kept_too():
    """In the folder of all tests, where they may be already: they take long to compile."""
    models = "[OPAUC(solver='sgd'), OPAUC(solver='sgd', rank=2), OPAUC(rank=2)]"
    _, again = (ran(FITTED.format(models=models)) for _ in range(2))
    seconds, compiled = map(float, again.stdout.split())
    assert compiled == 0
    assert seconds < 1.0
    assert again.stderr == ""
