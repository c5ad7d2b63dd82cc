"""Sufficient statistics of labeled rows: they merge, rows can be subtracted, and memory does not grow with the rows."""

from typing import TYPE_CHECKING

from opauc.core.mergeable import LabeledSums, Mergeable, Statistic
from opauc.core.registry import STATISTICS

if TYPE_CHECKING:
    from opauc.linear.moments.classes import ClassMoments, GroupMoments
    from opauc.linear.moments.exact import ExactMoments
    from opauc.linear.moments.features import FeatureMoments
    from opauc.linear.moments.folds import FoldMoments, MulticlassFoldMoments
    from opauc.linear.moments.linearized import LinearizedMoments
    from opauc.linear.moments.multiclass import MulticlassMoments
    from opauc.linear.moments.sketch import ClassSketch
    from opauc.linear.moments.within_groups import WithinGroupMoments

__all__ = [
    "ClassMoments",
    "ClassSketch",
    "ExactMoments",
    "FeatureMoments",
    "FoldMoments",
    "GroupMoments",
    "LabeledSums",
    "LinearizedMoments",
    "Mergeable",
    "MulticlassFoldMoments",
    "MulticlassMoments",
    "Statistic",
    "WithinGroupMoments",
]


def __getattr__(name: str) -> type[Mergeable]:
    """Import a class of statistics on first access, so that scoring alone does not load it."""
    if name not in STATISTICS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    kind: type[Mergeable] = STATISTICS[name]
    return kind


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
