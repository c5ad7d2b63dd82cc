"""Rows of files with the scores that a model gives them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, NamedTuple

from opauc.api.observer import Observer
from opauc.core.batch import Batch
from opauc.core.checksummed_file import is_checksummed
from opauc.core.fit import only_two_classes
from opauc.core.labels import ClassLabels
from opauc.core.model import Model, RowReading, load_model
from opauc.core.parameters import ALL_CORES
from opauc.core.registry import ESTIMATORS
from opauc.core.row_blocks import widen_rows
from opauc.core.scorer import Scorer
from opauc.core.threads import use_threads
from opauc.data.bad_rows import BadRows
from opauc.data.encode.encoder import UnknownCategories
from opauc.data.encode.table_features import OneHotReading
from opauc.data.options import ReadOptions
from opauc.data.stream import DataStream
from opauc.data.table_source import Source, TableSource
from opauc.errors import IncompatibleMomentsError, InputError, Parameter, ParameterError
from opauc.types import Floats, Rows


class ScoredBatch(NamedTuple):
    """A batch, its rows as wide as the model, and their scores."""

    batch: Batch
    rows: Rows
    scores: Floats


class Purpose(Enum):
    """The use of the rows: predicting needs no labels; a report and forgetting need the whole fit."""

    PREDICT, EVALUATE, REPORT, FORGET = range(4)


class ScoredStream:
    """Data read as in training, and scored batch by batch."""

    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        paths: Sequence[Source],
        format_: str | None,
        bad_rows: BadRows,
        purpose: Purpose,
        passthrough: Sequence[str] = (),
        label: str | int | None = None,
    ) -> None:
        can_train = purpose in (Purpose.REPORT, Purpose.FORGET)
        if not isinstance(model, Model):
            check_data_files(paths, model)
            model = load_model(model, can_train)
        self.model: Model = model
        self.passthrough: Sequence[str] = passthrough
        self.reading: RowReading = self.model.reading or OneHotReading(ReadOptions())
        if label is not None:
            if not isinstance(label, str):
                raise ParameterError(Parameter("label", label), ": expected the name of a column of the files")
            self.reading = self.reading.with_label(label)
            self.model = replace(self.model, reading=self.reading)
        self.stream: DataStream = self.reading.stream(
            paths, format_, bad_rows, labeled=purpose is not Purpose.PREDICT, passthrough=passthrough,
            grouped=purpose is Purpose.FORGET,
        )  # fmt: skip
        if passthrough and not self.stream.has_columns:
            raise InputError(f"{', '.join(self.stream.sources)}: only tables have columns that can be passed through")

    @property
    def labels(self) -> ClassLabels:
        """The classes of the model."""
        return self.model.labels

    def batches(self) -> Iterator[tuple[Batch, Rows]]:
        """Yield the batches, and their rows as wide as the model."""
        width = self.model.fit.n_features
        for batch in self.stream.batches():
            try:
                yield batch, widen_rows(batch.rows, width)
            except IncompatibleMomentsError as error:
                raise InputError(f"{batch.source}: {error}") from error

    def score(self, scorer: Scorer | None = None) -> Iterator[ScoredBatch]:
        """Yield the batches with their scores; `scorer` may do the work of the model's on a device."""
        scorer = scorer or self.model.scorer
        for batch, rows in self.batches():
            with use_threads(ALL_CORES):
                scores = scorer.scores(rows)
            yield ScoredBatch(batch, rows, scores)

    def report_unknown(self, observer: Observer) -> None:
        """Report how many rows had categories that the model does not know, and values that cannot be read."""
        report_unknown(self.stream.unknown_categories, self.reading, observer)
        report_unreadable(self.stream.unreadable_values, observer)


def check_two_classes(model: Model, what: str, works: str) -> None:
    """Raise where a model has more than two classes and `what` is for two; `works` says what takes more."""
    if model.several_classes:
        raise only_two_classes(what, model.classes.size, works)


def check_data_files(paths: Sequence[Source], model: str | os.PathLike[str] | None = None) -> None:
    """Raise where a file of this library is given as data; where data is the model, they are exchanged."""
    for path in paths:
        if not isinstance(path, TableSource) and is_checksummed(path):
            if model is not None and not is_checksummed(model):
                raise InputError(f"{model}: is no model, but {path} is; the model comes before the data")
            raise InputError(f"{path}: is a file of opauc, expected data")


def check_model(model: object, data: object) -> None:
    """Raise unless `model` is an estimator of this library or a path, and `data` is no estimator."""
    if is_estimator(data):
        name = model if isinstance(model, str | os.PathLike) else type(model).__name__
        raise InputError(f"{name}: is no model, but {type(data).__name__} is; the model comes before the data")
    if not isinstance(model, str | os.PathLike) and not is_estimator(model):
        raise InputError(f"expected a fitted estimator of opauc or its file, got {type(model).__name__}")


def is_estimator(model: object) -> bool:
    """Tell whether an object is an estimator of this library."""
    return any(ESTIMATORS.get(kind.__name__) is kind for kind in type(model).__mro__)


def model_source(model: Any, data: object) -> Model | str | os.PathLike[str]:
    """Return the model of a fitted estimator, or the path of one; raise where it is exchanged with the data."""
    check_model(model, data)
    source: Model | str | os.PathLike[str] = model if isinstance(model, str | os.PathLike) else model._to_model()
    return source


def report_unknown(unknown: Mapping[str, UnknownCategories], reading: RowReading, observer: Observer) -> None:
    """Report how many rows had categories that a model does not know."""
    sentences = reading.describe_unknown(unknown)
    for (column, (rows, examples)), text in zip(unknown.items(), sentences, strict=True):
        observer.say("unknown_categories", text, column=column, rows=rows, examples=list(examples))


def report_unreadable(values: Mapping[str, int], observer: Observer) -> None:
    """Report how many values of columns of numbers and dates were something else and count as missing."""
    for name, count in values.items():
        observer.say(
            "unreadable",
            f"column {name}: {count:,} value{'' if count == 1 else 's'} could not be read as the column's type; "
            "taken as missing",
            column=name, values=count,
        )  # fmt: skip
