"""A training run on disk, so that it can go on after a crash."""

from __future__ import annotations

import reprlib
import time
from pathlib import Path

from opauc.core.atomic_write import remove_stale_files
from opauc.core.checksummed_file import read_checksummed, write_checksummed
from opauc.errors import InputError, UnreadableFileError
from opauc.linear.model_file import refusing
from opauc.training.loop import StreamTraining
from opauc.types import Settings

KIND = "checkpoint"
# Unless rows are counted: not more often than this, nor for more than this share of the time.
LEAST_SECONDS, LARGEST_SHARE = 15.0, 0.02


class Checkpoints:
    """Writes the state of a training run now and then: every so many rows, or at a small share of the time."""

    def __init__(self, path: Path, every: int | None, plan: Settings) -> None:
        self.path, self._every, self._plan = path, every, dict(plan)
        self.seconds = 0.0
        self._next_rows = every or 0
        self._next_time = time.perf_counter() + LEAST_SECONDS

    def due(self, rows: int) -> bool:
        """Tell whether it is time for another one."""
        return rows >= self._next_rows if self._every else time.perf_counter() >= self._next_time

    def write(self, training: StreamTraining) -> None:
        """Write the training as it is now."""
        began = time.perf_counter()
        header, arrays = training.parts()
        write_checksummed(self.path, KIND, {**header, "plan": self._plan}, arrays)
        cost = time.perf_counter() - began
        self.seconds += cost
        self._next_rows = training.rows + (self._every or 0)
        self._next_time = time.perf_counter() + max(LEAST_SECONDS, cost / LARGEST_SHARE)

    def taken_up(self) -> StreamTraining:
        """Return the training where the last checkpoint left it; it must be of the same plan."""
        kind, header, arrays = read_checksummed(self.path)
        if kind != KIND:
            raise UnreadableFileError(f"{self.path}: holds a {kind}, expected a checkpoint")
        with refusing(self.path):
            training = StreamTraining.of_parts(header, arrays)
            plan = dict(header["plan"])
        for name, now in self._plan.items():
            if plan.get(name) != now:
                raise InputError(
                    f"{self.path}: was made with {name} = {reprlib.repr(plan.get(name))}, "
                    f"now it is {reprlib.repr(now)}; "
                    "resume with the same settings, or start afresh"
                )
        self._next_rows = training.rows + (self._every or 0)
        return training

    def remove(self) -> None:
        """Take the file away, once the model is there."""
        self.path.unlink(missing_ok=True)
        remove_stale_files(self.path)
