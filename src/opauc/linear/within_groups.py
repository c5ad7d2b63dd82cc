"""The exact minimizer of the square pair loss within groups: of pairs of rows of one query, user or site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from opauc.core.mergeable import LabeledSums
from opauc.core.parameters import NON_NEGATIVE, SWITCH, Count, Option, Threads, parameter
from opauc.core.solver import GroupedSolver
from opauc.errors import UnsupportedOperationError
from opauc.linear.exact import Exact
from opauc.linear.moments.within_groups import EQUAL, WEIGHTS, WithinGroupMoments
from opauc.linear.ridge import solve_ridge
from opauc.types import Floats, GroupKeys, Labels, Rows


@dataclass(frozen=True)
class WithinGroups(GroupedSolver[WithinGroupMoments]):
    """Exact minimizer of alpha/2 |w|^2 + weighted mean over groups of the mean pair loss within the group.

    With S_g the sum of the class covariances of a group, d_g the difference of
    its class means and a_g its weight, the minimizer is

        w = (alpha I + sum of a_g (S_g + d_g d_g^T) / sum of a_g)^-1 sum of a_g d_g / sum of a_g.

    Groups of one class have no pairs. Rows without groups are one group. The state is a `WithinGroupMoments`.

    Parameters
    ----------
    alpha : float, default=1e-4
        Strength of the L2 penalty.
    group_weight : {"equal", "pairs", "rows"}, default="equal"
        Weight of a group: one, the product of the weights of its classes, or the weight of its rows.
    max_gap : int, default=10000
        Rows of other groups that may come between two rows of a group.
    standardize : bool, default=True
        Whether the penalty acts on features of unit variance, as in `Exact`.
    n_jobs : int, default=1
        Number of threads that sum the statistics of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.within_groups import WithinGroups
    >>> rows, labels = np.array([[1.0], [2.0], [9.0], [8.0]]), np.array([0, 1, 0, 1], np.int8)
    >>> solver = WithinGroups(alpha=0.0)
    >>> state = solver.step_groups(solver.start(1), rows, labels, np.array([1, 1, 2, 2], np.uint64))
    >>> solver.weights(state).tolist()  # one group wants 1, the other -1
    [0.0]
    """

    name: ClassVar[str] = "within_groups"

    keeps_covariances: ClassVar[bool] = True
    shards_refusal: ClassVar[str] = "rows of one group may lie in two shards; pairs='within_groups' takes one stream"

    alpha: float = parameter(1e-4, NON_NEGATIVE)
    group_weight: str = parameter(EQUAL, Option(WEIGHTS))
    max_gap: int = parameter(10_000, Count(0))
    standardize: bool = parameter(True, SWITCH)
    n_jobs: int = parameter(1, Threads())

    @property
    def n_covariances(self) -> int:
        """Number of covariance matrices in the state: one per class, and one of the pairs."""
        return 3

    @property
    def order_matters(self) -> bool:
        """Whether the order of rows matters: the gaps between the rows of a group decide whether it is one."""
        return True

    @property
    def shards_merge(self) -> bool:
        """Whether shards merge: not where they might be cut within a group."""
        return False

    def convert(self, state: LabeledSums) -> WithinGroupMoments:
        """Return the statistics with the gap and the weights of this solver, which must be those of its groups."""
        assert isinstance(state, WithinGroupMoments), "this solver has no other"
        if state.moments.counts != (0.0, 0.0) and state.group_weight != self.group_weight:
            raise ValueError(f"group_weight was {state.group_weight!r} at the start, now it is {self.group_weight!r}")
        return replace(state, max_gap=self.max_gap, group_weight=self.group_weight)

    def start(self, n_features: int) -> WithinGroupMoments:
        """Return statistics of no rows."""
        return WithinGroupMoments.empty(n_features, self.max_gap, self.group_weight)

    def step(
        self, state: WithinGroupMoments, rows: Rows, labels: Labels, weight: Floats | None = None
    ) -> WithinGroupMoments:
        """Return the statistics of the earlier rows and these, all of one group."""
        return state.update(rows, labels, weight, n_jobs=self.n_jobs)

    def step_groups(
        self, state: WithinGroupMoments, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None
    ) -> WithinGroupMoments:
        """Return the statistics of the earlier rows and these."""
        return state.update(rows, labels, weight, groups=groups, n_jobs=self.n_jobs)

    def forget(self, *_: object, **__: object) -> WithinGroupMoments:
        """Raise: rows are removed with their groups."""
        raise UnsupportedOperationError("forget needs groups where pairs are within groups")

    def forget_groups(
        self, state: WithinGroupMoments, rows: Rows, labels: Labels, groups: GroupKeys, weight: Floats | None = None
    ) -> WithinGroupMoments:
        """Return the statistics without these rows: any of groups still open, all of complete ones."""
        return state.forget_groups(rows, labels, groups, weight, self.n_jobs)

    def weights(self, state: WithinGroupMoments) -> Floats:
        """Return the minimizer; zero without a group of both classes."""
        weights: Floats = self.path(state, [self.alpha])[0]
        return weights

    def path(self, state: WithinGroupMoments, alphas: Sequence[float]) -> Floats:
        """Return the minimizer for each alpha, one per row."""
        sums, scale = state.pair_sums(), Exact(standardize=self.standardize).scale(state.moments)
        if not sums.ranked or not len(alphas):
            return np.zeros((len(alphas), state.n_features))
        matrix = sums.scatter / (sums.weight * np.outer(scale, scale))
        return solve_ridge(matrix, sums.difference / (sums.weight * scale), alphas) / scale

    def rows_worth_a_solve(self, n_features: int) -> int:
        """Return the number of rows whose processing costs about as much as solving for the weights."""
        return 4 * n_features
