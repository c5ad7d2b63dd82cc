"""Labeled rows of many requests, trained on together by one thread."""

from __future__ import annotations

from concurrent.futures import Future
from queue import SimpleQueue
from threading import Lock, Thread
from typing import NamedTuple

from opauc.serving.live_model import LiveModel
from opauc.serving.requests import BUSY, LabeledRows, RequestError


class Waiting(NamedTuple):
    """Rows that wait, and what is called once they were trained on."""

    sent: LabeledRows
    done: Future[None]


class Learner:
    """A thread that trains a model on labeled rows: all that came while it trained on those before are one batch."""

    def __init__(self, model: LiveModel, max_waiting_rows: int) -> None:
        self._model, self._max_waiting_rows = model, max_waiting_rows
        self._queue: SimpleQueue[Waiting | None] = SimpleQueue()
        self._counting, self._n_waiting = Lock(), 0
        self._thread = Thread(target=self._run, name="opauc-learner", daemon=True)
        self._thread.start()

    @property
    def rows_waiting(self) -> int:
        """Number of rows that wait."""
        return self._n_waiting

    def submit(self, sent: LabeledRows) -> Future[None]:
        """Return what is done when the model was trained on these rows; raise RequestError if too many wait."""
        with self._counting:
            if self._n_waiting + len(sent.rows) > self._max_waiting_rows:
                raise RequestError(BUSY, f"{self._n_waiting} rows wait to be trained on; try again later")
            self._n_waiting += len(sent.rows)
        waiting = Waiting(sent, Future())
        self._queue.put(waiting)
        return waiting.done

    def close(self) -> None:
        """Train on the rows that wait, and stop."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        is_open = True
        while is_open:
            batch = [self._queue.get()]
            while not self._queue.empty():
                batch.append(self._queue.get())
            is_open = None not in batch
            self._train([waiting for waiting in batch if waiting is not None])

    def _train(self, batch: list[Waiting]) -> None:
        """Train on the rows of several requests; where that fails, on those of each by itself."""
        if not batch:
            return
        rows = [row for waiting in batch for row in waiting.sent.rows]
        labels = [label for waiting in batch for label in waiting.sent.labels]
        try:
            self._model.train(rows, labels)
        except Exception as error:
            if len(batch) > 1:
                for waiting in batch:
                    self._train([waiting])
                return
            self._finish(batch, error)
            return
        self._finish(batch, None)

    def _finish(self, batch: list[Waiting], error: Exception | None) -> None:
        with self._counting:
            self._n_waiting -= sum(len(waiting.sent.rows) for waiting in batch)
        for waiting in batch:
            if error is None:
                waiting.done.set_result(None)
            else:
                waiting.done.set_exception(error)
