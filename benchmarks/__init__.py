"""Speed as ratios, measured in one run on one core: `make bench`.

Compilation and scoring are outside the timed region; contestants take turns
and the best of several turns counts. Absolute times are in the last column.
"""

import os

# Before numpy is imported: one thread for whatever BLAS it brings.
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
