"""Precision, recall and lift among the rows with the highest scores."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from opauc.core.parameters import Count, Number, Rule, is_whole
from opauc.errors import Parameter, ParameterError
from opauc.metrics.influence import Scale
from opauc.metrics.ranking_metric import RankingMetric, TableInfluence, check_positives
from opauc.metrics.score_table import ScoreTable
from opauc.types import Floats


@dataclass(frozen=True)
class TopRowsPolicy:
    """From which rows the share of positives at the cut is estimated.

    A cut at rank k moves with the sample; how much that matters depends on the positives next to it.
    """

    window: float = 0.1  # ranks on either side of k, as a share of k; experiments/metric_coverage.py, 2026-11
    min_window: float = 5.0  # and at least so many rows


TOP_ROWS_POLICY = TopRowsPolicy()
# The two kinds of cuts: a number of rows, or a share of all rows.
COUNT, SHARE = Count(1), Number(0.0, 1.0, closed="right")


@dataclass(frozen=True, slots=True)
class _AtCut(RankingMetric):
    """A metric of the k rows with the highest scores. Rows with the score of the last one count in equal parts."""

    k: int | float = 100

    def __post_init__(self) -> None:
        _check_cut("k", self.k, COUNT if is_whole(self.k) else SHARE)

    @property
    def name(self) -> str:
        """The name, such as "recall@100" or "recall@0.01"."""
        return f"{self._kind}@{_shown(self.k)}"

    @property
    def title(self) -> str:
        """The name in tables."""
        rows = f"{self.k:,} rows" if is_whole(self.k) else f"{100 * self.k:g} %"
        return f"{self._kind} of the top {rows}"

    @property
    @abstractmethod
    def _kind(self) -> str:
        """The name without the number of rows."""

    def _rows(self, table: ScoreTable) -> float:
        """Return k as a number of rows."""
        if not is_whole(self.k):
            return float(self.k) * table.n_rows
        if float(self.k) > table.n_rows:
            raise ParameterError(Parameter("k", self.k), f" is more than the {table.n_rows:,.0f} rows")
        return float(self.k)


@dataclass(frozen=True, slots=True)
class PrecisionAt(_AtCut):
    """Share of positives among the `k` rows with the highest scores; of ties at the cut, the expected share.

    Parameters
    ----------
    k : int or float, default=100
        Number of rows; a float is a share of all rows, above 0 and at most 1.

    Raises
    ------
    ParameterError
        If k is out of range, or more than the number of rows.

    Examples
    --------
    >>> from opauc.metrics import PrecisionAt
    >>> labels, scores = [1, 1, 0, 1, 0, 0, 0, 0], [0.9, 0.8, 0.8, 0.4, 0.3, 0.2, 0.1, 0.0]
    >>> PrecisionAt(2)(labels, scores), PrecisionAt(0.5)(labels, scores)
    (0.75, 0.75)
    """

    @property
    def _kind(self) -> str:
        return "precision"

    def of_table(self, table: ScoreTable) -> float:
        """Return the precision.

        Parameters
        ----------
        table : ScoreTable
            The rows of each class at each distinct score.

        Returns
        -------
        value : float
            The value of the metric.

        Raises
        ------
        ParameterError
            If k is more than the number of rows.
        """
        k = self._rows(table)
        return float(np.dot(_taken(table, k), table.positives)) / k

    def influence_of(self, table: ScoreTable) -> TableInfluence:
        """Return the influence of the rows: that of being among the top, less what the row at the cut is worth.

        Parameters
        ----------
        table : ScoreTable
            The rows of each class at each distinct score.

        Returns
        -------
        influence : TableInfluence
            The influence of a row of each class at each score.
        """
        k = self._rows(table)
        taken, at_cut, precision = _taken(table, k), _share_at_cut(table, k), self.of_table(table)
        mean = (precision - at_cut) * k / table.n_rows
        # The variance is that of a proportion of k rows, and that of where the cut is.
        of_cut = (1.0 - k / table.n_rows) * (precision - at_cut) ** 2
        whole = precision * (1.0 - precision) + of_cut
        return TableInfluence(
            -(taken * at_cut + mean) / k,
            (taken * (1.0 - at_cut) - mean) / k,
            n_trials=k,
            fixed_share=of_cut / whole if whole > 0.0 else 0.0,
        )


@dataclass(frozen=True, slots=True)
class RecallAt(_AtCut):
    """Share of the positives that are among the `k` rows with the highest scores.

    Parameters
    ----------
    k : int or float, default=100
        Number of rows; a float is a share of all rows, above 0 and at most 1.

    Raises
    ------
    ParameterError
        If k is out of range, or more than the number of rows.

    Examples
    --------
    >>> from opauc.metrics import RecallAt
    >>> labels, scores = [1, 1, 0, 1, 0, 0, 0, 0], [0.9, 0.8, 0.8, 0.4, 0.3, 0.2, 0.1, 0.0]
    >>> RecallAt(2)(labels, scores), RecallAt(0.5)(labels, scores)
    (0.5, 1.0)
    """

    @property
    def _kind(self) -> str:
        return "recall"

    def of_table(self, table: ScoreTable) -> float:
        """Return the recall.

        Parameters
        ----------
        table : ScoreTable
            The rows of each class at each distinct score.

        Returns
        -------
        value : float
            The value of the metric.

        Raises
        ------
        ParameterError
            If k is more than the number of rows.
        ValueError
            If there are no positives.
        """
        return _recall(table, self._rows(table), self.name)

    def influence_of(self, table: ScoreTable) -> TableInfluence:
        """Return the influence of the rows on the recall.

        Parameters
        ----------
        table : ScoreTable
            The rows of each class at each distinct score.

        Returns
        -------
        influence : TableInfluence
            The influence of a row of each class at each score.
        """
        return _influence_on_recall(table, self._rows(table), self.name)


@dataclass(frozen=True, slots=True)
class LiftAt(RankingMetric):
    """Lift: the share of positives among the top rows, divided by that among all rows.

    Parameters
    ----------
    share : float, default=0.1
        Share of all rows that are the top ones, above 0 and at most 1.

    Raises
    ------
    ParameterError
        If the share is out of range.

    Examples
    --------
    >>> from opauc.metrics import LiftAt
    >>> labels, scores = [1, 1, 0, 1, 0, 0, 0, 0], [0.9, 0.8, 0.8, 0.4, 0.3, 0.2, 0.1, 0.0]
    >>> LiftAt(0.25)(labels, scores)
    2.0
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        _check_cut("share", self.share, SHARE)

    @property
    def name(self) -> str:
        """The name, such as "lift@0.1"."""
        return f"lift@{_shown(float(self.share))}"

    @property
    def title(self) -> str:
        """The name in tables."""
        return f"lift of the top {100 * self.share:g} %"

    def of_table(self, table: ScoreTable) -> float:
        """Return the lift.

        Parameters
        ----------
        table : ScoreTable
            The rows of each class at each distinct score.

        Returns
        -------
        value : float
            The value of the metric.

        Raises
        ------
        ValueError
            If there are no positives.
        """
        return _recall(table, self.share * table.n_rows, self.name) / self.share

    @property
    def scale(self) -> Scale:
        """The lift is the recall divided by the share of rows."""
        return Scale(0.0, 1.0 / self.share)

    def influence_of(self, table: ScoreTable) -> TableInfluence:
        """Return the influence of the rows on the recall.

        Parameters
        ----------
        table : ScoreTable
            The rows of each class at each distinct score.

        Returns
        -------
        influence : TableInfluence
            The influence of a row of each class at each score.
        """
        return _influence_on_recall(table, self.share * table.n_rows, self.name)


