"""Linear scorers that maximise AUC, learnt in one pass over the data.

>>> from opauc import OPAUC
>>> OPAUC()
OPAUC()
"""

from opauc.errors import (
    DivergedError,
    DivergenceWarning,
    IncompatibleMoments,
    InputChanged,
    InputError,
    MalformedRow,
    OpaucError,
    StatisticsOverflow,
    TooManyBadRows,
    UnreadableFile,
)
from opauc.estimators import OPAUC
from opauc.training.model_file import load, save

__version__ = "0.1.0.dev0"

__all__ = [
    "OPAUC",
    "DivergedError",
    "DivergenceWarning",
    "IncompatibleMoments",
    "InputChanged",
    "InputError",
    "MalformedRow",
    "OpaucError",
    "StatisticsOverflow",
    "TooManyBadRows",
    "UnreadableFile",
    "__version__",
    "load",
    "save",
]
