"""The number that stands for a random state."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

# What random numbers come from: a seed, a generator that goes on, or None for another one each time.
RandomState: TypeAlias = int | np.random.RandomState | None


def random_key(random_state: RandomState = None) -> int:
    """Return 64 bits that a random state gives: an integer, a numpy RandomState, or without one the system.

    Examples
    --------
    >>> from opauc.random_key import random_key
    >>> random_key(0)
    15793235383387715774
    """
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**32, dtype=np.uint64))
    return int(np.random.SeedSequence(random_state).generate_state(1, np.uint64)[0])
