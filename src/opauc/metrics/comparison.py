"""What a comparison of methods found: a table of one held-out set, or AUCs over splits with paired tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr

from opauc.metrics.exact_auc import Flags, checked_scores
from opauc.metrics.intervals import AucInterval, auc_interval, compare_aucs
from opauc.metrics.ranking import Ranking, stream_interval
from opauc.metrics.streaming_auc import StreamingAuc
from opauc.types import Floats

EXACT_ROWS = 10**6


class KeptScores:
    """What is known of scored rows, exactly while they are few enough, in fixed memory however many they are.

    Examples
    --------
    >>> from opauc.metrics import KeptScores
    >>> kept = KeptScores()
    >>> kept.add([0, 0, 1], [0.1, 0.4, 0.8])
    >>> kept.add([1], [0.3])
    >>> kept.interval().auc, kept.whole is not None
    (0.75, True)
    """

    def __init__(self, exact_rows: int = EXACT_ROWS) -> None:
        self.stream = StreamingAuc.empty()
        self.n_rows = 0
        self._exact_rows = exact_rows
        self._parts: list[tuple[Flags, Floats]] = []

    def add(self, labels: ArrayLike, scores: ArrayLike) -> None:
        """Take in more rows: labels of 0 and 1 or booleans, scores of any size but NaN."""
        positive, score = checked_scores(labels, scores)
        self.stream = self.stream.update(positive, score)
        self.n_rows += score.size
        self._parts.append((positive, score))
        if self.n_rows > self._exact_rows:
            self._parts.clear()

    @property
    def whole(self) -> tuple[Flags, Floats] | None:
        """Which rows are positive and the scores of all, None where they were too many to keep."""
        if not self._parts or self.n_rows > self._exact_rows:
            return None
        positive, scores = zip(*self._parts, strict=True)
        return np.concatenate(positive), np.concatenate(scores)

    def interval(self) -> AucInterval:
        """Return the AUC with its 95 % interval."""
        return stream_interval(self.stream) if (whole := self.whole) is None else auc_interval(*whole)

    def ranking(self) -> Ranking:
        """Return all that the report page shows of the scores."""
        return Ranking.of_stream(self.stream) if (whole := self.whole) is None else Ranking.of(*whole)


class Compared(NamedTuple):
    """A line of the table; what a method in trouble did not reach is None.

    `low` and `high` are 95 % limits, `p_value` is that of no difference to the best method, None for that itself.
    """

    name: str
    auc: float | None
    low: float | None
    high: float | None
    p_value: float | None
    seconds: float
    trouble: str


def ranked(methods: Sequence[tuple[str, float, str]], found: Sequence[KeptScores]) -> list[Compared]:
    """Return the lines of methods (name, seconds, trouble), best first, those in trouble last."""
    lines = []
    for (name, seconds, trouble), scores in zip(methods, found, strict=True):
        auc, low, high = (None, None, None) if trouble else scores.interval()[:3]
        lines.append((Compared(name, auc, low, high, None, seconds, trouble), None if trouble else scores.whole))
    lines.sort(key=lambda line: -1.0 if line[0].auc is None else line[0].auc, reverse=True)
    best = lines[0][1] if lines else None
    return [
        line if best is None or whole is None or whole is best
        else line._replace(p_value=compare_aucs(best[0], best[1], whole[1]).p_value)
        for line, whole in lines
    ]  # fmt: skip


class PairedTest(NamedTuple):
    """Mean of the first less the second over the same splits, and the two-sided paired t-test of no difference."""

    difference: float
    t: float
    p_value: float

    def outcome(self, level: float = 0.05) -> str:
        """Return "win", "tie" or "loss" of the first at a level of significance."""
        if not self.p_value < level:
            return "tie"
        return "win" if self.difference > 0 else "loss"


def paired_t_test(first: Floats, second: Floats) -> PairedTest:
    """Return Student's paired test of two vectors; equal ones have p = 1, a constant difference has p = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.metrics import paired_t_test
    >>> found = paired_t_test(np.array([0.90, 0.92, 0.91, 0.93]), np.array([0.89, 0.90, 0.90, 0.90]))
    >>> round(found.difference, 4), round(found.p_value, 4), found.outcome()
    (0.0175, 0.0354, 'win')
    """
    gaps = first - second
    if gaps.size < 2:
        raise ValueError(f"a paired test needs at least two splits, got {gaps.size}")
    mean, error = float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(gaps.size))
    if error == 0.0:
        return PairedTest(mean, float(np.copysign(np.inf, mean)) if mean else 0.0, float(mean == 0.0))
    return PairedTest(mean, mean / error, float(2 * stdtr(gaps.size - 1, -abs(mean / error))))


@dataclass(frozen=True, slots=True, eq=False)
class SplitAucs:
    """AUC and seconds of each method (rows) on each split (columns); NaN, and the reason, where it failed."""

    names: tuple[str, ...]
    aucs: Floats
    seconds: Floats
    troubles: tuple[tuple[str, ...], ...]

    def of(self, name: str) -> Floats:
        """Return the AUCs of one method."""
        row: Floats = self.aucs[self.names.index(name)]
        return row

    def test(self, first: str, second: str) -> PairedTest:
        """Return the paired t-test of two methods over the splits on which both worked."""
        one, other = self.of(first), self.of(second)
        both = np.isfinite(one) & np.isfinite(other)
        return paired_t_test(one[both], other[both])
