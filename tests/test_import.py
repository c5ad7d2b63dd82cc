"""What importing the package costs and survives."""

import json
import subprocess
import sys

WITHOUT_CACHE = """
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
from opauc import OPAUC
print(OPAUC(solver="sgd").fit([[0.0], [1.0], [3.0]], [0, 1, 1]).coef_[0, 0] > 0)
"""

SECONDS = """
import json, time
import numpy, scipy.linalg, scipy.special, scipy.sparse, sklearn.base
import sklearn.utils.multiclass, sklearn.utils.validation
start = time.process_time()
import opauc
print(json.dumps(time.process_time() - start))
"""

SECOND_RUN = """
import time
import numpy as np
from opauc import OPAUC
rows, labels = np.random.default_rng(0).normal(size=(100, 5)), np.arange(100) % 2
start = time.perf_counter()
OPAUC().fit(rows, labels).coef_
OPAUC(solver="sgd").fit(rows, labels).coef_
print(time.perf_counter() - start)
"""


def python(code, **environment):
    import os

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_no_folder_to_keep_machine_code_in_does_not_matter():
    assert python(WITHOUT_CACHE) == "True"


def test_importing_takes_little_more_than_its_dependencies():
    assert min(json.loads(python(SECONDS)) for _ in range(3)) <= 0.6


def test_the_second_process_does_not_compile_again(tmp_path):
    first, second = (float(python(SECOND_RUN, NUMBA_CACHE_DIR=str(tmp_path))) for _ in range(2))
    assert second < 0.2 * first
    assert second < 1.0
