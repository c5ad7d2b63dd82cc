"""Train and score on clusters: `fit_dask`, `fit_spark`, `score_spark`.

The model is the one that a single process trains, because the sums of shards add up. For a GPU see the parameter
`device` of `OPAUC` and `OPAUCCV`, for threads `n_jobs`. A cluster library is imported when it is first used; the error
for one that is not installed names its extra.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opauc.engines.dask.training import fit_dask
    from opauc.engines.spark.training import fit_spark, score_spark

__all__ = ["fit_dask", "fit_spark", "score_spark"]

_LAZY = {
    "fit_dask": "opauc.engines.dask.training",
    "fit_spark": "opauc.engines.spark.training",
    "score_spark": "opauc.engines.spark.training",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
