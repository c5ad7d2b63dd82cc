"""The scikit-learn skin: check, delegate, publish."""

from opauc.estimators.opauc_cv_estimator import OPAUCCV
from opauc.estimators.opauc_estimator import OPAUC

__all__ = ["OPAUC", "OPAUCCV"]
