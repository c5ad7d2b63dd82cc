"""Class statistics of folds, and logistic losses of the same rows as sums at one fixed expansion point."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from opauc.core.array_schema import ArrayRule, check_arrays, with_prefix
from opauc.core.logistic import linearize
from opauc.core.mergeable import FeatureSpread, Mergeable, ScoreSummary, Statistic
from opauc.errors import IncompatibleMomentsError, StatisticsOverflowError
from opauc.linear.moments.classes import ClassMoments, GroupMoments
from opauc.linear.moments.exact import ExactMoments
from opauc.linear.moments.folds import FoldMoments
from opauc.linear.moments.held_out_scores import HeldOutScores
from opauc.types import Arrays, ClassCounts, Floats, Labels, NamedArrays, Rows

# Rows linearized at a time.
ROWS_PER_BLOCK = 8192
# A smaller curvature counts as this: the sums of rows whose class is beyond doubt would underflow.
MIN_CURVATURE = 1e-12
# Names of the columns of `row_weights` below.
POSITIVE, NEGATIVE, TOP, THRESHOLD, WIDTH = range(5)

FIXED = "fixed"
SCHEMA = {
    FIXED: ArrayRule("int64", low=0, high=1),
    "expansion.center": ArrayRule("float64", "features"),
    "expansion.weights": ArrayRule("float64", "losses features"),
    "expansion.intercepts": ArrayRule("float64", "losses"),
    "expansion.row_weights": ArrayRule("float64", "losses 5"),
    "first.rows": ArrayRule("float64", "waiting features"),
    "first.weights": ArrayRule("float64", "waiting", low=0),
    "first.numbers": ArrayRule("int8", "waiting", low=0),
}
LOSS_SCHEMA = {
    "residuals": ArrayRule("float64", "folds features+1"),
    "values": ArrayRule("float64", "folds", low=0),
}


class Expansion(NamedTuple):
    """Where each loss is linearized: a linear scorer for each, all about the same center.

    `row_weights` has a line for each loss: the weight of a positive row, that of
    a negative row, what is added to that of a negative row far above the
    threshold, the threshold, and the width over which it is added. The threshold
    is one of scores by the first loss.
    """

    center: Floats  # (d,)
    weights: Floats  # (losses, d)
    intercepts: Floats  # (losses,): scores of the center
    row_weights: Floats  # (losses, 5)

    @classmethod
    def zero(cls, n_features: int, n_losses: int) -> Expansion:
        """Return the expansion at zero weights, where every row weighs the same."""
        row_weights = np.tile([1.0, 1.0, 0.0, 0.0, 1.0], (n_losses, 1))
        return cls(np.zeros(n_features), np.zeros((n_losses, n_features)), np.zeros(n_losses), row_weights)

    def scores(self, rows: Rows) -> Floats:
        """Return the score of each row by each loss, shape (n, losses)."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores: Floats = rows @ self.weights.T + (self.intercepts - self.weights @ self.center)
        if not np.isfinite(scores).all():
            raise StatisticsOverflowError("the scores of the rows overflow float64; scale the features down")
        return scores

    def weights_of_rows(self, loss: int, scores: Floats, labels: Labels) -> Floats:
        """Return the weight of each row in a loss, from its scores by all losses."""
        shape = self.row_weights[loss]
        top = expit((scores[:, 0] - shape[THRESHOLD]) / shape[WIDTH])
        weights: Floats = np.where(labels == 1, shape[POSITIVE], shape[NEGATIVE] + shape[TOP] * top)
        return weights

    def is_same(self, other: Expansion) -> bool:
        """Return whether sums at the two can be added."""
        return all(np.array_equal(mine, its) for mine, its in zip(self, other, strict=True))


