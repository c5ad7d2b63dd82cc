"""Compute what the store lacks, with several processes; whatever happens to them, finished lines are kept."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait

from experiments.paper.catalogue import Catalogue
from experiments.paper.plan import Work, planned
from experiments.paper.protocol import Profile
from experiments.paper.store import Key, Line, Store
from experiments.paper.trial import CHOICE, keys_of
from experiments.paper.workers import Begun, Failed, Finished, Order, Worker
from opauc.report.text import seconds as spoken

TELL_SECONDS = 15.0


@dataclass(eq=False)
class Runner:
    """A profile on its way into a store."""

    profile: Profile
    store: Store
    catalogue: Catalogue = field(default_factory=Catalogue)
    n_workers: int = 2
    sets: Sequence[str] = ()
    columns: Sequence[str] = ()
    retry: bool = False

    def run(self) -> None:
        """Compute every line that is missing; files are then in the order of their keys."""
        for fault in self.store.faults:
            _tell(fault)
        if self.retry:
            _tell(f"{self.store.forget_failures(self.profile.name)} lines that failed are computed again")
        self.store.tidy()
        work = planned(self.profile, self.catalogue, self.sets, self.columns)
        queue = [one for one in work if self.missing(one)]
        _tell(f"{len(queue)} of {len(work)} trials to do, {spoken(sum(one.seconds for one in queue))} of one core")
        if queue:
            _Shift(self, queue).work()
        self.store.tidy()

    def missing(self, work: Work) -> list[Key]:
        """The lines of a trial still to be computed: none once its column is past a limit or has no setting."""
        if any(line.not_available for line in self.column_lines(work)):
            return []
        keys = keys_of(work, self.profile.name)
        if keys[0].fold == CHOICE and keys[0] in self.store and self.store[keys[0]].setting is None:
            return []
        return [key for key in keys if key not in self.store]

    def column_lines(self, work: Work) -> Iterator[Line]:
        """All lines there are of a column on a set."""
        for trial in range(work.thinning.trials):
            other = Work(work.data, work.column, work.thinning, trial)
            yield from (self.store[key] for key in keys_of(other, self.profile.name) if key in self.store)

    def order(self, work: Work) -> Order:
        """What a worker is told."""
        done = {key: self.store[key] for key in keys_of(work, self.profile.name) if key in self.store}
        return Order(self.profile, self.catalogue, (work.data.name, work.column.name), work.trial, done)


class _Shift:
    """The workers of one run."""

    def __init__(self, runner: Runner, queue: list[Work]) -> None:
        self._runner, self._queue = runner, queue
        self._workers: list[Worker] = []
        self._current: dict[Worker, Work] = {}
        self._unreadable: set[str] = set()
        self._progress = _Progress(queue)

    def work(self) -> None:
        """Keep the workers busy until nothing is left."""
        try:
            self._workers = [Worker.started() for _ in range(min(self._runner.n_workers, len(self._queue)))]
            for worker in self._workers:
                self._next(worker)
            while self._current:
                ready = wait([worker.connection for worker in self._current], timeout=TELL_SECONDS)
                for worker in [one for one in self._workers if one.connection in ready]:
                    self._hear(worker)
                self._progress.tell(self._current.values())
        finally:
            for worker in self._workers:
                worker.stop()

    def _next(self, worker: Worker) -> None:
        """Give a worker the first work that still lacks lines; without any it is idle."""
        self._current.pop(worker, None)
        while self._queue:
            work = self._queue.pop(0)
            if work.data.name not in self._unreadable and self._runner.missing(work):
                self._current[worker] = work
                worker.take(self._runner.order(work))
                return
            self._progress.done(work)

    def _hear(self, worker: Worker) -> None:
        try:
            said = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            self._replace(worker)
            return
        work = self._current[worker]
        if isinstance(said, Begun):
            worker.begun = said.key
        elif isinstance(said, Line):
            self._runner.store.add(said)
        elif isinstance(said, Failed):
            self._keep_failure(said, work)
        elif isinstance(said, Finished):
            self._finished(worker, work)

    def _keep_failure(self, said: Failed, work: Work) -> None:
        if said.key is not None:
            _tell(f"{work.data.name}, {work.column.name}, trial {work.trial}: {said.error}")
            self._runner.store.add(Line(*said.key, rules=work.thinning.rules, error=said.error))
        elif work.data.name not in self._unreadable:
            _tell(said.error)
            self._unreadable.add(work.data.name)

    def _finished(self, worker: Worker, work: Work) -> None:
        if work.data.name not in self._unreadable and self._runner.missing(work):
            self._queue.insert(0, work)  # a line failed: those after it are still to be computed
        else:
            self._progress.done(work)
        self._next(worker)

    def _replace(self, worker: Worker) -> None:
        """Keep why a worker ended, and go on with a new one."""
        work, ended_by = self._current.pop(worker), worker.ended_by()
        worker.stop()
        if worker.begun is not None and worker.begun not in self._runner.store:
            limit = f"{self._runner.profile.line_limit:g} s of one core"
            if ended_by == signal.SIGPROF:
                line = Line(*worker.begun, rules=work.thinning.rules, not_available=limit)
            else:
                line = Line(*worker.begun, rules=work.thinning.rules, error=f"the process ended by signal {ended_by}")
            _tell(f"{work.data.name}, {work.column.name}, trial {work.trial}: {line.not_available or line.error}")
            self._runner.store.add(line)
        fresh = Worker.started()
        self._workers[self._workers.index(worker)] = fresh
        self._finished(fresh, work)


class _Progress:
    """How far a run is, by the model of costs, and how long the rest will take at the pace so far."""

    def __init__(self, queue: Sequence[Work]) -> None:
        self._all = sum(work.seconds for work in queue)
        self._done, self._n_done, self._n_all = 0.0, 0, len(queue)
        self._began = self._told = time.monotonic()

    def done(self, work: Work) -> None:
        """Count a trial."""
        self._done += work.seconds
        self._n_done += 1

    def tell(self, current: Iterable[Work]) -> None:
        """Say where the run is, now and then."""
        now = time.monotonic()
        if now - self._told < TELL_SECONDS:
            return
        self._told = now
        names = ", ".join(f"{work.data.name} {work.column.name} {work.trial}" for work in current)
        pace = self._done / (now - self._began)
        left = spoken((self._all - self._done) / pace) if self._done else "?"
        _tell(f"{self._n_done}/{self._n_all} trials, {self._done / self._all:.0%}, about {left} left; at {names}")


def _tell(words: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {words}", file=sys.stderr, flush=True)
