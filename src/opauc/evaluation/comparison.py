"""What a comparison of methods found: a table of one held-out set, or AUCs over splits with paired tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr

from opauc.evaluation.delong import compare_aucs
from opauc.evaluation.kept_scores import KeptScores
from opauc.rows import Floats


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
    >>> from opauc.evaluation import paired_t_test
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
