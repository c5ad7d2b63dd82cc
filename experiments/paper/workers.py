"""Processes that compute trials: each tells line by line, is bounded in processor time, and dies with its parent."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from experiments.paper.catalogue import Catalogue
from experiments.paper.data_folder import load_task
from experiments.paper.data_set import Task
from experiments.paper.plan import Work, one_trial
from experiments.paper.protocol import Profile
from experiments.paper.store import Key, Line
from experiments.paper.trial import missing_lines

SPAWN = get_context("spawn")
ORPHAN_CHECK_SECONDS = 0.5


class Order(NamedTuple):
    """A trial to compute, by name, and the lines of it that are there."""

    profile: Profile
    catalogue: Catalogue
    names: tuple[str, str]
    trial: int
    done: Mapping[Key, Line]


class Begun(NamedTuple):
    """A line is being computed."""

    key: Key


class Failed(NamedTuple):
    """A line could not be computed, or, without a key, the set could not be read."""

    key: Key | None
    error: str


class Finished(NamedTuple):
    """A trial has no more lines to come."""


@dataclass(eq=False)
class Worker:
    """A process at work; `order` is what it does now, `begun` the line it is at."""

    connection: Connection
    process: BaseProcess
    order: Order | None = None
    begun: Key | None = None

    @classmethod
    def started(cls) -> Worker:
        """A new process that waits for orders."""
        here, there = SPAWN.Pipe()
        process = SPAWN.Process(target=serve, args=(there, os.getpid()), daemon=True)
        process.start()
        there.close()
        return cls(here, process)

    def take(self, order: Order) -> None:
        """Give the process a trial to compute."""
        self.order, self.begun = order, None
        self.connection.send(order)

    def ended_by(self) -> int | None:
        """The signal that ended the process; None if it lives or ended by itself."""
        self.process.join(5.0)
        code = self.process.exitcode
        return -code if code is not None and code < 0 else None

    def stop(self) -> None:
        """End the process."""
        self.connection.close()
        self.process.kill()
        self.process.join()


def serve(connection: Connection, parent: int) -> None:
    """Compute what is ordered until the other end is closed."""
    threading.Thread(target=_die_with, args=(parent,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    name, task = "", None
    while True:
        try:
            order: Order = connection.recv()
        except EOFError:
            return
        work = one_trial(*order[:4])
        if name != work.data.name or task is None:
            task = None  # two large sets need not be in memory at once
            try:
                name, task = work.data.name, load_task(work.data)
            except Exception as error:  # whatever it is, the parent keeps it and goes on
                connection.send(Failed(None, _told(error)))
                connection.send(Finished())
                continue
        _compute(connection, order, work, task)
        connection.send(Finished())


def _compute(connection: Connection, order: Order, work: Work, task: Task) -> None:
    at: list[Key] = []

    def begin(key: Key) -> None:
        # Processor time, so that a pause or a busy machine does not count; the signal ends the process.
        signal.setitimer(signal.ITIMER_PROF, order.profile.line_limit)
        at.append(key)
        connection.send(Begun(key))

    try:
        for line in missing_lines(work, task, order.done, order.profile.name, begin):
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            connection.send(line)
    except Exception as error:  # whatever it is, the parent keeps it and goes on
        connection.send(Failed(at[-1] if at else None, _told(error)))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def _told(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({os.path.basename(frame.filename)}:{frame.lineno})"


def _die_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(ORPHAN_CHECK_SECONDS)
    os._exit(1)
