"""The store of results: JSON lines, one file a data set, to be committed, diffed and reviewed.

A line is added whole and is on the disk before the next is computed. What is
not right in a file (a line cut off, one of an older protocol) is named and
left out; the rest stays.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import NamedTuple

from experiments.paper.column import Setting
from experiments.paper.protocol import VERSION
from opauc.core.atomic_write import atomic_write
from opauc.errors import OpaucError
from opauc.types import Json

RESULTS = Path(__file__).parent / "results"


class StoreError(OpaucError):
    """The store cannot be written."""


class Key(NamedTuple):
    """What a line is about: a fold of a trial, or the setting chosen for all its folds (fold -1)."""

    profile: str
    set: str
    method: str
    trial: int
    fold: int


@dataclass(frozen=True)
class Line:
    """One result: an AUC and what it took, or why there is none.

    `seconds` are of learning, `tuning_seconds` of choosing the setting, both
    of processor time. `trouble` is what the method itself says, `error` an
    exception nobody expected, `not_available` the limit that was passed.
    """

    profile: str
    set: str
    method: str
    trial: int
    fold: int
    auc: float | None = None
    seconds: float | None = None
    tuning_seconds: float | None = None
    setting: Setting | None = None
    rules: Sequence[str] = ()
    trouble: str = ""
    error: str = ""
    not_available: str = ""
    curve: Sequence[Sequence[float]] = field(default=())
    protocol: int = VERSION

    @property
    def key(self) -> Key:
        """What the line is about."""
        return Key(self.profile, self.set, self.method, self.trial, self.fold)

    def text(self) -> str:
        """The line as it is written: what is empty is left out.

        >>> Line("quick", "a9a", "OPAUC", 0, 1, auc=0.9).text()
        '{"profile": "quick", "set": "a9a", "method": "OPAUC", "trial": 0, "fold": 1, "auc": 0.9, "protocol": 1}\\n'
        """
        kept = {name: value for name, value in asdict(self).items() if value is not None and value not in ("", (), [])}
        return json.dumps(kept, ensure_ascii=False, allow_nan=False) + "\n"


NAMES = {part.name for part in fields(Line)}


class Store:
    """A folder of lines; `faults` says in one line each what was found wrong and left out."""

    def __init__(self, folder: Path = RESULTS) -> None:
        self.folder = folder
        self.faults: list[str] = []
        self._lines: dict[Key, Line] = {}
        for path in sorted(folder.glob("*.jsonl")):
            self._lines.update((line.key, line) for line in self._read(path))

    def __contains__(self, key: Key) -> bool:
        return key in self._lines

    def __getitem__(self, key: Key) -> Line:
        return self._lines[key]

    def lines(self, profile: str) -> Iterator[Line]:
        """Every line of a profile."""
        return (line for line in self._lines.values() if line.profile == profile)

    def add(self, line: Line) -> None:
        """Write a line to the disk; if that fails, the file is as it was before and `StoreError` is raised."""
        path = self.folder / f"{line.set}.jsonl"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _append(path, line.text().encode())
        except OSError as error:
            raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error
        self._lines[line.key] = line

    def forget_failures(self, profile: str) -> int:
        """Leave out lines without a result, so that they are computed again; return how many."""
        failed = [line.key for line in self.lines(profile) if line.error or line.not_available]
        for key in failed:
            del self._lines[key]
        return len(failed)

    def tidy(self) -> None:
        """Write every file anew in the order of its keys, without what was found wrong."""
        by_set: dict[str, list[Line]] = {}
        for path in self.folder.glob("*.jsonl"):
            by_set[path.stem] = []
        for key in sorted(self._lines):
            by_set.setdefault(key.set, []).append(self._lines[key])
        for name, lines in by_set.items():
            path, whole = self.folder / f"{name}.jsonl", "".join(line.text() for line in lines).encode()
            try:
                if path.read_bytes() != whole:
                    with atomic_write(path) as partial:
                        partial.write_bytes(whole)
            except OSError as error:
                raise StoreError(f"{path}: cannot be written: {error.strerror or error}") from error

    def _read(self, path: Path) -> Iterator[Line]:
        for number, text in enumerate(path.read_bytes().split(b"\n"), start=1):
            if not text:
                continue
            where = f"{path.name}, line {number}"
            try:
                found: Json = json.loads(text)
                if found.get("protocol") == VERSION:
                    yield _checked(found)
                    continue
                self.faults.append(f"{where}: protocol {found.get('protocol')}, now {VERSION}: computed again")
            except (ValueError, TypeError, AttributeError):
                self.faults.append(f"{where}: cut off or damaged: computed again")


def _checked(found: Json) -> Line:
    line = Line(**found)
    whole = isinstance(line.trial, int) and isinstance(line.fold, int)
    if not (whole and all(isinstance(name, str) for name in (line.profile, line.set, line.method))):
        raise ValueError("a key is of the wrong type")
    return line


def _append(path: Path, text: bytes) -> None:
    """Add a line at the end of a file that may have been cut off; undo it if it cannot be finished."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        end = os.lseek(handle, 0, os.SEEK_END)
        lead = b"" if end == 0 or os.pread(handle, 1, end - 1) == b"\n" else b"\n"
        try:
            view = memoryview(lead + text)
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, end)
            raise
    finally:
        os.close(handle)
