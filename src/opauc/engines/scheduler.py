"""Where work on shards is done, and in which order its results are merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, Protocol, Self, TypeAlias, TypeVar

from opauc.errors import EngineError

# So long a cluster may take to answer.
SECONDS_TO_ANSWER = 10.0
MORE_MEMORY = "give workers more, or cut the data finer"

Item = TypeVar("Item")
Result = TypeVar("Result")


class Gathered(Protocol):
    """Results of shards, which merge."""

    def merge(self, other: Self) -> Self:
        """Return the result of both shards."""


Sums = TypeVar("Sums", bound=Gathered)
# What a cluster returns: values of the type that was sent there.
FromCluster: TypeAlias = Any
# Called with the number of shards that are done.
OnProgress = Callable[[int], None]


class Scheduler(Protocol):
    """Works on many items at once: threads of this machine, or a cluster.

    The work must be a function of the item alone: work that is lost with a
    machine is repeated.
    """

    @property
    def address(self) -> str | None:
        """Address of a dashboard."""

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the results, which are small, in the order of the items."""

    def map_reduce(self, gather: Callable[[Item], Sums], items: Sequence[Item], on_progress: OnProgress) -> Sums:
        """Return the results of the items, at least one, merged in the order of `merge_in_pairs`."""


def merge_in_pairs(values: Sequence[Sums | None]) -> Sums | None:
    """Merge neighbors, then neighbors of those: the same order on every engine; None is an empty value.

    Examples
    --------
    >>> from opauc.engines.scheduler import merge_in_pairs
    >>> class Named(str):
    ...     def merge(self, other):
    ...         return Named(f"({self}+{other})")
    >>> merge_in_pairs([Named(letter) for letter in "abcde"])
    '(((a+b)+(c+d))+e)'
    """
    level = list(values)
    while len(level) > 1:
        pairs = zip_longest(level[::2], level[1::2])
        level = [one if other is None else other if one is None else one.merge(other) for one, other in pairs]
    return level[0] if level else None


def out_of_memory(why: object) -> EngineError:
    """Return the error of a worker that ran out of memory.

    >>> from opauc.engines.scheduler import out_of_memory
    >>> str(out_of_memory("8 GiB"))
    'a worker has not enough memory for a shard (8 GiB); give workers more, or cut the data finer'
    """
    return EngineError(f"a worker has not enough memory for a shard ({why}); {MORE_MEMORY}")


def workers_ended(among: str = "") -> EngineError:
    """Return the error of a shard that ended every worker; one of them may be named."""
    named = f" ({among}, among others)" if among else ""
    return EngineError(
        f"a shard ended every worker that took it on{named}: most likely it does not fit their memory; {MORE_MEMORY}"
    )


def quiet(_done: int) -> None:
    """Ignore progress."""
