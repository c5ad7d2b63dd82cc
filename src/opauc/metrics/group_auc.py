"""The mean AUC within groups of rows, such as those of one query or one user, from rows and from streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.core.array_schema import ArrayRule, copy_arrays
from opauc.core.group_keys import group_keys
from opauc.errors import IncompatibleMomentsError, Parameter, ParameterError, unknown_name
from opauc.metrics.exact_auc import Counts, check_scores
from opauc.metrics.influence import Influence, Part
from opauc.metrics.intervals import AucDifference
from opauc.types import Arrays, Floats, GroupKeys

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


@dataclass(frozen=True, slots=True, eq=False)
class StreamingGroupAuc:
    """Distinct scores of each group with their row counts: AUCs within groups, in bounded memory.

    Rows may come in any order. While all groups together have at most `limit` distinct scores, everything is exact.
    Beyond that the groups with the largest keys leave, whole: keys are hashes, so the groups that stay are a random
    sample of all, the same one in whatever order rows and shards come. `bounds` contains the exact value for all
    groups in any case; `interval` is a confidence interval from the groups that stayed. Memory is at most 32 `limit`
    bytes. A group with more than `limit` distinct scores always leaves.

    Examples
    --------
    >>> from opauc.metrics import GroupAuc, StreamingGroupAuc
    >>> monday = StreamingGroupAuc.of([0, 1, 0], [0.1, 0.4, 0.7], ["ann", "ann", "bob"])
    >>> both = monday.merge(StreamingGroupAuc.of([1, 1], [0.8, 0.3], ["bob", "eve"]))
    >>> both.bounds(GroupAuc()), both.interval(GroupAuc()).n_one_class
    ((1.0, 1.0), 1)
    """

    limit: int
    end: int  # groups with keys from here on have left
    keys: GroupKeys  # (n,): the group of each entry
    scores: Floats  # (n,)
    class_counts: Counts  # (n, 2): rows of the negative and of the positive class
    left_out: Counts  # (2,): rows of groups that have left

    @classmethod
    def empty(cls, limit: int = 2**20) -> StreamingGroupAuc:
        """Return the state of no rows, which keeps at most `limit` distinct scores of groups.

        Parameters
        ----------
        limit : int, default=1048576
            Distinct scores of groups that are kept at most.

        Returns
        -------
        state : StreamingGroupAuc
            The state of no rows.

        Raises
        ------
        ParameterError
            If `limit` is below 1.
        """
        if limit < 1:
            raise ParameterError(Parameter("limit"), f" must be at least 1, got {limit}")
        nothing = np.empty((0, 2), np.int64)
        return cls(int(limit), 2**64 - 1, np.empty(0, np.uint64), np.empty(0), nothing, np.zeros(2, np.int64))

    @classmethod
    def of(cls, labels: ArrayLike, scores: ArrayLike, groups: ArrayLike, limit: int = 2**20) -> StreamingGroupAuc:
        """Return the state of rows: labels of 0 and 1 or booleans, a group for each row.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Labels of 0 and 1, or booleans.
        scores : array-like of shape (n_rows,)
            Scores, the higher the more positive; none is NaN.
        groups : array-like of shape (n_rows,)
            The group of each row, such as a query or a user.
        limit : int, default=1048576
            Distinct scores of groups that are kept at most.

        Returns
        -------
        state : StreamingGroupAuc
            The state of these rows.
        """
        return cls.empty(limit).update(labels, scores, groups)

    def update(self, labels: ArrayLike, scores: ArrayLike, groups: ArrayLike) -> StreamingGroupAuc:
        """Return the state of the rows so far and these.

        Parameters
        ----------
        labels : array-like of shape (n_rows,)
            Labels of 0 and 1, or booleans.
        scores : array-like of shape (n_rows,)
            Scores, the higher the more positive; none is NaN.
        groups : array-like of shape (n_rows,)
            The group of each row, such as a query or a user.

        Returns
        -------
        state : StreamingGroupAuc
            A new state; this one stays as it is.
        """
        positive, score = check_scores(labels, scores)
        keys, rows = group_keys(groups, score.size), np.stack([~positive, positive], axis=1).astype(np.int64)
        state = self
        for start in range(0, score.size, self.limit):
            batch = slice(start, start + self.limit)
            state = state._add(keys[batch], score[batch] + 0.0, rows[batch])
        return state

    def merge(self, other: StreamingGroupAuc) -> StreamingGroupAuc:
        """Return the state of both sets of rows, with the smaller of the two limits.

        Parameters
        ----------
        other : StreamingGroupAuc
            The state of other rows.

        Returns
        -------
        state : StreamingGroupAuc
            A new state; this one stays as it is.
        """
        smaller = StreamingGroupAuc(
            min(self.limit, other.limit), min(self.end, other.end), *self._entries(), self.left_out + other.left_out
        )
        return smaller._add(*other._entries())

    def empty_copy(self) -> StreamingGroupAuc:
        """Return the state of no rows with the same limit.

        Returns
        -------
        state : StreamingGroupAuc
            The state of no rows.
        """
        return self.empty(self.limit)

    def aucs(self) -> AucsByGroup:
        """Return the AUCs of the groups that stayed.

        Returns
        -------
        aucs : AucsByGroup
            The AUC and the row counts of each group with rows of both classes.
        """
        return _aucs_by_group(self.keys, self.class_counts)

    def bounds(self, metric: GroupAuc) -> tuple[float, float]:
        """Return bounds that contain the exact mean over all groups; (0, 1) without a group of both classes.

        The groups that have left can have any AUC, and at most the weight that their rows can have.

        Parameters
        ----------
        metric : GroupAuc
            Which mean of the groups.

        Returns
        -------
        bounds : tuple of float
            The lower and the upper bound.
        """
        aucs = self.aucs()
        negatives, positives = self.left_out.tolist()
        most = {
            "equal": min(negatives, positives),
            "rows": (negatives + positives) * (min(negatives, positives) > 0),
            "positives": positives * (negatives > 0),
            "pairs": negatives * positives,
        }[metric.weight]
        if not aucs.aucs.size:
            return 0.0, 1.0
        value = metric.of_groups(aucs)
        if not most:
            return value, value
        share = most / (most + float(metric.weights_of(aucs).sum()))
        return value * (1.0 - share), value + (1.0 - value) * share

    def interval(self, metric: GroupAuc, level: float = 0.95) -> GroupAucInterval:
        """Return the mean over the groups that stayed with its confidence interval.

        Parameters
        ----------
        metric : GroupAuc
            Which mean of the groups.
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
        return metric.interval_of_groups(self.aucs(), level)

    def to_arrays(self) -> Arrays:
        """Return copies of the entries, for a file or the network.

        Returns
        -------
        arrays : dict of str to ndarray
            Copies: changing them does not change the state.
        """
        return {
            "limit": np.array(self.limit),
            "end": np.array(self.end, np.uint64),
            "keys": self.keys.copy(),
            "scores": self.scores.copy(),
            "class_counts": self.class_counts.copy(),
            "left_out": self.left_out.copy(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> StreamingGroupAuc:
        """Return the state that `to_arrays` wrote; raise IncompatibleMomentsError if no rows can give these arrays.

        Parameters
        ----------
        arrays : mapping of str to array-like
            What `to_arrays` wrote.

        Returns
        -------
        state : StreamingGroupAuc
            The state that was written.

        Raises
        ------
        IncompatibleMomentsError
            If no rows can give these arrays.
        """
        limit, end, keys, scores, counts, left_out = copy_arrays(GROUP_SCHEMA, arrays).values()
        if keys.size > int(limit) or (keys.size and keys.max() >= end):
            raise IncompatibleMomentsError(f"keys: expected at most {limit} keys below {end}")
        rises = (keys[1:] > keys[:-1]) | ((keys[1:] == keys[:-1]) & (scores[1:] > scores[:-1]))
        if not rises.all():
            raise IncompatibleMomentsError("keys, and scores of one key, must rise")
        if not counts.any(axis=1).all() or counts.sum(dtype=float) + left_out.sum(dtype=float) >= 2.0**62:
            raise IncompatibleMomentsError("class_counts must not add up to 2^62, and no entry may be empty")
        return cls(int(limit), int(end), keys, scores + 0.0, counts, left_out)

    def _entries(self) -> tuple[GroupKeys, Floats, Counts]:
        return self.keys, self.scores, self.class_counts

    def _add(self, keys: GroupKeys, scores: Floats, class_counts: Counts) -> StreamingGroupAuc:
        """Return the state with more entries, of which those of equal group and score are joined."""
        keys, scores = np.concatenate([self.keys, keys]), np.concatenate([self.scores, scores])
        class_counts = np.concatenate([self.class_counts, class_counts])
        kept = keys < np.uint64(self.end)
        left_out = self.left_out + class_counts[~kept].sum(axis=0)
        keys, scores, class_counts = _join_entries(keys[kept], scores[kept], class_counts[kept])
        end = self.end
        if keys.size > self.limit:
            end = int(keys[self.limit])  # the first group that does not fit whole
            n_kept = int(np.searchsorted(keys, np.uint64(end)))
            left_out = left_out + class_counts[n_kept:].sum(axis=0)
            keys, scores, class_counts = keys[:n_kept].copy(), scores[:n_kept].copy(), class_counts[:n_kept].copy()
        return StreamingGroupAuc(self.limit, end, keys, scores, class_counts, left_out)


GROUP_SCHEMA = {
    "limit": ArrayRule("int64", low=1),
    "end": ArrayRule("uint64"),
    "keys": ArrayRule("uint64", "entries"),
    "scores": ArrayRule("float64", "entries", infinite=True),
    "class_counts": ArrayRule("int64", "entries 2", low=0),
    "left_out": ArrayRule("int64", "2", low=0),
}


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
    keys, _, counts = _join_entries(group_keys(groups, score.size), score, rows)
    return _aucs_by_group(keys, counts)


def _join_entries(keys: GroupKeys, scores: Floats, class_counts: Counts) -> tuple[GroupKeys, Floats, Counts]:
    """Return entries by group and rising score, those of equal group and score joined."""
    if not keys.size:
        return keys, scores, class_counts
    order = np.lexsort((scores, keys))
    keys, scores = keys[order], scores[order]
    firsts = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]) | (scores[1:] != scores[:-1])))
    return keys[firsts], scores[firsts], np.add.reduceat(class_counts[order], firsts, axis=0)


def _aucs_by_group(keys: GroupKeys, class_counts: Counts) -> AucsByGroup:
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
