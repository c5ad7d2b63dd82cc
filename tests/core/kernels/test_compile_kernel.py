"""The compile options: what is private to numba may go, and the kernels stay."""

import os
import subprocess
import sys

import numpy as np
from numba.core.registry import cpu_target

from opauc.core.kernels import compile as compile_kernel
from opauc.linear.exact import Exact

# A numba that knows nothing of `_nrt`: any kernel compiled with it would fail at its first call.
WITHOUT = """
import numpy as np
from numba.core.registry import cpu_target
for kind in cpu_target.options.__mro__:
    if "_nrt" in vars(kind):
        delattr(kind, "_nrt")
from opauc.linear.exact import Exact
learner = Exact(alpha=0.5)
state = learner.step(learner.start(2), np.eye(4, 2), np.array([0, 1, 0, 1], np.int8))
print(learner.weights(state).tolist())
"""


def test_this_numba_takes_the_private_option():
    assert hasattr(cpu_target.options, "_nrt")
    assert compile_kernel._options_without_refcounts()["_nrt"] is False


def test_a_numba_without_it_compiles_the_same_kernels(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert run.returncode == 0, run.stderr
    learner = Exact(alpha=0.5)
    state = learner.step(learner.start(2), np.eye(4, 2), np.array([0, 1, 0, 1], np.int8))
    np.testing.assert_allclose(eval(run.stdout), learner.weights(state), rtol=1e-12)