class FirstRows(NamedTuple):
    """Rows kept until the expansion is fixed, with their weights and numbers, which are 2 * fold + label."""

    rows: Floats
    weights: Floats
    numbers: Labels

    @classmethod
    def of(cls, rows: Rows, weights: Floats | None, numbers: Labels) -> FirstRows:
        """Return copies of rows."""
        dense = np.array(rows if isinstance(rows, np.ndarray) else rows.toarray(), np.float64, order="C")
        return cls(dense, np.ones(numbers.size) if weights is None else np.array(weights, float), np.array(numbers))

    @classmethod
    def join(cls, parts: Iterable[FirstRows]) -> FirstRows:
        """Return the rows of all parts."""
        rows, weights, numbers = zip(*parts, strict=True)
        return cls(np.concatenate(rows), np.concatenate(weights), np.concatenate(numbers))

    def without(self, others: FirstRows) -> FirstRows:
        """Return the rows that are not among the others; raise where one of those is not here."""
        places: dict[bytes, list[int]] = {}
        for at, key in enumerate(self._keys()):
            places.setdefault(key, []).append(at)
        kept = np.ones(self.numbers.size, bool)
        for number, key in enumerate(others._keys()):
            if not places.get(key):
                raise IncompatibleMomentsError(f"cannot take out rows that were never seen: row {number} is not one")
            kept[places[key].pop()] = False
        return FirstRows(self.rows[kept], self.weights[kept], self.numbers[kept])

    def _keys(self) -> list[bytes]:
        """Return what tells rows apart."""
        table = np.column_stack([self.rows + 0.0, self.weights, self.numbers])
        return [line.tobytes() for line in table]


@dataclass(frozen=True, slots=True, eq=False)
class LossSums(Mergeable):
    """One loss, linearized, as sums over the rows of each fold.

    The quadratic of a fold at a step (a, s) of the intercept and the weights is
    value - residuals.(a, s) + sum of curvature * (a + s.(row - center))^2 / 2.
    """

    curvature: GroupMoments  # of each fold: rows weighted by the curvature of their loss
    residuals: Floats  # (folds, 1 + d): sums of the negative slope of the loss times (1, row - center)
    values: Floats  # (folds,): sums of the loss

    @classmethod
    def empty(cls, n_features: int, n_folds: int) -> LossSums:
        """Return the sums of no rows."""
        return cls(GroupMoments.empty(n_features, n_folds), np.zeros((n_folds, 1 + n_features)), np.zeros(n_folds))

    @classmethod
    def all_of(
        cls, expansion: Expansion, rows: Rows, numbers: Labels, weight: Floats | None, n_folds: int, n_jobs: int = 1
    ) -> tuple[LossSums, ...]:
        """Return the sums of rows for each loss; numbers are 2 * fold + label."""
        return tuple(
            cls.of(expansion, loss, rows, numbers, weight, n_folds, n_jobs) for loss in range(expansion.intercepts.size)
        )

    @classmethod
    def of(
        cls, expansion: Expansion, loss: int, rows: Rows, numbers: Labels, weight: Floats | None, n_folds: int,
        n_jobs: int = 1,
    ) -> LossSums:  # fmt: skip
        """Return the sums of rows for one loss."""
        folds, labels = numbers // 2, numbers % 2
        n_rows, center = labels.size, expansion.center
        curvature, residuals, values = np.empty(n_rows), np.zeros((n_folds, 1 + center.size)), np.zeros(n_folds)
        for start in range(0, n_rows, ROWS_PER_BLOCK):
            part = slice(start, start + ROWS_PER_BLOCK)
            block, label, fold = rows[part], labels[part], folds[part]
            scores = expansion.scores(block)
            row_weight = expansion.weights_of_rows(loss, scores, label)
            if weight is not None:
                row_weight = row_weight * weight[part]
            bend, residual = linearize(scores[:, loss], label)
            curvature[part] = row_weight * np.maximum(bend, MIN_CURVATURE)
            by_fold = np.zeros((label.size, n_folds))
            by_fold[np.arange(label.size), fold] = row_weight * residual
            residuals[:, 0] += by_fold.sum(axis=0)
            residuals[:, 1:] += (
                ((block - center).T @ by_fold).T
                if isinstance(block, np.ndarray)
                else (block.T @ by_fold).T - np.outer(by_fold.sum(axis=0), center)
            )
            margins = np.where(label == 1, -scores[:, loss], scores[:, loss])
            values += np.bincount(fold, row_weight * np.logaddexp(0.0, margins), minlength=n_folds)
        empty = GroupMoments.empty(center.size, n_folds)
        return cls(empty.update(rows, folds, curvature, n_jobs=n_jobs), residuals, values)

    def empty_copy(self) -> LossSums:
        """Return the sums of no rows."""
        return self.empty(self.curvature.n_features, self.values.size)

    def merge(self, other: LossSums) -> LossSums:
        """Return the sums of both sets of rows."""
        return LossSums(
            self.curvature.merge(other.curvature), self.residuals + other.residuals, self.values + other.values
        )

    def subtract(self, other: LossSums) -> LossSums:
        """Return the sums of the rows that are not in `other`."""
        values = np.maximum(0.0, self.values - other.values)
        return LossSums(self.curvature.subtract(other.curvature), self.residuals - other.residuals, values)

    def restrict(self, features: NDArray[np.int64]) -> LossSums:
        """Return the sums of the given features."""
        columns = np.concatenate([[0], 1 + features])
        return LossSums(self.curvature.restrict(features), self.residuals[:, columns], self.values)

    def widen(self, n_features: int) -> LossSums:
        """Return the sums with more features, which are zero in all rows and at the center."""
        more = 1 + n_features - self.residuals.shape[1]
        return LossSums(self.curvature.widen(n_features), np.pad(self.residuals, ((0, 0), (0, more))), self.values)

    def to_arrays(self) -> Arrays:
        """Return copies of all sums by name."""
        sums = {f"curvature.{name}": part for name, part in self.curvature.to_arrays().items()}
        return {**sums, **{name: getattr(self, name).copy() for name in LOSS_SCHEMA}}

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> LossSums:
        """Return the sums from the arrays of `to_arrays`, checked."""
        curvature = GroupMoments.from_arrays(with_prefix("curvature.", arrays))
        sizes = {"features": curvature.n_features, "folds": len(curvature.groups)}
        parts = {name: part for name, part in arrays.items() if not name.startswith("curvature.")}
        check_arrays(LOSS_SCHEMA, parts, sizes)
        return cls(curvature, *(np.array(parts[name]) for name in LOSS_SCHEMA))

    def total(self, folds: list[int]) -> tuple[ExactMoments, Floats]:
        """Return curvature and residuals of the given folds together."""
        return self.curvature.total(folds).without_rounding(), self.residuals[folds].sum(axis=0)


