"""What an engine learns: a model of each shard of some files, models that merge, and one at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from opauc.engines.file_shards import Cut
from opauc.features.column_kinds import Finding
from opauc.reading import Bookmark, ReadOptions
from opauc.reading.encoder import Encoder
from opauc.rows import Json
from opauc.training.class_labels import ClassLabels
from opauc.training.learnt import RowTraining
from opauc.training.saved_model import AnyModel
from opauc.training.shard_training import ShardPlace

Trained = TypeVar("Trained", bound=RowTraining)


class ShardLearning(Protocol[Trained]):
    """All that a machine must know to learn any shard of some files; a value that travels."""

    @property
    def paths(self) -> Sequence[str]:
        """The files."""

    @property
    def options(self) -> ReadOptions:
        """How they are read."""

    @property
    def labels(self) -> ClassLabels:
        """The two classes."""

    @property
    def findings(self) -> Sequence[Finding]:
        """What each column of a table is, where that was found by looking."""

    @property
    def cut(self) -> Cut:
        """How finely the files should be cut."""

    @property
    def numbers_rows(self) -> bool:
        """Whether a shard must know the number of its first row among all."""

    def encoder(self) -> Encoder:
        """Return what turns parts of the files into rows, knowing of the columns what is known before any shard."""

    def training(self, place: ShardPlace) -> Trained:
        """Return the loop in which a shard is learnt, at its beginning."""

    def model(self, training: Trained, bookmark: Bookmark) -> AnyModel:
        """Return what the rows of a shard, up to its end, have taught; such models merge."""

    def finished(self, model: AnyModel, provenance: Json) -> AnyModel:
        """Return the merged model of all shards as one process would have made it."""
