"""How scores rank and are calibrated in each group of a column: its values, or bands of its numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opauc.core.group_keys import is_missing
from opauc.metrics.calibration import CalibrationBins
from opauc.metrics.comparison import ScoreBuffer
from opauc.metrics.intervals import AucInterval, wilson_limits
from opauc.metrics.ranking import OperatingPoint, stream_curves
from opauc.types import Floats

OTHERS, MISSING = "(others)", "(missing)"


@dataclass(frozen=True)
class GroupPolicy:
    """How a column becomes groups.

    Examples
    --------
    >>> from opauc.metrics.groups import GROUP_POLICY
    >>> GROUP_POLICY.n_bands
    5
    """

    max_values: int = 20  # distinct values of the first rows, from which numbers become bands
    n_bands: int = 5  # bands of about equally many of the first rows
    max_groups: int = 50  # each takes a streaming AUC; further values are pooled


GROUP_POLICY = GroupPolicy()


class GroupPoint(NamedTuple):
    """The rates of a group where every score of at least a threshold is predicted positive.

    Attributes
    ----------
    max_false_positive_rate : float
        The false positive rate over all groups that the threshold was chosen for.
    threshold : float
        The threshold, one for all groups.
    false_positive_rate, true_positive_rate, precision : float
        The rates within the group; nan where it has no such rows.
    """

    max_false_positive_rate: float  # of all rows, for which the threshold was chosen
    threshold: float
    false_positive_rate: float
    true_positive_rate: float
    precision: float


class GroupEvaluation(NamedTuple):
    """The rows of one group: how they are ranked, how probabilities agree with what happened, rates at thresholds.

    Attributes
    ----------
    name : str
        The value, or the band of values, of the column.
    n_rows, n_positives : int
        The rows of the group, and the positive ones.
    confidence : AucInterval or None
        The AUC within the group, with its interval; None where its rows are of one class.
    calibration : CalibrationBins
        Predicted probabilities and what happened.
    points : tuple of GroupPoint
        Rates at thresholds that all groups have in common.

    Examples
    --------
    >>> from opauc.metrics.groups import GroupedScores
    >>> groups = GroupedScores("sex")
    >>> groups.add(["f", "f", "m", "m"], [0, 1, 0, 1], [0.1, 0.9, 0.6, 0.4], [0.1, 0.9, 0.6, 0.4])
    >>> [(group.name, group.confidence.auc) for group in groups.evaluate()]
    [('f', 1.0), ('m', 0.0)]
    """

    name: str
    n_rows: int
    n_positives: int
    confidence: AucInterval | None  # None where the rows are of one class
    calibration: CalibrationBins
    points: tuple[GroupPoint, ...]

    @property
    def observed(self) -> float:
        """Share of positives."""
        return self.n_positives / self.n_rows

    @property
    def observed_limits(self) -> tuple[float, float]:
        """The 95 % Wilson limits of the share of positives."""
        low, high = wilson_limits(self.observed, self.n_rows)
        return float(low), float(high)

    @property
    def predicted(self) -> float:
        """Mean predicted probability."""
        return float(self.calibration.probability_sums.sum()) / self.n_rows


class GroupNames:
    """The groups of a column: its values, or where it has more numbers than a few, bands of the first batch's numbers.

    Examples
    --------
    >>> from opauc.metrics.groups import GroupNames
    >>> names = GroupNames()
    >>> names.of([3, 1, None]).tolist(), names.in_order({"1": 10, "3": 20})
    (['3', '1', '(missing)'], ['3', '1'])
    """

    def __init__(self, policy: GroupPolicy = GROUP_POLICY) -> None:
        self._policy = policy
        self._edges: Floats | None = None
        self._begun = False

    def of(self, values: Sequence[object]) -> NDArray[np.str_]:
        """Return the name of each row's group."""
        numbers = _as_numbers(values)
        if not self._begun:
            self._begun = True
            if numbers is not None and np.unique(numbers[~np.isnan(numbers)]).size > self._policy.max_values:
                shares = np.linspace(0.0, 1.0, self._policy.n_bands + 1)[1:-1]
                self._edges = np.unique(np.nanquantile(numbers, shares))
        if self._edges is None:
            return np.array(
                [MISSING if (value == "" or is_missing(value)) else str(value) for value in values], np.str_
            )
        if numbers is None:  # later text in a column of numbers
            numbers = np.array([_number(value) for value in values])
        bands = np.array([*_band_names(self._edges), MISSING])
        at = np.searchsorted(self._edges, numbers, side="right")
        return np.asarray(bands[np.where(np.isnan(numbers), bands.size - 1, at)], np.str_)

    def among(self, name: str, groups: Collection[str]) -> str:
        """Return a name, or that of all further groups where there are as many as there may be."""
        return name if name in groups or len(groups) < self._policy.max_groups else OTHERS

    def in_order(self, rows_of: Mapping[str, int]) -> list[str]:
        """Return the names of groups: bands in their order, values by their rows, the most first."""
        if self._edges is None:
            return sorted(rows_of, key=lambda name: (-rows_of[name], name))
        return sorted(rows_of, key=[*_band_names(self._edges), MISSING, OTHERS].index)


