"""Rows of ordinary memory on their way to a CUDA device, through two pinned buffers; needs only torch and numpy."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self

import numpy as np
import torch
from torch import Tensor

# Bytes of a buffer: pinning memory costs time, too.
STAGE_BYTES = 2**26
# Threads that fill a buffer: one copies a tenth of what the way to the device takes.
MOST_THREADS = 8


class PinnedStaging:
    """Two pinned buffers: one is filled, by several threads, while the other is on its way."""

    def __init__(self, rows: Tensor) -> None:
        self.size = max(1, STAGE_BYTES // max(1, rows.element_size() * rows.shape[1]))
        shape = (min(self.size, rows.shape[0]), rows.shape[1])
        self._buffers = [torch.empty(shape, dtype=rows.dtype, pin_memory=True) for _ in range(2)]
        self._sent = [torch.cuda.Event(), torch.cuda.Event()]
        self._turn, self._pool = 0, copying_threads()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._pool.shutdown()

    def send(self, rows: Tensor, there: Tensor, stream: torch.cuda.Stream) -> None:
        """Send rows of this machine to their place on the device; the last of them are on their way on return."""
        for begin in range(0, rows.shape[0], self.size):
            part, sent = rows[begin : begin + self.size], self._sent[self._turn]
            buffer = self._buffers[self._turn][: part.shape[0]]
            sent.synchronize()
            fill(buffer, part, self._pool)
            with torch.cuda.stream(stream):
                there[begin : begin + part.shape[0]].copy_(buffer, non_blocking=True)
                sent.record(stream)
            self._turn = 1 - self._turn


def copying_threads() -> ThreadPoolExecutor:
    """Return threads to copy by, no more than there are cores."""
    return ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1))


def fill(target: Tensor, source: Tensor, pool: ThreadPoolExecutor) -> None:
    """Copy rows of this machine, a part by each thread.

    Examples
    --------
    >>> import torch
    >>> from opauc.engines.pinned_staging import copying_threads, fill
    >>> there = torch.zeros(3, 1)
    >>> with copying_threads() as pool:
    ...     fill(there, torch.tensor([[1.0], [2.0], [3.0]]), pool)
    >>> there.flatten().tolist()
    [1.0, 2.0, 3.0]
    """
    # NumPy leaves the interpreter to others meanwhile, and starts no threads of its own.
    parts = (np.array_split(one.numpy(), pool._max_workers) for one in (target, source))
    list(pool.map(np.copyto, *parts))
