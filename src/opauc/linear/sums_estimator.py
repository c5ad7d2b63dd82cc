"""What estimators can do that learn by sums alone: merge, forget, and solve for many penalties."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from opauc.core.parameters import NON_NEGATIVE, check_param
from opauc.core.transaction import changing, reading
from opauc.data import ReadOptions
from opauc.errors import IncompatibleMomentsError
from opauc.estimators.input_checks import check_batch, check_known_batch
from opauc.linear.estimator import StreamClassifier
from opauc.linear.model_file import Model
from opauc.linear.table_input import publish_features
from opauc.linear.training import ShardPlace, ShardTraining, Training, shard_solver
from opauc.training.model_files import AnyModel, refuse_other_names
from opauc.types import Array, Floats

if TYPE_CHECKING:
    from opauc.engines.linear_shards import LinearShards
    from opauc.engines.partitions import RemoteRows, Sharding


class StatisticClassifier(StreamClassifier):
    """A classifier whose learner may keep nothing but sums; where it keeps more, these methods say so."""

    def merge(self, other: StatisticClassifier) -> Self:
        """Take in all that another model learned, as if its rows had been seen here too.

        Parameters
        ----------
        other : object
            A fitted estimator of the same kind (`OPAUC` with solver "exact"), with the same classes and features.
            Models of the command match their columns and categories by name.

        Returns
        -------
        self : object
            The estimator.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> one = OPAUC().fit([[0.0], [2.0]], [0, 1])
        >>> other = OPAUC().fit([[1.0], [5.0]], [0, 1])
        >>> one.merge(other).moments_.positive.mean
        array([3.5])
        """
        with changing(self, other):
            check_is_fitted(self)
            check_is_fitted(other)
            if not np.array_equal(self.classes_, other.classes_):
                raise IncompatibleMomentsError(
                    f"cannot merge models of classes {self.classes_.tolist()} and {other.classes_.tolist()}"
                )
            mine, theirs, training = self._reading_features, other._reading_features, self._training()
            if mine is None or theirs is None:
                refuse_other_names(self._feature_names(), other._feature_names())
                training.merge(other.solution_)
                self.solution_ = training.solution
            else:
                joint = mine.merged(theirs, other.n_features_in_)
                training.merge(other.solution_, joint.places)
                self.solution_ = training.solution
                publish_features(self, joint.features, self.solution_.n_features)
        return self

    def forget(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        row_numbers: ArrayLike | None = None,
    ) -> Self:
        """Unlearn rows: the model becomes what it would be had they never been seen.

        What is kept are sums, and sums do not show which rows they are made of.
        Rows that were never learned are refused only where no rows at all could
        have led to what would be left: more of a class than was seen, or a
        feature that would vary by less than nothing. Any other row is taken
        out of the sums, and the model is then wrong: keep account yourself.

        Parameters
        ----------
        X, y, sample_weight
            Rows as they were learned.
        row_numbers : array-like of int of shape (n_samples,), default=None
            With a sketch (a `rank`) or with folds: the number, from 0, under
            which each row was learned by this model, for its random code or its
            fold depends on it.

        Returns
        -------
        self : object
            The estimator.

        Examples
        --------
        >>> from opauc import OPAUC
        >>> model = OPAUC().fit([[0.0], [2.0], [9.0]], [0, 1, 1])
        >>> model.forget([[9.0]], [1]).moments_.positive.mean
        array([2.])
        """
        return self._forget(X, y, sample_weight, row_numbers)

    def path(self, alphas: Sequence[float]) -> Floats:
        """Weights for many values of alpha, at the price of little more than one.

        Parameters
        ----------
        alphas : sequence of float
            Ridge penalties, in any order.

        Returns
        -------
        coefs : ndarray of shape (n_alphas, n_features)
            Row i is what `coef_` would be with alpha=alphas[i].

        Examples
        --------
        >>> from opauc import OPAUC
        >>> OPAUC(standardize=False).fit([[0.0], [2.0]], [0, 1]).path([0.0, 0.5]).round(4)
        array([[0.5   ],
               [0.4444]])
        """
        penalties = [check_param(type(self).__name__, "alphas", alpha, NON_NEGATIVE) for alpha in alphas]
        with reading(self):
            check_is_fitted(self)
            return self.solution_.path(penalties)

    def _forget(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        row_numbers: ArrayLike | None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Do as `forget`, with the groups of the rows where the learner kept those together."""
        with changing(self):
            check_is_fitted(self)
            chunk = check_known_batch(self, X, y, sample_weight).with_groups(groups)
            training = self._training()
            training.forget(chunk.rows, chunk.labels, chunk.sample_weight, row_numbers, chunk.groups)
            self.solution_ = training.solution
        return self

    def _shard(
        self, chunks: Iterable[tuple[ArrayLike, ArrayLike, ArrayLike | None]], classes: Array, place: ShardPlace
    ) -> Model:
        """What the rows of one of several shards teach an estimator of these parameters, which stays as it is.

        A chunk is rows, labels and weights; there is at least one.
        """
        shard = clone(self)
        training = ShardTraining(shard._recipe(), place)
        for X, y, sample_weight in chunks:
            chunk = check_batch(shard, X, y, sample_weight, classes, first=not training.begun)
            training.learn(chunk.rows, chunk.labels, chunk.sample_weight)
        shard.classes_, shard.solution_ = classes, training.gathered()
        model: Model = shard._known()
        return model

    def _adopt_shards(self, model: AnyModel) -> None:
        """Know what all shards have taught."""
        known = cast(Model, model)
        solution, parameters = known.learned(), self.get_params(deep=False)
        choice = self._recipe().choose(solution.n_features, "float64")
        self._adopt(replace(known, parameters=parameters, solution=solution.with_learner(choice)))

    def _sharding(self, n_features: int) -> Sharding:
        """What shards of rows of so many features must know of each other; refused where they do not add up."""
        from opauc.engines.partitions import Sharding  # which others do not wait for

        learner = shard_solver(self._recipe().choose(n_features, "float64"))
        return Sharding(learner.shard_key(), learner.numbers_rows)

    def _begun_with(self, rows: RemoteRows, classes: Array) -> Self:  # noqa: ARG002
        """An estimator of these parameters that has learned nothing: there is nothing to find out before the shards."""
        return type(self)(**self.get_params(deep=False))

    def _file_shards(self, paths: Sequence[str], options: ReadOptions) -> LinearShards:
        """How the shards of files are learned."""
        from opauc.engines.linear_shards import FilesToLearn, linear_shards  # which others do not wait for

        parameters = self.get_params(deep=False)
        return linear_shards(FilesToLearn(paths, self._recipe(), parameters, type(self).__name__, options))

    def _training(self) -> Training:
        return Training(self._recipe(), self.solution_)
