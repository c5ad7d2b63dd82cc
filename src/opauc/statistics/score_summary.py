"""What is known of the scores that weights give to the rows seen."""

from __future__ import annotations

from typing import NamedTuple


class ScoreSummary(NamedTuple):
    """Row count, mean score and score variance of the negative (0) and the positive (1) class."""

    counts: tuple[float, float]
    means: tuple[float, float]
    variances: tuple[float, float]
