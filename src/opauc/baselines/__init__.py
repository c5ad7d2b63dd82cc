"""The methods that OPAUC is compared with, as scikit-learn estimators: one method a file.

Every public estimator class of a file in this folder is a name of the package;
`find_baselines()` gives them all.

>>> from opauc.baselines import OAM
>>> OAM(update="gradient")
OAM(update='gradient')
"""

import sys
from functools import cache

from opauc.estimators.linear_classifier import LinearClassifier
from opauc.folder import classes_in


@cache
def find_baselines() -> dict[str, type[LinearClassifier]]:
    """Every estimator of the folder by its name.

    >>> from opauc.baselines import find_baselines
    >>> find_baselines()["UniExp"].__name__
    'UniExp'
    """
    return {kind.__name__: kind for _, kind in classes_in(sys.modules[__name__], LinearClassifier)}


globals().update(find_baselines())
__all__ = sorted([*find_baselines(), "find_baselines"])
