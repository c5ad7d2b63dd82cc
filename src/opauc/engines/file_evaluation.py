"""How well a model ranks the rows of files whose shards are scored apart, on threads or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from opauc.engines.file_shards import Cut, FileShard, ShardReader, file_shards, lines_of_file, whole_files
from opauc.engines.learnt_shards import joined_counts, refuse_too_many
from opauc.engines.scheduler import Scheduler, quiet
from opauc.errors import IncompatibleMoments, InputError
from opauc.evaluation import CalibrationBins, StreamingAuc
from opauc.features.unknown_categories import joined_unknown
from opauc.reading import BadRows
from opauc.reading.bad_rows import LISTED
from opauc.reading.encoder import UnknownCategories
from opauc.scorers.scorer import Scorer
from opauc.training.class_labels import ClassLabels
from opauc.training.saved_model import AnyModel
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
    unreadable: Mapping[str, int] = field(default_factory=dict)

    def merge(self, other: ScoredShards) -> ScoredShards:
        """Return what both show; the shards of `other` come after these."""
        return ScoredShards(
            self.auc.merge(other.auc),
            self.bins.merge(other.bins),
            self.rows + other.rows,
            self.bad_rows + other.bad_rows,
            (self.first_bad + other.first_bad)[:LISTED],
            joined_unknown(self.unknown, other.unknown),
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
                scores = self.scorer.scores(as_wide(chunk.rows, self.scorer.n_inputs))
            except IncompatibleMoments as error:
                raise InputError(f"{chunk.source}: {error}") from error
            auc, bins = auc.update(actual, scores), bins.update(actual, self.scorer.chances(scores))
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
    >>> from opauc.engines.file_evaluation import score_files
    >>> from opauc.engines.thread_scheduler import ThreadScheduler
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
