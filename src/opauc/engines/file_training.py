"""A model from files whose shards are learnt apart, on threads or on a cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Generic

from opauc.engines.file_shards import FileShard, ShardReader, file_shards, lines_of_file
from opauc.engines.learnt_shards import LearntShards, refuse_too_many
from opauc.engines.scheduler import Scheduler, quiet
from opauc.engines.shard_learning import ShardLearning, Trained
from opauc.errors import InputError
from opauc.reading import BadRows
from opauc.rows import ClassCounts
from opauc.training.saved_model import AnyModel
from opauc.training.shard_training import ShardPlace
from opauc.training.stream_training import too_wide
from opauc.training.transaction import Transaction


@dataclass(frozen=True)
class ShardPlan(Generic[Trained]):
    """All that a machine must know to read and learn any shard of some files."""

    reader: ShardReader
    learning: ShardLearning[Trained]

    def learnt(self, shard: FileShard) -> LearntShards:
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
        model = None if last is None else self.learning.model(training, last.bookmark)
        records = () if last is None else last.bookmark.records
        unreadable = dict(stream.unreadable_values)
        return LearntShards(model, rows, records, bad_rows.total, tuple(bad_rows.first), unreadable)


def learn_files(
    learning: ShardLearning[Trained],
    scheduler: Scheduler,
    bad_rows: BadRows | None = None,
    told: Callable[[int, int], None] | None = None,
    size: int | None = None,
) -> LearntShards:
    """Return the model of all rows of files, and where they come from.

    Weights are those of one process that reads the rows in order, to rounding;
    the same shards give the same bits, on whatever engine. `told` hears how
    many shards of how many are done. Shards have `size` bytes at least, by
    default as many as suit the files and what is learnt.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.engines.file_training import learn_files
    >>> from opauc.engines.linear_shards import FilesToLearn, linear_shards
    >>> from opauc.engines.thread_scheduler import ThreadScheduler
    >>> from opauc.training.opauc_recipe import OpaucRecipe
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n30,no\\n40,yes\\n50,yes\\n"), file.flush()
    ...     learning = linear_shards(FilesToLearn([file.name], OpaucRecipe({}), {}))
    ...     learnt = learn_files(learning, ThreadScheduler(2), size=12)
    >>> learnt.rows, learnt.model.solution.counts
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
    learnt = scheduler.reduced(plan.learnt, shards, quiet if told is None else partial(told, len(shards)))
    refuse_too_many(learnt.bad_rows, learnt.first_bad, policy)
    model = _of_both_classes(learnt, learning)
    return replace(learnt, model=learning.finished(model, learnt.provenance()))


def _of_both_classes(learnt: LearntShards, learning: ShardLearning[Trained]) -> AnyModel:
    """Return the model of all shards, refused unless there were rows of both classes."""
    counts = ClassCounts(0.0, 0.0) if learnt.model is None else learnt.model.learnt().counts
    if learnt.model is None or not counts.both:
        classes = learning.labels.classes.tolist()
        only = f", all labelled {classes[int(counts.positive > 0)]}" if learnt.rows else ""
        raise InputError(f"learning needs rows of two classes, got {learnt.rows} rows{only}")
    return learnt.model
