"""Linear scorers that maximise AUC, learnt in one pass over the data.

>>> from opauc import OPAUC
>>> OPAUC()
OPAUC()
"""

from opauc.errors import (
    DivergedError,
    DivergenceWarning,
    IncompatibleMoments,
    OpaucError,
    StatisticsOverflow,
)
from opauc.estimators import OPAUC

__version__ = "0.1.0.dev0"

__all__ = [
    "OPAUC",
    "DivergedError",
    "DivergenceWarning",
    "IncompatibleMoments",
    "OpaucError",
    "StatisticsOverflow",
    "__version__",
]
