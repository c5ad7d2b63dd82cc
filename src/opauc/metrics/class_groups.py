"""How scores of several classes rank in each group of a column, and within groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from opauc.core.group_keys import group_keys
from opauc.metrics.class_scores import ClassScores
from opauc.metrics.group_auc import GroupAuc, GroupAucInterval, influence_of_groups
from opauc.metrics.groups import GROUP_POLICY, GroupNames, GroupPolicy
from opauc.metrics.influence import Influence, MetricInterval, Part
from opauc.metrics.multiclass_auc import MulticlassAuc
from opauc.metrics.streaming_group_auc import StreamingGroupAuc
from opauc.types import Array, Floats, Labels

# Scores of a group, of all classes together, up to which those of all rows are kept: there may be fifty groups.
MAX_EXACT_SCORES_OF_GROUP = 10**6


class ClassesGroup(NamedTuple):
    """The rows of one group, and how scores of several classes rank and predict them.

    Attributes
    ----------
    name : str
        The value, or the band of values, of the column.
    n_rows : int
        The rows of the group.
    rows_of : mapping of str to int
        Number of rows of each class, by its label.
    auc_ovo : MetricInterval or None
        Mean AUC over ordered pairs of the classes with rows in the group; None where there is one only.
    auc_ovr : MetricInterval or None
        Mean AUC over these classes, each against all others.
    accuracy : float
        Share of the rows that `predict` gives their label.
    log_loss : float
        Mean negative logarithm of the probability of the label of a row.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics.class_groups import GroupedClassScores
    >>> groups, probabilities = GroupedClassScores("shop", ["a", "b", "c"]), np.eye(3)[[0, 1, 2, 0, 0]] * 0.7 + 0.1
    >>> groups.add(["x", "x", "x", "y", "y"], np.array([0, 1, 2, 0, 1]), np.log(probabilities), probabilities)
    >>> [(group.name, group.n_classes, group.auc_ovo.value) for group in groups.evaluate()]
    [('x', 3, 1.0), ('y', 2, 0.5)]
    """

    name: str
    n_rows: int
    rows_of: dict[str, int]
    auc_ovo: MetricInterval | None
    auc_ovr: MetricInterval | None
    accuracy: float
    log_loss: float

    @property
    def n_classes(self) -> int:
        """Number of classes with rows in the group."""
        return sum(count > 0 for count in self.rows_of.values())


class GroupedClassScores:
    """Labels, scores and probabilities of rows of several classes by the groups of a column, as `GroupedScores` has."""

    def __init__(self, column: str, classes: Sequence[str], policy: GroupPolicy = GROUP_POLICY) -> None:
        self.column = column
        self._classes = classes
        self._names = GroupNames(policy)
        self._scores: dict[str, ClassScores] = {}

    def add(self, values: Sequence[object], labels: Labels, scores: Floats, probabilities: Floats) -> None:
        """Add rows with their values of the column and the numbers of their classes."""
        distinct, member = np.unique(self._names.of(values), return_inverse=True)
        for number, name in enumerate(distinct.tolist()):
            group = self._names.among(name, self._scores)
            if group not in self._scores:
                self._scores[group] = ClassScores(len(self._classes), MAX_EXACT_SCORES_OF_GROUP)
            rows = member == number
            self._scores[group].add(labels[rows], scores[rows], probabilities[rows])

    def evaluate(self) -> list[ClassesGroup]:
        """Return the evaluation of each group: bands in their order, values by their rows, the most first."""
        rows_of = {name: scores.n_rows for name, scores in self._scores.items()}
        return [self._evaluate(name, self._scores[name]) for name in self._names.in_order(rows_of)]

    def _evaluate(self, name: str, scores: ClassScores) -> ClassesGroup:
        ovo = ovr = None
        if np.count_nonzero(scores.counts) > 1:
            present = scores.of_present_classes()
            ovo, ovr = present.interval(MulticlassAuc("ovo")), present.interval(MulticlassAuc("ovr"))
        rows_of = dict(zip(self._classes, scores.counts.tolist(), strict=True))
        accuracy = float(scores.hits.sum()) / scores.n_rows
        return ClassesGroup(name, scores.n_rows, rows_of, ovo, ovr, accuracy, scores.log_loss_sum / scores.n_rows)


class ClassesWithinGroups:
    """Scores of several classes by groups, in bounded memory: AUCs within groups of each class against the rest.

    Parameters
    ----------
    n_classes : int
        The number of classes.
    limit : int, default=1048576
        Distinct scores that are kept at most, of all classes together.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics import GroupAuc
    >>> from opauc.metrics.class_groups import ClassesWithinGroups
    >>> scores, groups = ClassesWithinGroups(3), np.array(["x", "x", "x", "y", "y"])
    >>> scores.add(np.array([0, 1, 2, 0, 1]), np.eye(3)[[0, 1, 2, 0, 0]], groups)
    >>> found = scores.interval(GroupAuc())
    >>> round(found.value, 4), found.n_groups
    (0.8333, 2)
    """

    def __init__(self, n_classes: int, limit: int = 2**20) -> None:
        self._streams = [StreamingGroupAuc.empty(max(limit // n_classes, 1)) for _ in range(n_classes)]

    def add(self, labels: Labels, scores: Floats, groups: Array) -> None:
        """Add rows with the numbers of their classes and their groups."""
        keys = group_keys(groups, labels.size)
        self._streams = [
            stream.update(labels == number, scores[:, number], keys) for number, stream in enumerate(self._streams)
        ]

    def classes_in_groups(self) -> list[bool]:
        """Tell of each class whether a group has rows of it and of others."""
        return [stream.aucs().aucs.size > 0 for stream in self._streams]

    def interval(self, metric: GroupAuc, level: float = 0.95) -> GroupAucInterval:
        """Return the mean over classes of the mean AUC within groups, with its confidence interval.

        Groups are a random sample of groups, in which the AUCs of all classes vary together. A group counts for the
        classes that some of its rows have and others have not.

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
            If for a class no group has rows of it and of others.
        """
        found = [stream.aucs() for stream in self._streams]
        influences = [influence_of_groups(metric, aucs) for aucs in found]
        keys = np.unique(np.concatenate([aucs.keys for aucs in found]))
        values = np.zeros(keys.size)
        for aucs, influence in zip(found, influences, strict=True):
            values[np.searchsorted(keys, aucs.keys)] += influence.parts[0].values / len(found)
        value = float(np.mean([influence.value for influence in influences]))
        n_trials = min(influence.n_trials for influence in influences)
        interval = Influence(value, [Part(values, np.ones(keys.size))], n_trials).interval(
            level, [np.arange(keys.size)]
        )
        n_groups = max(aucs.aucs.size + aucs.n_one_class for aucs in found)
        return GroupAucInterval(*interval, keys.size, n_groups - keys.size)
