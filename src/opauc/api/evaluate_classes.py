"""How well a model of several classes ranks and predicts the rows of files and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opauc.api.observer import Observer, stopwatch
from opauc.api.scored_stream import ScoredStream
from opauc.api.tables import labeled_features
from opauc.api.training_files import trained_before, training_rows_warning
from opauc.core.batch import Batch, ResumePosition
from opauc.core.fit import only_two_classes
from opauc.core.labels import shown_label
from opauc.core.model import Model
from opauc.core.scorer import Scorer
from opauc.data.sources import IN_MEMORY, STANDARD_INPUT
from opauc.errors import InputError, Parameter, ParameterError
from opauc.metrics import AucDifference, MetricInterval, MulticlassAuc, StreamingMulticlassAuc
from opauc.types import Array, Floats, Labels

# Scores, of all classes together, up to which those of all rows are kept.
MAX_EXACT_SCORES = 10**7
# Smallest probability whose logarithm counts.
LEAST_PROBABILITY = float(np.finfo(float).tiny)


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

    @property
    def auc(self) -> float:
        """The mean AUC over pairs of classes."""
        return self.auc_ovo.value

    @property
    def accuracy(self) -> float:
        """Share of the rows that `predict` gives their label."""
        hits = sum(self.rows_of[label] * recall for label, recall in self.recall_of.items())
        return float(hits / self.rows)


class ClassScores:
    """Labels and scores of rows of several classes: all of them up to a number, beyond that intervals of scores.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.api.evaluate_classes import ClassScores
    >>> scores = ClassScores(3)
    >>> probabilities = np.array([[0.8, 0.1, 0.1], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7]])
    >>> scores.add(np.array([0, 1, 2], np.int8), np.log(probabilities), probabilities)
    >>> scores.interval(MulticlassAuc()).value, scores.hits.tolist()
    (1.0, [1, 1, 1])
    """

    def __init__(self, n_classes: int, exact_scores: int = MAX_EXACT_SCORES) -> None:
        self.stream: StreamingMulticlassAuc = StreamingMulticlassAuc.empty(n_classes)
        self.counts: NDArray[np.int64] = np.zeros(n_classes, np.int64)
        self.hits: NDArray[np.int64] = np.zeros(n_classes, np.int64)
        self.log_loss_sum: float = 0.0
        self._exact_rows = exact_scores // n_classes
        self._batches: list[tuple[Labels, Floats]] = []

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    def add(self, labels: Labels, scores: Floats, probabilities: Floats) -> None:
        """Add rows with the numbers of their classes."""
        self.counts += np.bincount(labels, minlength=self.counts.size)
        self.hits += np.bincount(labels[scores.argmax(axis=1) == labels], minlength=self.counts.size)
        shares = probabilities[np.arange(labels.size), labels]
        self.log_loss_sum -= float(np.log(np.maximum(shares, LEAST_PROBABILITY)).sum())
        self._batches.append((labels, scores))
        if self.n_rows > self._exact_rows:
            for batch in self._batches:
                self.stream = self.stream.update(*batch)
            self._batches.clear()

    @property
    def all_rows(self) -> tuple[Labels, Floats] | None:
        """Labels and scores of all rows; None if there are too many to keep."""
        if not self._batches or self.n_rows > self._exact_rows:
            return None
        labels, scores = zip(*self._batches, strict=True)
        return np.concatenate(labels), np.concatenate(scores)

    def interval(self, metric: MulticlassAuc) -> MetricInterval:
        """Return a mean AUC with its 95 % interval."""
        rows = self.all_rows
        return self.stream.interval(metric) if rows is None else metric.interval(*rows)

    def bounds(self) -> tuple[float, float]:
        """Return certain bounds of the mean AUC over pairs of classes."""
        if (rows := self.all_rows) is not None:
            return (MulticlassAuc()(*rows),) * 2
        return self.stream.bounds(MulticlassAuc())

    def evaluation(self, classes: Array, sources: str, bad_rows: int, seconds: float) -> ClassesEvaluation:
        """Return the evaluation; raise unless there are rows of every class."""
        names = list(map(shown_label, classes.tolist()))
        if not self.counts.all():
            lacking = [name for name, count in zip(names, self.counts.tolist(), strict=True) if count == 0]
            raise InputError(
                f"{sources}: AUC needs rows of every class, got {self.n_rows:,} rows, none labeled {', '.join(lacking)}"
            )
        return ClassesEvaluation(
            self.interval(MulticlassAuc("ovo")), self.interval(MulticlassAuc("ovr")),
            dict(zip(names, self.counts.tolist(), strict=True)),
            dict(zip(names, (self.hits / self.counts).tolist(), strict=True)),
            self.log_loss_sum / self.n_rows, self.n_rows, bad_rows, seconds, self.bounds(),
        )  # fmt: skip


def evaluate_classes(scored: ScoredStream, observer: Observer, other: ScoredStream | None = None) -> ClassesEvaluation:
    """Score all rows of files by a model of several classes, and test whether another one differs."""
    if other is not None:
        check_read_twice(scored)
        check_same_classes(scored.model, other.model)
    mine, seconds, records = _scores_of(scored, observer)
    bad_rows = scored.stream.bad_rows.total
    evaluation = mine.evaluation(scored.model.classes, ", ".join(scored.stream.sources), bad_rows, seconds)
    if trained_on := trained_before(scored.model.provenance, records):
        observer.warn(training_rows_warning(trained_on, len(records)))
    return evaluation if other is None else with_difference(evaluation, mine, _scores_of(other, observer)[0])


def _scores_of(scored: ScoredStream, observer: Observer) -> tuple[ClassScores, float, Sequence[Any]]:
    """Return the scores of all rows, the seconds that took, and the files that were read."""
    labels, scorer, scores = scored.labels, scored.model.scorer, ClassScores(scored.model.classes.size)
    position = ResumePosition()
    with stopwatch(observer.compiling) as seconds:
        with observer.progress("scoring", scored.stream.total_bytes) as show:
            for part in scored.score(scorer):
                scores.add(labels.encode(part.batch), part.scores, scorer.probabilities(part.scores))
                position = part.batch.resume_position
                show(scores.n_rows, part.batch.bytes_read)
        scored.report_unknown(observer)
        return scores, seconds(), position.records


def evaluate_classes_table(
    estimator: Any, parts: Iterable[Any], label: str | int | None, against: Any
) -> ClassesEvaluation:
    """Evaluate a model of several classes on a table, a stream part by part."""
    model: Model = estimator._to_model()
    if against is not None:
        check_same_classes(model, against._to_model())
    mine, theirs = ClassScores(model.classes.size), ClassScores(model.classes.size)
    for part in parts:
        for each, scores in ((estimator, mine), (against, theirs)):
            if each is not None:
                X, y = labeled_features(each, part, label)
                scorer: Scorer = each._scorer()
                found = each.decision_function(X)
                scores.add(model.labels.encode(_batch_of(y)), found, scorer.probabilities(found))
    if not mine.n_rows:
        raise InputError(f"{IN_MEMORY}: there are no rows; AUC needs rows of every class")
    evaluation = mine.evaluation(model.classes, IN_MEMORY, 0, 0.0)
    return evaluation if against is None else with_difference(evaluation, mine, theirs)


def with_difference(evaluation: ClassesEvaluation, mine: ClassScores, theirs: ClassScores) -> ClassesEvaluation:
    """Return an evaluation with the test of whether two models differ on the same rows."""
    one, two = mine.all_rows, theirs.all_rows
    if one is None or two is None:
        most = MAX_EXACT_SCORES // mine.counts.size
        raise ParameterError(Parameter("against"), f" is for up to {most:,} rows, got {mine.n_rows:,}")
    if not np.array_equal(one[0], two[0]):
        raise InputError("the models must be of the same classes and read the same rows to be compared")
    return evaluation._replace(difference=MulticlassAuc().compare(one[0], one[1], two[1]))


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
