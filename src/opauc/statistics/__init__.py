"""Labelled rows in, class statistics out: sums that merge, can be taken back, and never grow with the data."""

from typing import TYPE_CHECKING

from opauc.core.registry import STATISTICS
from opauc.statistics.statistic import Mergeable, Statistic

if TYPE_CHECKING:
    from opauc.statistics.class_moments import ClassMoments
    from opauc.statistics.class_sketch import ClassSketch
    from opauc.statistics.exact_moments import ExactMoments
    from opauc.statistics.feature_moments import FeatureMoments
    from opauc.statistics.fold_moments import FoldMoments
    from opauc.statistics.group_moments import GroupMoments
    from opauc.statistics.linearised_sums import LinearisedSums

__all__ = [
    "ClassMoments",
    "ClassSketch",
    "ExactMoments",
    "FeatureMoments",
    "FoldMoments",
    "GroupMoments",
    "LinearisedSums",
    "Mergeable",
    "Statistic",
]


def __getattr__(name: str) -> type[Mergeable]:
    """Import a kind of sums when it is first asked for: what only scores rows should not have to wait for it."""
    if name not in STATISTICS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    kind: type[Mergeable] = STATISTICS[name]
    return kind


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
