"""Tests: one BLAS thread per process, also in processes that a test starts.

The number of threads shows in the last bits of a model.
"""

import os

# Before numpy is imported.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
