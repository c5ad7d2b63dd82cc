"""The logistic loss from sums of one pass: rows are linearized once, the penalty is chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.logistic import linearize
from opauc.core.parameters import SWITCH, Count, Numbers, Option, Threads, parameter
from opauc.core.solver import GroupedSolver
from opauc.errors import IncompatibleMomentsError, UnsupportedOperationError
from opauc.linear.exact import Exact
from opauc.linear.exact_cv import GRID, PenaltySelector, Selection
from opauc.linear.moments.classes import ClassMoments
from opauc.linear.moments.exact import ExactMoments
from opauc.linear.moments.folds import MAX_FOLDS, FoldMoments
from opauc.linear.moments.linearized import NEGATIVE, POSITIVE, Expansion, FirstRows, LinearizedMoments, LossSums
from opauc.linear.ridge import solve_ridge
from opauc.types import Floats, GroupKeys, Labels, Rows

# The losses of single rows, by the values of the parameter `loss`.
LOGISTIC, BALANCED = "logistic", "balanced_logistic"


@dataclass(frozen=True)
class ExpansionPolicy:
    """When the first rows are enough to fix an expansion, and how it is found from them."""

    rarer_share: float = 1 / 16  # of `init_size`: so many rows of the rarer class are waited for, ...
    max_growth: int = 8  # ... but no more than this multiple of `init_size` rows ...
    max_bytes: int = 2**27  # ... and no more than these bytes
    # Times that the penalty is chosen: at zero weights, where every curvature is 1/4 and it comes out up to a thousand
    # times too large (experiments/partial_auc.py, covtype), and at the minimizer for that one, ...
    looks: int = 2
    min_curvature: float = 0.25  # ... if the next one leaves so much per row of the rarer class; less is separation
    max_steps: int = 10  # Newton steps after each; each costs a Gram matrix of the first rows
    min_step: float = 0.03  # shortest share of a step that is tried, for the penalized loss to fall
    rows_per_feature: float = 10.0  # of the rarer class; with fewer the penalty is one standard error larger
    min_gain: float = 1e-4  # share of the penalized loss by which a step must lower it for another to follow


EXPANSION_POLICY = ExpansionPolicy()


class Minimizers(NamedTuple):
    """The minimizer of one penalized loss for each penalty: weights, and steps of the intercept at the center."""

    weights: Floats  # (penalties, d)
    steps: Floats  # (penalties, d): less the weights of the expansion
    intercept_steps: Floats  # (penalties,)


@dataclass(frozen=True)
class Logistic(GroupedSolver[LinearizedMoments], PenaltySelector[LinearizedMoments]):
    """Minimizer of the mean logistic loss plus alpha/2 |w|^2, linearized, with alpha chosen by cross-validation.

    The first rows are kept until there are enough to minimize the loss on them
    alone. Every row, the first ones too, is then replaced by the quadratic that
    touches its loss at that minimizer, and the quadratics are added up: one
    Newton step from there uses all rows. On the wrong side of zero the curvature
    is that of the secant, as in `opauc.core.logistic.linearize`. The state is a
    `LinearizedMoments`.

    Parameters
    ----------
    loss : {"logistic", "balanced_logistic"}, default="logistic"
        Whether every row weighs the same, or both classes do in total. The
        weights of the classes are those among the first rows.
    alphas : tuple of float or None, default=None
        Penalties to choose from; None for 13 penalties relative to the mean
        curvature.
    cv : int, default=5
        Number of folds.
    one_standard_error : bool, default=False
        Whether to take the largest alpha within one standard error of the best.
    standardize : bool, default=True
        Whether the penalty acts on features of unit variance, as in `Exact`.
    init_size : int, default=16384
        Rows that are kept before the expansion is fixed, and more while the
        rarer class has less than a sixteenth of them.
    n_jobs : int, default=1
        Number of threads that sum the statistics.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.logistic import Logistic
    >>> rng = np.random.default_rng(0)
    >>> labels = (np.arange(600) % 2).astype(np.int8)
    >>> rows = rng.normal(size=(600, 2)) + np.outer(labels, [1.0, 0.0])
    >>> solver = Logistic(init_size=100)
    >>> state = solver.step(solver.start(2), rows, labels)
    >>> state.fixed, np.round(solver.weights(state), 1).tolist()
    (True, [0.9, 0.1])
    """

    name: ClassVar[str] = "logistic"

    keeps_covariances: ClassVar[bool] = True
    numbers_rows: ClassVar[bool] = True
    shards_refusal: ClassVar[str] = (
        "each shard would fix an expansion point of its own: loss='logistic' takes rows in one stream, or models that "
        "begin as empty copies of one"
    )
    # Losses whose sums are kept.
    n_losses: ClassVar[int] = 1

    loss: str = parameter(LOGISTIC, Option((LOGISTIC, BALANCED)))
    alphas: tuple[float, ...] | None = parameter(None, Numbers(low=0.0))
    cv: int = parameter(5, Count(2, MAX_FOLDS))
    one_standard_error: bool = parameter(False, SWITCH)
    standardize: bool = parameter(True, SWITCH)
    init_size: int = parameter(16_384, Count(2))
    n_jobs: int = parameter(1, Threads())

    @property
    def n_covariances(self) -> int:
        """Number of covariance matrices in the state: in each fold one per class and one per loss."""
        return (2 + self.n_losses) * self.cv

    @property
    def order_matters(self) -> bool:
        """Whether the order of rows matters: it decides their folds and the expansion."""
        return True

    @property
    def shards_merge(self) -> bool:
        """Whether shards merge: not while each would fix its own expansion."""
        return False

    @property
    def _exact(self) -> Exact:
        """The solver that knows the scale of the features."""
        return Exact(standardize=self.standardize)

    def start(self, n_features: int) -> LinearizedMoments:
        """Return statistics of no rows."""
        return LinearizedMoments.empty(n_features, self.cv, self.n_losses)

    def step(
        self, state: LinearizedMoments, rows: Rows, labels: Labels, weight: Floats | None = None
    ) -> LinearizedMoments:
        """Return the statistics of the earlier rows and these."""
        return self._add(state, rows, labels, None, weight)

    def step_groups(
        self, state: LinearizedMoments, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None
    ) -> LinearizedMoments:
        """Return the statistics of the earlier rows and these; rows of one group are in one fold."""
        return self._add(state, rows, labels, groups, weight)

    def forget(
        self,
        state: LinearizedMoments,
        rows: Rows,
        labels: Labels,
        weight: Floats | None = None,
        row_numbers: ArrayLike | None = None,
    ) -> LinearizedMoments:
        """Return the statistics without these rows, with these row numbers (from 0); the expansion stays."""
        if row_numbers is None:
            needed = "groups" if state.folds.grouped else "row_numbers"
            raise ValueError(f"forget needs {needed} where rows are in folds")
        folds = state.folds.forget(rows, labels, row_numbers, weight)
        return self._without(state, rows, state.folds.folds_of(labels.size, row_numbers) + labels, weight, folds)

    def forget_groups(
        self, state: LinearizedMoments, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None
    ) -> LinearizedMoments:
        """Return the statistics without these rows of these groups."""
        folds = state.folds.forget_groups(rows, labels, groups, weight)
        return self._without(state, rows, state.folds.folds_of(labels.size, None, groups) + labels, weight, folds)

    def empty_copy(self, state: LinearizedMoments) -> LinearizedMoments:
        """Return the state of no rows with the expansion of this one, which the rows so far fix if it is not fixed."""
        if not state.counts.both:
            raise UnsupportedOperationError("an empty copy needs the expansion point that rows of both classes fix")
        return self.fix(state).empty_copy()

    def weights(self, state: LinearizedMoments) -> Floats:
        """Return the minimizer for the chosen alpha; zero before both classes were seen."""
        if not state.counts.both:
            return np.zeros(state.n_features)
        fixed = self.fix(state)
        weights: Floats = self._minimize(fixed, 0, [self.selection(fixed).alpha])[0]
        return weights

    def path(self, state: LinearizedMoments, alphas: Sequence[float]) -> Floats:
        """Return the minimizer on all rows for each alpha, one per row."""
        if not state.counts.both or not len(alphas):
            return np.zeros((len(alphas), state.n_features))
        return self._minimize(self.fix(state), 0, alphas)

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return the number of rows whose processing costs about as much as solving for the weights."""
        return max(40 * n_features, self.init_size)

    def chosen_settings(self, state: LinearizedMoments) -> dict[str, float]:
        """Return the chosen alpha."""
        return {"alpha": self.selection(state).alpha}

    def selection(self, state: LinearizedMoments) -> Selection:
        """Return the held-out loss of the penalties, negated, and the chosen one."""
        fixed = self.fix(state)
        return self.select(fixed.losses[0], fixed.folds, fixed.expansion, 0, self._scale(fixed.whole()))

    def fix(self, state: LinearizedMoments) -> LinearizedMoments:
        """Return the state with the expansion that the rows so far give, unless one is fixed already."""
        return state if state.fixed else state.with_expansion(self.expand(state.first), self.n_jobs)

    def expand(self, first: FirstRows) -> Expansion:
        """Return the minimizer of the loss of the first rows, where all rows are then linearized."""
        return self.minimize_on(first, self._start_expansion(first), 0)

    def select(self, sums: LossSums, folds: FoldMoments, point: Expansion, loss: int, scale: Floats) -> Selection:
        """Return the held-out values of one loss, negated, for each penalty, and the chosen one."""
        counts = np.array([sum(folds.fold(k).counts) for k in range(folds.n_folds)])
        everywhere = list(range(counts.size))
        penalties = self._alphas(sums.total(everywhere)[0], counts.sum(), scale)
        columns = []
        for fold in np.flatnonzero((counts > 0.0) & (counts < counts.sum())).tolist():
            others = [k for k in everywhere if k != fold]
            found = _minimizers(*sums.total(others), counts[others].sum(), point, loss, scale, penalties)
            columns.append(-_loss_after(*sums.total([fold]), sums.values[fold], point, found) / counts[fold])
        scores = np.array(columns).T.reshape(len(penalties), len(columns))
        return Selection.of(np.array(penalties), scores, self.one_standard_error, "log_loss")

    def minimize_on(
        self, first: FirstRows, start: Expansion, loss: int, policy: ExpansionPolicy = EXPANSION_POLICY
    ) -> Expansion:
        """Return the expansion at the minimizer of one penalized loss of the first rows, by Newton steps.

        The penalty is chosen at zero weights, where no row has had a say yet, and
        again at the minimizer for it; where rows are few, as the largest within one
        standard error of the best. Weights that separate the first rows would leave
        most later rows without curvature, and one step from there can end anywhere:
        such a second minimizer is not taken.
        """
        labels = first.numbers % 2
        classes = ClassMoments.of(first.rows, labels, first.weights)
        if not classes.counts.both:
            return start
        scale, point = self._scale(classes), start
        folds = FoldMoments.empty(scale.size, self.cv).with_numbers(first.rows, first.numbers, first.weights)
        few = min(np.bincount(labels)) < policy.rows_per_feature * scale.size
        for look in range(policy.looks):
            sums = LossSums.of(point, loss, first.rows, first.numbers, first.weights, self.cv, self.n_jobs)
            chosen = self.select(sums, folds, point, loss, scale)
            alpha = float(chosen.alphas[chosen.within_one_error()]) if few else chosen.alpha
            after = self._descend(first, point, loss, scale, alpha, policy)
            if look and _curvature_left(first, after, loss) < policy.min_curvature:
                break
            point = after
        return point

    def _descend(
        self, first: FirstRows, start: Expansion, loss: int, scale: Floats, alpha: float, policy: ExpansionPolicy
    ) -> Expansion:
        """Return the expansion at the minimizer of one loss of the first rows for a penalty."""
        labels, point, total = first.numbers % 2, start, float(first.weights.sum())
        weight = first.weights * start.weights_of_rows(loss, start.scores(first.rows), labels)

        def value(at: Expansion) -> float:
            scores = at.scores(first.rows)[:, loss]
            penalty = 0.5 * alpha * total * float(np.sum((at.weights[loss] * scale) ** 2))
            return penalty + float(weight @ np.logaddexp(0.0, np.where(labels == 1, -scores, scores)))

        for _ in range(policy.max_steps):
            sums = LossSums.of(point, loss, first.rows, first.numbers, first.weights, self.cv, self.n_jobs)
            found = _minimizers(*sums.total(list(range(self.cv))), total, point, loss, scale, [alpha])
            before, length = value(point), 1.0
            while (after := value(_moved(point, loss, found, length))) > before:
                length /= 2.0
                if length < policy.min_step:
                    return point
            point = _moved(point, loss, found, length)
            if before - after < policy.min_gain * before:
                break
        return point

    def _start_expansion(self, first: FirstRows) -> Expansion:
        """Return the expansion at zero weights about the mean of the first rows."""
        zero, labels = Expansion.zero(first.rows.shape[1], self.n_losses), first.numbers % 2
        if not labels.size:
            return zero
        center = np.average(first.rows, axis=0, weights=first.weights)
        counts = np.bincount(labels, first.weights, minlength=2)
        if self.loss == BALANCED and counts.all():
            zero.row_weights[:, [NEGATIVE, POSITIVE]] = counts.sum() / (2.0 * counts)
        return zero._replace(center=center)

    def _add(
        self,
        state: LinearizedMoments,
        rows: Rows,
        labels: Labels,
        groups: GroupKeys | None,
        weight: Floats | None,
        policy: ExpansionPolicy = EXPANSION_POLICY,
    ) -> LinearizedMoments:
        """Return the state with rows added; where there are enough of them, the expansion is fixed on the way."""
        self._check_state(state)
        numbers = state.folds.next_folds(labels.size, groups) + labels
        folds = state.folds.update(rows, labels, weight, groups=groups, n_jobs=self.n_jobs)
        start = 0
        if not state.fixed:
            start, is_enough = self._rows_to_keep(state, labels, policy)
            part = rows if start == labels.size else rows[:start]
            state = state.with_rows(part, numbers[:start], None if weight is None else weight[:start])
            if is_enough:
                state = self.fix(state)
        if start < labels.size:
            part = rows if start == 0 else rows[start:]
            state = state.with_rows(part, numbers[start:], None if weight is None else weight[start:], self.n_jobs)
        return replace(state, folds=folds)

    def _rows_to_keep(self, state: LinearizedMoments, labels: Labels, policy: ExpansionPolicy) -> tuple[int, bool]:
        """Return how many of the rows are kept before the expansion is fixed, and whether it is fixed then."""
        most = min(policy.max_growth * self.init_size, policy.max_bytes // (8 * max(1, state.n_features)))
        earlier = np.bincount(state.first.numbers % 2, minlength=2)
        positives = earlier[1] + np.cumsum(labels)
        rows = earlier.sum() + np.arange(1, labels.size + 1)
        rarer = np.minimum(positives, rows - positives)
        enough = (rows >= self.init_size) & (rarer >= policy.rarer_share * self.init_size) | (rows >= max(2, most))
        return (int(enough.argmax()) + 1, True) if enough.any() else (labels.size, False)

    def _without(
        self, state: LinearizedMoments, rows: Rows, numbers: Labels, weight: Floats | None, folds: FoldMoments
    ) -> LinearizedMoments:
        """Return the state without rows whose numbers are known; `folds` are the class statistics without them."""
        return replace(state.without_rows(rows, numbers, weight, self.n_jobs), folds=folds)

    def minimize_folds(
        self, state: LinearizedMoments, folds: list[int], loss: int, scale: Floats, alpha: float
    ) -> Floats:
        """Return the minimizer of one loss of the rows of some folds."""
        total = sum(sum(state.folds.fold(k).counts) for k in folds)
        found = _minimizers(*state.losses[loss].total(folds), total, state.expansion, loss, scale, [alpha])
        weights: Floats = found.weights[0]
        return weights

    def _minimize(self, state: LinearizedMoments, loss: int, alphas: Sequence[float]) -> Floats:
        """Return the minimizer of one loss of all rows for each alpha, one per row."""
        total = sum(state.counts)
        sums = state.losses[loss].total(list(range(self.cv)))
        return _minimizers(*sums, total, state.expansion, loss, self._scale(state.whole()), alphas).weights

    def _scale(self, classes: ClassMoments) -> Floats:
        """Return the scale of each feature."""
        return self._exact.scale(classes)

    def _alphas(self, curvature: ExactMoments, count: float, scale: Floats) -> list[float]:
        """Return the penalties to choose from."""
        if self.alphas is not None:
            return list(self.alphas)
        spread = np.diagonal(curvature.scatter) / scale**2
        varies = spread > 0.0  # features that turn up later must not change the penalties of the first rows
        penalties: list[float] = (GRID * (float(spread[varies].mean()) / count if varies.any() else 1.0)).tolist()
        return penalties

    def _check_state(self, state: LinearizedMoments) -> None:
        """Raise where the state has other folds or losses than this solver."""
        if state.folds.n_folds != self.cv:
            raise ValueError(f"cv was {state.folds.n_folds} at the start, now it is {self.cv}")
        if len(state.losses) != self.n_losses:
            raise IncompatibleMomentsError(f"expected sums of {self.n_losses} losses, got {len(state.losses)}")


def _minimizers(
    curvature: ExactMoments,
    residuals: Floats,
    count: float,
    point: Expansion,
    loss: int,
    scale: Floats,
    alphas: Sequence[float],
) -> Minimizers:
    """Return the minimizer of the mean of the quadratics of rows plus alpha/2 |scale * w|^2 for each alpha.

    The intercept has no penalty. About the mean of the rows weighted by their
    curvature it does not depend on the weights.
    """
    away = curvature.mean - point.center
    matrix = curvature.scatter / count
    matrix /= scale
    matrix /= scale[:, None]
    start = point.weights[loss] * scale
    right = (residuals[1:] - residuals[0] * away) / (count * scale)
    weights = solve_ridge(matrix, right + matrix @ start, alphas) / scale
    steps = weights - point.weights[loss]
    level = residuals[0] / curvature.count if curvature.count else 0.0
    return Minimizers(weights, steps, level - steps @ away)


def _loss_after(
    curvature: ExactMoments, residuals: Floats, value: float, point: Expansion, found: Minimizers
) -> Floats:
    """Return the sum of the quadratics of rows at each minimizer."""
    steps, level = found.steps, found.intercept_steps + found.steps @ (curvature.mean - point.center)
    spread = np.einsum("ij,ij->i", steps @ curvature.scatter, steps)
    slope = residuals[0] * found.intercept_steps + steps @ residuals[1:]
    after: Floats = value - slope + 0.5 * (curvature.count * level**2 + spread)
    return after


def _curvature_left(first: FirstRows, point: Expansion, loss: int) -> float:
    """Return the curvature of one loss of the first rows at a point, per row of the rarer class, as weighted."""
    scores, labels = point.scores(first.rows), first.numbers % 2
    weight = first.weights * point.weights_of_rows(loss, scores, labels)
    return float(weight @ linearize(scores[:, loss], labels)[0] / np.bincount(labels, weight).min())


def _moved(point: Expansion, loss: int, found: Minimizers, length: float) -> Expansion:
    """Return the expansion with one loss moved along the step to the first minimizer."""
    weights, intercepts = point.weights.copy(), point.intercepts.copy()
    weights[loss] += length * found.steps[0]
    intercepts[loss] += length * found.intercept_steps[0]
    return point._replace(weights=weights, intercepts=intercepts)
