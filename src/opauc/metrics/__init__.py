"""Metrics of scores, and the comparison of methods by them.

- `exact_auc`, `auc_interval`, `compare_aucs`, `roc_curve`, `precision_recall_curve`: from labels and scores in memory.
- `PartialAuc`, `AveragePrecision`, `PrecisionAt`, `RecallAt`, `LiftAt`, `Auc`, or `ranking_metric("pauc@0.01")`:
  metrics of a ranking, each with its value, interval and paired test, and its bounds from a `StreamingAuc`.
- `MulticlassAuc`, `ClassMean`, `GroupAuc`: the same for several classes, and within groups of rows.
- `StreamingAuc`, `StreamingMulticlassAuc`, `StreamingGroupAuc`, `CalibrationBins`: mergeable statistics of a stream in
  fixed memory.
- `choose_threshold`: where to cut scores, for costs, a false positive rate, a precision or a recall.
- `ProgressiveAuc`: progressive validation, the AUC of rows scored before training on them.
- `Ranking`, `ScoreHistogram`: the summary of scores that the report shows.
- `compare_on_stream`: train and evaluate methods on the same rows.
"""

from opauc.core.threshold import Rate, Threshold
from opauc.metrics.auc import Auc
from opauc.metrics.average_precision import AveragePrecision
from opauc.metrics.calibration import CalibrationBins, Reliability
from opauc.metrics.class_mean import ClassIntervals, ClassMean
from opauc.metrics.comparison import Compared, ScoreBuffer
from opauc.metrics.curves import PrecisionRecallCurve, RocCurve, precision_recall_curve, roc_curve
from opauc.metrics.exact_auc import exact_auc
from opauc.metrics.group_auc import GroupAuc, GroupAucInterval
from opauc.metrics.influence import MetricInterval
from opauc.metrics.intervals import AucDifference, AucInterval, auc_interval, compare_aucs
from opauc.metrics.metric_names import ranking_metric
from opauc.metrics.multiclass_auc import MulticlassAuc
from opauc.metrics.partial_auc import PartialAuc
from opauc.metrics.progressive import ProgressiveAuc, ProgressPoint
from opauc.metrics.ranking import OperatingPoint, Ranking
from opauc.metrics.ranking_metric import RankingMetric
from opauc.metrics.runner import FittedMethod, HeldOut, Method, NumberedRows, compare_on_stream
from opauc.metrics.score_histogram import ScoreHistogram
from opauc.metrics.splits import held_out
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.metrics.streaming_group_auc import StreamingGroupAuc
from opauc.metrics.streaming_multiclass_auc import StreamingMulticlassAuc
from opauc.metrics.thresholds import ThresholdRule, choose_threshold
from opauc.metrics.top_rows import LiftAt, PrecisionAt, RecallAt

__all__ = [
    "Auc",
    "AucDifference",
    "AucInterval",
    "AveragePrecision",
    "CalibrationBins",
    "ClassIntervals",
    "ClassMean",
    "Compared",
    "FittedMethod",
    "GroupAuc",
    "GroupAucInterval",
    "HeldOut",
    "LiftAt",
    "Method",
    "MetricInterval",
    "MulticlassAuc",
    "NumberedRows",
    "OperatingPoint",
    "PartialAuc",
    "PrecisionAt",
    "PrecisionRecallCurve",
    "ProgressPoint",
    "ProgressiveAuc",
    "Ranking",
    "RankingMetric",
    "Rate",
    "RecallAt",
    "Reliability",
    "RocCurve",
    "ScoreBuffer",
    "ScoreHistogram",
    "StreamingAuc",
    "StreamingGroupAuc",
    "StreamingMulticlassAuc",
    "Threshold",
    "ThresholdRule",
    "auc_interval",
    "choose_threshold",
    "compare_aucs",
    "compare_on_stream",
    "exact_auc",
    "held_out",
    "precision_recall_curve",
    "ranking_metric",
    "roc_curve",
]
