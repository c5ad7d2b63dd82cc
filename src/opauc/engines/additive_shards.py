"""An additive model from the shards of files: one card for all of them, and sums that add up."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from opauc.additive.file_sample import ALL_WAIT, card_sample
from opauc.additive.model_file import AdditiveModel
from opauc.additive.training import AdditiveTraining, GamRecipe, read_model
from opauc.core.labels import ClassLabels
from opauc.data import Bookmark, ReadOptions
from opauc.data.encode.number_reading import NumberReading
from opauc.data.encode.ordinal import NumbersEncoder
from opauc.data.options import USUAL
from opauc.data.sample import SampledFiles
from opauc.data.schema.infer import Finding
from opauc.engines.shards import Cut, whole_files
from opauc.errors import UnsupportedOperation
from opauc.linear.training import ShardPlace
from opauc.training.model_files import AnyModel
from opauc.types import Json

# Rows of a shard at least: to merge the sums of two costs as much as to learn some hundred rows. A row costs far more
# to learn than to be passed over, so that row groups may be cut.
ROWS_A_SHARD, PIECES = 16_384, 4


@dataclass(frozen=True, eq=False)
class AdditiveShards:
    """The card with which every shard begins, and what the columns of the files are."""

    paths: Sequence[str]
    recipe: GamRecipe
    reading: NumberReading
    labels: ClassLabels
    cut: Cut
    findings: Sequence[Finding] = ()
    numbers_rows: bool = False

    @property
    def options(self) -> ReadOptions:
        """How the files are read."""
        return self.reading.options

    def encoder(self) -> NumbersEncoder:
        """Return what turns tables into the numbers that the card knows."""
        return self.reading.encoder()

    def training(self, place: ShardPlace) -> AdditiveTraining:  # noqa: ARG002
        """Return the loop in which a shard is learnt: whichever it is, it begins with the card."""
        return self.recipe.training(None)

    def model(self, training: AdditiveTraining, bookmark: Bookmark) -> AdditiveModel:
        """Return what the rows of a shard have taught."""
        return read_model(self.recipe.model(training.solution, self.labels.classes), self.reading, bookmark)

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
    """Return how every shard is learnt, with a card of rows drawn from all over the files as one process draws them.

    Refused where there can be no such card before the pass.

    Examples
    --------
    >>> import tempfile
    >>> from opauc.engines.additive_shards import additive_shards
    >>> from opauc.data import ReadOptions
    >>> from opauc.additive.training import GamRecipe
    >>> from opauc.core.labels import ClassLabels
    >>> with tempfile.NamedTemporaryFile(suffix=".csv") as file:
    ...     _ = file.write(b"age,label\\n30,no\\n"), file.flush()
    ...     additive_shards([file.name], ReadOptions(), GamRecipe({}), ClassLabels())
    Traceback (most recent call last):
        ...
    opauc.errors.UnsupportedOperation: rows up to 20,480, and such as cannot be drawn from all over the files before ...
    """
    found, files = whole_files(paths), SampledFiles.of(paths, options)
    reading, seed = NumberReading(options, positive=labels.positive), recipe.parameters.get("random_state") or 0
    sample = None if files is None or files.packed else card_sample(files, reading, recipe, labels, seed)
    if sample is None:
        raise UnsupportedOperation(
            f"rows up to {ALL_WAIT:,}, and such as cannot be drawn from all over the files before they are learnt "
            "(compressed files, labels of more than two kinds), make no card for shards: they are learnt by one core"
        )
    return AdditiveShards(found, sample.recipe, sample.reading, sample.labels, _cut(files), sample.findings)


def shards_like(
    model: AdditiveModel, paths: Sequence[str | os.PathLike[str]], options: ReadOptions = USUAL
) -> AdditiveShards:
    """Return how every shard is learnt with the card of another model, with which the model of all of them merges."""
    reading = model.row_reading().further(options)
    recipe, labels = GamRecipe(model.parameters, model.solution.emptied()), ClassLabels(model.classes, reading.positive)
    found = whole_files(paths)
    return AdditiveShards(found, recipe, reading, labels, _cut(SampledFiles.of(found, reading.options)))


def _cut(files: SampledFiles | None) -> Cut:
    """Return how finely files are cut, by the bytes that a row has in them."""
    if files is None or files.packed:
        return Cut()
    least = int(ROWS_A_SHARD * sum(map(os.path.getsize, files.paths)) / max(1, files.n_rows))
    return Cut(least, least, PIECES)
