"""How well scores rank: AUC exact and streaming, how sure it is, and the curves behind it."""

from opauc.scoring.curves import PrecisionRecallCurve, RocCurve, precision_recall_curve, roc_curve
from opauc.scoring.delong import AucDifference, AucInterval, auc_interval, compare_aucs
from opauc.scoring.exact_auc import exact_auc
from opauc.scoring.streaming_auc import StreamingAuc

__all__ = [
    "AucDifference",
    "AucInterval",
    "PrecisionRecallCurve",
    "RocCurve",
    "StreamingAuc",
    "auc_interval",
    "compare_aucs",
    "exact_auc",
    "precision_recall_curve",
    "roc_curve",
]
