"""How long the work takes, without what only a first run has to wait for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opauc.core.kernels.compile import compile_notice


@contextmanager
def stopwatch(compiling: Callable[[str], None]) -> Iterator[Callable[[], float]]:
    """Give a function that returns the seconds so far, less those spent compiling, of which `compiling` is told."""
    began = time.perf_counter()
    with compile_notice(compiling) as notice:
        yield lambda: max(0.0, time.perf_counter() - began - notice.seconds)
