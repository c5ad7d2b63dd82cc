"""Rows on their way to a torch device."""

from __future__ import annotations

import warnings
from typing import TypeVar, cast

import numpy as np

from opauc.engines.installed import needed
from opauc.errors import MissingEngine, UnsupportedOperation
from opauc.rows import Array, Rows

with needed("torch", "gpu"):
    import torch
    from torch import Tensor

Values = TypeVar("Values")


def checked_device(name: object) -> str:
    """Return the name of a device of torch, refused unless it is there.

    Examples
    --------
    >>> from opauc.engines.device_rows import checked_device
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
        raise MissingEngine(f"device={name!r}: torch finds {there} CUDA devices on this machine{why}")
    return str(device)


def free_gib(device: str) -> float:
    """Return how much memory a CUDA device has left, also what torch holds and does not use; 0 of this machine.

    >>> from opauc.engines.device_rows import free_gib
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
        raise UnsupportedOperation(f"a device takes dense rows; this tensor is {X.layout}")
    rows = X.detach() if X.dtype in (torch.float32, torch.float64) else X.detach().to(torch.float64)
    # One sum speaks for all: it is finite only if every entry is, or none is so large that squares would be.
    if not torch.isfinite(rows.sum(dtype=torch.float64)):
        raise ValueError("Input X contains NaN, infinity or a value too large for the sums of squares.")
    return cast(Rows, rows)


def on_host(values: Values) -> Values:
    """Return a tensor as an array of NumPy, anything else as it is."""
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else values


def as_tensor(rows: Rows, device: str) -> Tensor:
    """Return dense rows as a tensor, where they lie."""
    if isinstance(rows, Tensor):
        return rows
    if not isinstance(rows, np.ndarray):
        raise UnsupportedOperation(f"device={device!r} takes dense rows; these are sparse")
    return host_tensor(np.ascontiguousarray(rows))


def host_tensor(array: Array) -> Tensor:
    """Return an array as a tensor that shares its memory and is never written to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it cannot be told that nobody will write
        return torch.from_numpy(array)
