"""The scikit-learn skin: check, delegate, publish."""

from typing import TYPE_CHECKING, Any

from opauc.estimators.opauc_cv_estimator import OPAUCCV
from opauc.estimators.opauc_estimator import OPAUC

if TYPE_CHECKING:
    from opauc.estimators.one_pass_gam import OnePassGAM

__all__ = ["OPAUC", "OPAUCCV", "OnePassGAM"]


def __getattr__(name: str) -> Any:
    """Import the additive model when it is first asked for: the others should not have to wait for it."""
    if name != "OnePassGAM":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from opauc.estimators.one_pass_gam import OnePassGAM

    return OnePassGAM
