"""Labelled rows in, class statistics out: sums that merge, can be taken back, and never grow with the data.

`find_statistics()` finds every kind of sums by looking through this folder.
"""

import sys
from functools import cache
from typing import TYPE_CHECKING

from opauc.folder import classes_in
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
    "find_statistics",
]


def __getattr__(name: str) -> type[Mergeable]:
    """Import a kind of sums when it is first asked for: what only scores rows should not have to wait for it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return find_statistics()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


@cache
def find_statistics() -> dict[str, type[Mergeable]]:
    """Return every kind of sums by the name of its class; those over two classes are subclasses of `Statistic`.

    Examples
    --------
    >>> from opauc.statistics import find_statistics
    >>> sorted(find_statistics())
    ['ClassMoments', 'ClassSketch', 'ExactMoments', 'FeatureMoments', 'FoldMoments', 'GroupMoments', 'LinearisedSums']
    """
    return {kind.__name__: kind for _, kind in classes_in(sys.modules[__name__], Mergeable)}  # type: ignore[type-abstract]
