"""How well a model ranks the rows of files whose shards are scored apart, on threads or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from opauc.engines.file_shards import FileShard, ShardReader, file_shards, lines_of_file, shard_bytes, whole_files
from opauc.engines.scheduler import Scheduler, quiet
from opauc.errors import IncompatibleMoments, InputError, TooManyBadRows
from opauc.evaluation import CalibrationBins, StreamingAuc
from opauc.features.table_features import TableFeatures
from opauc.features.unknown_categories import joined_unknown
from opauc.reading import BadRows, ReadOptions
from opauc.reading.bad_rows import LISTED
from opauc.reading.encoder import UnknownCategories
from opauc.scorers import LinearScorer
from opauc.training.class_labels import ClassLabels
from opauc.training.model_file import Model
from opauc.training.training import as_wide


@dataclass(frozen=True, eq=False)
class ScoredShards:
    """The AUC and the calibration of some shards, with bounds that are certain. A value that merges."""

    auc: StreamingAuc = field(default_factory=StreamingAuc.empty)
    bins: CalibrationBins = field(default_factory=CalibrationBins.empty)
    rows: int = 0
    bad_rows: int = 0
    first_bad: tuple[str, ...] = ()
    unknown: dict[str, UnknownCategories] = field(default_factory=dict)

    def merge(self, other: ScoredShards) -> ScoredShards:
        """Return what both show; the shards of `other` come after these."""
        return ScoredShards(
            self.auc.merge(other.auc),
            self.bins.merge(other.bins),
            self.rows + other.rows,
            self.bad_rows + other.bad_rows,
            (self.first_bad + other.first_bad)[:LISTED],
            joined_unknown(self.unknown, other.unknown),
        )


@dataclass(frozen=True)
class ScoringPlan:
    """All that a machine must know to score any shard of some files."""

    reader: ShardReader
    scorer: LinearScorer
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
                scores = self.scorer.scores(as_wide(chunk.rows, self.scorer.weights.size))
            except IncompatibleMoments as error:
                raise InputError(f"{chunk.source}: {error}") from error
            auc, bins = auc.update(actual, scores), bins.update(actual, self.scorer.chances(scores))
            rows += actual.size
        return ScoredShards(auc, bins, rows, bad_rows.total, tuple(bad_rows.first), dict(stream.unknown_categories))


def score_files(
    model: Model,
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
    >>> from opauc.engines.file_evaluation import score_files
    >>> from opauc.engines.thread_scheduler import ThreadScheduler
    >>> model = OPAUC().fit([[30.0], [40.0]], ["no", "yes"])._known()
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n30,no\\n40,yes\\n50,yes\\n"), file.flush()
    ...     score_files(model, [file.name], ThreadScheduler(2)).auc.interval()
    (1.0, 1.0)
    """
    policy = bad_rows or BadRows()
    tables = TableFeatures.of_json(model.reading) if model.reading else TableFeatures(ReadOptions())
    options = tables.options.with_format(format_)
    reader = ShardReader(options, tables.encoding, frozen=True, skip_bad_rows=policy.policy == "skip")
    files = whole_files(paths)
    shards = file_shards(files, options, shard_bytes(files), scheduler)
    plan = ScoringPlan(reader, model.scorer, ClassLabels(model.classes, model.reading.get("positive")))
    found = scheduler.reduced(plan.scored, shards, quiet if told is None else partial(told, len(shards)))
    if policy.most is not None and found.bad_rows > policy.most:
        listed = "; ".join(found.first_bad[:1])
        raise TooManyBadRows(f"{found.bad_rows} bad rows, at most {policy.most} may be skipped; the first: {listed}")
    return found
