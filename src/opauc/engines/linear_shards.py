"""A linear scorer from the shards of files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

from opauc.core.batch import Batch
from opauc.core.labels import ClassLabels, chunks_of_known_classes
from opauc.data import BadRows, OneHotState, ReadOptions, ResumePosition
from opauc.data.encode.onehot import OneHotEncoder
from opauc.data.encode.table_features import OneHotReading
from opauc.data.open_stream import encoder_of, open_stream
from opauc.data.schema.infer import ColumnProfile
from opauc.engines.shards import Cut, whole_files
from opauc.errors import InputError, UnsupportedOperationError
from opauc.linear.choice import Recipe
from opauc.linear.model_file import Model
from opauc.linear.training import ShardPlace, ShardTraining, bytes_of_state, shard_solver
from opauc.training.model_files import AnyModel
from opauc.types import Json, Settings

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


@dataclass(frozen=True, eq=False)
class LinearShards:
    """What the first rows of files tell of how all their shards are to be learned."""

    wanted: FilesToLearn
    paths: Sequence[str]
    labels: ClassLabels
    encoding: OneHotState | None
    dtype: str
    cut: Cut
    numbers_rows: bool
    key: int

    @property
    def options(self) -> ReadOptions:
        """How the files are read."""
        return self.wanted.options

    @property
    def column_profiles(self) -> Sequence[ColumnProfile]:
        """Nothing: columns are what the user says."""
        return ()

    def encoder(self) -> OneHotEncoder:
        """Return the encoder that knows what the first rows tell; it goes on learning categories."""
        encoder = encoder_of(self.options, groups=self.options.groups)
        return encoder if self.encoding is None else encoder.with_state(self.encoding, frozen=False)

    def training(self, place: ShardPlace) -> ShardTraining:
        """Return the loop in which a shard is learned."""
        return ShardTraining(self.wanted.recipe, place._replace(key=self.key))

    def model(self, training: ShardTraining, resume_position: ResumePosition) -> Model:
        """Return what the rows of a shard have taught, with what was learned of their columns."""
        solution = training.gathered()
        tables = OneHotReading(self.options, resume_position.learned(), self.labels.positive)
        return Model(
            self.wanted.estimator, {}, solution, self.labels.classes, solution.n_features, None, tables.to_json()
        )  # fmt: skip

    def finished(self, model: AnyModel, provenance: Json) -> Model:
        """Return the model with the parameters that were asked for."""
        known = cast(Model, model)
        solution, names = known.learned(), OneHotReading.of_json(known.reading).feature_names()
        return replace(
            known,
            parameters=dict(self.wanted.parameters),
            solution=solution.with_learner(self.wanted.recipe.choose(solution.n_features, self.dtype)),
            feature_names=None if names is None else tuple(names),
            provenance=provenance,
        )


def linear_shards(wanted: FilesToLearn) -> LinearShards:
    """Return how every shard is learned, by the first rows; refused where what shards teach does not add up.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.engines.linear_shards import FilesToLearn, linear_shards
    >>> from opauc.linear.resolve import OpaucRecipe
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n30,no\\n40,yes\\n50,yes\\n"), file.flush()
    ...     linear_shards(FilesToLearn([file.name], OpaucRecipe({}), {})).labels.classes.tolist()
    ['no', 'yes']
    """
    if wanted.options.missing == "mean":
        raise UnsupportedOperationError("missing='mean' takes the mean of the rows before: they must be read in order")
    paths = whole_files(wanted.paths)
    first, labels = _first_chunk(wanted)
    width, dtype = first.rows.shape[1], str(first.rows.dtype)
    learner = shard_solver(wanted.recipe.choose(width, dtype))
    cut = Cut(int(SUMS_A_SHARD * bytes_of_state(learner, width)))
    numbered = learner.numbers_rows and wanted.options.groups is None
    return LinearShards(
        wanted, paths, labels, first.resume_position.learned(), dtype, cut, numbered, learner.shard_key()
    )  # fmt: skip


def _first_chunk(wanted: FilesToLearn) -> tuple[Batch, ClassLabels]:
    """Return the first rows, which tell how wide rows are and what columns mean, and the classes.

    They are read on until there are rows of both, as one process would.
    """
    stream = open_stream(wanted.paths, wanted.options, bad_rows=BadRows("skip"))
    if wanted.options.groups is not None and not stream.has_columns:
        raise InputError(f"{', '.join(stream.sources)}: only tables have columns, of which groups could be one")
    for found in chunks_of_known_classes(stream.chunks(ahead=False), wanted.labels):
        return found
    raise InputError(f"{', '.join(stream.sources)}: learning needs rows of two classes, got 0 rows")
