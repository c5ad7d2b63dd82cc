"""The input types of the report of a model of several classes: plain values that no model family needs to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from opauc.metrics.calibration import CalibrationBins
from opauc.metrics.class_groups import ClassesGroup
from opauc.metrics.group_auc import GroupAucInterval
from opauc.metrics.influence import MetricInterval
from opauc.metrics.progressive import ProgressPoint
from opauc.report.inputs import FileRow, PenaltyChoice, TermsSection, WeightRow
from opauc.types import Floats


class ClassRow(NamedTuple):
    """A class: its rows, the share of them that `predict` finds, its AUC against the rest, and its probabilities."""

    name: str
    rows: int
    recall: float
    auc: MetricInterval
    calibration: CalibrationBins


class ClassTerms(NamedTuple):
    """The additive score of a class against the rest, as its terms."""

    name: str
    section: TermsSection


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClassReport:
    """Everything the page of a model of several classes shows; parts that are absent are left out.

    `auc_ovo` is the mean AUC over ordered pairs of classes, with its certain bounds, `auc_ovr` the mean over classes
    against all others. `pair_aucs` has in row i and column j the AUC of the scores of class i, among rows of i and j.
    `metrics` are means over the classes by their titles, `class_metrics` the same of each class. `terms` are those of
    additive models. The other fields are those of `Report`.
    """

    title: str
    auc_ovo: MetricInterval
    auc_ovr: MetricInterval
    bounds: tuple[float, float]
    classes: Sequence[ClassRow]
    pair_aucs: Floats
    accuracy: float
    log_loss: float
    model: str = ""
    n_features: int | None = None
    metrics: Mapping[str, MetricInterval] = field(default_factory=dict)
    class_metrics: Mapping[str, Sequence[MetricInterval]] = field(default_factory=dict)
    within: Mapping[str, GroupAucInterval] = field(default_factory=dict)
    groups: Sequence[ClassesGroup] = ()
    group_column: str = ""
    learning_curve: Sequence[ProgressPoint] = ()
    penalty: PenaltyChoice | None = None
    terms: Sequence[ClassTerms] = ()
    weights: Sequence[WeightRow] = ()
    weight_order: str = "by size"
    training_files: Mapping[str, int] = field(default_factory=dict)
    data: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    timings: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, object] = field(default_factory=dict)
    training_data: Sequence[FileRow] = ()
    about: Mapping[str, object] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of rows evaluated."""
        return sum(one.rows for one in self.classes)
