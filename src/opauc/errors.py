"""The exceptions this library raises.

OpaucError
├── StatisticsOverflow   (ValueError)  sums of the data left the range of float64
├── IncompatibleMoments  (ValueError)  statistics that do not belong together, or not to those rows
└── DivergedError        (ValueError)  a step size so large that the weights left the range of float64

DivergenceWarning        (UserWarning) weights that do far worse than none: the step size looks too large

Each error is a `ValueError` too, so code written for scikit-learn catches them.
Wrong arguments raise a plain `ValueError` in scikit-learn's words.
"""


class OpaucError(Exception):
    """Anything this library refuses to do, with the reason as its message."""


class StatisticsOverflow(OpaucError, ValueError):
    """Sums of the data left the range of float64."""


class IncompatibleMoments(OpaucError, ValueError):
    """Statistics that cannot be merged, taken out or loaded."""


class DivergedError(OpaucError, ValueError):
    """Descent left the range of float64: the step size is too large for the data."""


class DivergenceWarning(UserWarning):
    """Descent does far worse than zero weights: the step size looks too large for the data."""
