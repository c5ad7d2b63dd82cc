"""Models judged by AUC, learned in one pass over the data: additive ones of tables, linear ones of any rows.

>>> from opauc import OPAUC
>>> OPAUC()
OPAUC()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from opauc.errors import (
    DivergedError,
    DivergenceWarning,
    IncompatibleMomentsError,
    InputChangedError,
    InputError,
    MalformedRowError,
    OpaucError,
    StatisticsOverflowError,
    TooManyBadRowsError,
    UnreadableFileError,
    UnsupportedOperationError,
)
from opauc.version import __version__

if TYPE_CHECKING:
    from opauc.additive.gam import OnePassGAM
    from opauc.api.saving import load, save
    from opauc.linear.opauc import OPAUC
    from opauc.linear.opauc_cv import OPAUCCV

__all__ = [
    "OPAUC",
    "OPAUCCV",
    "DivergedError",
    "DivergenceWarning",
    "IncompatibleMomentsError",
    "InputChangedError",
    "InputError",
    "MalformedRowError",
    "OnePassGAM",
    "OpaucError",
    "StatisticsOverflowError",
    "TooManyBadRowsError",
    "UnreadableFileError",
    "UnsupportedOperationError",
    "__version__",
    "load",
    "save",
]

# Names that need scikit-learn, and where they are: imported when first asked for, so that the command need not wait.
_LAZY = {
    "OPAUC": "opauc.linear.opauc", "OPAUCCV": "opauc.linear.opauc_cv", "OnePassGAM": "opauc.additive.gam",
    "load": "opauc.api.saving", "save": "opauc.api.saving",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'opauc' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
