"""One algorithm a file: weights from statistics and labelled chunks.

`Learner` in `learner.py` says what all of them promise; `find_learners()` finds
every one by looking through this folder.
"""

import sys
from functools import cache
from types import MappingProxyType

from opauc.folder import classes_in
from opauc.learners.learner import AnyLearner, Learner


@cache
def find_learners() -> MappingProxyType[str, type[AnyLearner]]:
    """Every learner by the name of its file.

    >>> from opauc.learners import find_learners
    >>> find_learners()["sgd"].__name__
    'SGD'
    """
    return MappingProxyType(dict(classes_in(sys.modules[__name__], Learner)))  # type: ignore[type-abstract]
