"""Tests, alone or by `make test`: one thread of BLAS to a process, as those that a test starts have it.

How many there are shows in the last bits of a model.
"""

import os

# Before numpy is imported.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
