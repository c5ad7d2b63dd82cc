"""The scikit-learn skin: check, delegate, publish."""

from opauc.estimators.opauc_estimator import OPAUC

__all__ = ["OPAUC"]
