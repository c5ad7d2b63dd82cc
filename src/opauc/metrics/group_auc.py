"""The mean AUC within groups of rows, such as those of one query or one user, from rows and from streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.core.group_keys import group_keys
from opauc.errors import Parameter, ParameterError, unknown_name
from opauc.metrics.exact_auc import Counts, check_scores
from opauc.metrics.influence import Influence, Part
from opauc.metrics.intervals import AucDifference
from opauc.types import Floats, GroupKeys

WEIGHTS = ("equal", "rows", "positives", "pairs")


class GroupAucInterval(NamedTuple):
    """The mean AUC within groups, its confidence limits and its standard error, and the groups.

    Groups of which all rows are of one class have no AUC: they are counted, and left out.

    Attributes
    ----------
    value : float
        The mean AUC within groups.
    low, high : float
        Its confidence limits, at the level asked for: by default 95 %.
    standard_error : float
        Its standard error.
    n_groups : int
        Groups with rows of both classes.
    n_one_class : int
        Groups with rows of one class, which are left out.

    Examples
    --------
    >>> from opauc.metrics import GroupAuc
    >>> found = GroupAuc().interval([0, 1, 0, 1, 1], [0.1, 0.4, 0.9, 0.8, 0.3], ["a", "a", "b", "b", "c"])
    >>> found.value, found.n_groups, found.n_one_class
    (0.5, 2, 1)
    """

    value: float
    low: float
    high: float
    standard_error: float
    n_groups: int  # with rows of both classes
    n_one_class: int  # groups with rows of one class


@dataclass(frozen=True, slots=True)
class GroupAuc:
    """Mean of the AUCs within groups of rows: how well scores rank the rows of one group, whatever its base rate.

    Groups with rows of one class only are left out. The interval and the test treat groups as a random sample of
    groups: rows of one group need not be independent.

    Parameters
    ----------
    weight : {"equal", "rows", "positives", "pairs"}, default="equal"
        How much a group counts: all the same, or by its rows, its positives, or its pairs of a positive and a negative.

    Raises
    ------
    ParameterError
        If `weight` is unknown, or no group has rows of both classes.

    Examples
    --------
    >>> from opauc.metrics import GroupAuc
    >>> labels, scores = [0, 1, 1, 0, 0, 1, 1], [0.1, 0.2, 0.3, 0.9, 0.7, 0.8, 0.6]
    >>> users = ["ann", "ann", "ann", "bob", "bob", "bob", "eve"]
    >>> GroupAuc()(labels, scores, users), round(GroupAuc("rows")(labels, scores, users), 4)
    (0.75, 0.75)
    """

    weight: str = "equal"

    def __post_init__(self) -> None:
        if self.weight not in WEIGHTS:
            raise ParameterError(Parameter("weight"), f": {unknown_name('weight', self.weight, WEIGHTS)}")

    @property
    def name(self) -> str:
        """The name, such as "group_auc" or "group_auc_rows"."""
        return "group_auc" + ("" if self.weight == "equal" else f"_{self.weight}")

    def __call__(self, labels: ArrayLike, scores: ArrayLike, groups: ArrayLike) -> float:
        """Return the mean AUC within groups; labels of 0 and 1 or booleans, a group for each row."""
        return self.of_groups(_aucs_of_rows(labels, scores, groups))

    def of_groups(self, aucs: AucsByGroup) -> float:
        """Return the mean of the AUCs of groups.

        Parameters
        ----------
        aucs : AucsByGroup
            The AUC and the row counts of each group.

        Returns
        -------
        auc : float
            The weighted mean.

        Raises
        ------
        ParameterError
            If no group has rows of both classes.
        """
        weights = self.weights_of(aucs)
        return float(np.dot(weights, aucs.aucs) / weights.sum())

    def interval(
        self, labels: ArrayLike, scores: ArrayLike, groups: ArrayLike, level: float = 0.95
    ) -> GroupAucInterval:
        """Return the mean AUC within groups with its confidence interval.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Labels of 0 and 1, or booleans.
        scores : array-like of shape (n_rows,)
            Scores, the higher the more positive; none is NaN.
        groups : array-like of shape (n_rows,)
            The group of each row, such as a query or a user.
        level : float, default=0.95
            The level of the interval.

        Returns
        -------
        interval : GroupAucInterval
            The mean, its limits and its standard error, and the numbers of groups.

        Raises
        ------
        ParameterError
            If no group has rows of both classes.
        """
        return self.interval_of_groups(_aucs_of_rows(labels, scores, groups), level)

    def interval_of_groups(self, aucs: AucsByGroup, level: float = 0.95) -> GroupAucInterval:
        """Return the mean of the AUCs of groups with its confidence interval.

        Parameters
        ----------
        aucs : AucsByGroup
            The AUC and the row counts of each group.
        level : float, default=0.95
            The level of the interval.

        Returns
        -------
        interval : GroupAucInterval
            The mean, its limits and its standard error, and the numbers of groups.

        Raises
        ------
        ParameterError
            If no group has rows of both classes.
        """
        interval = influence_of_groups(self, aucs).interval(level, [np.arange(aucs.aucs.size)])
        return GroupAucInterval(*interval, aucs.aucs.size, aucs.n_one_class)

    def compare(self, labels: ArrayLike, first: ArrayLike, second: ArrayLike, groups: ArrayLike) -> AucDifference:
        """Return the mean AUC within groups of the first scorer minus that of the second, with a paired test.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Labels of 0 and 1, or booleans.
        first, second : array-like of shape (n_rows,)
            The scores of two scorers for the same rows.
        groups : array-like of shape (n_rows,)
            The group of each row, such as a query or a user.

        Returns
        -------
        difference : AucDifference
            The difference, its standard error, and the p-value of no difference.

        Raises
        ------
        ParameterError
            If no group has rows of both classes.
        """
        one, two = (_aucs_of_rows(labels, scores, groups) for scores in (first, second))
        return influence_of_groups(self, one).compare(influence_of_groups(self, two), [np.arange(one.aucs.size)])

    def weights_of(self, aucs: AucsByGroup) -> Floats:
        """Return how much each group counts; raise where there is none.

        Parameters
        ----------
        aucs : AucsByGroup
            The AUC and the row counts of each group.

        Returns
        -------
        weights : ndarray of shape (n_groups,)
            The weight of each group.

        Raises
        ------
        ParameterError
            If no group has rows of both classes.
        """
        if not aucs.aucs.size:
            raise ParameterError(
                Parameter("groups"), f": none of the {aucs.n_one_class:,} groups has rows of both classes"
            )
        negatives, positives = aucs.negatives.astype(np.float64), aucs.positives.astype(np.float64)
        if self.weight == "equal":
            return np.ones(aucs.aucs.size)
        return {"rows": negatives + positives, "positives": positives, "pairs": negatives * positives}[self.weight]


class AucsByGroup(NamedTuple):
    """AUC and row counts of the groups with rows of both classes.

    Attributes
    ----------
    keys : ndarray of shape (n_groups,)
        The hash of each group.
    aucs : ndarray of shape (n_groups,)
        The AUC within each group.
    negatives, positives : ndarray of shape (n_groups,)
        The rows of each class.
    n_one_class : int
        Groups with rows of one class, which are left out.
    """

    keys: GroupKeys
    aucs: Floats
    negatives: Counts
    positives: Counts
    n_one_class: int


def influence_of_groups(metric: GroupAuc, aucs: AucsByGroup) -> Influence:
    """Return what leaving out each group changes (the jackknife), which heavy groups change more than linearly.

    The number of trials is that of groups of equal weight with the same variance.
    """
    weights, n_groups = metric.weights_of(aucs), aucs.aucs.size
    value, total = metric.of_groups(aucs), float(weights.sum())
    others = np.maximum(total - weights, total * 1e-12)
    values = weights * (aucs.aucs - value) / others * (n_groups - 1) / n_groups
    return Influence(value, [Part(values, np.ones(n_groups))], total**2 / float(np.dot(weights, weights)))


def _aucs_of_rows(labels: ArrayLike, scores: ArrayLike, groups: ArrayLike) -> AucsByGroup:
    positive, score = check_scores(labels, scores)
    rows = np.stack([~positive, positive], axis=1).astype(np.int64)
    keys, _, counts = join_entries(group_keys(groups, score.size), score, rows)
    return aucs_by_group(keys, counts)


def join_entries(keys: GroupKeys, scores: Floats, class_counts: Counts) -> tuple[GroupKeys, Floats, Counts]:
    """Return entries by group and rising score, those of equal group and score joined."""
    if not keys.size:
        return keys, scores, class_counts
    order = np.lexsort((scores, keys))
    keys, scores = keys[order], scores[order]
    firsts = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]) | (scores[1:] != scores[:-1])))
    return keys[firsts], scores[firsts], np.add.reduceat(class_counts[order], firsts, axis=0)


def aucs_by_group(keys: GroupKeys, class_counts: Counts) -> AucsByGroup:
    """Return the AUC of each group from its entries, which are in order of group and score."""
    if not keys.size:
        return AucsByGroup(keys, np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64), 0)
    firsts: NDArray[np.intp] = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    negative, positive = class_counts.T
    below = np.cumsum(negative) - negative
    groups = np.repeat(np.arange(firsts.size), np.diff(np.append(firsts, keys.size)))
    # Twice the number of negatives of the same group that a positive of the entry outscores, ties counting half.
    beaten = 2 * (below - below[firsts][groups]) + negative
    negatives, positives = np.add.reduceat(negative, firsts), np.add.reduceat(positive, firsts)
    wins = np.add.reduceat(positive.astype(np.float64) * beaten, firsts)
    both = (negatives > 0) & (positives > 0)
    negatives, positives = negatives[both], positives[both]
    aucs = wins[both] / (2.0 * negatives.astype(np.float64) * positives)
    return AucsByGroup(keys[firsts][both], aucs, negatives, positives, int(np.sum(~both)))
