"""Rows of files with the scores a saved model gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from opauc.additive.model_file import AdditiveModel
from opauc.cli.console import Reporter
from opauc.cli.train_report import report_unreadable
from opauc.core.batch import Batch
from opauc.core.labels import ClassLabels
from opauc.core.scorer import Scorer
from opauc.data.bad_rows import BadRows
from opauc.data.encode.categories import describe_unknown_categories
from opauc.data.encode.encoder import UnknownCategories
from opauc.data.encode.ordinal import describe_pooled_categories
from opauc.data.encode.table_features import OneHotReading
from opauc.data.options import ReadOptions
from opauc.errors import IncompatibleMomentsError, InputError
from opauc.linear.model_file import refusing
from opauc.linear.training import as_wide
from opauc.training.model_files import load_any
from opauc.types import Floats, Rows


def report_unknown(
    unknown: Mapping[str, UnknownCategories],
    reporter: Reporter,
    in_words: Callable[[Mapping[str, UnknownCategories]], list[str]] = describe_unknown_categories,
) -> None:
    """Tell how many rows had categories that a model knows nothing of."""
    for (column, (rows, examples)), text in zip(unknown.items(), in_words(unknown), strict=True):
        reporter.say("unknown_categories", text, column=column, rows=rows, examples=list(examples))


class ScoredChunk(NamedTuple):
    """A chunk, its rows as wide as the model, and what the model says of them."""

    chunk: Batch
    rows: Rows
    scores: Floats


class Purpose(Enum):
    """What rows are read for: predicting needs no labels; a report and forgetting need all that was learned."""

    PREDICT, JUDGE, REPORT, FORGET = range(4)


class ScoredStream:
    """Data read as the model's was, and scored chunk by chunk."""

    def __init__(
        self,
        path: Path,
        data: Sequence[str],
        format_: str | None,
        bad_rows: BadRows,
        purpose: Purpose,
        kept: Sequence[str] = (),
    ) -> None:
        self.model = load_any(path, to_learn=purpose in (Purpose.REPORT, Purpose.FORGET))
        labeled, grouped = purpose is not Purpose.PREDICT, purpose is Purpose.FORGET
        if isinstance(self.model, AdditiveModel):
            self.width = self.model.solution.n_features
            self.stream = self.model.row_reading().stream(data, format_, bad_rows, labeled=labeled, passthrough=kept)
        else:
            self.width = self.model.n_features
            with refusing(path):
                reading = self.model.reading
                tables = OneHotReading.of_json(reading) if reading else OneHotReading(ReadOptions())
            self.stream = tables.stream(data, format_, bad_rows, labeled=labeled, passthrough=kept, grouped=grouped)
        if kept and not self.stream.has_columns:
            raise InputError(f"{', '.join(map(str, data))}: only tables have columns that can be kept")

    @property
    def labels(self) -> ClassLabels:
        """The classes of the model."""
        return ClassLabels(self.model.classes, self.model.reading.get("positive"))

    def chunks(self) -> Iterator[tuple[Batch, Rows]]:
        """Yield the chunks, and their rows as wide as the model."""
        for chunk in self.stream.chunks():
            try:
                yield chunk, as_wide(chunk.rows, self.width)
            except IncompatibleMomentsError as error:
                raise InputError(f"{chunk.source}: {error}") from error

    def report_unknown(self, reporter: Reporter) -> None:
        """Tell how many rows had categories that the model knows nothing of, and values that it cannot read."""
        words = describe_pooled_categories if isinstance(self.model, AdditiveModel) else describe_unknown_categories
        report_unknown(self.stream.unknown_categories, reporter, words)
        report_unreadable(self.stream.unreadable_values, reporter)

    def scored(self, scorer: Scorer | None = None) -> Iterator[ScoredChunk]:
        """Yield the chunks with their scores, by another scorer than the model's where one does its work elsewhere."""
        scorer = scorer or self.model.scorer
        for chunk, rows in self.chunks():
            yield ScoredChunk(chunk, rows, scorer.scores(rows))
