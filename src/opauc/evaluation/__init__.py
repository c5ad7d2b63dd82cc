"""How well scores rank: AUC exact and streaming, how sure it is, the curves behind it, and methods compared by it."""

from opauc.evaluation.auc_limits import AucInterval
from opauc.evaluation.calibration import CalibrationBins, Reliability
from opauc.evaluation.comparison import Compared, PairedTest, SplitAucs, paired_t_test
from opauc.evaluation.curves import PrecisionRecallCurve, RocCurve, precision_recall_curve, roc_curve
from opauc.evaluation.delong import AucDifference, auc_interval, compare_aucs
from opauc.evaluation.displays import (
    PrecisionDisplay,
    ProgressDisplay,
    ReliabilityDisplay,
    RocDisplay,
    ScoreHistogramDisplay,
)
from opauc.evaluation.exact_auc import exact_auc
from opauc.evaluation.kept_scores import KeptScores
from opauc.evaluation.method import FittedMethod, Method
from opauc.evaluation.progressive_auc import ProgressiveAuc, ProgressPoint
from opauc.evaluation.ranking import OperatingPoint, Ranking
from opauc.evaluation.runner import HeldOut, NumberedRows, compare_on_splits, compare_on_stream
from opauc.evaluation.score_histogram import ScoreHistogram
from opauc.evaluation.splits import Split, held_out, stratified_folds
from opauc.evaluation.streaming_auc import StreamingAuc
from opauc.evaluation.tuned_method import TunedMethod

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
    "PairedTest",
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
    "Split",
    "SplitAucs",
    "StreamingAuc",
    "TunedMethod",
    "auc_interval",
    "compare_aucs",
    "compare_on_splits",
    "compare_on_stream",
    "exact_auc",
    "held_out",
    "paired_t_test",
    "precision_recall_curve",
    "roc_curve",
    "stratified_folds",
]
