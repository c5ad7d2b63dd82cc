"""Binary classifiers for AUC, trained in one pass over the data, in constant memory, with a scikit-learn API.

- `OnePassGAM`: a generalized additive model with interactions for raw tables.
- `OPAUC`, `OPAUCCV`: linear models that minimize the pairwise square loss; the latter chooses its penalty.
- `train`, `update`, `evaluate`, `predict`, `compare`: the same from files and data frames, as the command `opauc` does.
- `save`, `load`, `export`: model files, and models in other languages and formats.
- `Cube`: models of any days, regions or hospitals, from the sums of each.
- `opauc.metrics`: the AUC and other metrics of rankings, with intervals, tests and streaming forms.
- `opauc.engines`, `opauc.baselines`: Dask, Spark and GPUs; the methods of the paper that `OPAUC` comes from.

Every error of this library is an `OpaucError`.

>>> from sklearn.datasets import load_breast_cancer
>>> from opauc import OnePassGAM
>>> X, y = load_breast_cancer(return_X_y=True)
>>> model = OnePassGAM(random_state=0).fit(X[:400], y[:400])
>>> model.score(X[400:], y[400:]) > 0.99
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from opauc.errors import (
    DivergedError,
    DivergenceWarning,
    EngineError,
    IncompatibleMomentsError,
    InputChangedError,
    InputError,
    MalformedRowError,
    MissingEngineError,
    OpaucError,
    ParameterError,
    StatisticsOverflowError,
    TooManyBadRowsError,
    UnknownNameError,
    UnreadableFileError,
    UnsupportedOperationError,
)
from opauc.version import __version__

if TYPE_CHECKING:
    from opauc.additive.gam import OnePassGAM
    from opauc.api.compare import compare
    from opauc.api.cube.cube import Cube
    from opauc.api.evaluate import evaluate
    from opauc.api.export import export
    from opauc.api.predict import predict
    from opauc.api.saving import load, save
    from opauc.api.train import train
    from opauc.api.update import update
    from opauc.api.warmup import warmup
    from opauc.linear.opauc import OPAUC
    from opauc.linear.opauc_cv import OPAUCCV

__all__ = [
    "OPAUC",
    "OPAUCCV",
    "Cube",
    "DivergedError",
    "DivergenceWarning",
    "EngineError",
    "IncompatibleMomentsError",
    "InputChangedError",
    "InputError",
    "MalformedRowError",
    "MissingEngineError",
    "OnePassGAM",
    "OpaucError",
    "ParameterError",
    "StatisticsOverflowError",
    "TooManyBadRowsError",
    "UnknownNameError",
    "UnreadableFileError",
    "UnsupportedOperationError",
    "__version__",
    "compare",
    "evaluate",
    "export",
    "load",
    "predict",
    "save",
    "train",
    "update",
    "warmup",
]

# Names and where they are defined: imported when first asked for, so that the command need not wait for scikit-learn.
_LAZY = {
    "Cube": "opauc.api.cube.cube",
    "OPAUC": "opauc.linear.opauc",
    "OPAUCCV": "opauc.linear.opauc_cv",
    "OnePassGAM": "opauc.additive.gam",
    "compare": "opauc.api.compare",
    "evaluate": "opauc.api.evaluate",
    "export": "opauc.api.export",
    "load": "opauc.api.saving",
    "predict": "opauc.api.predict",
    "save": "opauc.api.saving",
    "train": "opauc.api.train",
    "update": "opauc.api.update",
    "warmup": "opauc.api.warmup",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'opauc' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