def _check_cut(name: str, cut: object, rule: Rule) -> None:
    """Raise unless a cut follows its rule."""
    try:
        rule.check(cut)
    except ValueError as expected:
        raise ParameterError(Parameter(name), f" must be {expected}, got {cut!r}") from None


def _shown(cut: float) -> str:
    return str(cut) if is_whole(cut) else repr(float(cut))


def _taken(table: ScoreTable, k: float) -> Floats:
    """Return the share of the rows of each score that are among the first k."""
    rows = table.rows
    taken: Floats = np.clip((k - (np.cumsum(rows) - rows)) / rows, 0.0, 1.0)
    return taken


def _share_at_cut(table: ScoreTable, k: float, policy: TopRowsPolicy = TOP_ROWS_POLICY) -> float:
    """Return the share of positives among the rows next to rank k."""
    reach = max(policy.window * k, policy.min_window)
    ends = np.array([max(k - reach, 0.0), min(k + reach, table.n_rows)])
    ranks, true = np.append(0.0, np.cumsum(table.rows)), table.corners()[1]
    first, last = np.interp(ends, ranks, true)
    return float((last - first) / (ends[1] - ends[0]))


def _recall(table: ScoreTable, k: float, name: str) -> float:
    check_positives(table, name)
    return min(float(np.dot(_taken(table, k), table.positives)) / table.n_positives, 1.0)


def _influence_on_recall(table: ScoreTable, k: float, name: str) -> TableInfluence:
    recall, taken, at_cut = _recall(table, k, name), _taken(table, k), _share_at_cut(table, k)
    moved = at_cut * (taken - k / table.n_rows)
    return TableInfluence(
        -moved / table.n_positives,
        (taken - recall - moved) / table.n_positives,
        n_trials=table.n_positives,
    )
