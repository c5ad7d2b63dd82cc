"""Types of rows, labels and sums that all packages share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

# An array of numbers or strings.
Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
# An array (n, d) of float32 or float64 of any memory order.
DenseRows: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
# Dense rows, or canonical CSR: indices rise within a row, no entry twice.
Rows: TypeAlias = DenseRows | csr_array
# The number of each row's class: zero for the negative class and one for the positive, or 0 to K - 1 of K classes.
Labels: TypeAlias = NDArray[np.int8]
# A number for each row's group: rows of one group have the same one, on every machine.
GroupKeys: TypeAlias = NDArray[np.uint64]
# Arrays of numbers by name, as in files.
Arrays: TypeAlias = dict[str, Array]
NamedArrays: TypeAlias = Mapping[str, Array]
# A JSON object, to be written and as it is read; parameters by their names.
Json: TypeAlias = dict[str, Any]
Settings: TypeAlias = Mapping[str, Any]


class ClassCounts(NamedTuple):
    """Rows of each class, each counted with its weight.

    Attributes
    ----------
    negative, positive : float
        The rows of each class, each counted with its weight.
    """

    negative: float
    positive: float

    @property
    def both(self) -> bool:
        """Whether rows of both classes were seen."""
        return self.negative > 0.0 and self.positive > 0.0

    @property
    def all_seen(self) -> bool:
        """Whether rows of every class were seen: `both`, as `MulticlassCounts` calls it."""
        return self.both


class MulticlassCounts(tuple[float, ...]):
    """Rows of each of more than two classes, in the order of the classes, each counted with its weight.

    Examples
    --------
    >>> from opauc.types import MulticlassCounts
    >>> counts = MulticlassCounts([2.0, 0.0, 1.0])
    >>> counts, counts.all_seen
    (MulticlassCounts(2.0, 0.0, 1.0), False)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"MulticlassCounts{super().__repr__()}"

    @property
    def all_seen(self) -> bool:
        """Whether rows of every class were seen."""
        return min(self) > 0.0


# Rows of each class of a fit: `ClassCounts` of two classes, `MulticlassCounts` of more.
RowCounts: TypeAlias = ClassCounts | MulticlassCounts


# Source of random numbers: a seed, a generator, or None for a new seed each time.
RandomState: TypeAlias = int | np.random.RandomState | None


def random_key(random_state: RandomState = None) -> int:
    """Return 64 random bits from an integer seed, a numpy RandomState, or the system.

    Examples
    --------
    >>> from opauc.types import random_key
    >>> random_key(0)
    15793235383387715774
    """
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**32, dtype=np.uint64))
    return int(np.random.SeedSequence(random_state).generate_state(1, np.uint64)[0])
