"""How well a model of several classes ranks and predicts the rows of files and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from opauc.api.group_columns import GroupColumns, groups_of_batch, values_of_batch
from opauc.api.observer import Observer, stopwatch
from opauc.api.scored_stream import ScoredStream
from opauc.api.tables import column_values, groups_of_table, labeled_features
from opauc.api.training_files import trained_before, training_rows_warning
from opauc.core.batch import Batch, ResumePosition, SourceRecord
from opauc.core.fit import only_two_classes
from opauc.core.labels import listed_labels, shown_label
from opauc.core.model import Model
from opauc.core.scorer import Scorer
from opauc.data.sources import IN_MEMORY, STANDARD_INPUT
from opauc.errors import InputError, Parameter, ParameterError
from opauc.metrics import (
    Auc,
    AucDifference,
    CalibrationBins,
    ClassMean,
    GroupAuc,
    GroupAucInterval,
    MetricInterval,
    MulticlassAuc,
    RankingMetric,
)
from opauc.metrics.class_groups import ClassesGroup, ClassesWithinGroups, GroupedClassScores
from opauc.metrics.class_scores import ClassScores
from opauc.metrics.comparison import NO_METRICS
from opauc.types import Array, Floats, Labels

NO_CLASS_METRICS: Mapping[str, Mapping[str, MetricInterval]] = MappingProxyType({})
NO_DIFFERENCES: Mapping[str, AucDifference] = MappingProxyType({})
NO_GROUPS: Mapping[str, GroupAucInterval] = MappingProxyType({})
T = TypeVar("T")
GroupsOf: TypeAlias = Callable[[str], Array]
ValuesOf: TypeAlias = Callable[[str], Sequence[object]]


class ClassDetails(NamedTuple):
    """What the report page shows besides.

    Attributes
    ----------
    aucs : tuple of MetricInterval
        The AUC of each class against the rest.
    pair_aucs : ndarray of shape (n_classes, n_classes)
        The AUCs of the scores of one class among its rows and those of another.
    calibration : tuple of CalibrationBins
        The probabilities of each class, and what happened.
    trained_on : sequence of SourceRecord
        The files that the model was trained on.
    """

    aucs: tuple[MetricInterval, ...]
    pair_aucs: Floats
    calibration: tuple[CalibrationBins, ...]
    trained_on: Sequence[SourceRecord] = ()


class ClassesEvaluation(NamedTuple):
    """How a model of more than two classes ranks and predicts rows.

    Attributes
    ----------
    auc_ovo : MetricInterval
        Mean AUC over ordered pairs of classes (Hand and Till's M), with its 95 % interval.
    auc_ovr : MetricInterval
        Mean AUC over classes, each against all others.
    rows_of : mapping of str to int
        Number of rows of each class, by its label.
    recall_of : mapping of str to float
        Share of the rows of each class that `predict` gives its label.
    log_loss : float
        Mean negative logarithm of the probability of the label of a row.
    rows : int
        Number of rows evaluated.
    bad_rows : int
        Number of rows skipped.
    seconds : float
        Time of the evaluation.
    bounds : tuple of float
        Certain bounds of `auc_ovo`, equal where the scores of all rows were kept.
    difference : AucDifference or None
        The difference of `auc_ovo` to that of the model given as `against`.
    metrics : mapping of str to MetricInterval
        Further metrics by name, such as "pauc@0.01": the mean over the classes, each against all others.
    class_metrics : mapping of str to mapping
        The same metrics of each class, by name and label.
    differences : mapping of str to AucDifference
        The differences of the means to the other model.
    within : mapping of str to GroupAucInterval
        The mean AUC within groups, over the classes, by how groups count.
    groups : sequence of ClassesGroup
        The evaluation of each group of the column `by`.
    by : str or None
        That column.
    details : ClassDetails or None
        What the report page shows besides, where one is written.

    Examples
    --------
    >>> import pandas as pd
    >>> import opauc
    >>> table = pd.DataFrame({"age": [5.0, 8.0, 30.0, 35.0, 70.0, 80.0] * 30})
    >>> table["who"] = ["child", "child", "adult", "adult", "elder", "elder"] * 30
    >>> evaluation = opauc.evaluate(opauc.train(table, label="who", solver="exact"), table, label="who")
    >>> evaluation.rows_of, round(evaluation.auc_ovo.value, 2)
    ({'adult': 60, 'child': 60, 'elder': 60}, 1.0)
    """

    auc_ovo: MetricInterval
    auc_ovr: MetricInterval
    rows_of: Mapping[str, int]
    recall_of: Mapping[str, float]
    log_loss: float
    rows: int
    bad_rows: int
    seconds: float
    bounds: tuple[float, float]
    difference: AucDifference | None = None
    metrics: Mapping[str, MetricInterval] = NO_METRICS
    class_metrics: Mapping[str, Mapping[str, MetricInterval]] = NO_CLASS_METRICS
    differences: Mapping[str, AucDifference] = NO_DIFFERENCES
    within: Mapping[str, GroupAucInterval] = NO_GROUPS
    groups: Sequence[ClassesGroup] = ()
    by: str | None = None
    details: ClassDetails | None = None

    @property
    def auc(self) -> float:
        """The mean AUC over pairs of classes."""
        return self.auc_ovo.value

    @property
    def accuracy(self) -> float:
        """Share of the rows that `predict` gives their label."""
        hits = sum(self.rows_of[label] * recall for label, recall in self.recall_of.items())
        return float(hits / self.rows)


class JudgedClasses:
    """What an evaluation of several classes keeps of the rows: their scores, and those of groups."""

    def __init__(self, classes: Array, columns: GroupColumns, detailed: bool = False) -> None:
        self.classes = list(map(shown_label, classes.tolist()))
        self.scores = ClassScores(len(self.classes))
        self.columns = columns
        self._within = None if columns.within is None else ClassesWithinGroups(len(self.classes))
        self._by = None if columns.by is None else GroupedClassScores(columns.by, self.classes)
        self._calibration = [CalibrationBins.empty()] * len(self.classes) if detailed else None

    def add(
        self, labels: Labels, scores: Floats, probabilities: Floats, groups_of: GroupsOf, values_of: ValuesOf
    ) -> None:
        """Add rows with the numbers of their classes; the functions return the values of a column."""
        self.scores.add(labels, scores, probabilities)
        if self._within is not None and self.columns.within is not None:
            self._within.add(labels, scores, groups_of(self.columns.within))
        if self._by is not None:
            self._by.add(values_of(self._by.column), labels, scores, probabilities)
        if self._calibration is not None:
            self._calibration = [
                bins.update(labels == number, probabilities[:, number]) for number, bins in enumerate(self._calibration)
            ]

    def evaluation(
        self, metrics: Sequence[RankingMetric], sources: str, bad_rows: int, seconds: float
    ) -> ClassesEvaluation:
        """Return the evaluation; raise unless there are rows of every class."""
        scores, counts = self.scores, self.scores.counts
        if not counts.all():
            lacking = listed_labels([self.classes[number] for number in np.flatnonzero(counts == 0)])
            raise InputError(
                f"{sources}: AUC needs rows of every class, got {scores.n_rows:,} rows, none labeled {lacking}"
            )
        found = {metric.name: scores.class_intervals(metric) for metric in metrics}
        return ClassesEvaluation(
            scores.interval(MulticlassAuc("ovo")), scores.interval(MulticlassAuc("ovr")),
            self._by_class(counts.tolist()), self._by_class((scores.hits / counts).tolist()),
            scores.log_loss_sum / scores.n_rows, scores.n_rows, bad_rows, seconds, scores.bounds(),
            metrics={name: one.mean for name, one in found.items()},
            class_metrics={name: self._by_class(one.by_class) for name, one in found.items()},
            within=NO_GROUPS if self._within is None else aucs_within(self._within, self.classes),
            groups=() if self._by is None else self._by.evaluate(), by=self.columns.by,
            details=None if self._calibration is None else
            ClassDetails(scores.class_intervals(Auc()).by_class, scores.pair_aucs(), tuple(self._calibration)),
        )  # fmt: skip

    def _by_class(self, values: Sequence[T]) -> dict[str, T]:
        return dict(zip(self.classes, values, strict=True))


def aucs_within(scores: ClassesWithinGroups, classes: Sequence[str]) -> dict[str, GroupAucInterval]:
    """Return the mean AUC within groups, where all count the same and where they count by their rows."""
    lacking = [name for name, known in zip(classes, scores.classes_in_groups(), strict=True) if not known]
    if lacking:
        raise ParameterError(
            Parameter("within"), f": no group has rows labeled {listed_labels(lacking)} and rows of other classes"
        )
    return {weight: scores.interval(GroupAuc(weight)) for weight in ("equal", "rows")}


def evaluate_classes(
    scored: ScoredStream,
    observer: Observer,
    other: ScoredStream | None = None,
    metrics: Sequence[RankingMetric] = (),
    columns: GroupColumns = GroupColumns(),  # noqa: B008 immutable
    detailed: bool = False,
) -> ClassesEvaluation:
    """Score all rows of files by a model of several classes, and test whether another one differs.

    The stream passes through the columns of groups. `detailed` adds what the report page shows.
    """
    if other is not None:
        check_read_twice(scored)
        check_same_classes(scored.model, other.model)
    mine, seconds, records = _judge(scored, observer, columns, detailed)
    evaluation = mine.evaluation(metrics, ", ".join(scored.stream.sources), scored.stream.bad_rows.total, seconds)
    if trained_on := trained_before(scored.model.provenance, records):
        observer.warn(training_rows_warning(trained_on, len(records)))
    if evaluation.details is not None:
        evaluation = evaluation._replace(details=evaluation.details._replace(trained_on=trained_on))
    if other is None:
        return evaluation
    return with_differences(evaluation, mine.scores, _judge(other, observer, GroupColumns())[0].scores, metrics)


def _judge(
    scored: ScoredStream, observer: Observer, columns: GroupColumns, detailed: bool = False
) -> tuple[JudgedClasses, float, Sequence[Any]]:
    """Return the scores of all rows, the seconds that took, and the files that were read."""
    labels, scorer, judged = scored.labels, scored.model.scorer, JudgedClasses(scored.model.classes, columns, detailed)
    position = ResumePosition()
    with stopwatch(observer.compiling) as seconds:
        with observer.progress("scoring", scored.stream.total_bytes) as show:
            for part in scored.score(scorer):
                judged.add(
                    labels.encode(part.batch), part.scores, scorer.probabilities(part.scores),
                    partial(groups_of_batch, part.batch), partial(values_of_batch, part.batch),
                )  # fmt: skip
                position = part.batch.resume_position
                show(judged.scores.n_rows, part.batch.bytes_read)
        scored.report_unknown(observer)
        return judged, seconds(), position.records


def evaluate_classes_table(
    estimator: Any,
    parts: Iterable[Any],
    label: str | int | None,
    against: Any,
    metrics: Sequence[RankingMetric] = (),
    columns: GroupColumns = GroupColumns(),  # noqa: B008 immutable
) -> ClassesEvaluation:
    """Evaluate a model of several classes on a table, a stream part by part."""
    model: Model = estimator._to_model()
    if against is not None:
        check_same_classes(model, against._to_model())
    mine, theirs = JudgedClasses(model.classes, columns), JudgedClasses(model.classes, GroupColumns())
    for part in parts:
        for each, judged in ((estimator, mine), (against, theirs)):
            if each is not None:
                X, y = labeled_features(each, part, label)
                scorer: Scorer = each._scorer()
                scores = each.decision_function(X)
                judged.add(
                    model.labels.encode(_batch_of(y)), scores, scorer.probabilities(scores),
                    partial(groups_of_table, part), partial(column_values, part),
                )  # fmt: skip
    if not mine.scores.n_rows:
        raise InputError(f"{IN_MEMORY}: there are no rows; AUC needs rows of every class")
    evaluation = mine.evaluation(metrics, IN_MEMORY, 0, 0.0)
    return evaluation if against is None else with_differences(evaluation, mine.scores, theirs.scores, metrics)


def with_differences(
    evaluation: ClassesEvaluation, mine: ClassScores, theirs: ClassScores, metrics: Sequence[RankingMetric]
) -> ClassesEvaluation:
    """Return an evaluation with tests of whether two models differ on the same rows."""
    one, two = mine.all_rows, theirs.all_rows
    if one is None or two is None:
        raise ParameterError(Parameter("against"), f" is for up to {mine.most_exact_rows:,} rows, got {mine.n_rows:,}")
    if not np.array_equal(one[0], two[0]):
        raise InputError("the models must be of the same classes and read the same rows to be compared")
    return evaluation._replace(
        difference=MulticlassAuc().compare(one[0], one[1], two[1]),
        differences={metric.name: ClassMean(metric).compare(one[0], one[1], two[1]) for metric in metrics},
    )


def check_read_twice(scored: ScoredStream) -> None:
    """Raise where rows cannot be read once more for another model."""
    if STANDARD_INPUT in scored.stream.sources or not scored.stream.repeatable:
        raise ParameterError(Parameter("against"), ": standard input can be read only once")


def check_options_of_classes(n_classes: int, given: Mapping[str, object]) -> None:
    """Raise where options are given that evaluations of more than two classes do not take."""
    for name, value in given.items():
        if value:
            raise only_two_classes(Parameter(name), n_classes, "leave it out")


def check_same_classes(model: Model, other: Model) -> None:
    """Raise unless two models to be compared have the same classes."""
    if not np.array_equal(model.classes, other.classes):
        raise InputError("the models must be of the same classes and read the same rows to be compared")


def _batch_of(y: Array) -> Batch:
    """Return the labels of a table as a batch, whose rows are numbered from 1."""
    return Batch(np.empty((y.size, 0)), y, 0, IN_MEMORY, 1, None, ResumePosition(), 0)
