"""The model of a service: scored by any number of requests, replaced as a whole by a newer one."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import isfinite
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from opauc.api.saving import load, save
from opauc.core.fit import only_two_classes
from opauc.errors import OpaucError, UnreadableFileError, UnsupportedOperationError
from opauc.estimators.row_scorer import RowScorer
from opauc.estimators.scoring import ScoringClassifier
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.serving.columns import RowColumns
from opauc.serving.metrics import Metrics
from opauc.serving.requests import UNREADABLE, RequestError, Row
from opauc.serving.settings import ServeSettings
from opauc.types import Floats


class FileState(NamedTuple):
    """What tells one version of a file from another without reading it."""

    modified: int
    size: int
    number: int

    @classmethod
    def of(cls, path: str) -> FileState | None:
        """Return the state of a file now, None where there is none."""
        try:
            status = os.stat(path)
        except OSError:
            return None
        return cls(status.st_mtime_ns, status.st_size, status.st_ino)


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model as requests see it: never changed, only replaced."""

    scorer: RowScorer
    columns: RowColumns
    estimator: str  # the name of its kind
    version: int  # 1, and one more with each replacement
    loaded: float  # seconds since 1970

    def scores(self, rows: Sequence[Row]) -> Floats:
        """Return the scores of rows; raise RequestError that says which row cannot be read."""
        try:
            if len(rows) > 1 and isinstance(rows[0], dict):
                return self.scorer.score_rows(list(rows))
        except (OpaucError, ValueError, OverflowError):
            pass  # the loop finds the row
        return np.array([self.score(row, number) for number, row in enumerate(rows)])

    def score(self, row: Row, number: int = 0) -> float:
        """Return the score of a row."""
        try:
            return self.scorer.score(_values(row))
        except (OpaucError, ValueError, OverflowError) as error:
            raise RequestError(UNREADABLE, f"row {number}: {error}") from error

    def answer(self, score: float, number: int = 0) -> dict[str, Any]:
        """Return score, probability and label as JSON."""
        probability = self.scorer.probability_of(score)
        if not (isfinite(score) and isfinite(probability)):
            raise RequestError(UNREADABLE, f"row {number}: its values are so large that the score is not finite")
        return {"score": score, "probability": probability, "label": self.scorer.label_of(score)}

    def explain(self, rows: Sequence[Row], k: int | None) -> list[dict[str, Any]]:
        """Return the scores of rows as sums of terms, as JSON."""
        scores = self.scores(rows).tolist()
        try:
            values = list(rows) if isinstance(rows[0], dict) else np.array(rows, np.float64)
            explanations = self.scorer.explain_rows(values, k)
        except UnsupportedOperationError as error:
            raise RequestError(UNREADABLE, str(error)) from error
        answers = []
        for number, (score, explanation) in enumerate(zip(scores, explanations, strict=True)):
            terms = [{"term": name, "contribution": part} for name, part in explanation.contributions]
            parts = {"baseline": explanation.baseline, "terms": terms, "others": explanation.others}
            answers.append({**self.answer(score, number), **parts})
        return answers


class LiveModel:
    """The model file of a service, the model that scores, and the one that is trained.

    `current` is replaced by one assignment: each request keeps the one that it began with.
    """

    current: ServedModel

    def __init__(self, settings: ServeSettings, metrics: Metrics) -> None:
        self.settings: ServeSettings = settings
        self.metrics: Metrics = metrics
        self.file_error: str | None = None
        self._changing = Lock()  # one thread at a time trains, loads or saves
        self._file = FileState.of(settings.model)
        self._trained = load_estimator(settings.model, settings.learn)
        self._unsaved, self._auc = 0, StreamingAuc.empty()
        self.current = _served(self._trained, 1)

    def auc(self) -> float | None:
        """Return the progressive AUC: the middle of its bounds; None before there are rows of both classes."""
        auc = self._auc
        return auc.estimate() if auc.counts.all() else None

    def has_changed(self) -> bool:
        """Tell whether there is another model file than that loaded last."""
        return FileState.of(self.settings.model) not in (None, self._file)

    def reload(self) -> None:
        """Load the model file; where it is broken, the model in memory stays."""
        with self._changing:
            if not self.has_changed():  # it was saved by this process in the meantime
                return
            try:
                self._file = FileState.of(self.settings.model)
                trained = load_estimator(self.settings.model, self.settings.learn)
                served = _served(trained, self.current.version + 1)
            except (OpaucError, OSError, ValueError, MemoryError) as error:
                self.file_error = " ".join(str(error).split())
                self.metrics.add("reload_failures")
                return
            self._unsaved, self._auc, self.file_error = 0, StreamingAuc.empty(), None
            self._replace(trained, served)

    def train(self, rows: Sequence[Row], labels: Sequence[Any]) -> None:
        """Train on labeled rows, replace the model that scores, and save where that is due; all rows or none."""
        with self._changing:
            current = self.current
            scores = current.scores(rows)
            trained = deepcopy(self._trained)
            try:
                trained.partial_fit(current.columns.training_rows(rows), np.array(labels))
                served = _served(trained, current.version + 1)
            except (OpaucError, ValueError) as error:
                raise RequestError(UNREADABLE, f"the model cannot be trained on these rows: {error}") from error
            self._auc = self._auc.update([label == current.scorer.classes[1] for label in labels], scores)
            self._unsaved += len(rows)
            self._replace(trained, served)
            self.metrics.add("rows_learned", len(rows))
            if self.settings.save_every is not None and self._unsaved >= self.settings.save_every:
                self._save()

    def save(self) -> None:
        """Save what was trained since the last save, if anything."""
        with self._changing:
            if self._unsaved:
                self._save()

    def _save(self) -> None:
        try:
            save(self._trained, self.settings.model)
        except OSError as error:  # a full disk must not end the service: the next save tries again
            self.file_error = f"{self.settings.model}: not saved: {error.strerror}"
            return
        self._file, self._unsaved, self.file_error = FileState.of(self.settings.model), 0, None

    def _replace(self, trained: Any, served: ServedModel) -> None:
        self._trained, self.current = trained, served
        self.metrics.add("model_swaps")


def load_estimator(path: str, learn: bool) -> Any:
    """Return the fitted estimator in a model file; raise unless it can do what is asked for."""
    model = load(path)
    if not isinstance(model, ScoringClassifier):
        raise UnreadableFileError(f"{path}: holds statistics, expected a model")
    can_train = model._fitted.can_train and callable(getattr(type(model), "partial_fit", None))
    if learn and not can_train:
        raise UnsupportedOperationError(f"{path}: the model cannot be trained further; it only scores")
    return model


def _served(estimator: Any, version: int) -> ServedModel:
    """Return a fitted estimator as requests see it."""
    if estimator.classes_.size > 2:
        raise only_two_classes("the service", estimator.classes_.size, "in Python, class_scorer() scores single rows")
    columns = RowColumns.of(estimator)
    served = ServedModel(estimator.scorer(), columns, type(estimator).__name__, version, time.time())
    _warm_up(served)
    return served


def _values(row: Row) -> Any:
    return row if isinstance(row, dict) else np.array(row, np.float64)


def _warm_up(served: ServedModel) -> None:
    """Score a row of missing values or zeros, so that kernels are loaded before the first request."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            served.scores([served.columns.example()] * 2)
            served.score(served.columns.example())
        except RequestError:
            return  # a model that takes no such row loads nothing
