"""Models judged by AUC, learnt in one pass over the data: additive ones of tables, linear ones of any rows.

>>> from opauc import OPAUC
>>> OPAUC()
OPAUC()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    UnsupportedOperation,
)
from opauc.version import __version__

if TYPE_CHECKING:
    from opauc.estimators import OPAUC, OPAUCCV, OnePassGAM
    from opauc.saving import load, save

__all__ = [
    "OPAUC",
    "OPAUCCV",
    "DivergedError",
    "DivergenceWarning",
    "IncompatibleMoments",
    "InputChanged",
    "InputError",
    "MalformedRow",
    "OnePassGAM",
    "OpaucError",
    "StatisticsOverflow",
    "TooManyBadRows",
    "UnreadableFile",
    "UnsupportedOperation",
    "__version__",
    "load",
    "save",
]

# Names that need scikit-learn, and where they are: imported when first asked for, so that the command need not wait.
_LAZY = {
    "OPAUC": "opauc.estimators", "OPAUCCV": "opauc.estimators", "OnePassGAM": "opauc.estimators",
    "load": "opauc.saving", "save": "opauc.saving",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'opauc' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
