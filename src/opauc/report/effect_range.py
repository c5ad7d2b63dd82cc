"""The range of an axis of effects."""

from __future__ import annotations

from opauc.rows import Floats

EFFECT = "Effect, log-odds"
# Errors may reach so far beyond the effects, in lengths of their range; what is farther is cut.
ERROR_ROOM = 0.6
# Room at either end, and the least range.
ROOM, LEAST = 0.05, 1e-6


def effect_range(value: Floats, spread: Floats) -> tuple[float, float]:
    """Return from where to where an axis of effects goes: zero is on it, errors are as far as they are not wild.

    Examples
    --------
    >>> import numpy as np
    >>> from opauc.report.effect_range import effect_range
    >>> low, high = effect_range(np.array([0.0, 1.0]), np.array([0.1, 100.0]))
    >>> round(low, 2), round(high, 2)
    (-0.71, 1.71)
    """
    least, most = min(0.0, float(value.min())), max(0.0, float(value.max()))
    beyond = ERROR_ROOM * (most - least)
    low = min(least, max(float((value - spread).min()), least - beyond))
    high = max(most, min(float((value + spread).max()), most + beyond))
    room = ROOM * max(high - low, LEAST)
    return low - room, high + room
