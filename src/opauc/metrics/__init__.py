"""Metrics of scores, and the comparison of methods by them.

- `exact_auc`, `auc_interval`, `compare_aucs`, `roc_curve`, `precision_recall_curve`: from labels and scores in memory.
- `choose_threshold`: where to cut scores, for costs, a false positive rate, a precision or a recall.
- `StreamingAuc`, `CalibrationBins`: mergeable statistics of a stream in fixed memory.
- `ProgressiveAuc`: progressive validation, the AUC of rows scored before training on them.
- `Ranking`, `ScoreHistogram`: the summary of scores that the report shows.
- `compare_on_stream`: train and evaluate methods on the same rows.
"""

from opauc.core.threshold import Rate, Threshold
from opauc.metrics.calibration import CalibrationBins, Reliability
from opauc.metrics.comparison import Compared, ScoreBuffer
from opauc.metrics.curves import PrecisionRecallCurve, RocCurve, precision_recall_curve, roc_curve
from opauc.metrics.exact_auc import exact_auc
from opauc.metrics.intervals import AucDifference, AucInterval, auc_interval, compare_aucs
from opauc.metrics.progressive import ProgressiveAuc, ProgressPoint
from opauc.metrics.ranking import OperatingPoint, Ranking
from opauc.metrics.runner import FittedMethod, HeldOut, Method, NumberedRows, compare_on_stream
from opauc.metrics.score_histogram import ScoreHistogram
from opauc.metrics.splits import held_out
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.metrics.thresholds import ThresholdRule, choose_threshold

__all__ = [
    "AucDifference",
    "AucInterval",
    "CalibrationBins",
    "Compared",
    "FittedMethod",
    "HeldOut",
    "Method",
    "NumberedRows",
    "OperatingPoint",
    "PrecisionRecallCurve",
    "ProgressPoint",
    "ProgressiveAuc",
    "Ranking",
    "Rate",
    "Reliability",
    "RocCurve",
    "ScoreBuffer",
    "ScoreHistogram",
    "StreamingAuc",
    "Threshold",
    "ThresholdRule",
    "auc_interval",
    "choose_threshold",
    "compare_aucs",
    "compare_on_stream",
    "exact_auc",
    "held_out",
    "precision_recall_curve",
    "roc_curve",
]
