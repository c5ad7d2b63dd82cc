"""Checkpoints of a training run, from which it resumes after a crash."""

from __future__ import annotations

import json
import reprlib
import time
from pathlib import Path

from opauc.core.atomic_write import remove_stale_files
from opauc.core.checksummed_file import read_checksummed, write_checksummed
from opauc.core.loop import Monitor, NoMonitor, Trainer
from opauc.core.model import unreadable
from opauc.errors import InputError, UnreadableFileError
from opauc.types import Settings

# The kind of a checkpoint file.
CHECKPOINT = "checkpoint"
# Unless rows are counted: seconds between two at least, and the largest share of the time for all of them.
MIN_SECONDS, MAX_SHARE = 15.0, 0.02


class Checkpoints:
    """Writes the state of a training run every so many rows, or at a small share of the time."""

    def __init__(self, path: Path, every: int | None, plan: Settings, monitor: type[Monitor] = NoMonitor) -> None:
        self.path: Path = path
        self.seconds: float = 0.0
        self._every, self._plan, self._monitor = every, dict(plan), monitor
        self._next_rows = every or 0
        self._next_time = time.perf_counter() + MIN_SECONDS

    def due(self, rows: int) -> bool:
        """Tell whether it is time for another checkpoint."""
        return rows >= self._next_rows if self._every else time.perf_counter() >= self._next_time

    def write(self, trainer: Trainer) -> None:
        """Write the current state of the training, and never one that `resume` refuses."""
        began = time.perf_counter()
        parts, arrays = trainer.parts()
        header = {**parts, "plan": self._plan}
        with unreadable(f"{self.path}: not written"):
            Trainer.of_parts(json.loads(json.dumps(header)), arrays, self._monitor)
        write_checksummed(self.path, CHECKPOINT, header, arrays)
        cost = time.perf_counter() - began
        self.seconds += cost
        self._next_rows = trainer.rows + (self._every or 0)
        self._next_time = time.perf_counter() + max(MIN_SECONDS, cost / MAX_SHARE)

    def resume(self) -> Trainer:
        """Return the training where the last checkpoint left it; raise unless it has the same plan."""
        kind, header, arrays = read_checksummed(self.path)
        if kind != CHECKPOINT:
            raise UnreadableFileError(f"{self.path}: holds a {kind}, expected a checkpoint")
        with unreadable(self.path):
            trainer = Trainer.of_parts(header, arrays, self._monitor)
            plan = dict(header["plan"])
        for name, now in self._plan.items():
            if plan.get(name) != now:
                raise InputError(
                    f"{self.path}: was made with {name} = {reprlib.repr(plan.get(name))}, "
                    f"now it is {reprlib.repr(now)}; resume with the same settings, or start afresh"
                )
        self._next_rows = trainer.rows + (self._every or 0)
        return trainer

    def remove(self) -> None:
        """Remove the file, once the model is saved."""
        self.path.unlink(missing_ok=True)
        remove_stale_files(self.path)
