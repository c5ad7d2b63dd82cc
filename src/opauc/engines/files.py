"""Train on and score shards of files separately, on threads or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate

import numpy as np

from opauc.core.fit import ShardPosition
from opauc.core.labels import ClassLabels
from opauc.core.loop import Trainer, finish_model
from opauc.core.model import Model
from opauc.core.row_blocks import widen_rows
from opauc.core.scorer import Scorer
from opauc.data import BadRows, ReadOptions
from opauc.data.bad_rows import LISTED
from opauc.data.encode.categories import merge_unknown_categories
from opauc.data.encode.encoder import UnknownCategories
from opauc.data.encode.table_features import OneHotReading
from opauc.data.table_source import Source
from opauc.engines.scheduler import Scheduler, quiet
from opauc.engines.shards import (
    SHARD_POLICY,
    FileShard,
    ShardPolicy,
    ShardReader,
    TrainedShards,
    TrainingPlan,
    add_counts,
    check_bad_rows,
    file_shards,
    lines_of_file,
    whole_files,
)
from opauc.errors import IncompatibleMomentsError, InputError
from opauc.metrics import CalibrationBins, StreamingAuc


@dataclass(frozen=True)
class ShardTrainer:
    """Reads any shard of some files and trains on it; a machine needs nothing else."""

    reader: ShardReader
    plan: TrainingPlan

    def train(self, shard: FileShard) -> TrainedShards:
        """Return the model of a shard, which depends on the shard alone."""
        plan = self.plan
        position = ShardPosition(shard.number, shard.first_row, plan.sharding.key)
        trainer, bad_rows = Trainer(plan.factory.for_shard(position), plan.labels), self.reader.bad_rows(shard)
        stream, rows, last = self.reader.stream(shard, bad_rows), 0, None
        for batch in self.reader.batches(shard, stream):
            with lines_of_file(shard):
                trainer.train(batch)
            rows, last = rows + batch.rows.shape[0], batch
        if last is None:
            return TrainedShards(
                None, 0, (), bad_rows.total, tuple(bad_rows.first), dict(stream.unreadable_values),
                unlabeled=bad_rows.unlabeled,
            )  # fmt: skip
        reading = plan.reading.at(last.resume_position, plan.labels)
        model = finish_model(plan.factory, trainer.fit.gather(shard.first_row), plan.labels, reading)
        return TrainedShards(
            model, rows, last.resume_position.records, bad_rows.total, tuple(bad_rows.first),
            dict(stream.unreadable_values), unlabeled=bad_rows.unlabeled,
        )  # fmt: skip


def train_files(
    plan: TrainingPlan,
    scheduler: Scheduler,
    bad_rows: BadRows | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    size: int | None = None,
) -> TrainedShards:
    """Return the model of all rows of files, and where they come from.

    Weights are those of one process that reads the rows in order, to rounding;
    the same shards give the same bits, on whatever engine. `on_progress` is
    called with the number of shards and how many are done. Shards have `size`
    bytes at least, by default as many as suit the files and the fit.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.core.labels import ClassLabels
    >>> from opauc.data import ReadOptions
    >>> from opauc.data.encode.table_features import OneHotReading
    >>> from opauc.engines.files import train_files
    >>> from opauc.engines.shards import plan_training
    >>> from opauc.engines.threads import ThreadScheduler
    >>> from opauc.linear.resolve import opauc_factory
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n30,no\\n40,yes\\n50,yes\\n"), file.flush()
    ...     plan = plan_training(opauc_factory({}), [file.name], OneHotReading(ReadOptions()), ClassLabels())
    ...     trained = train_files(plan, ThreadScheduler(2), size=12)
    >>> trained.rows, trained.model.fit.counts
    (3, ClassCounts(negative=1.0, positive=2.0))
    """
    policy, cut = bad_rows or BadRows(), plan.cut
    shard_bytes = cut.size if size is None else max(cut.floor, size)
    shards = file_shards(plan.paths, plan.options, shard_bytes, scheduler, cut.pieces)
    reader = ShardReader(
        plan.options, plan.reading.training_encoder, policy.policy == "skip",
        policy.drop_unlabeled or plan.options.drop_unlabeled,
    )  # fmt: skip
    if plan.sharding.numbers_rows:
        first_rows = accumulate(scheduler.map(reader.n_rows, shards), initial=0)
        shards = [shard._replace(first_row=row) for shard, row in zip(shards, first_rows, strict=False)]
    on_shard = quiet if on_progress is None else partial(on_progress, len(shards))
    trained = scheduler.map_reduce(ShardTrainer(reader, plan).train, shards, on_shard)
    check_bad_rows(trained.bad_rows, trained.first_bad, policy)
    policy.unlabeled += trained.unlabeled
    return replace(trained, model=_finish(trained, plan))


def _finish(trained: TrainedShards, plan: TrainingPlan) -> Model:
    """Return the model of all shards as of one process; raise unless there are rows of every class."""
    plan.labels.check_rows_of_all(None if trained.model is None else trained.model.fit.counts, trained.rows)
    assert trained.model is not None, "else there are no rows"
    if trained.model.fit.n_features == 0:
        raise InputError(f"training needs rows with features, got {trained.rows} rows without any")
    fit = plan.factory.prepare(trained.model.fit, np.empty((0, trained.model.fit.n_features), plan.dtype))
    _ = fit.scorer
    reading = trained.model.reading
    assert reading is not None, "files are read somehow"
    return finish_model(plan.factory, fit, plan.labels, reading, trained.provenance())


@dataclass(frozen=True, eq=False)
class ScoredShards:
    """The AUC with certain bounds and the calibration of shards. A value that merges."""

    auc: StreamingAuc = field(default_factory=StreamingAuc.empty)
    bins: CalibrationBins = field(default_factory=CalibrationBins.empty)
    rows: int = 0
    bad_rows: int = 0
    first_bad: tuple[str, ...] = ()
    unknown: dict[str, UnknownCategories] = field(default_factory=dict)
    unreadable: Mapping[str, int] = field(default_factory=dict)
    unlabeled: int = 0  # rows without a label that were left out

    def merge(self, other: ScoredShards) -> ScoredShards:
        """Return the scores of both; the shards of `other` come after these."""
        return ScoredShards(
            self.auc.merge(other.auc),
            self.bins.merge(other.bins),
            self.rows + other.rows,
            self.bad_rows + other.bad_rows,
            (self.first_bad + other.first_bad)[:LISTED],
            merge_unknown_categories(self.unknown, other.unknown),
            add_counts(self.unreadable, other.unreadable),
            self.unlabeled + other.unlabeled,
        )


@dataclass(frozen=True)
class ScoringPlan:
    """Reads and scores any shard of some files; a machine needs nothing else."""

    reader: ShardReader
    scorer: Scorer
    labels: ClassLabels

    def score(self, shard: FileShard) -> ScoredShards:
        """Return how a shard is ranked, which depends on the shard alone."""
        bad_rows = self.reader.bad_rows(shard)
        stream = self.reader.stream(shard, bad_rows)
        auc, bins, rows = StreamingAuc.empty(), CalibrationBins.empty(), 0
        for batch in self.reader.batches(shard, stream):
            with lines_of_file(shard):
                actual = self.labels.encode(batch)
            try:
                scores = self.scorer.scores(widen_rows(batch.rows, self.scorer.n_inputs))
            except IncompatibleMomentsError as error:
                raise InputError(f"{batch.source}: {error}") from error
            auc, bins = auc.update(actual, scores), bins.update(actual, self.scorer.probabilities(scores))
            rows += actual.size
        unknown, unreadable = dict(stream.unknown_categories), dict(stream.unreadable_values)
        first = tuple(bad_rows.first)
        return ScoredShards(auc, bins, rows, bad_rows.total, first, unknown, unreadable, bad_rows.unlabeled)


def score_files(
    model: Model,
    paths: Sequence[Source],
    scheduler: Scheduler,
    format_: str | None = None,
    bad_rows: BadRows | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    shard_policy: ShardPolicy = SHARD_POLICY,
) -> ScoredShards:
    """Return how a model ranks all rows of files; `on_progress` as in `train_files`.

    Examples
    --------
    >>> import tempfile
    >>> from opauc import OPAUC
    >>> from opauc.engines.files import score_files
    >>> from opauc.engines.threads import ThreadScheduler
    >>> model = OPAUC().fit([[30.0], [40.0]], ["no", "yes"])._to_model()
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n30,no\\n40,yes\\n50,yes\\n"), file.flush()
    ...     score_files(model, [file.name], ThreadScheduler(2)).auc.interval()
    (1.0, 1.0)
    """
    policy = bad_rows or BadRows()
    reading = model.reading or OneHotReading(ReadOptions())
    options = reading.options.with_format(format_)
    reader = ShardReader(
        options, reading.frozen_encoder, policy.policy == "skip", policy.drop_unlabeled or options.drop_unlabeled
    )
    files = whole_files(paths)
    shards = file_shards(files, options, shard_policy.shard_bytes(files), scheduler)
    plan = ScoringPlan(reader, model.scorer, model.labels)
    on_shard = quiet if on_progress is None else partial(on_progress, len(shards))
    scored = scheduler.map_reduce(plan.score, shards, on_shard)
    check_bad_rows(scored.bad_rows, scored.first_bad, policy)
    policy.unlabeled += scored.unlabeled
    return scored
