"""Memory that is free but kept by the allocators of this process, given back to the system."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress


def give_back_memory() -> None:
    """Give back what pyarrow and, on Linux, the C library keep for later: after a step that took much and took it once.

    Examples
    --------
    >>> from opauc.core.free_memory import give_back_memory
    >>> give_back_memory()
    """
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # other C libraries have no such function
            ctypes.CDLL(None).malloc_trim(0)
