"""Step sizes by the number of a row, and what is done when they are too large."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

import numpy as np

from opauc.errors import DivergedError, DivergenceWarning
from opauc.types import Floats

# Zero weights have a squared excess of one; ten times that is no noise of good weights.
UNSTABLE = 10.0


class LearningRate(NamedTuple):
    """Step sizes of rows number t = 1, 2, ... and whether they are in units of 1/curvature."""

    relative: bool
    sizes: Callable[[float, Floats], Floats]


LEARNING_RATES = {
    "constant": LearningRate(False, lambda eta0, t: np.full(t.size, eta0)),
    "invsqrt": LearningRate(False, lambda eta0, t: eta0 / np.sqrt(t)),
    "theorem": LearningRate(True, lambda eta0, t: 1.0 / (1.0 + np.sqrt(1.0 + t / eta0))),
}


class Descends(Protocol):
    """A learner with a step size."""

    @property
    def eta0(self) -> float:
        """The step size, or what it is made of."""

    @property
    def learning_rate(self) -> str:
        """How steps change with the number of rows."""


def step_sizes(learner: Descends, rows_before: float, n_rows: int) -> tuple[bool, Floats]:
    """Return whether the learner's step sizes are relative, and those of the next rows.

    Examples
    --------
    >>> from opauc.linear.learning_rates import step_sizes
    >>> from opauc.linear.sgd import SGD
    >>> step_sizes(SGD(eta0=0.6, learning_rate="invsqrt"), 3, 2)[1].round(2).tolist()
    [0.3, 0.27]
    """
    relative, sizes = LEARNING_RATES[learner.learning_rate]
    return relative, sizes(learner.eta0, rows_before + np.arange(1.0, n_rows + 1.0))


def refuse_divergence(learner: Descends, parts: Iterable[Floats], recent_excess: float) -> None:
    """Raise if the weights overflowed, warn if they do far worse than none; both name the step size."""
    setting = f"eta0={learner.eta0}", f"learning_rate={learner.learning_rate!r}"
    if not all(np.isfinite(part).all() for part in parts):
        raise DivergedError(
            f"the weights overflowed: {setting[0]} is too large for these rows with {setting[1]}; "
            "lower eta0 or scale the features"
        )
    if recent_excess > UNSTABLE:
        warnings.warn(
            f"{setting[0]} looks too large for these rows with {setting[1]}: "
            f"the recent mean of (1 - margin)^2 is {recent_excess:.3g}, zero weights have 1",
            DivergenceWarning,
            stacklevel=3,
        )


def stays_above(least: float, factor: float, keeps: Floats) -> bool:
    """Tell whether a factor multiplied by each of `keeps`, none above one, surely stays above `least`.

    What holds the weights of all features in one factor writes to all of them
    once it is small. Twice `least` is asked for, which no rounding can hide.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.linear.learning_rates import stays_above
    >>> stays_above(0.1, 1.0, np.full(10, 0.9)), stays_above(0.1, 1.0, np.full(30, 0.9))
    (True, False)
    """
    if not (keeps > 0.0).all():
        return False
    return bool(abs(factor) * np.exp(np.log(keeps).sum()) > 2.0 * least)
