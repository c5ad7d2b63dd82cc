"""Where shards are worked on, and in which order what they give is merged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, Protocol, Self, TypeAlias, TypeVar

from opauc.errors import EngineError

# So long a cluster may take to say that it is there.
SECONDS_TO_ANSWER = 10.0
MORE_MEMORY = "give workers more, or cut the data finer"

Item = TypeVar("Item")
Result = TypeVar("Result")


class Gathered(Protocol):
    """What a shard gives: values that merge."""

    def merge(self, other: Self) -> Self:
        """Return what both shards give together."""


Sums = TypeVar("Sums", bound=Gathered)
# What comes back from a cluster: sums of the kind that went there.
FromCluster: TypeAlias = Any
# Told how many shards are done.
Told = Callable[[int], None]


class Scheduler(Protocol):
    """Works on many items at once: threads of this machine, or a cluster.

    What is asked of it must be a function of the item alone: work that is lost
    with a machine is done again.
    """

    @property
    def address(self) -> str | None:
        """Where a person can watch the work."""

    def mapped(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Return the results, which are small, in the order of the items."""

    def reduced(self, gather: Callable[[Item], Sums], items: Sequence[Item], told: Told) -> Sums:
        """Return what all items give, of which there is at least one, merged in the order of `in_pairs`."""


def in_pairs(values: Sequence[Sums | None]) -> Sums | None:
    """Merge neighbors, then neighbors of those: one order, whoever merges and whenever; None stands for nothing.

    Examples
    --------
    >>> from opauc.engines.scheduler import in_pairs
    >>> class Named(str):
    ...     def merge(self, other):
    ...         return Named(f"({self}+{other})")
    >>> in_pairs([Named(letter) for letter in "abcde"])
    '(((a+b)+(c+d))+e)'
    """
    level = list(values)
    while len(level) > 1:
        pairs = zip_longest(level[::2], level[1::2])
        level = [one if other is None else other if one is None else one.merge(other) for one, other in pairs]
    return level[0] if level else None


def out_of_memory(why: object) -> EngineError:
    """Return that a worker had no memory for what it was asked to do.

    >>> from opauc.engines.scheduler import out_of_memory
    >>> str(out_of_memory("8 GiB"))
    'a worker has not enough memory for a shard (8 GiB); give workers more, or cut the data finer'
    """
    return EngineError(f"a worker has not enough memory for a shard ({why}); {MORE_MEMORY}")


def workers_ended(among: str = "") -> EngineError:
    """Return that no worker has lived through a shard; one of them may be named."""
    named = f" ({among}, among others)" if among else ""
    return EngineError(
        f"a shard ended every worker that took it on{named}: most likely it does not fit their memory; {MORE_MEMORY}"
    )


def quiet(_done: int) -> None:
    """Show nothing of how far the work is."""