@dataclass(frozen=True, slots=True, eq=False)
class LinearizedMoments(Statistic):
    """Class statistics of folds, and the sums of one or more losses at an expansion that the first rows fixed.

    Until the expansion is fixed the rows are kept as they are. From then on the
    memory does not grow. Sums with the same expansion merge, and rows can be
    subtracted from them; `empty_copy` is what another shard starts from.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.moments.linearized import Expansion, LinearizedMoments
    >>> rows, labels = np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 1], np.int8)
    >>> moments = LinearizedMoments.empty(1, n_folds=2).update(rows, labels)
    >>> moments.first.rows.shape, moments.with_expansion(Expansion.zero(1, 1)).first.rows.shape
    ((3, 1), (0, 1))
    """

    folds: FoldMoments
    expansion: Expansion
    losses: tuple[LossSums, ...]
    first: FirstRows
    scores: HeldOutScores  # of candidate scorers, where the solver has any
    fixed: bool = False

    optional_arrays: ClassVar[tuple[str, ...]] = FoldMoments.optional_arrays

    @classmethod
    def empty(cls, n_features: int, n_folds: int = 5, n_losses: int = 1, n_candidates: int = 0) -> LinearizedMoments:
        """Return the statistics of no rows, with no expansion yet."""
        scores = HeldOutScores.empty(n_features, n_folds, n_candidates)
        return cls._start(FoldMoments.empty(n_features, n_folds), Expansion.zero(n_features, n_losses), scores)

    @classmethod
    def _start(
        cls, folds: FoldMoments, expansion: Expansion, scores: HeldOutScores, fixed: bool = False
    ) -> LinearizedMoments:
        width = folds.n_features
        losses = tuple(LossSums.empty(width, folds.n_folds) for _ in expansion.intercepts)
        none = FirstRows(np.empty((0, width)), np.empty(0), np.empty(0, np.int8))
        return cls(folds, expansion, losses, none, scores, fixed)

    def empty_copy(self) -> LinearizedMoments:
        """Return the statistics of no rows with the same expansion."""
        return self._start(self.folds.empty_copy(), self.expansion, self.scores.empty_copy(), self.fixed)

    def numbered_from(self, first_row: int) -> LinearizedMoments:
        """Return the statistics of no rows, where the next row will have this number."""
        return replace(self.empty_copy(), folds=self.folds.numbered_from(first_row))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.folds.n_features

    @property
    def counts(self) -> ClassCounts:
        """Total weight of the rows of each class."""
        return self.folds.counts

    def update(self, rows: Rows, labels: Labels, weight: Floats | None = None) -> LinearizedMoments:
        """Return the statistics of the earlier rows and these; the expansion stays as it is, fixed or not."""
        after = self.with_rows(rows, self.folds.next_folds(labels.size) + labels, weight)
        return replace(after, folds=self.folds.update(rows, labels, weight))

    def with_rows(self, rows: Rows, numbers: Labels, weight: Floats | None, n_jobs: int = 1) -> LinearizedMoments:
        """Return the statistics with rows in the losses, or among those that wait, but not in the class statistics.

        The numbers are 2 * fold + label.
        """
        if not self.fixed:
            return replace(self, first=FirstRows.join([self.first, FirstRows.of(rows, weight, numbers)]))
        fresh = LossSums.all_of(self.expansion, rows, numbers, weight, self.folds.n_folds, n_jobs)
        pairs = zip(self.losses, fresh, strict=True)
        losses = tuple(before.merge(new) for before, new in pairs)
        return replace(self, losses=losses, scores=self.scores.update(rows, numbers, weight))

    def without_rows(self, rows: Rows, numbers: Labels, weight: Floats | None, n_jobs: int = 1) -> LinearizedMoments:
        """Return the statistics with rows taken out of where `with_rows` put them."""
        if not self.fixed:
            return replace(self, first=self.first.without(FirstRows.of(rows, weight, numbers)))
        taken = LossSums.all_of(self.expansion, rows, numbers, weight, self.folds.n_folds, n_jobs)
        losses = tuple(before.subtract(part) for before, part in zip(self.losses, taken, strict=True))
        scores = self.scores.subtract(self.scores.empty_copy().update(rows, numbers, weight))
        return replace(self, losses=losses, scores=scores)

    def with_expansion(
        self, expansion: Expansion, n_jobs: int = 1, scores: HeldOutScores | None = None
    ) -> LinearizedMoments:
        """Return the statistics with the losses of all rows linearized there, once and for all."""
        begun = self._start(self.folds, expansion, self.scores if scores is None else scores, fixed=True)
        return begun.with_rows(self.first.rows, self.first.numbers, self.first.weights, n_jobs)

    def merge(self, other: LinearizedMoments) -> LinearizedMoments:
        """Return the statistics of both sets of rows; a part whose expansion is not fixed takes that of the other."""
        if len(self.losses) != len(other.losses):
            raise IncompatibleMomentsError("statistics of different losses cannot be merged")
        if not self.fixed and other.fixed:
            return self.with_expansion(other.expansion, scores=other.scores.empty_copy()).merge(other)
        folds = self.folds.merge(other.folds)
        if not self.fixed:
            return replace(self, folds=folds, first=FirstRows.join([self.first, other.first]))
        if not other.fixed:
            return replace(self.with_rows(other.first.rows, other.first.numbers, other.first.weights), folds=folds)
        self._check_same_expansion(other)
        pairs = zip(self.losses, other.losses, strict=True)
        losses = tuple(mine.merge(its) for mine, its in pairs)
        return replace(self, folds=folds, losses=losses, scores=self.scores.merge(other.scores))

    def subtract(self, other: LinearizedMoments) -> LinearizedMoments:
        """Return the statistics of the rows that are not in `other`."""
        folds = self.folds.subtract(other.folds)
        if not self.fixed:
            if other.fixed:
                raise IncompatibleMomentsError("cannot take out sums of rows while the rows themselves are still kept")
            return replace(self, folds=folds, first=self.first.without(other.first))
        taken = other if other.fixed else other.with_expansion(self.expansion, scores=self.scores.empty_copy())
        self._check_same_expansion(taken)
        pairs = zip(self.losses, taken.losses, strict=True)
        losses = tuple(mine.subtract(its) for mine, its in pairs)
        return replace(self, folds=folds, losses=losses, scores=self.scores.subtract(taken.scores))

    def restrict(self, features: ArrayLike) -> LinearizedMoments:
        """Return the statistics of the given features only, in the given order."""
        at = np.asarray(features)
        expansion = self.expansion._replace(center=self.expansion.center[at], weights=self.expansion.weights[:, at])
        losses = tuple(loss.restrict(at) for loss in self.losses)
        first = self.first._replace(rows=np.ascontiguousarray(self.first.rows[:, at]))
        scores = self.scores.restrict(at)
        return LinearizedMoments(self.folds.restrict(at), expansion, losses, first, scores, self.fixed)

    def widen(self, n_features: int) -> LinearizedMoments:
        """Return the statistics with more features, which are zero in all rows so far."""
        first = self.first._replace(rows=_padded(self.first.rows, n_features))
        losses = tuple(loss.widen(n_features) for loss in self.losses)
        scores, point = self.scores.widen(n_features), self.expansion
        point = point._replace(center=_padded(point.center, n_features), weights=_padded(point.weights, n_features))
        return LinearizedMoments(self.folds.widen(n_features), point, losses, first, scores, self.fixed)

    def whole(self) -> ClassMoments:
        """Return the class statistics of all rows."""
        return self.folds.whole()

    def mean_difference(self) -> Floats:
        """Return mean of the positive rows - mean of the negative rows."""
        return self.folds.mean_difference()

    def summary(self, weights: Floats) -> ScoreSummary:
        """Return counts, means and variances of the scores of the rows seen."""
        return self.folds.summary(weights)

    def feature_spread(self) -> FeatureSpread:
        """Return the standard deviation of each feature within the classes, pooled over both."""
        return self.folds.feature_spread()

    def to_arrays(self) -> Arrays:
        """Return copies of all sums, the expansion and the rows that wait for one, by name."""
        arrays: Arrays = {FIXED: np.array(self.fixed, np.int64)}
        arrays |= {f"folds.{name}": part for name, part in self.folds.to_arrays().items()}
        arrays |= {f"expansion.{name}": part.copy() for name, part in self.expansion._asdict().items()}
        arrays |= {f"first.{name}": part.copy() for name, part in self.first._asdict().items()}
        arrays |= {f"scores.{name}": part for name, part in self.scores.to_arrays().items()}
        for number, loss in enumerate(self.losses):
            arrays |= {f"loss{number}.{name}": part for name, part in loss.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: NamedArrays) -> LinearizedMoments:
        """Return the statistics from the arrays of `to_arrays`, checked."""
        rest = {name: part for name, part in arrays.items() if not name.startswith(("folds.", "loss", "scores."))}
        sizes = check_arrays(SCHEMA, rest)
        folds = FoldMoments.from_arrays(with_prefix("folds.", arrays))
        names = [f"loss{number}." for number in range(sizes["losses"])]
        losses = tuple(LossSums.from_arrays(with_prefix(name, arrays)) for name in names)
        if any(loss.residuals.shape != (folds.n_folds, 1 + sizes["features"]) for loss in losses):
            raise IncompatibleMomentsError(f"expected losses of {sizes['features']} features in {folds.n_folds} folds")
        expansion = Expansion(*(np.array(arrays[f"expansion.{name}"]) for name in Expansion._fields))
        first = FirstRows(*(np.array(arrays[f"first.{name}"]) for name in FirstRows._fields))
        if folds.n_features != sizes["features"] or (first.numbers >= 2 * folds.n_folds).any():
            raise IncompatibleMomentsError("expected sums and first rows of the same features and folds")
        if (expansion.row_weights[:, WIDTH] <= 0.0).any() or (expansion.row_weights[:, :THRESHOLD] < 0.0).any():
            raise IncompatibleMomentsError("row_weights: expected weights that are not negative, and positive widths")
        scores = HeldOutScores.from_arrays(with_prefix("scores.", arrays))
        if scores.weights.shape[1:] != (folds.n_folds, folds.n_features):
            raise IncompatibleMomentsError(f"scores: expected scorers of {folds.n_folds} folds")
        return cls(folds, expansion, losses, first, scores, bool(arrays[FIXED]))

    def _check_same_expansion(self, other: LinearizedMoments) -> None:
        """Raise unless both have the same expansion."""
        if not self.expansion.is_same(other.expansion):
            raise IncompatibleMomentsError(
                "cannot merge models whose first rows fixed different expansion points; start one from an empty copy "
                "of the other"
            )


def _padded(array: Floats, n_columns: int) -> Floats:
    """Return the array with zeros as further columns."""
    return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, n_columns - array.shape[-1])])
