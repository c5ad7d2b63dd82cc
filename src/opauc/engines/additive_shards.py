"""An additive model from the shards of files: one basis for all of them, and sums that add up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from opauc.additive.file_sample import sample_initial_rows
from opauc.additive.model_file import AdditiveModel
from opauc.additive.settings import USUAL_CARD, fitted_whole
from opauc.additive.training import AdditiveTraining, GamRecipe, read_model
from opauc.core.labels import ClassLabels
from opauc.data import ReadOptions, ResumePosition
from opauc.data.encode.number_reading import OrdinalReading
from opauc.data.encode.ordinal import OrdinalEncoder
from opauc.data.options import USUAL
from opauc.data.sample import RowFiles
from opauc.data.schema.infer import ColumnProfile
from opauc.engines.shards import Cut, whole_files
from opauc.errors import UnsupportedOperationError
from opauc.linear.training import ShardPlace
from opauc.training.model_files import AnyModel
from opauc.types import Json

# Rows of a shard at least: to merge the sums of two costs as much as to learn some hundred rows. A row costs far more
# to learn than to be passed over, so that row groups may be cut.
ROWS_A_SHARD, PIECES = 16_384, 4


@dataclass(frozen=True, eq=False)
class AdditiveShards:
    """The basis with which every shard begins, and what the columns of the files are."""

    paths: Sequence[str]
    recipe: GamRecipe
    reading: OrdinalReading
    labels: ClassLabels
    cut: Cut
    column_profiles: Sequence[ColumnProfile] = ()
    numbers_rows: bool = False

    @property
    def options(self) -> ReadOptions:
        """How the files are read."""
        return self.reading.options

    def encoder(self) -> OrdinalEncoder:
        """Return what turns tables into the numbers that the basis knows."""
        return self.reading.encoder()

    def training(self, place: ShardPlace) -> AdditiveTraining:  # noqa: ARG002
        """Return the loop in which a shard is learned: whichever it is, it begins with the basis."""
        return self.recipe.training(None)

    def model(self, training: AdditiveTraining, resume_position: ResumePosition) -> AdditiveModel:
        """Return what the rows of a shard have taught."""
        return read_model(self.recipe.model(training.solution, self.labels.classes), self.reading, resume_position)

    def finished(self, model: AnyModel, provenance: Json) -> AdditiveModel:
        """Return the model, its weights worked out."""
        known = replace(cast(AdditiveModel, model), provenance=provenance)
        _ = known.scorer
        return known


def additive_shards(
    paths: Sequence[str | os.PathLike[str]],
    options: ReadOptions,
    recipe: GamRecipe,
    labels: ClassLabels,
) -> AdditiveShards:
    """Return how every shard is learned, with a basis of rows drawn from all over the files as one process draws them.

    Refused where there can be no such basis before the pass.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.engines.additive_shards import additive_shards
    >>> from opauc.data import ReadOptions
    >>> from opauc.additive.training import GamRecipe
    >>> from opauc.core.labels import ClassLabels
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n30,no\\n40,yes\\n"), file.flush()
    ...     additive_shards([file.name], ReadOptions(), GamRecipe({}), ClassLabels())
    Traceback (most recent call last):
        ...
    opauc.errors.UnsupportedOperationError: rows up to 20,480, and such as cannot be drawn from all over the files before ...
    """
    found, reading = whole_files(paths), OrdinalReading(options, positive=labels.positive)
    files = RowFiles.of(paths, reading)
    sample = None if files is None or files.compressed else sample_initial_rows(files, reading, recipe, labels)
    if sample is None or not sample.has_basis:
        raise UnsupportedOperationError(
            f"rows up to {fitted_whole(USUAL_CARD):,}, and such as cannot be drawn from all over the files before they "
            "are learned (compressed files, labels of more than two kinds), make no basis for shards: they are learned "
            "by one core"
        )
    return AdditiveShards(found, sample.recipe, sample.reading, sample.labels, _cut(files), sample.column_profiles)


def shards_like(
    model: AdditiveModel, paths: Sequence[str | os.PathLike[str]], options: ReadOptions = USUAL
) -> AdditiveShards:
    """Return how every shard is learned with the basis of another model, with which the model of all of them merges."""
    reading = model.row_reading().further(options)
    recipe, labels = (
        GamRecipe(model.parameters, model.solution.empty_copy()),
        ClassLabels(model.classes, reading.positive),
    )
    found = whole_files(paths)
    return AdditiveShards(found, recipe, reading, labels, _cut(RowFiles.of(found, reading)))


def _cut(files: RowFiles | None) -> Cut:
    """Return how finely files are cut, by the bytes that a row has in them."""
    if files is None or files.compressed:
        return Cut()
    least = int(ROWS_A_SHARD * sum(map(os.path.getsize, files.paths)) / max(1, files.n_rows))
    return Cut(least, least, PIECES)
