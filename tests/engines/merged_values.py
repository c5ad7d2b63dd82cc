"""Values that know who merged them, and in which order."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Merged:
    """What was merged with what, and by which processes."""

    text: str
    by: frozenset[int] = frozenset()

    def merge(self, other):
        return Merged(f"({self.text}{other.text})", self.by | other.by | {os.getpid()})


def numbered(number):
    return Merged(str(number))
