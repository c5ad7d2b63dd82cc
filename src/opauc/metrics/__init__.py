"""How well scores rank: AUC exact and streaming, how sure it is, the curves behind it, and methods compared by it."""

from opauc.metrics.calibration import CalibrationBins, Reliability
from opauc.metrics.comparison import Compared, KeptScores
from opauc.metrics.curves import PrecisionRecallCurve, RocCurve, precision_recall_curve, roc_curve
from opauc.metrics.displays import (
    PrecisionDisplay,
    ProgressDisplay,
    ReliabilityDisplay,
    RocDisplay,
    ScoreHistogramDisplay,
)
from opauc.metrics.exact_auc import exact_auc
from opauc.metrics.intervals import AucDifference, AucInterval, auc_interval, compare_aucs
from opauc.metrics.progressive_auc import ProgressiveAuc, ProgressPoint
from opauc.metrics.ranking import OperatingPoint, Ranking
from opauc.metrics.runner import FittedMethod, HeldOut, Method, NumberedRows, compare_on_stream
from opauc.metrics.score_histogram import ScoreHistogram
from opauc.metrics.splits import held_out
from opauc.metrics.streaming_auc import StreamingAuc

__all__ = [
    "AucDifference",
    "AucInterval",
    "CalibrationBins",
    "Compared",
    "FittedMethod",
    "HeldOut",
    "KeptScores",
    "Method",
    "NumberedRows",
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
    "compare_on_stream",
    "exact_auc",
    "held_out",
    "precision_recall_curve",
    "roc_curve",
]
