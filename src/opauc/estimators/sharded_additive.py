"""Additive models whose rows lie in many places: one card for all of them, sums of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from opauc.errors import InputError
from opauc.estimators.additive_classifier import AdditiveClassifier
from opauc.estimators.number_rows import KnownRows, first_rows, next_rows
from opauc.estimators.target_labels import encoded_labels
from opauc.learners.parameters import made
from opauc.random_key import RandomState, random_key
from opauc.reading import ReadOptions
from opauc.rows import Array, Floats, Labels
from opauc.training.additive.additive_file import AdditiveModel
from opauc.training.additive.additive_settings import AdditiveSettings, with_card_rows, with_positions
from opauc.training.additive.additive_solution import AdditiveSolution
from opauc.training.additive.card_sample import enough_rows
from opauc.training.additive.gam_recipe import GamRecipe
from opauc.training.class_labels import ClassLabels
from opauc.training.saved_model import AnyModel
from opauc.training.shard_training import ShardPlace

if TYPE_CHECKING:
    from opauc.engines.additive_shards import AdditiveShards
    from opauc.engines.partition_training import Sharding
    from opauc.engines.remote_rows import RawChunk, RemoteRows


class ShardedAdditive(AdditiveClassifier):
    """An additive model that learns rows in order, or shards of them that begin with one card."""

    random_state: RandomState

    def _file_shards(self, paths: Sequence[str], options: ReadOptions) -> AdditiveShards:
        """How the shards of files are learnt."""
        from opauc.engines.additive_shards import additive_shards  # which others do not wait for

        given = self.get_params(deep=False)
        if isinstance(self.random_state, np.random.RandomState):
            given["random_state"] = random_key(self.random_state) % 2**32
        return additive_shards(paths, options, GamRecipe(given), ClassLabels())

    def _sharding(self, n_features: int) -> Sharding:  # noqa: ARG002
        """What shards must know of each other: nothing but the card."""
        from opauc.engines.partition_training import Sharding

        return Sharding()

    def _begun_with(self, rows: RemoteRows, classes: Array) -> Self:
        """An estimator of these parameters with a card of rows from all over, that has learnt none."""
        from opauc.engines.remote_rows import spread_numbers

        begun, n_rows, seed = type(self)(**self.get_params(deep=False)), rows.n_rows(), random_key(self.random_state)
        wanted = int(with_card_rows(self._checked_settings(), n_rows).card_rows)
        chunk = rows.drawn(spread_numbers(n_rows, wanted, seed))
        rarer = int(np.bincount(encoded_labels(column_or_1d(chunk[1]), classes)[0], minlength=2).min())
        if (more := enough_rows(wanted, rarer, n_rows, chunk[0].shape[1])) > wanted:
            chunk = rows.drawn(spread_numbers(n_rows, more, seed))
        X, y, sample_weight = chunk
        known = first_rows(begun, X)
        begun.columns_ = known.columns
        numbers, labels, weight, begun.classes_ = begun._labelled(known.rows, y, classes, sample_weight)
        if np.bincount(labels, minlength=2).min() == 0:
            raise InputError(f"{type(self).__name__}: of {labels.size:,} rows from all over all are of one class")
        begun.solution_ = replace(begun._started(known, n_rows), seed=seed).of_sample(numbers, labels, weight)
        begun._freeze()
        return begun

    def _shard(self, chunks: Iterable[RawChunk], classes: Array, place: ShardPlace) -> AdditiveModel:  # noqa: ARG002
        """What the rows of one of several shards teach an estimator with a card, which stays as it is."""
        solution = self.solution_
        for X, y, sample_weight in chunks:
            numbers, _ = next_rows(self, X, self.columns_, learn=False)
            rows, labels, weight, _ = self._labelled(numbers, y, classes, sample_weight)
            solution = solution.after(rows, labels, weight) if labels.size else solution
        return replace(self._known(), solution=solution)

    def _adopt_shards(self, model: AnyModel) -> None:
        """Know what all shards have taught."""
        self._adopt(cast(AdditiveModel, model))

    def _checked_settings(self) -> AdditiveSettings:
        return made(type(self).__name__, AdditiveSettings, self.get_params(deep=False))

    def _settings(self) -> AdditiveSettings:
        """The parameters, checked, with pairs by the positions of their columns."""
        return with_positions(self._checked_settings(), self._input_names())

    def _started(self, known: KnownRows, n_rows: int) -> AdditiveSolution:
        """What is known before any row of such columns, where so many are known to come."""
        width = known.rows.shape[1]
        categorical = np.zeros(width, np.bool_) if known.columns is None else known.columns.categorical
        settings = with_card_rows(self._settings(), n_rows)
        return AdditiveSolution.start(settings, categorical, random_key(self.random_state))

    def _labelled(
        self, rows: Floats, y: ArrayLike, classes: Array | None, sample_weight: ArrayLike | None
    ) -> tuple[Floats, Labels, Floats | None, Array]:
        """Check labels and weights; rows of weight zero are left out."""
        given = column_or_1d(y, warn=True)
        check_consistent_length(rows, given)
        if not len(rows):
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required by OnePassGAM.")
        labels, found = encoded_labels(given, classes)
        if sample_weight is None:
            return rows, labels, None, found
        weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        kept = np.flatnonzero(weight)
        return rows[kept], labels[kept], weight[kept], found

    def _freeze(self) -> None:
        """Forget the categories that have no level of their own, once the card is fixed."""
        if self.columns_ is not None and not self.columns_.frozen and self.solution_.fixed is not None:
            self.columns_ = self.columns_.kept(self.solution_.fixed.card.kept_numbers())
