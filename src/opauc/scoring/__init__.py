"""How well scores rank: AUC exact and streaming, how sure it is, the curves behind it, and a page about all of it."""

from opauc.scoring.calibration import CalibrationBins, Reliability
from opauc.scoring.curves import PrecisionRecallCurve, RocCurve, precision_recall_curve, roc_curve
from opauc.scoring.delong import AucDifference, AucInterval, auc_interval, compare_aucs
from opauc.scoring.displays import (
    PrecisionDisplay,
    ProgressDisplay,
    ReliabilityDisplay,
    RocDisplay,
    ScoreHistogramDisplay,
)
from opauc.scoring.exact_auc import exact_auc
from opauc.scoring.progressive_auc import ProgressiveAuc, ProgressPoint
from opauc.scoring.report_page import Report, render_report
from opauc.scoring.report_ranking import OperatingPoint, Ranking
from opauc.scoring.score_histogram import ScoreHistogram
from opauc.scoring.streaming_auc import StreamingAuc

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
    "Report",
    "RocCurve",
    "RocDisplay",
    "ScoreHistogram",
    "ScoreHistogramDisplay",
    "StreamingAuc",
    "auc_interval",
    "compare_aucs",
    "exact_auc",
    "precision_recall_curve",
    "render_report",
    "roc_curve",
]
