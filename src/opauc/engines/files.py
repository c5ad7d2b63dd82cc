"""A model from files whose shards are learned apart, on threads or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Generic

from opauc.core.labels import ClassLabels
from opauc.core.row_blocks import widen_rows
from opauc.core.scorer import Scorer
from opauc.core.transaction import Transaction
from opauc.data import BadRows
from opauc.data.bad_rows import LISTED
from opauc.data.encode.categories import merge_unknown_categories
from opauc.data.encode.encoder import UnknownCategories
from opauc.engines.scheduler import Scheduler, quiet
from opauc.engines.shards import (
    Cut,
    FileShard,
    ShardLearning,
    ShardReader,
    Trained,
    file_shards,
    lines_of_file,
    whole_files,
)
from opauc.engines.trained_shards import TrainedShards, joined_counts, refuse_too_many
from opauc.errors import IncompatibleMomentsError, InputError
from opauc.linear.training import ShardPlace
from opauc.metrics import CalibrationBins, StreamingAuc
from opauc.training.loop import too_wide
from opauc.training.model_files import AnyModel
from opauc.types import ClassCounts


@dataclass(frozen=True)
class ShardPlan(Generic[Trained]):
    """All that a machine must know to read and learn any shard of some files."""

    reader: ShardReader
    learning: ShardLearning[Trained]

    def learned(self, shard: FileShard) -> TrainedShards:
        """Return what a shard teaches: the same whenever and wherever it is asked for."""
        training = self.learning.training(ShardPlace(shard.number, shard.first_row))
        bad_rows = self.reader.bad_rows(shard)
        stream, rows, last = self.reader.stream(shard, bad_rows), 0, None
        for chunk in self.reader.chunks(shard, stream):
            try:
                with Transaction(training) as transaction, lines_of_file(shard):
                    labels = self.learning.labels.encoded(chunk)
                    training.prepare_chunk(chunk, transaction)
                    training.step(training.fitted(chunk.rows), labels, groups=chunk.groups)
            except MemoryError as error:
                raise too_wide(chunk) from error
            rows, last = rows + labels.size, chunk
        model = None if last is None else self.learning.model(training, last.resume_position)
        records = () if last is None else last.resume_position.records
        unreadable = dict(stream.unreadable_values)
        return TrainedShards(model, rows, records, bad_rows.total, tuple(bad_rows.first), unreadable)


def train_files(
    learning: ShardLearning[Trained],
    scheduler: Scheduler,
    bad_rows: BadRows | None = None,
    told: Callable[[int, int], None] | None = None,
    size: int | None = None,
) -> TrainedShards:
    """Return the model of all rows of files, and where they come from.

    Weights are those of one process that reads the rows in order, to rounding;
    the same shards give the same bits, on whatever engine. `told` hears how
    many shards of how many are done. Shards have `size` bytes at least, by
    default as many as suit the files and what is learned.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.engines.files import train_files
    >>> from opauc.engines.linear_shards import FilesToLearn, linear_shards
    >>> from opauc.engines.threads import ThreadScheduler
    >>> from opauc.linear.resolve import OpaucRecipe
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n30,no\\n40,yes\\n50,yes\\n"), file.flush()
    ...     learning = linear_shards(FilesToLearn([file.name], OpaucRecipe({}), {}))
    ...     learned = train_files(learning, ThreadScheduler(2), size=12)
    >>> learned.rows, learned.model.solution.counts
    (3, ClassCounts(negative=1.0, positive=2.0))
    """
    policy, cut = bad_rows or BadRows(), learning.cut
    wanted = cut.size(learning.paths) if size is None else max(cut.floor, size)
    shards = file_shards(learning.paths, learning.options, wanted, scheduler, cut.pieces)
    reader = ShardReader(learning.options, learning.encoder, skip_bad_rows=policy.policy == "skip")
    if learning.numbers_rows:
        first_rows = accumulate(scheduler.mapped(reader.n_rows, shards), initial=0)
        shards = [shard._replace(first_row=row) for shard, row in zip(shards, first_rows, strict=False)]
    plan = ShardPlan(reader, learning)
    learned = scheduler.reduced(plan.learned, shards, quiet if told is None else partial(told, len(shards)))
    refuse_too_many(learned.bad_rows, learned.first_bad, policy)
    model = _of_both_classes(learned, learning)
    return replace(learned, model=learning.finished(model, learned.provenance()))


def _of_both_classes(learned: TrainedShards, learning: ShardLearning[Trained]) -> AnyModel:
    """Return the model of all shards, refused unless there were rows of both classes."""
    counts = ClassCounts(0.0, 0.0) if learned.model is None else learned.model.learned().counts
    if learned.model is None or not counts.both:
        classes = learning.labels.classes.tolist()
        only = f", all labeled {classes[int(counts.positive > 0)]}" if learned.rows else ""
        raise InputError(f"learning needs rows of two classes, got {learned.rows} rows{only}")
    return learned.model


@dataclass(frozen=True, eq=False)
class ScoredShards:
    """The AUC and the calibration of some shards, with bounds that are certain. A value that merges."""

    auc: StreamingAuc = field(default_factory=StreamingAuc.empty)
    bins: CalibrationBins = field(default_factory=CalibrationBins.empty)
    rows: int = 0
    bad_rows: int = 0
    first_bad: tuple[str, ...] = ()
    unknown: dict[str, UnknownCategories] = field(default_factory=dict)
    unreadable: Mapping[str, int] = field(default_factory=dict)

    def merge(self, other: ScoredShards) -> ScoredShards:
        """Return what both show; the shards of `other` come after these."""
        return ScoredShards(
            self.auc.merge(other.auc),
            self.bins.merge(other.bins),
            self.rows + other.rows,
            self.bad_rows + other.bad_rows,
            (self.first_bad + other.first_bad)[:LISTED],
            merge_unknown_categories(self.unknown, other.unknown),
            joined_counts(self.unreadable, other.unreadable),
        )


@dataclass(frozen=True)
class ScoringPlan:
    """All that a machine must know to score any shard of some files."""

    reader: ShardReader
    scorer: Scorer
    labels: ClassLabels

    def scored(self, shard: FileShard) -> ScoredShards:
        """Return how a shard is ranked: the same whenever and wherever it is asked for."""
        bad_rows = self.reader.bad_rows(shard)
        stream = self.reader.stream(shard, bad_rows)
        auc, bins, rows = StreamingAuc.empty(), CalibrationBins.empty(), 0
        for chunk in self.reader.chunks(shard, stream):
            with lines_of_file(shard):
                actual = self.labels.encoded(chunk)
            try:
                scores = self.scorer.scores(widen_rows(chunk.rows, self.scorer.n_inputs))
            except IncompatibleMomentsError as error:
                raise InputError(f"{chunk.source}: {error}") from error
            auc, bins = auc.update(actual, scores), bins.update(actual, self.scorer.probabilities(scores))
            rows += actual.size
        unknown, unreadable = dict(stream.unknown_categories), dict(stream.unreadable_values)
        return ScoredShards(auc, bins, rows, bad_rows.total, tuple(bad_rows.first), unknown, unreadable)


def score_files(
    model: AnyModel,
    paths: Sequence[str | os.PathLike[str]],
    scheduler: Scheduler,
    format_: str | None = None,
    bad_rows: BadRows | None = None,
    told: Callable[[int, int], None] | None = None,
) -> ScoredShards:
    """Return how a model ranks all rows of files; `told` hears how many shards of how many are done.

    Examples
    --------
    >>> import tempfile
    >>> from opauc import OPAUC
    >>> from opauc.engines.files import score_files
    >>> from opauc.engines.threads import ThreadScheduler
    >>> model = OPAUC().fit([[30.0], [40.0]], ["no", "yes"])._known()
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n30,no\\n40,yes\\n50,yes\\n"), file.flush()
    ...     score_files(model, [file.name], ThreadScheduler(2)).auc.interval()
    (1.0, 1.0)
    """
    policy = bad_rows or BadRows()
    known = model.row_reading()
    options = known.options.with_format(format_)
    reader = ShardReader(options, known.frozen_encoder, skip_bad_rows=policy.policy == "skip")
    files = whole_files(paths)
    shards = file_shards(files, options, Cut().size(files), scheduler)
    plan = ScoringPlan(reader, model.scorer, ClassLabels(model.classes, model.reading.get("positive")))
    found = scheduler.reduced(plan.scored, shards, quiet if told is None else partial(told, len(shards)))
    refuse_too_many(found.bad_rows, found.first_bad, policy)
    return found