class GroupedScores:
    """Labels, scores and probabilities of rows by the groups of a column, in memory that does not grow with the rows.

    A column of more numbers than a few is cut into bands, by the quantiles of the first batch.
    """

    def __init__(self, column: str, policy: GroupPolicy = GROUP_POLICY) -> None:
        self.column = column
        self._names = GroupNames(policy)
        self._buffers: dict[str, ScoreBuffer] = {}
        self._bins: dict[str, CalibrationBins] = {}
        self._all = ScoreBuffer()

    def add(self, values: Sequence[object], labels: ArrayLike, scores: ArrayLike, probabilities: ArrayLike) -> None:
        """Add rows with their values of the column."""
        label, score, probability = np.asarray(labels), np.asarray(scores), np.asarray(probabilities)
        names = self._names.of(values)
        self._all.add(label, score)
        distinct, member = np.unique(names, return_inverse=True)
        for number, name in enumerate(distinct.tolist()):
            group = self._names.among(name, self._buffers)
            rows = member == number
            self._buffers.setdefault(group, ScoreBuffer()).add(label[rows], score[rows])
            bins = self._bins.get(group) or CalibrationBins.empty()
            self._bins[group] = bins.update(label[rows], probability[rows])

    def evaluate(self) -> list[GroupEvaluation]:
        """Return the evaluation of each group: bands in their order, values by their rows, the most first."""
        points = self._all.ranking().operating_points if min(self._all.stream.counts) > 0 else ()
        rows_of = {name: buffer.n_rows for name, buffer in self._buffers.items()}
        return [self._evaluate(name, points) for name in self._names.in_order(rows_of)]

    def _evaluate(self, name: str, points: Sequence[OperatingPoint]) -> GroupEvaluation:
        buffer = self._buffers[name]
        n_negatives, n_positives = (int(count) for count in buffer.stream.counts)
        confidence = buffer.interval() if n_negatives and n_positives else None
        at = tuple(_point(buffer, point, n_negatives, n_positives) for point in points)
        return GroupEvaluation(name, n_negatives + n_positives, n_positives, confidence, self._bins[name], at)


def _point(buffer: ScoreBuffer, point: OperatingPoint, n_negatives: int, n_positives: int) -> GroupPoint:
    """Return the rates of a group at the threshold of all rows."""
    rows = buffer.all_rows
    if rows is not None:
        above = rows[1] >= point.threshold
        false, true = int((above & ~rows[0]).sum()), int((above & rows[0]).sum())
    elif n_negatives and n_positives:
        roc = stream_curves(buffer.stream)[0]
        at = int(np.searchsorted(-roc.thresholds, -point.threshold, side="right")) - 1
        false = round(float(roc.false_positive_rate[at]) * n_negatives)
        true = round(float(roc.true_positive_rate[at]) * n_positives)
    else:
        return GroupPoint(*point[:2], np.nan, np.nan, np.nan)
    return GroupPoint(*point[:2], _share(false, n_negatives), _share(true, n_positives), _share(true, false + true))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else np.nan


def _band_names(edges: Floats) -> list[str]:
    """Return the names of the bands between edges.

    >>> import numpy as np
    >>> from opauc.metrics.groups import _band_names
    >>> _band_names(np.array([30.0, 45.5]))
    ['below 30', '30 to 45.5', '45.5 and above']
    """
    shown = [f"{edge:.6g}" for edge in edges.tolist()]
    middle = [f"{low} to {high}" for low, high in pairwise(shown)]
    return [f"below {shown[0]}", *middle, f"{shown[-1]} and above"] if shown else ["all"]


def _as_numbers(values: Sequence[object]) -> Floats | None:
    """Return values as numbers, nan where missing; None unless all others are numbers."""
    try:
        numbers = [np.nan if (value == "" or is_missing(value)) else float(value) for value in values]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return np.array(numbers)


def _number(value: object) -> float:
    try:
        return np.nan if (value == "" or is_missing(value)) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return np.nan
