"""The AUC of each group from a stream of rows, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from opauc.core.array_schema import ArrayRule, copy_arrays
from opauc.core.group_keys import group_keys
from opauc.errors import IncompatibleMomentsError, Parameter, ParameterError
from opauc.metrics.exact_auc import Counts, check_scores
from opauc.metrics.group_auc import AucsByGroup, GroupAuc, GroupAucInterval, aucs_by_group, join_entries
from opauc.types import Arrays, Floats, GroupKeys


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
        return aucs_by_group(self.keys, self.class_counts)

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
        keys, scores, class_counts = join_entries(keys[kept], scores[kept], class_counts[kept])
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
