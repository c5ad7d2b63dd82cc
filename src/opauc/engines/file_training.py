"""A model from files whose shards are learnt apart, on threads or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from opauc.engines.file_shards import FileShard, ShardReader, file_shards, lines_of_file, shard_bytes, whole_files
from opauc.engines.learnt_shards import LearntShards
from opauc.engines.scheduler import Scheduler, quiet
from opauc.errors import InputError, TooManyBadRows, UnsupportedOperation
from opauc.features import open_stream
from opauc.features.table_features import TableFeatures
from opauc.reading import BadRows, ReadOptions
from opauc.reading.labelled_chunk import LabelledChunk
from opauc.rows import ClassCounts, Settings
from opauc.training.class_labels import ClassLabels
from opauc.training.label_queue import chunks_of_known_classes
from opauc.training.learner_method import bytes_of_state
from opauc.training.model_file import Model
from opauc.training.recipe import Recipe
from opauc.training.shard_training import ShardPlace, ShardTraining, shard_learner
from opauc.training.stream_training import too_wide
from opauc.training.transaction import Transaction

# A shard has this many times the bytes of its sums at least, lest merging costs more than learning.
SUMS_A_SHARD = 4


class FilesToLearn(NamedTuple):
    """What to learn from which files: the recipe of an estimator of that name with these parameters."""

    paths: Sequence[str | os.PathLike[str]]
    recipe: Recipe
    parameters: Settings
    estimator: str = "OPAUC"
    options: ReadOptions = ReadOptions()
    labels: ClassLabels = ClassLabels()


@dataclass(frozen=True)
class ShardPlan:
    """All that a machine must know to learn any shard of some files."""

    reader: ShardReader
    recipe: Recipe
    labels: ClassLabels
    estimator: str
    key: int

    def learnt(self, shard: FileShard) -> LearntShards:
        """Return what a shard teaches: the same whenever and wherever it is asked for."""
        training = ShardTraining(self.recipe, ShardPlace(shard.number, shard.first_row, self.key))
        bad_rows = self.reader.bad_rows(shard)
        rows, last = 0, None
        for chunk in self.reader.chunks(shard, self.reader.stream(shard, bad_rows)):
            try:
                with Transaction(training) as transaction, lines_of_file(shard):
                    labels = self.labels.encoded(chunk)
                    training.prepare_chunk(chunk, transaction)
                    training.step(training.fitted(chunk.rows), labels, groups=chunk.groups)
            except MemoryError as error:
                raise too_wide(chunk) from error
            rows, last = rows + labels.size, chunk
        if last is None:
            return LearntShards(None, 0, (), bad_rows.total, tuple(bad_rows.first))
        solution, bookmark = training.gathered(), last.bookmark
        tables = TableFeatures(self.reader.options, bookmark.learnt(), self.labels.positive)
        model = Model(
            self.estimator, {}, solution, self.labels.classes, solution.n_features, None, tables.to_json()
        )  # fmt: skip
        return LearntShards(model, rows, bookmark.records, bad_rows.total, tuple(bad_rows.first))


def learn_files(
    wanted: FilesToLearn,
    scheduler: Scheduler,
    bad_rows: BadRows | None = None,
    told: Callable[[int, int], None] | None = None,
    size: int | None = None,
) -> LearntShards:
    """Return the model of all rows of files, and where they come from.

    Weights are those of one process that reads the rows in order, to rounding;
    the same shards give the same bits, on whatever engine. `told` hears how
    many shards of how many are done. Shards have `size` bytes at least, by
    default as many as suit the files.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.engines.file_training import FilesToLearn, learn_files
    >>> from opauc.engines.thread_scheduler import ThreadScheduler
    >>> from opauc.training.opauc_recipe import OpaucRecipe
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n30,no\\n40,yes\\n50,yes\\n"), file.flush()
    ...     learnt = learn_files(FilesToLearn([file.name], OpaucRecipe({}), {}), ThreadScheduler(2), size=12)
    >>> learnt.rows, learnt.model.solution.counts
    (3, ClassCounts(negative=1.0, positive=2.0))
    """
    if wanted.options.missing == "mean":
        raise UnsupportedOperation("missing='mean' takes the mean of the rows before: they must be read in order")
    policy, paths = bad_rows or BadRows(), whole_files(wanted.paths)
    first, labels = first_chunk(wanted)
    choice = wanted.recipe.choose(first.rows.shape[1], str(first.rows.dtype))
    learner = shard_learner(choice)
    sums = int(SUMS_A_SHARD * bytes_of_state(learner, first.rows.shape[1]))
    shards = file_shards(paths, wanted.options, max(sums, size or shard_bytes(paths)), scheduler)
    reader = ShardReader(wanted.options, first.bookmark.learnt(), skip_bad_rows=policy.policy == "skip")
    if learner.numbers_rows and wanted.options.groups is None:
        first_rows = accumulate(scheduler.mapped(reader.n_rows, shards), initial=0)
        shards = [shard._replace(first_row=row) for shard, row in zip(shards, first_rows, strict=False)]
    plan = ShardPlan(reader, wanted.recipe, labels, wanted.estimator, learner.shard_key())
    learnt = scheduler.reduced(plan.learnt, shards, quiet if told is None else partial(told, len(shards)))
    if policy.most is not None and learnt.bad_rows > policy.most:
        listed = "; ".join(learnt.first_bad[:1])
        raise TooManyBadRows(f"{learnt.bad_rows} bad rows, at most {policy.most} may be skipped; the first: {listed}")
    return replace(learnt, model=_settled(learnt, wanted, labels, str(first.rows.dtype)))


def first_chunk(wanted: FilesToLearn) -> tuple[LabelledChunk, ClassLabels]:
    """Return the first rows, which tell how wide rows are and what columns mean, and the classes.

    They are read on until there are rows of both, as one process would.
    """
    stream = open_stream(wanted.paths, wanted.options, bad_rows=BadRows("skip"))
    if wanted.options.groups is not None and not stream.has_columns:
        raise InputError(f"{', '.join(stream.sources)}: only tables have columns, of which groups could be one")
    for found in chunks_of_known_classes(stream.chunks(ahead=False), wanted.labels):
        return found
    raise InputError(f"{', '.join(stream.sources)}: learning needs rows of two classes, got 0 rows")


def _settled(learnt: LearntShards, wanted: FilesToLearn, labels: ClassLabels, dtype: str) -> Model:
    """Return the model of all shards as one process would have made it."""
    counts = ClassCounts(0.0, 0.0) if learnt.model is None else learnt.model.learnt().counts
    if learnt.model is None or not counts.both:
        only = f", all labelled {labels.classes.tolist()[int(counts.positive > 0)]}" if learnt.rows else ""
        raise InputError(f"learning needs rows of two classes, got {learnt.rows} rows{only}")
    model, solution = learnt.model, learnt.model.learnt()
    names = TableFeatures.of_json(model.reading).feature_names()
    return replace(
        model,
        parameters=dict(wanted.parameters),
        solution=solution.with_learner(wanted.recipe.choose(solution.n_features, dtype)),
        feature_names=None if names is None else tuple(names),
        provenance=learnt.provenance(),
    )
