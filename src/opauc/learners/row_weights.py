"""The weights of rows as the kernels take them."""

from __future__ import annotations

import numpy as np

from opauc.rows import Floats
from opauc.statistics.chunk_rows import NO_WEIGHTS, read_only


def row_weights(weight: Floats | None) -> Floats:
    """Return the weights read-only, one compiled form serves all; none where every row has weight one.

    Examples
    --------
    >>> from opauc.learners.row_weights import row_weights
    >>> row_weights(None).size
    0
    """
    return NO_WEIGHTS if weight is None else read_only(np.ascontiguousarray(weight, np.float64))
