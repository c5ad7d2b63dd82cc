"""How well scores rank: AUC exact and streaming, how sure it is and the curves behind it."""

from opauc.evaluation.calibration import CalibrationBins, Reliability
from opauc.evaluation.curves import PrecisionRecallCurve, RocCurve, precision_recall_curve, roc_curve
from opauc.evaluation.delong import AucDifference, AucInterval, auc_interval, compare_aucs
from opauc.evaluation.displays import (
    PrecisionDisplay,
    ProgressDisplay,
    ReliabilityDisplay,
    RocDisplay,
    ScoreHistogramDisplay,
)
from opauc.evaluation.exact_auc import exact_auc
from opauc.evaluation.progressive_auc import ProgressiveAuc, ProgressPoint
from opauc.evaluation.ranking import OperatingPoint, Ranking
from opauc.evaluation.score_histogram import ScoreHistogram
from opauc.evaluation.streaming_auc import StreamingAuc

__all__ = [
    "AucDifference",
    "AucInterval",
    "CalibrationBins",
    "OperatingPoint",
    "PrecisionDisplay",
    "PrecisionRecallCurve",
    "ProgressDisplay",
    "ProgressPoint",
    "ProgressiveAuc",
    "Ranking",
    "Reliability",
    "ReliabilityDisplay",
    "RocCurve",
    "RocDisplay",
    "ScoreHistogram",
    "ScoreHistogramDisplay",
    "StreamingAuc",
    "auc_interval",
    "compare_aucs",
    "exact_auc",
    "precision_recall_curve",
    "roc_curve",
]
