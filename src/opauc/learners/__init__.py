"""One algorithm a file: weights from statistics and labelled chunks.

A learner is a frozen dataclass of hyper-parameters with

- `start(n_features)`: the state before any row,
- `step(state, rows, labels)`: the state after a chunk; it may reuse the arrays of the old one, which is as it was
  if the step raises,
- `weights(state)`: the weights of the scorer, shape (n_features,),
- `summary(state, weights)`: counts, means and variances of the scores of the rows seen,
- `moments(state)`: the class statistics seen so far.

`find_learners()` finds every such class by looking through this folder.
"""

from importlib import import_module
from pkgutil import iter_modules


def find_learners() -> dict[str, type]:
    """Every learner by the name of its file.

    >>> from opauc.learners import find_learners
    >>> find_learners()["exact"].__name__
    'Exact'
    """
    found = {}
    for module in iter_modules(__path__):
        contents = vars(import_module(f"{__name__}.{module.name}"))
        for thing in contents.values():
            if isinstance(thing, type) and thing.__module__ == contents["__name__"] and hasattr(thing, "step"):
                found[module.name] = thing
    return found
