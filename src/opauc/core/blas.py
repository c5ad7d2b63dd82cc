"""The Gram matrix of a block of rows by BLAS `syrk`, called without the GIL.

scipy's wrapper of `syrk` holds the GIL during the call. Calling the same routine
by its address through ctypes does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import (
    CFUNCTYPE,
    POINTER,
    byref,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_void_p,
    py_object,
    pythonapi,
)
from functools import cache

import numpy as np
from scipy.linalg import cython_blas
from threadpoolctl import ThreadpoolController

from opauc.types import DenseRows

_UPPER, _PLAIN = c_char(b"U"), c_char(b"N")


def _address(name: str) -> int:
    """Return the address of a BLAS routine, from the capsule that scipy exports for compiled code."""
    capsule = py_object(cython_blas.__pyx_capi__[name])
    signature = pythonapi.PyCapsule_GetName
    signature.restype, signature.argtypes = c_char_p, [py_object]
    pointer = pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c_void_p, [py_object, c_char_p]
    return int(pointer(capsule, signature(capsule)))


def _syrk(name: str, real: type[c_double | c_float]) -> tuple[Callable[..., None], c_double | c_float]:
    scalar, integer, text = POINTER(real), POINTER(c_int), POINTER(c_char)
    prototype = CFUNCTYPE(None, text, text, integer, integer, scalar, c_void_p, integer, scalar, c_void_p, integer)
    return prototype(_address(name)), real(1.0)


_ROUTINES = {
    np.dtype(np.float64): _syrk("dsyrk", c_double),
    np.dtype(np.float32): _syrk("ssyrk", c_float),
}


def add_gram(rows: DenseRows, lower: DenseRows) -> None:
    """Add rows^T rows to the lower triangle of `lower`.

    Both have the same dtype and are C-contiguous, except that lines of `lower` may be longer.
    """
    routine, one = _ROUTINES[rows.dtype]
    n_rows, n_features = rows.shape
    # Read column by column, as BLAS does, `rows` is its transpose and `lower` is an upper triangle.
    width, line = c_int(n_features), c_int(lower.strides[0] // lower.itemsize)
    routine(
        byref(_UPPER),
        byref(_PLAIN),
        byref(width),
        byref(c_int(n_rows)),
        byref(one),
        rows.ctypes.data,
        byref(width),
        byref(one),
        lower.ctypes.data,
        byref(line),
    )


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread.

    Enter it around a pool of threads, whether or not each of them does so too: else the first one to leave might lift
    the limit of the others.
    """
    with _blas_threads().limit(limits=1, user_api="blas"):
        yield


@cache
def _blas_threads() -> ThreadpoolController:
    return ThreadpoolController()
