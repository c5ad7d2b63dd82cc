"""The methods that OPAUC is compared with, as scikit-learn estimators: one method a file.

Every public estimator class of a file in this folder is a name of the package;
`find_baselines()` gives them all.

>>> from opauc.baselines import OAM
>>> OAM(update="gradient")
OAM(update='gradient')
"""

from importlib import import_module
from pkgutil import iter_modules

from sklearn.base import BaseEstimator


def find_baselines() -> dict[str, type]:
    """Every estimator of the folder by its name.

    >>> from opauc.baselines import find_baselines
    >>> find_baselines()["UniExp"].__name__
    'UniExp'
    """
    found = {}
    for module in iter_modules(__path__):
        contents = vars(import_module(f"{__name__}.{module.name}"))
        for name, thing in contents.items():
            own = isinstance(thing, type) and thing.__module__ == contents["__name__"]
            if own and issubclass(thing, BaseEstimator) and not name.startswith("_"):
                found[name] = thing
    return found


globals().update(find_baselines())
__all__ = sorted([*find_baselines(), "find_baselines"])
