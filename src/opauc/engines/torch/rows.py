"""Rows on their way to a torch device."""

from __future__ import annotations

import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar, cast

import numpy as np

from opauc.core.extras import needed
from opauc.errors import MissingEngineError, Parameter, UnsupportedOperationError

if TYPE_CHECKING:
    from opauc.types import Array, Rows  # which imports scipy

with needed("torch", "gpu"):
    import torch
    from torch import Tensor

Values = TypeVar("Values")


def checked_device(name: object) -> str:
    """Return the name of a torch device; raise where there is none of that name.

    Examples
    --------
    >>> from opauc.engines.torch.rows import checked_device
    >>> checked_device("cpu")
    'cpu'
    """
    try:
        device = torch.device(cast(str, name))
    except (RuntimeError, TypeError):
        raise ValueError(
            f"The 'device' parameter of OPAUC must be None or the name of a torch device such as 'cuda' or 'cpu'. "
            f"Got {name!r} instead."
        ) from None
    if device.type == "cuda" and (not torch.cuda.is_available() or (device.index or 0) >= torch.cuda.device_count()):
        there = torch.cuda.device_count() if torch.cuda.is_available() else 0
        why = "" if torch.backends.cuda.is_built() else "; this torch is built for processors alone"
        raise MissingEngineError(Parameter("device", name), f": torch finds {there} CUDA devices on this machine{why}")
    return str(device)


def free_gib(device: str) -> float:
    """Return how much memory a CUDA device has left, also what torch holds and does not use; 0 of this machine.

    >>> from opauc.engines.torch.rows import free_gib
    >>> free_gib("cpu")
    0.0
    """
    if torch.device(device).type != "cuda":
        return 0.0
    idle = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return float(torch.cuda.mem_get_info(device)[0] + idle) / 2**30


def checked_tensor(X: object) -> Rows | None:
    """Return a tensor as rows, float32 or float64, all finite; None where X is no tensor."""
    if not isinstance(X, Tensor):
        return None
    if X.ndim != 2 or not X.shape[0] or not X.shape[1]:
        raise ValueError(f"X must have rows and features, its shape is {tuple(X.shape)}")
    if X.layout is not torch.strided:
        raise UnsupportedOperationError(f"a device takes dense rows; this tensor is {X.layout}")
    rows = X.detach() if X.dtype in (torch.float32, torch.float64) else X.detach().to(torch.float64)
    # One sum speaks for all: it is finite only if every entry is, or none is so large that squares would be.
    if not torch.isfinite(rows.sum(dtype=torch.float64)):
        raise ValueError("Input X contains NaN, infinity or a value too large for the sums of squares.")
    return cast("Rows", rows)


def on_host(values: Values) -> Values:
    """Return a tensor as a NumPy array, anything else unchanged."""
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else values


def as_tensor(rows: Rows, device: str) -> Tensor:
    """Return dense rows as a tensor, where they lie."""
    if isinstance(rows, Tensor):
        return rows
    if not isinstance(rows, np.ndarray):
        raise UnsupportedOperationError(Parameter("device", device), " takes dense rows; these are sparse")
    return host_tensor(np.ascontiguousarray(rows))


def host_tensor(array: Array) -> Tensor:
    """Return an array as a tensor that shares its memory and is never written to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the memory is never written to
        return torch.from_numpy(array)


# Bytes of a buffer: pinning memory costs time, too.
STAGE_BYTES = 2**26
# Threads that fill a buffer: one copies a tenth of what the way to the device takes.
MOST_THREADS = 8


class PinnedStaging:
    """Two pinned buffers: one is filled, by several threads, while the other is on its way."""

    def __init__(self, rows: Tensor) -> None:
        self.size: int = max(1, STAGE_BYTES // max(1, rows.element_size() * rows.shape[1]))
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
    >>> from opauc.engines.torch.rows import copying_threads, fill
    >>> there = torch.zeros(3, 1)
    >>> with copying_threads() as pool:
    ...     fill(there, torch.tensor([[1.0], [2.0], [3.0]]), pool)
    >>> there.flatten().tolist()
    [1.0, 2.0, 3.0]
    """
    # NumPy leaves the interpreter to others meanwhile, and starts no threads of its own.
    parts = (np.array_split(one.numpy(), pool._max_workers) for one in (target, source))
    list(pool.map(np.copyto, *parts))
