"""Whether a file that is not read from end to end is still the same."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass

from opauc.core.batch import Place
from opauc.errors import InputChangedError


@dataclass(frozen=True)
class Fingerprint:
    """The hash by which a file is known, and its size and time of change while it is read.

    `sha256` is that of the file's size and of some of its bytes, chosen by the
    reader so that other content shows in them: to hash every byte of a table
    would cost more than to learn from it.
    """

    path: str
    sha256: str
    state: tuple[int, int]

    @classmethod
    def of(cls, path: str, telling: bytes) -> Fingerprint:
        """Take the print of a file by its telling bytes."""
        state = _state(path)
        return cls(path, hashlib.sha256(b"%d\n" % state[0] + telling).hexdigest(), state)

    def check_start(self, place: Place) -> None:
        """Refuse to go on in a file other than the one read up to `place`."""
        if place.offset and place.sha256 != self.sha256:
            raise InputChangedError(f"{self.path}: is not the file whose first {place.offset} rows were read before")

    def check_unchanged(self) -> None:
        """Refuse to go on in a file that was written to meanwhile."""
        if _state(self.path) != self.state:
            raise InputChangedError(f"{self.path}: the file changed while it was read")


def _state(path: str) -> tuple[int, int]:
    try:
        state = os.stat(path)
    except OSError as error:
        raise InputChangedError(f"{path}: {error.strerror}") from error
    return state.st_size, state.st_mtime_ns
