"""The levels of groups, fitted with the columns of a basis: what is constant in a group is no merit of a column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas
from scipy.sparse import csr_array

from opauc.additive.basis.group_levels import GroupLevels
from opauc.additive.fit import PenalizedFit
from opauc.additive.penalties import Penalties
from opauc.additive.policy import GROUP_POLICY, SMOOTHING_POLICY, GroupPolicy, SmoothingPolicy
from opauc.additive.random_effects import RandomEffectAccumulator, RandomEffectSums, likeliest_lambda
from opauc.additive.smoothing import smooth
from opauc.additive.sums import LabeledRows, LinearizedSums
from opauc.core.logistic import linearize
from opauc.types import Floats, Labels


class GroupMean(NamedTuple):
    """The score of the mean group, and what each level differs from it."""

    mean: float
    levels: Floats


def shrink_levels(
    curvature: Floats, targets: Floats, noise: float, policy: SmoothingPolicy = SMOOTHING_POLICY
) -> GroupMean:
    """Return the mean group, and the levels shrunken to it by their likeliest variance.

    Parameters
    ----------
    curvature, targets : ndarray of shape (n_levels,)
        Sums over the rows of each level of the curvature, and of curvature times the score that each row wants beyond
        its columns.
    noise : float
        Variance of such a target divided by its curvature.
    policy : SmoothingPolicy
        Bounds of the smoothing parameter.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.row_groups.effects import shrink_levels
    >>> found = shrink_levels(np.array([1e6, 1e6]), np.array([1e6, 3e6]), 1.0)
    >>> round(found.mean, 4), found.levels.round(3).tolist()
    (2.0, [-1.0, 1.0])
    """
    has_rows = curvature > 0.0
    own, wanted = curvature[has_rows], targets[has_rows]
    mean, lambda_ = float(wanted.sum()) / max(float(own.sum()), 1e-300), policy.max_lambda
    for _ in range(2 if own.size else 0):
        lambda_ = likeliest_lambda(own, (wanted - own * mean) ** 2, noise, policy)
        weights = lambda_ / (own + lambda_)
        mean = float(weights @ wanted) / max(float(weights @ own), 1e-300)
    return GroupMean(mean, np.where(has_rows, (targets - curvature * mean) / (curvature + lambda_), 0.0))


def estimate_levels(
    places: NDArray[np.int64],
    n_levels: int,
    scores: Floats,
    labels: Labels,
    weight: Floats,
    policy: GroupPolicy = GROUP_POLICY,
    smoothing: SmoothingPolicy = SMOOTHING_POLICY,
) -> GroupMean:
    """Return the mean group and the levels that suit labeled rows with these scores by their columns.

    `places` are the levels of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.row_groups.effects import estimate_levels
    >>> rng = np.random.default_rng(0)
    >>> places, level = rng.integers(0, 20, 20_000), np.linspace(-2.0, 2.0, 20)
    >>> labels = (rng.random(20_000) < 1 / (1 + np.exp(-level[places]))).astype(np.int8)
    >>> found = estimate_levels(places, 20, np.zeros(20_000), labels, np.ones(20_000))
    >>> bool(np.abs(found.levels - level).max() < 0.3)
    True
    """
    mean, levels = 0.0, np.zeros(n_levels)
    for _ in range(policy.level_steps):
        now = mean + levels[places]
        curvature, residual = linearize(scores + now, labels)
        own = _sums_by(places, weight * curvature, n_levels)
        wanted = _sums_by(places, weight * (curvature * now + residual), n_levels)
        noise = float(weight @ residual**2) / max(float(weight @ curvature), 1e-300)
        found = shrink_levels(own, wanted, noise, smoothing)
        moved = max(abs(found.mean - mean), float(np.abs(found.levels - levels).max(initial=0.0)))
        mean, levels = found
        if moved < policy.level_tolerance:
            break
    return GroupMean(mean, levels)


def _sums_by(places: NDArray[np.int64], values: Floats, n_places: int) -> Floats:
    return np.bincount(places, values, n_places).astype(np.float64)


def without_levels(sums: LinearizedSums, levels: RandomEffectSums, penalty: float) -> LinearizedSums:
    """Return the sums of the columns in which each group has a level of its own, nearly unpenalized."""
    diagonal = levels.curvature + penalty
    scaled = levels.products / np.sqrt(diagonal)[:, None]
    gram = sums.gram - np.tril(blas.dsyrk(1.0, scaled.T, lower=1))
    return replace(sums, gram=gram, rhs=sums.rhs - levels.products.T @ (levels.rhs / diagonal))


@dataclass(frozen=True, eq=False)
class GroupedFit:
    """The groups of the rows of a sample, all of which have a level, and the fit of columns together with their levels.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.additive.basis.group_levels import GroupLevels
    >>> from opauc.additive.row_groups.effects import GroupedFit
    >>> numbers = np.array([3.0, 3.0, 8.0, 8.0])
    >>> levels = GroupLevels.of(numbers, n_columns=1)
    >>> GroupedFit(levels, levels.places(numbers)).places.tolist()
    [0, 0, 1, 1]
    """

    levels: GroupLevels
    places: NDArray[np.int64]
    policy: GroupPolicy = GROUP_POLICY

    def refine(
        self,
        rows: csr_array,
        labels: Labels,
        weight: Floats,
        penalties: Penalties,
        fit: PenalizedFit,
        smoothing: SmoothingPolicy = SMOOTHING_POLICY,
    ) -> PenalizedFit:
        """Return the fit of the columns of rows together with a level of each group, from the fit without.

        The scores are those by columns and levels.
        """
        weights, lambdas, indicators = fit.weights.copy(), fit.lambdas, self.levels.indicators(self.places)
        for step in range(self.policy.refine_steps + 1):
            by_columns = rows @ weights
            found = estimate_levels(
                self.places, self.levels.size, by_columns, labels, weight, self.policy, smoothing
            )  # fmt: skip
            weights[0] += found.mean
            offset = found.levels[self.places]
            if step == self.policy.refine_steps:
                break
            batch = LabeledRows(rows, labels, weight, offset)
            sums = LinearizedSums.at(weights).update_all([batch])
            accumulator = RandomEffectAccumulator(RandomEffectSums.empty(self.levels.size, weights.size), weights)
            accumulator.add(batch, indicators, weight)
            own = without_levels(sums, accumulator.finish(), self.policy.level_penalty)
            solved = smooth(own.gram, own.rhs, penalties, lambdas, 1, smoothing.in_float64())
            weights, lambdas = solved.weights.copy(), solved.lambdas
        return PenalizedFit(weights, lambdas, by_columns + found.mean + offset)
